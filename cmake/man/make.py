#!/usr/bin/env python3
"""Makes the manual pages: what tables, comments and help texts know, and what is written in client/man and daemon/man.

    make.py --bin BIN --root ROOT --scdoc SCDOC --to FOLDER

BIN holds leatctl and leatd. FOLDER gets a folder for each package, which has what is installed as share/man. Pages are
dated by the changelog of the packages, so that the same tree makes the same bytes.
"""
import argparse
import concurrent.futures
import email.utils
import json
import os
import pathlib
import re
import shutil
import subprocess

import arguments
import commands
import daemon
import header
import protocol

PACKAGES = {"leatd": re.compile(r"leatd\.|leat-fetch\.|leat-events|leat-metrics"), "libleat-dev": re.compile(r"libleat|leat_"),
            "leatctl": re.compile(r"")}  # the first that fits


def ask(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def written(root, version, blocks):
    """The pages written by hand, with what is made in place of lines such as @settings@."""
    made = {}
    for path in sorted([*root.glob("client/man/*.scd"), *root.glob("daemon/man/*.scd")]):
        text = re.sub(r"^@(\w+)@$", lambda match: blocks[match.group(1)].strip("\n"),
                      path.read_text(encoding="utf-8"), flags=re.M)
        made[path.stem] = text.replace("@version@", version)
    return made


def all_pages(binaries, root):
    leatctl, leatd = binaries / "leatctl", binaries / "leatd"
    reference = json.loads(ask(leatctl, "help", "--json"))
    settings = json.loads(ask(leatd, "--reference"))
    stages = json.loads(ask(leatctl, "stages", "--json"))
    version = reference["version"]
    blocks = {**commands.overview(reference), **arguments.overview(stages, settings),
              "options": daemon.options(ask(leatd, "--help"))}
    library, links = header.pages((root / "client" / "leat.h").read_text(encoding="utf-8"), version)
    made = {**written(root, version, blocks), **commands.pages(reference), **arguments.pages(stages, version),
            **daemon.pages(settings), **library,
            **protocol.pages(root, version)}
    return made, links


def place(folder, name):
    package = next(package for package, fits in PACKAGES.items() if fits.match(name))
    return folder / package / f"man{name.rsplit('.', 1)[1]}" / name


def finish(roff):
    """Names are not cut at the end of a line (.TH sets that anew), and a minus is one, to be copied and searched for."""
    lines = roff.replace("\n.SH", "\n.nh\n.SH", 1).split("\n")
    return "\n".join(line if line.startswith((".", "'")) else re.sub(r"(?<!\\)-", r"\\-", line) for line in lines)


def render(scdoc, path, text, environment):
    done = subprocess.run([scdoc], input=text, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{path.name}: {done.stderr.strip()}\n" + "\n".join(
            f"{i:4} {line}" for i, line in enumerate(text.split("\n"), 1)))
    path.write_text(finish(done.stdout), encoding="utf-8")


def changelog_time(root):
    changelog = root / "cmake/packages/changelog"
    line = re.search(r"^ -- .*?>  (.*)$", changelog.read_text(encoding="utf-8"), re.M)
    return str(int(email.utils.parsedate_to_datetime(line.group(1)).timestamp()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bin", "root", "scdoc", "to"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    options = parser.parse_args()
    made, links = all_pages(options.bin, options.root)
    shutil.rmtree(options.to, ignore_errors=True)
    environment = {"SOURCE_DATE_EPOCH": changelog_time(options.root), **os.environ}
    for name in (*made, *links):
        place(options.to, name).parent.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda item: render(options.scdoc, place(options.to, item[0]), item[1], environment), made.items()))
    for name, target in links.items():
        place(options.to, name).write_text(f".so man3/{target}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

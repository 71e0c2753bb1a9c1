#!/usr/bin/env python3
"""gcc's -fanalyzer and cppcheck look at each file of the product, for minutes to hours; what they find wrong fails.

    analyze.py BUILD_DIR [--jobs N] [PATTERN...]

BUILD_DIR has the compile_commands.json of a release build by gcc. A PATTERN is a part of the names of the files to look at.
analyze_known.py lists what was found to be no fault, with reasons. Status 1: a finding that is not in that list. Without patterns
also 1: a row of the list that is not found any more and is to be removed.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

from analyze_known import KNOWN, LEFT_OUT

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("proto/", "pipeline/", "daemon/", "client/")
DEFINE_ERRORS = ("proto/base/error.c", "pipeline/spec/bind.c")
FINDING = re.compile(r"^([^\s:]+):(\d+):\d+: (?:warning|error|style|portability|performance): (.*?) \[(?:-W)?([\w-]+)\]$", re.MULTILINE)


def commands_of(build):
    """Of each file of the product: its folder, and the words of its command without the output."""
    for command in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(command["directory"], command["file"]).resolve()
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        words = shlex.split(command["command"])
        words = words[1:] if "ccache" in words[0] else words
        if name.startswith(ROOMS) and "/examples/" not in name:
            yield name, command["directory"], words[:words.index("-o")]


def analyze(name, directory, words):
    """gcc's analyzer knows C alone."""
    if not name.endswith(".c"):
        return ""
    hints = [] if name in DEFINE_ERRORS else ["-include", str(ROOT / "tests/check/analyzed.h")]
    done = subprocess.run([word for word in words if not re.fullmatch(r"-O\d|-g\d?|-W.*", word)] +
                          ["-O1", "-fanalyzer", *(f"-Wno-{check}" for check in LEFT_OUT if "analyzer" in check), *hints, "-c", str(ROOT / name), "-o", "/dev/null"],
                          cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr}")
    return done.stderr


def cppcheck(name, directory, words):
    del directory
    defines = [word for word in words if word.startswith(("-D", "-I"))]
    done = subprocess.run(["cppcheck", "--quiet", "--enable=warning,portability", "--inconclusive", "--library=posix", "--std=c17", *defines,
                           "--suppress=missingInclude", "--suppress=missingIncludeSystem", *(f"--suppress={check}" for check in LEFT_OUT if "analyzer" not in check),
                           "--template={file}:{line}:{column}: {severity}: {message} [{id}]", name],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: cppcheck: {done.stdout}")
    return done.stderr


def findings_of(report):
    """(file, check, text of the line): place and message."""
    found = {}
    for place, line, message, check in FINDING.findall(report):
        path = pathlib.Path(place)
        path = path.resolve() if path.is_absolute() else (ROOT / re.sub(r"^(\.\./)+", "", place)).resolve()
        if not path.is_relative_to(ROOT) or not path.is_file():
            continue
        name = str(path.relative_to(ROOT))
        if name.startswith(ROOMS):
            text = path.read_text(encoding="utf-8").splitlines()[int(line) - 1].strip()
            found[(name, check, text)] = f"{name}:{line}: {message} [{check}]"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    files = {name: (directory, words) for name, directory, words in commands_of(arguments.build)
             if not arguments.patterns or any(pattern in name for pattern in arguments.patterns)}
    found = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks = [pool.submit(tool, name, *rest) for tool in (analyze, cppcheck) for name, rest in files.items()]
        for task in tasks:
            found |= findings_of(task.result())
    wrong = sorted(text for key, text in found.items() if key not in KNOWN)
    if not arguments.patterns:
        wrong += [f"{', '.join(key)}: is known, and not found: remove the row" for key in KNOWN if key not in found]
    print(*wrong, f"{len(files)} files, {len(found)} findings, {len(wrong)} of them to be looked at", sep="\n")
    sys.exit(1 if wrong or not files else 0)


if __name__ == "__main__":
    main()

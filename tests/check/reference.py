#!/usr/bin/env python3
"""The manual pages have all that the programs know, and a formatter has nothing to say of them.

    reference.py BIN ROOT PAGES

PAGES is the folder that cmake/man/make.py made. What must be there is taken from the programs and from the sources, not
from what made the pages. One line for each that is missing, status 1 if there is any; 77: there is no formatter.
"""
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

BIN, ROOT, PAGES = (pathlib.Path(word) for word in sys.argv[1:4])


def ask(program, *words):
    return subprocess.run([BIN / program, *words], check=True, capture_output=True, text=True).stdout


@functools.cache
def read(page):
    """A page as people read it, in lines that are not cut."""
    path = next(PAGES.glob(f"*/man*/{page}"), None)
    if not path:
        return ""
    done = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-rLL=2000n", str(path)], capture_output=True, text=True,
                          check=True)
    return done.stdout


class Report:
    """What is missing, a line each."""

    def __init__(self):
        self.lines = []

    def want(self, page, texts, what):
        text = read(page)
        self.lines += [] if text else [f"{page}: there is no such page"]
        words = set(re.split(r"[\s,()]+", text))
        for wanted in texts if text else ():
            if wanted not in words and not re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", text):
                self.lines.append(f"{page}: {what} {wanted} is missing")


def check_commands(report):
    reference = json.loads(ask("leatctl", "help", "--json"))
    report.want("leatctl.1", ["leatctl " + command["name"] for command in reference["commands"]], "the command")
    report.want("leatctl.1", [str(item["status"]) for item in reference["exits"]], "the exit status")
    for command in reference["commands"]:
        page = "leatctl-" + command["name"].replace(" ", "-") + ".1"
        report.want(page, ["--" + option["name"] for option in command["options"]], "the option")
        report.want(page, ["EXAMPLES", *(f"{item['status']} {item['text']}" for item in reference["exits"])], "")
        shown = ask("leatctl", *command["name"].split(), "--help")
        if "exit status:" not in shown or "examples:" not in shown:
            report.lines.append(f"leatctl {command['name']} --help: no example, or no exit status")
    header = (ROOT / "client/cli/base/output.h").read_text()
    statuses = set(re.findall(r"^    LEAT_CLI_\w+ = (\d+),", header, re.M))
    if statuses != {str(item["status"]) for item in reference["exits"]}:
        report.lines.append(f"client/cli/base/output.h: exit statuses {statuses} are not those that are told of")


def texts():
    """Files that may name commands: texts for people, sources, scripts."""
    yield ROOT / "README.md"
    for folder in ("client", "cmake", "config", "daemon", "pipeline", "proto", "systemd", "tests"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in
                    (".c", ".h", ".def", ".py", ".md", ".scd", ".yaml", ".in", ".txt", ".proto", ".js", ".html"))


def check_mentions(report):
    """Commands that texts tell people to call are there."""
    names = {command["name"] for command in json.loads(ask("leatctl", "help", "--json"))["commands"]}
    groups = {name.split()[0] for name in names if " " in name}
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for first, second in re.findall(r"(?:`|^|^[#$ ]+|\| |; |&& )leatctl ([a-z][\w-]*)(?: ([a-z][\w-]*))?", line):
                name = f"{first} {second}" if first in groups else first
                if name.strip() not in names | (groups if not second else set()):
                    report.lines.append(f"{path.relative_to(ROOT)}:{number}: there is no `leatctl {name}`")


def names_of(arguments, group=""):
    for argument in arguments:
        name = f"{group}.{argument['name']}" if group else argument["name"]
        yield name
        yield from names_of(argument.get("arguments", []), name)


def check_stages(report):
    for entry in json.loads(ask("leatctl", "stages", "--json")):
        names = list(names_of(entry["arguments"]))
        if entry["kind"] == "options":
            report.want("leatd.yaml.5", names, "the option of streams")
            continue
        report.want("leat-stages.7", [entry["name"]], "the stage")
        folder = "source" if entry["kind"] == "source" else "stage"
        report.want(f"leat-{folder}-{entry['name']}.7", [*names, "EXAMPLE"], "the argument")
        report.want(f"leat-{folder}-{entry['name']}.7", [f"{entry['name']}: {entry['example']}"], "the example")


def check_daemon(report):
    settings = (ROOT / "daemon/config/settings.c").read_text().split("leat_settings_args[]")[1].split("LEAT_ARGS_END")[0]
    report.want("leatd.yaml.5", re.findall(r'\.name = "(\w+)"', settings), "the setting")
    events = (ROOT / "daemon/log/log_events.def").read_text()
    ids = re.findall(r'"([0-9a-f]{32})"', events)
    report.want("leat-events.7", ids, "the message id")
    if len(ids) != len(re.findall(r"^LEAT_EVENT\(", events, re.M)) or len(ids) != len(set(ids)):
        report.lines.append("daemon/log/log_events.def: not each event has an id of its own")
    metrics = json.loads(ask("leatd", "--reference"))["metrics"]
    report.want("leat-metrics.7", [metric["name"] for metric in metrics], "the metric")
    options = re.findall(r'^    \{"([\w-]+)", \w+_argument', (ROOT / "daemon/core/options.c").read_text(), re.M)
    report.want("leatd.8", ["--" + option for option in options], "the option")
    report.want("leatd.8", ["SIGTERM", "SIGHUP", "EXIT STATUS"], "")


def check_interfaces(report):
    protocol = (ROOT / "proto/leat.proto").read_text().partition("message ControlRequest")[2]
    verbs = re.findall(r"LEAT_CONTROL_VERB\(\w+, (\w+)", (ROOT / "proto/control_verbs.def").read_text())
    report.want("leat-control.7", verbs, "the verb")
    report.want("leat-control.7", re.findall(r"\b(\w+) = \d+;", protocol), "the field")
    for symbol in re.findall(r"^\s+(leat_\w+);", (ROOT / "client/leat.map").read_text(), re.M):
        if not any(PAGES.glob(f"*/man3/{symbol}.3")):
            report.lines.append(f"{symbol}.3: there is no such page")
    for link in PAGES.glob("*/man3/leat_*.3"):
        target = re.fullmatch(r"\.so man3/(\S+)\n", link.read_text()).group(1)
        if not re.search(rf"\b{link.stem}\b", read(target)):
            report.lines.append(f"{target}: the function {link.stem} is missing")


def check_form(report):
    """Formatters complain of nothing; what a page says to see also is there."""
    pages = [str(path) for path in PAGES.glob("*/man*/*") if not path.read_text().startswith(".so ")]
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", *pages], capture_output=True, text=True, check=False)
    report.lines += done.stderr.splitlines()
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "error", *pages], capture_output=True, text=True, check=False)
        report.lines += done.stdout.splitlines()
    known = {path.name for path in PAGES.glob("*/man*/*")}
    for path in pages:
        for name, number in re.findall(r"\\fB([\w.\\-]+)\\fR\((\d)\)", pathlib.Path(path).read_text()):
            name = name.replace("\\", "") + "." + number
            if name.startswith(("leat", "libleat")) and name not in known:
                report.lines.append(f"{path}: {name} is not there")


def main():
    if not shutil.which("groff"):
        print("skipped: all: there is no groff to format pages with")
        return 77
    report = Report()
    for check in (check_commands, check_mentions, check_stages, check_daemon, check_interfaces, check_form):
        check(report)
    print("\n".join(report.lines) or "all is there")
    return 1 if report.lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs ctest and lists what was skipped: suite.py BUILD_FOLDER [ctest's arguments].

A test that skips a case prints the line `skipped: CASE: REASON`, or `skipped: all: REASON` if it skips the whole file. The
result of a test with skipped cases shows their number. The list of all of them stands before ctest's summary, which ends the
output. The output of a failed test follows its result. The exit status is that of ctest.
"""
import collections
import re
import shutil
import subprocess
import sys

OUTPUT = re.compile(r"(\d+): (.*)")
RESULT = re.compile(r" *\d+/\d+ Test +#(\d+): (\S+) \.* *(Passed|\*\*\*Skipped)?.* sec *$")
SKIPPED = re.compile(r"skipped: (.+?): (.+)")
SUMMARY = re.compile(r"\d+% tests passed")
# What ctest says of its own work as soon as it shows the output of tests.
NOISE = re.compile(r"$|test \d+$|UpdateCTestConf|Constructing |Done constr|Updating test list|Added \d+ tests|Checking test dep|The following tests passed|\t\S+$")


def count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class Suite:
    """What ctest said so far."""

    def __init__(self):
        self.outputs = collections.defaultdict(list)  # by the number of the test: lines, while it runs
        self.whole = {}  # by the name of a test that was skipped: pairs of case and reason
        self.partial = {}  # the same of a test that ran in part
        self.is_over = False  # its summary has begun

    def result(self, line, number, name, status):
        """The lines to show in place of ctest's line about the result of a test."""
        lines = self.outputs.pop(number, [])
        skips = list(dict.fromkeys(found.groups() for found in map(SKIPPED.match, lines) if found))
        if status == "***Skipped":
            self.whole[name] = skips or [("all", "the test gives no reason")]
        elif skips:
            self.partial[name] = skips
            line += f"  ({count(len(skips), 'case')} skipped)"
        return [line] if status else [line, *lines, ""]

    def report(self):
        """The lines of the list of what was skipped."""
        if not self.whole and not self.partial:
            return ["Nothing was skipped."]
        n_cases = sum(map(len, self.partial.values()))
        lines = [f"Skipped: {count(len(self.whole), 'whole test')}, and {count(n_cases, 'case')} of other tests."]
        for name, pairs in sorted({**self.whole, **self.partial}.items()):
            cases = collections.defaultdict(list)
            for case, reason in pairs:
                cases[reason].append(case)
            lines += [f"  {name}: {', '.join(of_reason)}: {reason}" for reason, of_reason in cases.items()]
        return lines

    def shown(self, line):
        """The lines to show for a line of ctest."""
        if self.is_over:
            return [line]
        if found := OUTPUT.fullmatch(line):
            self.outputs[found[1]].append(found[2])
            return []
        if found := RESULT.match(line):
            return self.result(line, *found.groups())
        if SUMMARY.match(line):
            self.is_over = True
            return ["", *self.report(), "", line]
        return [] if NOISE.match(line) else [line]


def main():
    build, *arguments = sys.argv[1:]
    ctest = shutil.which("ctest", path="/usr/bin") or "ctest"  # that of Debian, whatever else is first on the PATH
    command = [ctest, "--test-dir", build, "--verbose", *arguments]
    suite = Suite()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout:
            for shown in suite.shown(line.rstrip("\n")):
                print(shown, flush=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())

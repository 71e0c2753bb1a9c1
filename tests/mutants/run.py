#!/usr/bin/env python3
"""Puts one bug at a time into a copy of the tree, and tells whether the tests notice it.

    run.py BUILD [NAME...] [--part K/N] [--others SECONDS] [--jobs N]
    run.py --check ROOT

BUILD is a build folder of the tree, whose kind (release, asan, ...) the copy gets. A NAME is a part of the name of a mutant or
of its file; without one, all mutants are tried. `--part K/N` tries each N-th mutant from the K-th on, so that N machines
share the work. The copy is BUILD/mutants; the tree itself stays as it is. For each mutant
run.py builds and runs the tests that its table names. If these pass, it runs the other unit tests of the block for
at most --others seconds (120). Status 1 if a mutant is not noticed and its table does not explain why.

The tables are the files *.py beside this one, one for each block: MUTANTS maps a file to its tests and its mutants. A mutant is a
name, a text that stands exactly once in the file, and the text in its place. A fourth string explains why no test can notice it.
`--check` tells whether each of these texts is still there once, as the test check.mutants does.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# What tests in Python run or load.
PROGRAMS = ("bin/", "lib/", "tests/bench/", "tests/e2e/", "tests/hostile/", "tests/render_templates", "python/")
TEST_FILES = {"e2e": "tests/e2e/test_{}.py", "python": "tests/python/test_{}.py", "tokenizer": "tests/tokenizer/*{}.py",
              "fuzz": "tests/fuzz/*/fuzz_{}.c", "hostile": "tests/hostile/{}.py", "reference": "tests/reference/test_*.py"}
ENDS_S = 300  # a test that takes longer hangs


class Mutant:
    def __init__(self, file, tests, name, old, new, why=None):
        self.file, self.tests, self.name, self.old, self.new, self.why = file, tests.split(), name, old, new, why

    def text(self, root):
        """The file with the bug in."""
        text = (root / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file}: {self.name}: `{self.old}` is there {text.count(self.old)} times")
        return text.replace(self.old, self.new)


def load():
    mutants = []
    for path in sorted(HERE.glob("*.py")):
        if path == pathlib.Path(__file__).resolve():
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        table = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(table)
        for file, (tests, rows) in table.MUTANTS.items():
            mutants += [Mutant(file, tests, *row) for row in rows]
    return mutants


def has_test(root, name):
    block, _, rest = name.partition(".")
    if block in TEST_FILES:
        return any(root.glob(TEST_FILES[block].format(rest.replace("cluster.", "cluster/test_"))))
    return any((root / "tests" / block).glob(f"**/{rest}.c"))


def check(root):
    """What is wrong with the tables."""
    wrong, names = [], set()
    for mutant in load():
        if (mutant.file, mutant.name) in names:
            wrong.append(f"{mutant.file}: {mutant.name}: there are two of that name")
        names.add((mutant.file, mutant.name))
        wrong += [f"{mutant.file}: {mutant.name}: there is no test {test}" for test in mutant.tests if not has_test(root, test)]
        try:
            if mutant.text(root) == (root / mutant.file).read_text(encoding="utf-8"):
                wrong.append(f"{mutant.file}: {mutant.name}: it changes nothing")
        except (OSError, ValueError) as err:
            wrong.append(str(err))
    return wrong


def ran(command, cwd, timeout_s=None):
    """Its status and output; status None if it did not end."""
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as process:
        try:
            output = process.communicate(timeout=timeout_s)[0]
        except subprocess.TimeoutExpired:
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)  # ctest gives each test a group of its own
            return None, process.communicate()[0]
    return process.returncode, output


class Copy:
    """A copy of the tree with a build folder of its own."""

    def __init__(self, build, jobs):
        cache = dict(line.partition("=")[::2] for line in (build / "CMakeCache.txt").read_text().splitlines() if ":" in line)
        self.source = pathlib.Path(cache["CMAKE_HOME_DIRECTORY:INTERNAL"])
        self.root = build / "mutants"
        self.build = self.root / "build" / build.name
        self.jobs = str(jobs)
        self.skipped = set()  # tests that notice nothing here
        self.update()
        options = [f"-D{name.partition(':')[0]}={value}" for name, value in cache.items()
                   if name.startswith(("LEAT_", "CMAKE_BUILD_TYPE:", "CMAKE_C_COMPILER:", "CMAKE_CXX_COMPILER:")) and value]
        self.must(["cmake", "-G", "Ninja", "-S", str(self.root), "-B", str(self.build), *options])
        lines = [line.partition(": ") for line in self.must(["ninja", "-t", "targets", "all"], self.build).splitlines()]
        self.targets = [target for target, _, rule in lines if rule != "phony"]  # neither "test" nor "install"
        self.programs = [target for target in self.targets if target.startswith(PROGRAMS) and "/CMakeFiles/" not in target]
        self.tests = {}
        for test in json.loads(self.must(["ctest", "--show-only=json-v1"], self.build))["tests"]:
            unbuilt = [str(self.build / "tests" / test["name"].replace(".", "_"))]  # of which ctest names no command
            self.tests[test["name"]] = test.get("command", unbuilt)[0]

    def update(self):
        """Brings the tree's files over, and takes away what it no longer has."""
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.source, check=True, capture_output=True,
                                text=True).stdout.splitlines()
        files = {name for name in listed if (self.source / name).is_file()}
        for name in files:
            target, bytes_ = self.root / name, (self.source / name).read_bytes()
            if not target.is_file() or target.read_bytes() != bytes_:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(bytes_)
                target.chmod((self.source / name).stat().st_mode)
        for path in list(self.root.rglob("*")):
            name = path.relative_to(self.root)
            if name.parts[0] != "build" and path.is_file() and str(name) not in files:
                path.unlink()
        (self.root / "build").mkdir(exist_ok=True)
        venv = self.root / "build" / "venv"
        if (self.source / "build" / "venv").exists() and not venv.exists():
            venv.symlink_to((self.source / "build" / "venv").resolve())

    def must(self, command, cwd=None):
        status, output = ran(command, cwd)
        if status != 0:
            sys.exit(f"{' '.join(command[:3])} ...: status {status}\n{output}")
        return output

    def make(self, tests):
        """What is wrong with the build of these tests, or None."""
        targets = set()
        for test in tests:
            command = self.tests[test]
            own = os.path.relpath(command, self.build)
            targets |= {own} if own in self.targets else set(self.programs)
        status, output = ran(["ninja", "-j", self.jobs, *sorted(targets)], self.build)
        return None if status == 0 else output

    def failing(self, tests, limit_s):
        """The first of the tests that fails or hangs; None if all pass in that time, or as many as fit in."""
        end = time.monotonic() + limit_s
        for test in tests:
            left = end - time.monotonic()
            if left <= 0:
                return None
            status, output = ran(["ctest", "-R", f"^{test.replace('.', '[.]')}$"], self.build, ENDS_S)
            if status != 0:
                return test + (" (it hangs)" if status is None else "")
            if "***Skipped" in output:
                self.skipped.add(test)
        return None


def others_of(copy, mutant):
    """The other unit tests of the block of its file."""
    block = mutant.file.partition("/")[0]
    return [test for test, command in copy.tests.items()
            if test.startswith(block + ".") and test not in mutant.tests and os.path.relpath(command, copy.build) in copy.targets]


def judge(copy, mutant, others_s):
    """What notices the mutant, or None."""
    path = copy.root / mutant.file
    whole = path.read_bytes()
    path.write_text(mutant.text(copy.root), encoding="utf-8")
    try:
        if wrong := copy.make(mutant.tests):
            return "NO BUILD:\n" + wrong
        if test := copy.failing(mutant.tests, 1 << 20):
            return test
        others = others_of(copy, mutant) if others_s > 0 else []
        if others and (wrong := copy.make(others)):
            return "NO BUILD:\n" + wrong
        return copy.failing(others, others_s)
    finally:
        path.write_bytes(whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", type=pathlib.Path, metavar="ROOT")
    parser.add_argument("--part", default="1/1", metavar="K/N")
    parser.add_argument("--others", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    arguments = parser.parse_args()
    if arguments.check:
        wrong = check(arguments.check)
        print(*wrong, f"{len(load())} mutants, {len(wrong)} faults of their tables", sep="\n")
        sys.exit(1 if wrong else 0)
    if not arguments.build:
        parser.error("BUILD is missing")
    mutants = [mutant for mutant in load()
               if not arguments.names or any(name in mutant.file + ": " + mutant.name for name in arguments.names)]
    k, n = map(int, arguments.part.split("/"))
    mutants = mutants[k - 1::n]
    if not mutants:
        sys.exit("there is no such mutant")
    copy = Copy(arguments.build.resolve(), arguments.jobs)
    named = sorted({test for mutant in mutants for test in mutant.tests})
    if missing := [test for test in named if test not in copy.tests]:
        sys.exit(f"no such test: {', '.join(missing)}")
    if wrong := copy.make(named):
        sys.exit(wrong)
    if test := copy.failing(named, 1 << 20):
        sys.exit(f"{test} fails without any mutant")
    counts = {"noticed": 0, "explained": 0, "NOT NOTICED": 0, "NO BUILD": 0}
    for mutant in mutants:
        start = time.monotonic()
        found = judge(copy, mutant, 0 if mutant.why else arguments.others)
        result = "NO BUILD" if (found or "").startswith("NO BUILD") else "noticed" if found else "explained" if mutant.why else \
            "NOT NOTICED"
        counts[result] += 1
        print(f"{result}: {mutant.file}: {mutant.name}: {found or mutant.why or ''} ({time.monotonic() - start:.0f} s)", flush=True)
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    if copy.skipped:
        print(f"skipped, so that they noticed nothing: {', '.join(sorted(copy.skipped))}")
    sys.exit(1 if counts["NOT NOTICED"] or counts["NO BUILD"] else 0)


if __name__ == "__main__":
    main()

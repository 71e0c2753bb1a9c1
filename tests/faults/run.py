#!/usr/bin/env python3
"""Lets each allocation and each system call of leatd, leatctl and libleat fail once, in turn, while the programs are at work.

    run.py BIN [--part K/N | --whole] [--scenes a,b] [--calls a,b] [--rounds N] [--anew] [--keep]

A scene (scenes.py) is some work of a program. A round is the scene with one call that fails: calls.py has the calls and the
errnos of each, faults.c lets them fail, each stack of calls once. After each round
- no program has crashed or hangs;
- a program that failed has said why, and one that succeeded has given what it gives otherwise;
- a daemon that still serves gives the right batches, and holds no more descriptors than before; when it ends, it has freed what it
  had. One that cannot start says why.

--part K/N takes the K-th of N parts of all rounds, which are chosen by hashes: the same each time. `1/1` is --whole. Prints what it
found and how many calls failed; status 1 if it found something.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import calls  # noqa: E402
import scenes  # noqa: E402
from leat_harness import BIN  # noqa: E402
from page import Page  # noqa: E402

LIBRARY = BIN.parent / "tests" / "faults" / "faults.so"


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin")
    parser.add_argument("--part", default="1/1", help="K/N: the K-th of N parts of the rounds")
    parser.add_argument("--whole", action="store_const", const="1/1", dest="part")
    parser.add_argument("--scenes", help="these alone")
    parser.add_argument("--calls", help="these alone")
    parser.add_argument("--rounds", type=int, default=10**6, help="at most so many for a call, an errno and a scene")
    parser.add_argument("--anew", action="store_true", help="end the daemon after each fault, to learn which one costs memory")
    parser.add_argument("--keep", action="store_true", help="leave the folder")
    return parser.parse_args()


class Report:
    def __init__(self):
        self.n_rounds, self.found, self.n_of, self.explained = 0, [], collections.Counter(), collections.Counter()

    def add(self, scene, what, page, wrong):
        stack = " < ".join(page.stack())
        for pattern, reason in calls.EXPLAINED:
            if re.search(pattern, f"{what}: {stack}"):
                self.explained[reason] += 1
                return
        self.found.append(wrong)
        print(f"FOUND: {scene.name}: {what}: {wrong}\n    at {stack}", flush=True)


def chosen(call, error, k, n):
    """Allocations are divided by their stacks, other calls by their errnos."""
    return call == "malloc" or zlib.crc32(f"{call} {error}".encode()) % n == k


def run_round(scene, page, report, call, error, is_anew):
    """False: no call failed, as all have."""
    n_failed = page.n_failed
    report.n_rounds += 1
    try:
        scene.act()
    except scenes.Wrong as wrong:
        page.disarm()
        if page.n_failed == n_failed:
            raise
        report.add(scene, f"{call} {error}", page, wrong)
        scene.renew()
        return True
    page.disarm()
    if page.n_failed == n_failed:
        return False
    report.n_of[scene.program, "allocations" if call == "malloc" else "system calls"] += 1
    try:
        scene.check()
        if is_anew:
            scene.finish()
            scene.begin()
    except scenes.Wrong as wrong:
        report.add(scene, f"{call} {error}", page, wrong)
        scene.renew()
    return True


def run_scene(scene, page, report, arguments):
    k, n = map(int, arguments.part.split("/"))
    with scene:
        for call, errors in calls.TABLE.items():
            if arguments.calls and call not in arguments.calls.split(","):
                continue
            for error in errors:
                if not chosen(call, error, k % n, n):
                    continue
                page.aim(call, error, *((k % n, n) if call == "malloc" else ()))
                for _ in range(arguments.rounds):
                    if not run_round(scene, page, report, call, error, arguments.anew):
                        break
        page.disarm()
        try:
            scene.finish()
        except scenes.Wrong as wrong:
            report.add(scene, "the last of them", page, wrong)


def main():
    arguments = options()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-faults-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    report = Report()
    pages = {program: Page(folder / f"page-{program}", LIBRARY) for program in ("leatd", "leatctl")}
    for scene in scenes.make(folder, pages):
        if arguments.scenes and scene.name not in arguments.scenes.split(","):
            continue
        start, n_rounds, n_found = time.monotonic(), report.n_rounds, len(report.found)
        run_scene(scene, pages[scene.program], report, arguments)
        print(f"{scene.name}: {report.n_rounds - n_rounds} rounds, {len(report.found) - n_found} found"
              f"  ({time.monotonic() - start:.1f} s)", flush=True)
    for (program, kind), n in sorted(report.n_of.items()):
        print(f"{program}: {n} {kind} failed, each once")
    for reason, n in report.explained.items():
        print(f"{n} not judged: {reason}")
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if report.found else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs what takes hours, one after the other, and tells at the end what held.

    nightly.py [PATTERN...] [--list] [--again] [--scale X]

What ended well is not run again: begun again, it goes on where it was (build/nightly.jsonl; --again forgets that). A PATTERN is a part
of the names to run. --scale 0.01 shortens what has a duration. It builds the presets release, asan and fuzz (clang 14) as they are needed;
`busy` needs stress-ng, `analyze` gcc 12 and cppcheck. Status 1 if something failed.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
STATE = ROOT / "build" / "nightly.jsonl"
LOGS = ROOT / "build" / "nightly"
FAULT_PARTS, BUSY_RUNS, FUZZ_S, CHAOS_S, SESSIONS_S = 24, 20, 600, 3600, 600
TAIL = 15  # lines of the output of what failed


class Job:
    """A command; `preset` is what must be built before it, and `beside` what runs next to it."""

    def __init__(self, name, preset, *command, beside=None, env=None):
        self.name, self.preset, self.command, self.beside, self.env = name, preset, [str(word) for word in command], beside, env or {}


def jobs(scale):
    """All of them, the cheapest proof of most first."""
    def bin_of(preset):
        return ROOT / "build" / preset / "bin"

    def seconds(n):
        return str(max(5, int(n * scale)))

    python, found = sys.executable, []
    found.append(Job("long tests", "release", python, "tests/suite.py", "build/release", "-j", os.cpu_count() or 1, "-L", "long"))
    found.append(Job("asan tests", "asan", python, "tests/suite.py", "build/asan", "-j", os.cpu_count() or 1, "-R",
                     r"^(tokenizer\.templates|e2e\.(arrow|cache|http|parquet|prepared|prepared_store|share))$"))
    found.append(Job("out of memory", "release", python, "tests/suite.py", "build/release", "-R", r"^pipeline\.test_out_of_memory$",
                     env={"LEAT_TEST_RUNS": "3000"}))
    found.append(Job("analyze", "release", python, "tests/check/analyze.py", "build/release", "--jobs", os.cpu_count() or 1))
    slow = {"LEAT_TEST_SLOW": "5"}
    for part in range(1, FAULT_PARTS + 1):
        found.append(Job(f"faults {part}/{FAULT_PARTS}", "release", python, "tests/faults/run.py", bin_of("release"), "--part",
                         f"{part}/{FAULT_PARTS}"))
    for preset, env in (("release", {}), ("asan", slow)):
        found.append(Job(f"chaos {preset}", preset, python, "tests/hostile/chaos.py", bin_of(preset), "--seconds", seconds(CHAOS_S), env=env))
        found.append(Job(f"sessions {preset}", preset, python, "tests/hostile/sessions.py", bin_of(preset), "--seconds", seconds(SESSIONS_S),
                         env=env))
    for path in sorted((ROOT / "tests/fuzz").glob("*/fuzz_*.c")):
        corpus = ROOT / "tests/fuzz/corpus" / path.stem.removeprefix("fuzz_")
        grown = LOGS / "corpus" / path.stem
        found.append(Job(f"fuzz {path.stem.removeprefix('fuzz_')}", "fuzz", f"build/fuzz/tests/{path.stem}", f"-max_total_time={seconds(FUZZ_S)}",
                         "-rss_limit_mb=4096", f"-artifact_prefix={LOGS}/", grown, *([corpus] if corpus.is_dir() else [])))
    for run in range(1, BUSY_RUNS + 1):
        found.append(Job(f"busy {run}/{BUSY_RUNS}", "release", python, "tests/suite.py", "build/release", "-j", os.cpu_count() or 1, "-LE", "long",
                         beside=["stress-ng", "--cpu", os.cpu_count() or 1, "--io", 1, "--vm", 1, "--vm-bytes", "256M"]))
    sys.path.insert(0, str(ROOT / "tests/mutants"))
    import run as mutants  # noqa: E402  the tables of tests/mutants
    for file in sorted({mutant.file for mutant in mutants.load()}):
        found.append(Job(f"mutants {file}", "release", python, "tests/mutants/run.py", ROOT / "build/release", file))
    return found


def done_before():
    with contextlib.suppress(FileNotFoundError):
        return {row["name"]: row for row in map(json.loads, STATE.read_text().splitlines())}
    return {}


def build(preset, built):
    if preset not in built:
        for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset]):
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        built.add(preset)


def run(job):
    """Its row in the state."""
    log = LOGS / (job.name.replace(" ", "-").replace("/", "-") + ".log")
    for word in job.command:
        if word.startswith(str(LOGS / "corpus")):
            pathlib.Path(word).mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with open(log, "w") as output, contextlib.ExitStack() as stack:
        if job.beside:
            other = stack.enter_context(subprocess.Popen(list(map(str, job.beside)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            stack.callback(other.terminate)
        before = os.times()
        status = subprocess.run(job.command, cwd=ROOT, env={**os.environ, **job.env}, stdout=output, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, check=False).returncode
        after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    last = log.read_text(errors="replace").splitlines()[-TAIL:]
    return {"name": job.name, "status": status, "seconds": round(time.monotonic() - start), "cpu_seconds": round(cpu), "log": str(log), "last": last}


def tell(rows):
    """The summary: sums for each kind, and what failed with its last lines."""
    print(f"\n{'kind':10} {'done':>5} {'failed':>6} {'hours':>7} {'core hours':>11}")
    for kind in dict.fromkeys(row["name"].split()[0] for row in rows):
        of_kind = [row for row in rows if row["name"].split()[0] == kind]
        print(f"{kind:10} {len(of_kind):5} {sum(row['status'] != 0 for row in of_kind):6} {sum(row['seconds'] for row in of_kind) / 3600:7.2f} "
              f"{sum(row['cpu_seconds'] for row in of_kind) / 3600:11.2f}")
    for row in rows:
        if row["status"] != 0:
            print(f"\nFAILED: {row['name']}: status {row['status']}, {row['log']}", *row["last"], sep="\n    ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--list", action="store_true", help="print the names, and which ended well already")
    parser.add_argument("--again", action="store_true", help="run also what ended well before")
    parser.add_argument("--scale", type=float, default=1, metavar="X", help="of durations")
    arguments = parser.parse_args()
    LOGS.mkdir(parents=True, exist_ok=True)
    if arguments.again:
        STATE.unlink(missing_ok=True)
    before, built = done_before(), set()
    wanted = [job for job in jobs(arguments.scale) if not arguments.patterns or any(pattern in job.name for pattern in arguments.patterns)]
    rows = []
    for job in wanted:
        row = before.get(job.name)
        is_done = row is not None and row["status"] == 0
        if arguments.list:
            print(f"{'done' if is_done else '    '} {job.name}")
            continue
        if not is_done:
            build(job.preset, built)
            row = run(job)
            print(f"{'ok' if row['status'] == 0 else 'FAILED'}: {job.name} ({row['seconds']} s)", flush=True)
            with open(STATE, "a") as state:
                state.write(json.dumps(row) + "\n")
        rows.append(row)
    if not arguments.list:
        tell(rows)
        sys.exit(1 if any(row["status"] != 0 for row in rows) else 0)


if __name__ == "__main__":
    main()

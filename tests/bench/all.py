#!/usr/bin/env python3
"""The table of speeds, by one command: leat beside its peers, then the pipelines that show what bounds leat itself.

    all.py BUILD [--parts peers,reference,packed,numbers] [--workers 1,2,8] [--rounds N] [--seconds S] [--minutes M]
           [--rows N] [--json FILE] [--chart FILE.svg]

    peers      compare.py: leat, torch, mlx-data, datasets, Grain, StreamingDataset and LitData, if they are installed; their
               rows must be equal first
    reference  pipeline_bench's own pipeline: CSV, text, tokens, pad 64, shuffle 1000, batch 32
    packed     rows of 2,048 tokens with labels and positions, packed of documents of a cache; batches of 8
    numbers    three columns of numbers out of a CSV file, batches of 1,024

BUILD is a build folder, as build/release. The parts of leat alone run with each number of --workers (default: 1 and all
processors) through a daemon and a client that reads every byte, in turns, --rounds times. The sum of all bytes must be the
same for each number of workers; if not, all.py ends with status 1. It prints medians with the least and most of the rounds, CPU time of
the daemon for a row, and how busy its loop is. It gives up after --minutes (15). --chart draws the medians by chart.py.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import chart

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "client/python"))
from leat.measure.sizing import device_info  # noqa: E402
from leat.measure.table import table  # noqa: E402

PARTS = ("peers", "reference", "packed", "numbers")
PACKED_TOKENS = 2048
EPOCHS = 4  # of a file that is small enough to be made in a moment
NAMES = {"reference": "reference pipeline", "packed": f"packed rows of {PACKED_TOKENS:,} tokens, from the cache",
         "numbers": "three columns of numbers, batches of 1,024"}


class Clock:
    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes

    def run(self, command: list[str], env: dict[str, str] | None = None, shows_progress: bool = False) -> str:
        """What the command prints, unless the time is over."""
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if shows_progress else subprocess.PIPE, text=True,
                                  check=True, env=env,
                                  timeout=max(0.1, self.end - time.monotonic()))
        except subprocess.TimeoutExpired:
            sys.exit(f"the time is over: give more --minutes, or fewer --parts ({' '.join(command[:3])} ..)")
        except subprocess.CalledProcessError as failure:
            sys.exit(f"failed: {' '.join(command)}\n{failure.stdout[-3000:]}{(failure.stderr or '')[-3000:]}")
        return done.stdout


# The pipelines of leat alone.


def write_numbers(path: pathlib.Path, n: int) -> None:
    rng = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("a,b,c\n")
        file.writelines(f"{rng.randrange(100_000)},{rng.random():.4f},{rng.randrange(10)}\n" for _ in range(n))


def write_documents(path: pathlib.Path, n: int) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20_000)]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": " ".join(rng.choices(words, k=rng.randint(50, 800)))}) + "\n" for _ in range(n))


def numbers_stream(folder: pathlib.Path, n_rows: int) -> dict[str, Any]:
    write_numbers(folder / "numbers.csv", n_rows)
    casts = [{"cast": {"input": name, "dtype": dtype}} for name, dtype in (("a", "int32"), ("b", "float32"), ("c", "int64"))]
    return {"source": {"csv": {"paths": [str(folder / "numbers.csv")]}},
            "stages": [*casts, {"select": {"fields": ["a", "b", "c"]}}, {"batch": {"batch_size": 1024}}]}


def packed_stream(folder: pathlib.Path, n_rows: int) -> dict[str, Any]:
    """A hundredth as many documents as rows of numbers, of some 3,600 tokens each."""
    write_documents(folder / "documents.jsonl", max(1, n_rows // 100))
    (folder / "cache").mkdir()
    pack = {"fields": ["ids"], "length": PACKED_TOKENS, "how": "concat", "split": True, "value": 0, "labels": "labels",
            "position_ids": "positions"}
    return {"source": {"jsonl": {"paths": [str(folder / "documents.jsonl")]}},
            "cache": {"path": str(folder / "cache"), "compression": "raw"},
            "stages": [{"tokenize": {"input": "text", "output": "ids", "tokenizer": str(ROOT / "config/sentences/tokenizer.json")}},
                       {"pack": pack}, {"batch": {"batch_size": 8}}]}


def commands(part: str, options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    bench = [str(options.build / "tests/bench/pipeline_bench"), "--bin", str(options.build / "bin")]
    if part == "reference":
        return [*bench, "--rows", str(options.rows), "--folder", str(folder / "reference")]
    stream = (numbers_stream if part == "numbers" else packed_stream)(folder, options.rows)
    config = folder / f"{part}.yaml"
    config.write_text("streams:\n  bench: " + json.dumps(stream) + "\n", encoding="utf-8")
    return [*bench, "--config", str(config), "--epochs", str(EPOCHS)]


def measure(part: str, options: argparse.Namespace, folder: pathlib.Path, clock: Clock) -> dict[int, list[dict[str, Any]]]:
    """The rounds of each number of workers, with the same sum of bytes. A run before makes data and caches."""
    command = commands(part, options, folder)
    checksum = json.loads(clock.run(command))["checksum"]
    rounds: dict[int, list[dict[str, Any]]] = {n: [] for n in options.workers}
    for turn in range(options.rounds):
        for n in options.workers if turn % 2 == 0 else options.workers[::-1]:
            found = json.loads(clock.run([*command, "--workers", str(n)]))
            if found["checksum"] != checksum:
                sys.exit(f"{part}: the sum of bytes of {n} workers is {found['checksum']}, not {checksum}")
            rounds[n].append({key: value for key, value in found.items() if key != "stats"})
    return rounds


# What comes of it.


def median(rounds: list[dict[str, Any]], key: str) -> float:
    return statistics.median(each[key] for each in rounds)


def row(n_workers: int, rounds: list[dict[str, Any]]) -> tuple[str, ...]:
    rates = [each["rows_per_s"] for each in rounds]
    cpu = statistics.median(each["daemon_cpu_s"] / each["rows"] for each in rounds)
    return (f"{n_workers} workers" if n_workers > 1 else "1 worker", f"{statistics.median(rates):,.0f}",
            f"{min(rates):,.0f} to {max(rates):,.0f}", f"{median(rounds, 'tensor_mb_per_s') / 1e3:.2f}", f"{cpu * 1e9:,.0f}",
            f"{median(rounds, 'loop_busy_share'):.2f}", f"{median(rounds, 'daemon_hwm_mb'):.0f}")


def report(part: str, rounds: dict[int, list[dict[str, Any]]]) -> None:
    head = ("", "rows/s", "least to most", "GB/s of batches", "ns of CPU a row", "loop busy", "daemon MB")
    print(f"\n{NAMES[part]}: the same sum of bytes with {' and '.join(map(str, rounds))} workers\n"
          + table([row(n, each) for n, each in rounds.items()], head), flush=True)


def peers(options: argparse.Namespace, folder: pathlib.Path, clock: Clock) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(options.build / "python"), os.environ.get("PYTHONPATH", "")])}
    found = folder / "peers.json"
    print(clock.run([sys.executable, str(HERE / "compare.py"), "--rows", str(options.rows), "--rounds", str(options.rounds),
                     "--seconds", str(options.seconds), "--contenders", "torch,mlx-data,datasets,grain,streaming,litdata,leat",
                     "--folder", str(folder), "--json", str(found)], env, shows_progress=True), flush=True)
    return json.loads(found.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def shown(found: dict[str, Any], date: str) -> dict[str, Any]:
    """What chart.py draws."""
    pipelines = dict(chart.figures(found["peers"], date)["pipelines"]) if "peers" in found else {}
    for part, rounds in found.items():
        if part in NAMES:
            pipelines[NAMES[part]] = {f"leat, {n} worker{'s' * (int(n) > 1)}": round(median(each, "rows_per_s"))
                                      for n, each in rounds.items()}
    machine = chart.machine_of(found)
    return {"date": date, "machine": machine, "pipelines": pipelines}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--workers", default=",".join(str(n) for n in sorted({1, os.cpu_count() or 1})))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each contender in each round")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--chart", type=pathlib.Path)
    options = parser.parse_args()
    options.parts, options.workers = options.parts.split(","), [int(n) for n in options.workers.split(",")]
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"{part!r} is no part: there are {', '.join(PARTS)}")
    if min(options.rounds, options.rows, *options.workers) < 1:
        parser.error("--rounds, --rows and --workers are above 0")
    return options


def main() -> None:
    options = arguments()
    clock = Clock(options.minutes)
    found: dict[str, Any] = {"machine": str(device_info()), "load": os.getloadavg()[0]}
    print(f"{found['machine']}\nload {found['load']:.1f}; {options.rounds} rounds", flush=True)
    for part in options.parts:
        with tempfile.TemporaryDirectory(prefix="leat-all-") as folder:
            if part == "peers":
                found[part] = peers(options, pathlib.Path(folder), clock)
            else:
                found[part] = measure(part, options, pathlib.Path(folder), clock)
                report(part, found[part])
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if options.chart:
        options.chart.write_text(chart.draw(shown(found, datetime.date.today().isoformat())), encoding="utf-8")


if __name__ == "__main__":
    main()

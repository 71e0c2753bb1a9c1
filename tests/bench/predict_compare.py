#!/usr/bin/env python3
"""What `leatctl explain` predicts beside what `leatctl run` then takes, and what fusing is worth.

    predict_compare.py BIN FILE.yaml[:STREAM] ... [--workers 1,2] [--rounds 3] [--batches N]

BIN is the folder of leatctl and leatd. Each round predicts, runs an epoch (or N batches of it) through
a private daemon, and runs it again with --no-fuse, whose digest must be the same; and once more each
within one process, for processor time, which other users of the machine disturb less. Prints medians:
rows per second and processor time for a row, predicted and real, with the errors, and what is gained by
fusing in both.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess


def ctl(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, timeout=1800)
    if done.returncode != 0:
        raise SystemExit(f"leatctl {' '.join(map(str, arguments))}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def processor_s(binary, *arguments):
    """What the command printed, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = ctl(binary, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return printed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(binary, name, workers, rounds, batches):
    file, _, stream = name.partition(":")
    where = [file, *([stream] if stream else []), "--workers", workers]
    limit = ["--batches", batches] if batches else []
    found = {key: [] for key in ("predicted", "real", "unfused", "predicted_ns", "real_ns", "unfused_ns")}
    digests = set()
    for _ in range(rounds):
        forecast = ctl(binary, "explain", *where, "--json")["forecast"]
        if not forecast["is_measured"]:
            raise SystemExit(f"{name}: {forecast['reason']}")
        found["predicted"].append(forecast["rows_per_s"])
        parts = sum(forecast[part] for part in ("read_ns", "map_ns", "order_ns", "collate_ns", "cache_write_ns"))
        found["predicted_ns"].append(parts * forecast["records_per_s"] / forecast["rows_per_s"])
        _, start_s = processor_s(binary, "explain", *where, "--json", "--no-measure")
        for key, more in (("real", []), ("unfused", ["--no-fuse"])):
            run = ctl(binary, "run", *where, *limit, "--format", "json", "--digest", *more)
            found[key].append(run["rows"] / run["seconds"])
            digests.add(run["digest"])
            run, used_s = processor_s(binary, "run", *where, *limit, "--format", "json", "--no-daemon", *more)
            found[f"{key}_ns"].append((used_s - start_s) / run["rows"] * 1e9)
    if len(digests) != 1:
        raise SystemExit(f"{name}: not one digest: {digests}")
    return {key: statistics.median(values) for key, values in found.items()}, forecast["bound"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int)
    options = parser.parse_args()
    print(f"{'stream':24} {'workers':>7} {'predicted/s':>11} {'real/s':>10} {'error':>6} {'gained':>6}"
          f" {'predicted ns':>12} {'real ns':>9} {'error':>6} {'gained':>6}  bound")
    for name in options.files:
        for workers in options.workers.split(","):
            found, bound = compare(options.bin / "leatctl", name, workers, options.rounds, options.batches)
            print(f"{name[-24:]:24} {workers:>7} {found['predicted']:11.0f} {found['real']:10.0f} "
                  f"{found['predicted'] / found['real'] - 1:+6.0%} {found['real'] / found['unfused'] - 1:+6.0%} "
                  f"{found['predicted_ns']:12.0f} {found['real_ns']:9.0f} "
                  f"{found['predicted_ns'] / found['real_ns'] - 1:+6.0%} "
                  f"{found['unfused_ns'] / found['real_ns'] - 1:+6.0%}  {bound}", flush=True)


if __name__ == "__main__":
    main()

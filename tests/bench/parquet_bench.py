#!/usr/bin/env python3
"""parquet_bench.py: what reading a column of texts costs: Parquet by leat and by pyarrow, Arrow and JSON Lines by leat.

    parquet_bench.py BIN [--megabytes N] [--rounds N]

Made-up prose is written by pyarrow in several codecs. leat reads it into records, of which a filter keeps none; pyarrow reads it in
batches of 1,024 rows, on one thread. Figures are seconds of CPU, the least of all rounds, less what a file of one row takes. Needs
a Python with pyarrow and NumPy. Prints one line of JSON.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

CODECS = ["none", "snappy", "zstd", "lz4"]
READ = """
import sys, resource, pyarrow as pa, pyarrow.parquet as pq
pa.set_cpu_count(1)
before = resource.getrusage(resource.RUSAGE_SELF)
for batch in pq.ParquetFile(sys.argv[1]).iter_batches(1024, columns=["text", "label"], use_threads=False):
    pass
after = resource.getrusage(resource.RUSAGE_SELF)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


def write(folder, megabytes):
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("etaoinshrdlucmfwypvbgk"), rng.integers(2, 9))) for _ in range(30000)]
    weights = 1 / np.arange(1, len(words) + 1)
    rows, n_bytes = [], 0
    while n_bytes < megabytes * 1e6:
        rows.append(" ".join(words[i] for i in rng.choice(len(words), int(rng.lognormal(5.3, 0.8)) + 3, p=weights / weights.sum())))
        n_bytes += len(rows[-1])
    table = pa.table({"text": rows, "label": pa.array([i % 7 for i in range(len(rows))], pa.int32())})
    for codec in CODECS:
        pq.write_table(table, folder / f"{codec}.parquet", compression=codec, row_group_size=8000)
    pq.write_table(table, folder / "delta.parquet", use_dictionary=False, column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY"},
                   data_page_version="2.0", row_group_size=8000)
    with ipc.new_stream(folder / "text.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    for name, some in [("text.jsonl", rows), ("one.jsonl", rows[:1])]:
        (folder / name).write_text("".join(json.dumps({"text": text, "label": i % 7}) + "\n" for i, text in enumerate(some)))
    return n_bytes


def leat(binaries, folder, name):
    kind = name.rsplit(".", 1)[1]
    source = {kind: {"paths": [str(folder / name)], "fields": {"text": "text", "label": "int32"}}}
    stages = [{"filter": {"input": "text", "empty": True}}, {"select": {"fields": ["label"]}}, {"batch": {"batch_size": 256}}]
    (folder / "stream.json").write_text(json.dumps({"streams": {"s": {"source": source, "stages": stages}}}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([binaries / "leatctl", "run", folder / "stream.json", "--no-daemon"], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pyarrow(path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return float(subprocess.run([sys.executable, "-c", READ, path], capture_output=True, check=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        n_bytes = write(folder, args.megabytes)
        seconds = {}
        for _ in range(args.rounds):
            for file in ["one.jsonl", "text.jsonl", "text.arrow", *(f"{codec}.parquet" for codec in [*CODECS, "delta"])]:
                seconds.setdefault(file, []).append(leat(args.binaries, folder, file))
                if file.endswith(".parquet"):
                    seconds.setdefault(f"pyarrow {file}", []).append(pyarrow(folder / file))
    best = {file: min(values) for file, values in seconds.items()}
    start = best.pop("one.jsonl")
    cpu = {file: round(value - (0 if file.startswith("pyarrow") else start), 4) for file, value in best.items()}
    ratios = {codec: round(cpu[f"{codec}.parquet"] / cpu[f"pyarrow {codec}.parquet"], 2) for codec in [*CODECS, "delta"]}
    print(json.dumps({"text_bytes": n_bytes, "cpu_seconds": cpu, "of_pyarrow": ratios}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""parquet_bench.py: what Parquet costs: a column of texts read by leat and by pyarrow, and its tokens in batches by leat and `datasets`.

    parquet_bench.py BIN [--megabytes N] [--rounds N] [--tokenizer tokenizer.json] [--parts read,tokens]

Made-up prose is written by pyarrow in several codecs, and as Arrow and JSON Lines, which are also compressed with zstd. All figures
are seconds of CPU, user and system, of all processes, the least of all rounds; those of leat less what a file of one row takes.
`of_jsonl` compares each Parquet file with plain JSON Lines of the same rows, `of_zstd_jsonl` those with a codec with compressed ones.

    read     leat reads the rows, of which a filter keeps none; pyarrow reads them in batches of 1,024 rows, on one thread
    tokens   batches of 32 rows, truncated to 512 tokens and padded: leat with two workers from each file, and `datasets` (streaming,
             batches of texts by `tokenizers`) with torch's DataLoader of two workers, from Parquet. The ids of all rows must be
             equal first

Needs a Python with pyarrow and NumPy, for `tokens` also with datasets, torch and tokenizers. Prints one line of JSON.
"""
import argparse
import collections
import hashlib
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTH = 512
FILES = [f"{codec}.parquet" for codec in [*CODECS, "delta"]]  # delta: with snappy
LINES = ["text.jsonl", "text.jsonl.zst"]
DATASETS = f"""
import json, sys
import datasets, tokenizers, torch
from torch.utils.data import DataLoader
path, model, n_workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
tokenizer = tokenizers.Tokenizer.from_file(model)
tokenizer.enable_truncation({LENGTH})
def encode(rows):
    return {{"ids": [each.ids for each in tokenizer.encode_batch(rows["text"], add_special_tokens=False)], "label": rows["label"]}}
def collate(rows):
    width = max(len(row["ids"]) for row in rows)
    ids = torch.zeros((len(rows), (width + 7) // 8 * 8), dtype=torch.int32)
    for i, row in enumerate(rows):
        ids[i, :len(row["ids"])] = torch.tensor(row["ids"], dtype=torch.int32)
    return {{"ids": ids, "label": torch.tensor([row["label"] for row in rows]), "length": [len(row["ids"]) for row in rows]}}
rows = datasets.load_dataset("parquet", data_files=[path], split="train", streaming=True).map(encode, batched=True, remove_columns=["text"])
for batch in DataLoader(rows, batch_size=32, num_workers=n_workers, collate_fn=collate):
    if n_workers == 0:
        for ids, n, label in zip(batch["ids"].tolist(), batch["length"], batch["label"].tolist()):
            print(json.dumps([ids[:n], label]))
"""


def write(folder, megabytes):
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("etaoinshrdlucmfwypvbgk"), rng.integers(2, 9))) for _ in range(30000)]
    weights = 1 / np.arange(1, len(words) + 1)
    rows, n_bytes = [], 0
    while n_bytes < megabytes * 1e6:
        rows.append(" ".join(words[i] for i in rng.choice(len(words), int(rng.lognormal(5.3, 0.8)) + 3, p=weights / weights.sum())))
        n_bytes += len(rows[-1])
    pq.write_table(pa.table({"text": rows[:1], "label": pa.array([0], pa.int32())}), folder / "one.parquet")
    table = pa.table({"text": rows, "label": pa.array([i % 7 for i in range(len(rows))], pa.int32())})
    for codec in CODECS:
        pq.write_table(table, folder / f"{codec}.parquet", compression=codec, row_group_size=8000)
    pq.write_table(table, folder / "delta.parquet", use_dictionary=False, column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY"},
                   data_page_version="2.0", row_group_size=8000)
    with ipc.new_stream(folder / "text.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    for name, some in [("text.jsonl", rows), ("one.jsonl", rows[:1])]:
        (folder / name).write_text("".join(json.dumps({"text": text, "label": i % 7}) + "\n" for i, text in enumerate(some)))
    with pa.CompressedOutputStream(str(folder / "text.jsonl.zst"), "zstd") as file:
        file.write((folder / "text.jsonl").read_bytes())
    return n_bytes


def source_of(folder, name):
    return {name.split(".")[1]: {"paths": [str(folder / name)], "fields": {"text": "text", "label": "int32"}}}


def of_lines(seconds):
    """What each Parquet file takes of what JSON Lines take."""
    plain, zstd = (seconds[name] for name in LINES)
    return {"of_jsonl": {name: round(seconds[name] / plain, 2) for name in FILES},
            "of_zstd_jsonl": {name: round(seconds[name] / zstd, 2) for name in FILES if name != "none.parquet"}}


def leat(binaries, folder, name):
    stages = [{"filter": {"input": "text", "empty": True}}, {"select": {"fields": ["label"]}}, {"batch": {"batch_size": 256}}]
    (folder / "stream.json").write_text(json.dumps({"streams": {"s": {"source": source_of(folder, name), "stages": stages}}}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([binaries / "leatctl", "run", folder / "stream.json", "--no-daemon"], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pyarrow(path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return float(subprocess.run([sys.executable, "-c", READ, path], capture_output=True, check=True, env=environment).stdout)


# ---- tokens in batches


def token_stream(folder, name, model):
    stages = [{"tokenize": {"input": "text", "output": "ids", "tokenizer": str(model), "max_length": LENGTH, "add_special_tokens": False}},
              {"select": {"fields": ["ids", "label"]}}, {"pad": {"input": "ids", "multiple_of": 8, "value": 0, "mask": "mask"}},
              {"batch": {"batch_size": 32}}]
    (folder / "tokens.json").write_text(json.dumps({"streams": {"s": {"source": source_of(folder, name), "stages": stages}}}))
    return folder / "tokens.json"


def spent(command, **options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, check=True, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def run_datasets(folder, name, model, n_workers):
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    return spent([sys.executable, "-c", DATASETS, folder / name, model, str(n_workers)], env=environment)


def rows_of(pairs):
    return collections.Counter(hashlib.sha256(json.dumps(pair).encode()).hexdigest() for pair in pairs)


def check_tokens(binaries, folder, names, model):
    """All of them have the same rows, in any order."""
    lines = run_datasets(folder, "snappy.parquet", model, 0)[1].splitlines()
    wanted = rows_of(json.loads(line) for line in lines)
    for name in names:
        lines = spent([binaries / "leatctl", "dump", token_stream(folder, name, model)])[1].splitlines()
        rows = map(json.loads, lines)
        if rows_of([row["ids"][:sum(row["mask"])], row["label"]] for row in rows) != wanted:
            sys.exit(f"{name}: rows of leat are others than those of datasets")


def measure_tokens(binaries, folder, model, rounds):
    names = [*FILES, "text.arrow", *LINES]
    check_tokens(binaries, folder, names, model)
    seconds = {}
    for _ in range(rounds):
        for name in ["one.jsonl", *names]:
            command = [binaries / "leatctl", "run", token_stream(folder, name, model), "--workers", "2"]
            seconds.setdefault(name, []).append(spent(command)[0])
        for name in ["one.parquet", "snappy.parquet"]:
            seconds.setdefault(f"datasets {name}", []).append(run_datasets(folder, name, model, 2)[0])
    best = {name: min(values) for name, values in seconds.items()}
    start, start_datasets = best.pop("one.jsonl"), best.pop("datasets one.parquet")
    best = {name: value - (start_datasets if name.startswith("datasets") else start) for name, value in best.items()}
    return {"cpu_seconds": {name: round(value, 3) for name, value in best.items()}, **of_lines(best),
            "datasets_of_leat": round(best["datasets snappy.parquet"] / best["snappy.parquet"], 1)}


def measure_reading(binaries, folder, rounds):
    seconds = {}
    for _ in range(rounds):
        for file in ["one.jsonl", *LINES, "text.arrow", *FILES]:
            seconds.setdefault(file, []).append(leat(binaries, folder, file))
            if file.endswith(".parquet"):
                seconds.setdefault(f"pyarrow {file}", []).append(pyarrow(folder / file))
    best = {file: min(values) for file, values in seconds.items()}
    start = best.pop("one.jsonl")
    cpu = {file: round(value - (0 if file.startswith("pyarrow") else start), 4) for file, value in best.items()}
    return {"cpu_seconds": cpu, "of_pyarrow": {file: round(cpu[file] / cpu[f"pyarrow {file}"], 2) for file in FILES}, **of_lines(cpu)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=ROOT / "config/sentences/tokenizer.json")
    parser.add_argument("--parts", default="read,tokens")
    args = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found["text_bytes"] = write(folder, args.megabytes)
        if "read" in args.parts.split(","):
            found["read"] = measure_reading(args.binaries, folder, args.rounds)
        if "tokens" in args.parts.split(","):
            found["tokens"] = measure_tokens(args.binaries, folder, args.tokenizer.resolve(), args.rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

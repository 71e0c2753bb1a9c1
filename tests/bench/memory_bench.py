#!/usr/bin/env python3
"""Whether the daemon keeps to its memory_limit: eight streams of all kinds, sixteen trainers of
different paces, several limits. Prints a JSON object a limit: the peak against the limit, what the
account did not know of and where that was, batches and longest wait of each trainer, and what
was refused.

    memory_bench.py BIN [--limits 128MiB,256MiB] [--seconds 20] [--workers 4] [--tokenizer FILE]
                    [--set usual|hidden] [--streams NAME,..]

Exit status 1: the peak is above 1.1 times a limit, or a trainer that pulls got nothing for long.
"""
import argparse
import gzip
import json
import lzma
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

import data  # noqa: E402
import leat_harness  # noqa: E402
import trainers as paced  # noqa: E402
from leat_harness import Daemon  # noqa: E402

MIB = 1 << 20
ECHO = """import json, sys
for line in sys.stdin:
    record = json.loads(line)
    print(json.dumps({"_leat": record["_leat"], "text": record["text"].upper()}), flush=True)
"""


def write_prose(folder, n_documents, seed=3):
    """Documents of log-normal lengths, in two plain files, one of gzip members and one of zstd."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20000)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(
        [*letters, *("##" + c for c in letters), *words])]) + "\n")
    for name in ("a", "b"):
        lines = []
        for i in range(n_documents):
            length = min(2000, max(3, int(rng.lognormvariate(4.5, 0.9))))
            lines.append(json.dumps({"id": i, "text": " ".join(rng.choices(words, k=length))}).encode() + b"\n")
        (folder / f"{name}.jsonl").write_bytes(b"".join(lines))
    with open(folder / "b.jsonl.gz", "wb") as file:
        for at in range(0, n_documents, 500):
            file.write(gzip.compress(b"".join(lines[at:at + 500]), 1))
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-q", "-f", folder / "a.jsonl", "-o", folder / "a.jsonl.zst"], check=True)
    (folder / "echo.py").write_text(ECHO)


def prose(source, stages, tokenizer="vocab.txt", length=256, **options):
    return {"source": source, **options, "stages": [
        {"tokenize": {"input": "text", "output": "ids", "tokenizer": tokenizer, "max_length": length}}, *stages]}


def padded(length, *stages):
    return [{"pad": {"input": "ids", "length": length, "value": 0, "mask": "mask"}},
            {"select": {"fields": ["ids", "mask"]}}, *stages]


def jsonl(*paths):
    return {"jsonl": {"paths": list(paths)}}


def eight_streams(folder, tokenizer):
    csv = data.titanic(folder, 200000)
    packed = ["b.jsonl.gz", *(["a.jsonl.zst"] if (folder / "a.jsonl.zst").exists() else [])]
    batch = [{"batch": {"batch_size": 32}}, {"prefetch": {"prefetch_size": 4}}]
    exec_stage = {"exec": {"command": [sys.executable, str(folder / "echo.py")], "inputs": ["text"],
                           "schema": {"text": "text"}, "processes": 2}}
    mixed = prose({"mix": {"sources": [jsonl("a.jsonl"), jsonl("b.jsonl.gz")], "weights": [2, 1],
                           "exhausted": "repeat"}}, padded(256, {"shuffle": {"buffer_size": 500}}, *batch))
    mixed["stages"].insert(0, exec_stage)
    return {
        "model": prose(jsonl("a.jsonl"), padded(256, {"shuffle": {"buffer_size": 1000}}, *batch),
                       tokenizer=tokenizer, block_bytes=1 << 20),
        "window": data.titanic_stream(csv, batch_size=512, length=64, shuffle=100000),
        "pack": prose(jsonl("a.jsonl"), [
            {"pack": {"fields": ["ids"], "length": 2048, "how": "best_fit", "window": 4096, "value": 0,
                      "split": True, "position_ids": "positions"}},
            {"select": {"fields": ["ids", "positions"]}}, {"batch": {"batch_size": 8}}], length=2048),
        "bucket": prose(jsonl(*packed), padded(512, {"bucket": {"input": "ids", "window": 4096}}, *batch), length=512,
                        decode_ahead=16 << 20),
        "global": prose(jsonl("b.jsonl"), padded(128, {"shuffle": {"global": True, "max_bytes": "64MiB"}}, *batch),
                        length=128),
        "mixed": mixed,
        "cached": prose(jsonl("a.jsonl"), padded(256, {"dedup": {"max_records": 200000}}, *batch),
                        cache={"path": str(folder / "cache"), "compression": "auto"}),
        "unbounded": {"source": jsonl("b.jsonl"), "stages": [
            {"tokenize": {"input": "text", "output": "ids", "tokenizer": "vocab.txt"}},
            {"pad": {"input": "ids", "longest": True, "value": 0, "mask": "mask"}}, {"select": {"fields": ["ids", "mask"]}},
            {"batch": {"batch_size": 64}}]},
    }


def write_hidden(folder, n):
    """What has small records and large tables, or large records and small tables."""
    rng = random.Random(5)
    (folder / "numbers.csv").write_text("id,x\n" + "".join(f"{i},{i % 97}\n" for i in range(n * 100)))
    with open(folder / "giants.jsonl", "w") as file:
        for i in range(200):
            n_numbers = rng.choice([10, 100, 1000, 100000, 1000000, 4000000])
            file.write('{"id": %d, "text": "%s", "list": [%s]}\n' % (i, "x" * 1000, ("7," * n_numbers)[:-1]))
    with lzma.open(folder / "numbers.csv.xz", "wb", preset=9) as file:
        file.write((folder / "numbers.csv").read_bytes())
    with open(folder / "bad.csv", "w") as file:
        file.write("id,x\n" + "".join(f"{'bad' * 30 if i % 2 else i},{i % 97}\n" for i in range(n * 10)))
    (folder / "many").mkdir()
    for i in range(n // 4):
        (folder / "many" / f"a-file-with-a-somewhat-long-name-{i:08}.csv").write_text("id,x\n1,2\n3,4\n")


def hidden_streams(folder):
    """Each of whose memory is elsewhere: references, hashes, a parser, a decoder, names of files."""
    def numbers(*stages, path="numbers.csv", batch_size=65536, **options):
        return {"source": {"csv": {"paths": [path]}}, **options, "stages": [
            {"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}}, *stages,
            {"batch": {"batch_size": batch_size}}]}
    giants = {"source": {"jsonl": {"paths": ["giants.jsonl"], "fields": {"id": "int64", "list": "json"}}},
              "stages": [{"select": {"fields": ["id"]}}, {"batch": {"batch_size": 8}}]}
    return {
        "large": numbers(batch_size=1 << 20),
        "dedup": numbers({"dedup": {"input": "id", "max_records": 4000000}}),
        "giants": giants,
        "xz": numbers(path="numbers.csv.xz"),
        "global": numbers({"shuffle": {"global": True, "max_bytes": "256MiB"}}),
        "many": numbers(path=str(folder / "many"), batch_size=32),
        "bad": numbers(path="bad.csv", batch_size=512, on_error="quarantine", quarantine=str(folder / "bad.out")),
        "shuffle": numbers({"shuffle": {"buffer_size": 1 << 20}}),
    }


def bytes_of(text):
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return int(float(text[:-3]) * units[text[-3:]]) if text[-3:] in units else int(text)


def mib(value):
    if isinstance(value, dict):
        return {key: mib(item) for key, item in value.items()}
    return round(value / MIB, 1)


def measure(folder, streams, limit, options):
    shutil.rmtree(folder / "cache", ignore_errors=True)
    names = list(streams)
    with Daemon(folder, data.yaml_text(streams, memory_limit=limit, max_user_memory=limit), "--workers", str(options.workers)) as daemon:
        watch = paced.Watch(daemon, limit)
        base = watch.look()["memory_used_bytes"]
        trainers = [paced.Trainer(daemon, names[i % len(names)], paced.Trainer.PACES[(i + i // len(names)) % 5],
                                  is_copy=names[i % len(names)] == "unbounded" or i % 5 == 4, seed=i)
                    for i in range(2 * len(names))]
        try:
            paced.run(daemon, trainers, watch, options.seconds)
        finally:
            for trainer in trainers:
                trainer.end()
        figures = watch.figures()
        leat_harness.wait_until(lambda: daemon.status()["n_sessions"] == 0, "all trainers are gone")
        leat_harness.wait_until(lambda: daemon.status()["memory_used_bytes"] < base + MIB, "their memory is given back")
        rest = daemon.status()
        pools = {s["name"]: {p["name"]: mib(p["peak_bytes"]) for p in s["pools"]}
                 for s in json.loads(daemon.ctl("stats", "--json").stdout)}
    share = figures.pop("share")
    starved = [f"{t.stream}/{t.pace}" for t in trainers if not t.messages and
               t.longest_wait_s > options.patience]
    return {"limit_mib": limit // MIB, "share": share, **{k + "_mib": mib(v) for k, v in figures.items() if k != "limit"},
            "base_mib": mib(base), "rss_at_rest_mib": mib(rest["rss_bytes"]), "used_at_rest_mib": mib(rest["memory_used_bytes"]),
            "starved": starved,
            "trainers": [f"{t.stream}/{t.pace}{'/copy' if t.is_copy else ''}: {t.n_batches} batches, "
                         f"{t.n_starts} starts, waited {t.longest_wait_s:.1f} s" for t in trainers],
            "peaks_mib": pools, "refused": sorted({t.stream: t.messages[0] for t in trainers if t.messages}.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bin")
    parser.add_argument("--limits", default="96MiB,160MiB,256MiB,512MiB,1GiB,4GiB")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--tokenizer", default="vocab.txt")
    parser.add_argument("--documents", type=int, default=20000)
    parser.add_argument("--streams", default="")
    parser.add_argument("--set", choices=["usual", "hidden"], default="usual")
    parser.add_argument("--patience", type=float, default=15, help="seconds that a trainer may wait for a batch")
    options = parser.parse_args()
    if options.tokenizer != "vocab.txt":
        options.tokenizer = os.path.abspath(options.tokenizer)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-memory-"))
    is_bad = False
    try:
        if options.set == "usual":
            write_prose(folder, options.documents)
            streams = eight_streams(folder, options.tokenizer)
        else:
            write_hidden(folder, options.documents)
            streams = hidden_streams(folder)
        if options.streams:
            streams = {name: streams[name] for name in options.streams.split(",")}
        for limit in map(bytes_of, options.limits.split(",")):
            result = measure(folder, streams, limit, options)
            print(json.dumps(result, indent=1), flush=True)
            is_bad |= result["share"] > 1.1 or bool(result["starved"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if is_bad else 0)


if __name__ == "__main__":
    main()

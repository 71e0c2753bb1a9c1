#!/usr/bin/env python3
"""Compressed files, directories, FIFOs and the standard input through the real programs; what
`leatctl describe` says of them.

    test_sources.py BIN [PATTERN]
"""
import bz2
import gzip
import json
import lzma
import os
import random
import statistics
import subprocess
import threading

import data
import leat_harness
from leat_harness import BIN, Daemon, ctl, run_digest

STAGES = [{"hash_bucket": {"input": "text", "output": "h", "buckets": 1000003}}, {"select": {"fields": ["id", "h"]}},
          {"shuffle": {"buffer_size": 100}}, {"batch": {"batch_size": 16}}]


def records(n=3000):
    rng = random.Random(3)
    return "".join(json.dumps({"id": i, "text": " ".join(rng.choice(["mill", "leat", "water", "wheel"]) for _ in range(9))}) + "\n"
                   for i in range(n)).encode()


def write_stream(folder, paths, **options):
    file = folder / "stream.yaml"
    file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": paths}}, **options, "stages": STAGES}}))
    return file


def test_compressed(folder):
    raw = records()
    (folder / "plain").write_bytes(raw)
    expected = run_digest(write_stream(folder, ["plain"]), "--epochs", 2)
    half = len(raw) // 2
    packed = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
    for name, compress in packed.items():
        (folder / "packed").write_bytes(compress(raw[:half]) + compress(raw[half:]))
        file = write_stream(folder, ["packed"])
        for mode in (["--no-daemon"], ["--workers", 2], ["--workers", 2, "--delivery", "copy"]):
            assert run_digest(file, "--epochs", 2, *mode) == expected, f"{name} {mode}"
    with Daemon(folder, file) as daemon:
        assert daemon.digest("s", "--epochs", 2) == expected


def test_damaged_files_are_named(folder):
    raw = records()
    (folder / "good").write_bytes(raw)
    (folder / "bad").write_bytes(gzip.compress(raw)[:-2000])
    for mode in (["--no-daemon"], []):
        done = ctl("run", write_stream(folder, ["good", "bad", "good"]), *mode, check=False)
        message = done.stderr.decode()
        assert done.returncode > 0 and "bad:" in message and "gzip: the file is truncated" in message, message
    aside = folder / "aside.jsonl"
    file = write_stream(folder, ["good", "bad", "good"], on_error="quarantine", quarantine=str(aside))
    digests = {run_digest(file, *mode) for mode in (["--no-daemon"], ["--workers", 2])}
    assert len(digests) == 1, digests
    record, = map(json.loads, aside.read_text().splitlines())
    assert record["file"].endswith("bad") and "truncated" in record["reason"], record
    assert raw[record["offset"]:].startswith(record["raw"].encode()), record
    assert raw[:record["offset"]].count(b"\n") + 1 == record["line"], record


def feed(path, raw):
    """Writes to a FIFO in small parts from a thread."""
    def write():
        with open(path, "wb") as fifo:
            for at in range(0, len(raw), 10000):
                fifo.write(raw[at:at + 10000])
    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_fifo(folder):
    raw = records()
    (folder / "plain").write_bytes(raw)
    expected = run_digest(write_stream(folder, ["plain"]))
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    file = write_stream(folder, ["fifo"])
    for contents in (raw, gzip.compress(raw)):
        for mode in (["--no-daemon"], ["--workers", 2]):
            thread = feed(fifo, contents)
            assert run_digest(file, *mode) == expected, mode
            thread.join()
    thread = feed(fifo, raw)
    done = ctl("run", file, "--epochs", 2, check=False)
    thread.join()
    assert done.returncode > 0 and b"a FIFO can be read only once" in done.stderr, done


def test_standard_input(folder):
    raw = records()
    (folder / "plain").write_bytes(raw)
    expected = run_digest(write_stream(folder, ["plain"]))
    file = write_stream(folder, ["-"])
    for mode in (["--no-daemon"], ["--workers", "2"]):
        done = subprocess.run([BIN / "leatctl", "run", str(file), "--digest", *mode], input=raw, stdout=subprocess.PIPE,
                              check=True, timeout=leat_harness.HANG_S)
        assert expected in done.stdout.decode(), done


def test_describe(folder):
    raw = records(500)
    (folder / "data.jsonl.gz").write_bytes(gzip.compress(raw))
    stats = json.loads(ctl("describe", folder / "data.jsonl.gz", "--json").stdout)
    assert stats["records"] == 500 and stats["bad_records"] == 0, stats
    column = stats["columns"]["id"]
    assert column["type"] == "int64" and column["mean"] == 249.5, column
    assert abs(column["std"] - statistics.pstdev(range(500))) < 1e-9, column
    lengths = [len(json.loads(line)["text"]) for line in raw.decode().splitlines()]
    length = stats["columns"]["text"]["length"]
    assert (length["min"], length["max"], length["sum"]) == (min(lengths), max(lengths), sum(lengths)), length
    assert sum(bucket["count"] for bucket in length["histogram"]) == 500, length
    text = ctl("describe", folder / "data.jsonl.gz", "-n", 100).stdout.decode()
    assert "100 records" in text and "int64" in text, text


def test_describe_of_neither(folder):
    (folder / "data.svg").write_text("<svg>a: b: c</svg>\n")
    wrong = ctl("describe", folder / "data.svg", check=False)
    assert wrong.returncode == 3 and b"if it is a data file, its name must end in .csv, " in wrong.stderr, wrong
    wrong = ctl("describe", folder / "none.csvv", check=False)
    assert wrong.returncode != 0 and wrong.stderr.endswith(b"No such file or directory\n"), wrong


def test_describe_is_what_normalize_reads(folder):
    (folder / "data.jsonl").write_bytes(records(200))
    file = folder / "norm.yaml"
    file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": ["data.jsonl"]}}, "stages": [
        {"normalize": {"input": "id", "output": "z", "stats": "stats.json"}}, {"select": {"fields": "z"}}]}}))
    (folder / "stats.json").write_bytes(ctl("describe", file, "--json").stdout)
    rows = [json.loads(line)["z"] for line in ctl("head", file, "-n", 200, "--json").stdout.splitlines()]
    assert abs(statistics.mean(rows)) < 1e-6 and abs(statistics.pstdev(rows) - 1) < 1e-6, rows[:3]


if __name__ == "__main__":
    leat_harness.main(globals())

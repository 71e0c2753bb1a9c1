#!/usr/bin/env python3
"""What a token cache is worth: epoch 1, which makes it, against epochs out of it, on one core and in one run.

    cache_bench.py BIN [--documents FILE.jsonl] [--field t] [--tokenizer tokenizer.json] [--length N] [--compression C]

BIN holds leatctl. Prints a JSON object: rows a second of both, bytes of batches a second against memcpy's from memory to
memory (by Python's memoryview, which calls it), and the size of the cache against the text's. Without
--documents it makes some; without --tokenizer it takes the small one of config/sentences. Times are CPU time, which
others on the machine change less: of runs on one thread that is the time that they take. Medians of the rounds.
"""
import argparse
import json
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile
import time

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"
CACHED_EPOCHS = 10
COPIED_BYTES = 256 << 20


def make_documents(path, n_bytes):
    rng, n = random.Random(1), 0
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20000)]
    with open(path, "w") as file:
        while n < n_bytes:
            n += file.write(json.dumps({"t": " ".join(rng.choices(words, k=rng.randint(50, 800)))}) + "\n")


def stream_of(options, folder):
    return {"source": {"jsonl": {"paths": [str(options.documents)]}}, "cache": {"path": str(folder), "compression": options.compression},
            "stages": [{"tokenize": {"input": options.field, "output": "ids", "tokenizer": str(options.tokenizer),
                                     "max_length": options.length}},
                       {"pad": {"input": "ids", "length": options.length, "value": 0}}, {"select": {"fields": ["ids"]}},
                       {"batch": {"batch_size": 32}}]}


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(options, config, epochs):
    """Rows, and seconds of CPU."""
    start = cpu_of_children()
    done = subprocess.run([options.bin / "leatctl", "run", config, "--no-daemon", "--json", "--epochs", str(epochs)],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["rows"], cpu_of_children() - start


def memcpy_rate():
    """Bytes a second, of more than caches hold."""
    source, target = memoryview(bytearray(COPIED_BYTES)), memoryview(bytearray(COPIED_BYTES))
    target[:] = source
    start = time.process_time()
    for _ in range(4):
        target[:] = source
    return 4 * COPIED_BYTES / (time.process_time() - start)


def measure(options, folder):
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        config = pathlib.Path(folder) / "stream.yaml"
        config.write_text("streams:\n  s: " + json.dumps(stream_of(options, cache)) + "\n")
        n_rows, first = run(options, config, 1)
        (_, once), (_, often) = (run(options, config, n) for n in (1, 1 + CACHED_EPOCHS))
        stored = sum(path.stat().st_size for path in pathlib.Path(cache).rglob("*") if path.is_file())
    row_bytes = 4 * options.length
    made, cached = n_rows / first, n_rows * CACHED_EPOCHS / (often - once)
    copied = memcpy_rate()
    return {"epoch_1_rows_per_s": made, "cached_rows_per_s": cached,
            "cached_to_first": cached / made, "cached_bytes_per_s": cached * row_bytes,
            "memcpy_bytes_per_s": copied, "cached_to_memcpy": cached * row_bytes / copied,
            "disk_to_text": stored / options.documents.stat().st_size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--documents", type=pathlib.Path)
    parser.add_argument("--field", default="t")
    parser.add_argument("--tokenizer", type=pathlib.Path, default=CONFIG / "sentences" / "tokenizer.json")
    parser.add_argument("--length", type=int, default=1024, help="tokens of a row")
    parser.add_argument("--compression", default="raw", choices=["raw", "auto", "lz4"])
    parser.add_argument("--megabytes", type=float, default=40, help="of documents that are made")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.tokenizer = options.tokenizer.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if not options.documents:
            options.documents = pathlib.Path(folder) / "documents.jsonl"
            make_documents(options.documents, options.megabytes * 1e6)
        options.documents = options.documents.resolve()
        results = [measure(options, folder) for _ in range(options.rounds)]
    print(json.dumps({key: statistics.median(result[key] for result in results) for key in results[0]}, indent=1))


if __name__ == "__main__":
    main()

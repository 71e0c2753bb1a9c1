#!/usr/bin/env python3
"""How fast leat's tokenizer is beside the wheel `tokenizers`, on one core, in the same run.

    tokenizer_compare.py BENCH CORPUS TOKENIZER.json ... [--kinds prose,docs,code,japanese] [--threads 1,2,4]

BENCH is the program tokenizer_bench; CORPUS is a folder made by tests/tokenizer/corpus.py. Prints MB/s
of UTF-8: the wheel's encode_batch and encode_batch_fast on one thread (the best of three passes over at
most --wheel-mb), then leat cold and warm, for each number of threads.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tokenizer"))
import oracle  # noqa: E402


def read_documents(path, most_bytes):
    found, total = [], 0
    for data in path.read_bytes().split(b"\0"):
        found.append(data.decode())
        total += len(data)
        if total >= most_bytes:
            break
    return found, total


def wheel_speed(encode, documents, n_bytes, n_passes):
    best = None
    for _ in range(n_passes):
        start = time.perf_counter()
        for at in range(0, len(documents), 256):
            encode(documents[at:at + 256], add_special_tokens=False)
        took = time.perf_counter() - start
        best = took if best is None else min(best, took)
    return n_bytes / 1e6 / best


def leat_speed(bench, tokenizer, corpus, threads):
    done = subprocess.run([bench, "--tokenizer", tokenizer, "--corpus", corpus, "--threads", str(threads)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"error": done.stderr.strip().split("\n")[-1]}
    return json.loads(done.stdout)


def row(tokenizer, kind, arguments):
    corpus = arguments.corpus / f"{kind}.docs"
    documents, n_bytes = read_documents(corpus, arguments.wheel_mb * 1e6)
    wheel = oracle.require().Tokenizer.from_file(str(tokenizer))
    wheel.no_truncation()
    wheel.no_padding()
    slow = wheel_speed(wheel.encode_batch, documents, n_bytes, arguments.passes)
    fast = wheel_speed(wheel.encode_batch_fast, documents, n_bytes, arguments.passes)
    for threads in arguments.threads:
        found = leat_speed(arguments.bench, tokenizer, corpus, threads)
        if "error" in found:
            print(f"{tokenizer.stem:24} {kind:9} {found['error']}")
            return
        cold, warm = found["cold_mb_s"], found["warm_mb_s"]
        print(f"{tokenizer.stem:24} {kind:9} {threads:7} {slow:8.2f} {fast:8.2f} {cold:9.1f} {warm:9.1f} {cold / fast:7.0f}x {warm / fast:7.0f}x", flush=True)


def main():
    parser = argparse.ArgumentParser(description="leat's tokenizer beside the wheel's.")
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=["prose", "docs", "code", "japanese"])
    parser.add_argument("--threads", type=lambda text: [int(word) for word in text.split(",")], default=[1])
    parser.add_argument("--wheel-mb", type=float, default=2)
    parser.add_argument("--passes", type=int, default=3)
    arguments = parser.parse_intermixed_args()
    oracle.require()
    print("MB/s".ljust(42), "   wheel, 1 thread       leat             leat / batch_fast")
    print(f"{'tokenizer':24} {'text':9} {'threads':>7} {'batch':>8} {'fast':>8} {'cold':>9} {'warm':>9} {'cold':>8} {'warm':>8}")
    for tokenizer in arguments.tokenizers:
        for kind in arguments.kinds:
            row(tokenizer, kind, arguments)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""One budget for all memory: the daemon stays within it with many streams and trainers of different
paces, nobody waits for ever, the batches are the same, and what does not fit is refused with the sum.

    test_memory.py BIN [PATTERN]

`LEAT_MEMORY_FIGURES=FILE` writes the figures of the largest test as JSON.
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

import data
import leat_harness
from leat_harness import SLOW, Daemon, ctl, find_digest, wait_until

MIB = 1 << 20


def prose(folder, n, seed=3):
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20000)]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(
        [*"abcdefghijklmnopqrstuvwxyz", *("##" + c for c in "abcdefghijklmnopqrstuvwxyz"), *words])]) + "\n")
    with open(folder / "prose.jsonl", "w") as file:
        for i in range(n):
            text = " ".join(rng.choices(words, k=rng.randint(20, 400)))
            file.write(json.dumps({"id": i, "text": text}) + "\n")


def prose_stream(length, batch_size, shuffle, block_bytes=262144, prefetch=4):
    return {"source": {"jsonl": {"paths": ["prose.jsonl"]}}, "block_bytes": block_bytes, "stages": [
        {"tokenize": {"input": "text", "output": "ids", "tokenizer": "vocab.txt", "max_length": length}},
        {"pad": {"input": "ids", "length": length, "value": 0, "mask": "mask"}},
        {"select": {"fields": ["id", "ids", "mask"]}},
        {"shuffle": {"buffer_size": shuffle}},
        {"batch": {"batch_size": batch_size}},
        {"prefetch": {"prefetch_size": prefetch}}]}


def streams_of_all_kinds(folder):
    csv = data.titanic(folder, 60000)
    prose(folder, 8000)
    streams = {f"t{i}": data.titanic_stream(csv, batch_size=b, length=l, shuffle=s, block_bytes=k)
               for i, (b, l, s, k) in enumerate([(32, 64, 1000, 262144), (512, 128, 5000, 1 << 20),
                                                 (8, 32, 10, 65536), (256, 64, 20000, 262144)])}
    streams |= {"p0": prose_stream(128, 64, 1000), "p1": prose_stream(512, 32, 500, 1 << 20),
                "p2": prose_stream(256, 128, 2000), "p3": prose_stream(64, 16, 100, 65536)}
    return streams


class Trainer:
    """Pulls without end, at a pace that stops and goes."""

    def __init__(self, daemon, stream, pace, rng):
        self.pace, self.rng, self.is_stopped, self.next = pace, rng, False, time.monotonic()
        more = ["--delivery", "copy"] if pace % 4 == 3 else []
        self.process = subprocess.Popen(
            [leat_harness.BIN / "leatctl", "pull", stream, "--epochs", "0", *more],
            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)

    def turn(self, now):
        """Pace 0 always pulls; the higher it is the longer it sleeps."""
        if self.pace == 0 or now < self.next or self.process.poll() is not None:
            return
        self.is_stopped = not self.is_stopped
        self.process.send_signal(signal.SIGSTOP if self.is_stopped else signal.SIGCONT)
        self.next = now + self.rng.uniform(0.05, 0.2) * (self.pace if self.is_stopped else 1)

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.communicate()


def hwm_bytes(daemon):
    with open(f"/proc/{daemon.pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def batches_of(daemon):
    """Those that have been given out, by session."""
    return {s["id"]: s["n_batches"] for stream in json.loads(daemon.ctl("streams", "--json").stdout)
            for s in stream["sessions"]}


def run_trainers(daemon, names, seconds, fits):
    """16 of them. Where all fit, all must be served until the end; else some may be refused, with
    the sum."""
    rng = random.Random(1)
    trainers = [Trainer(daemon, names[i % len(names)], i % 8, rng) for i in range(16)]
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for trainer in trainers:
                trainer.turn(time.monotonic())
            time.sleep(0.02)
        failed = [t.process.stderr.read().decode() for t in trainers if t.process.poll() is not None]
        assert not (fits and failed) and all("of memory_limit" in f or "into memory_limit" in f or "is reached" in f for f in failed), failed
        return batches_of(daemon)
    finally:
        for trainer in trainers:
            trainer.end()


def figures_of(daemon, limit, counts):
    status = daemon.status()
    return {"limit_mib": limit // MIB, "hwm_mib": round(hwm_bytes(daemon) / MIB, 1),
            "share": round(hwm_bytes(daemon) / limit, 3),
            "counted_peak_mib": round(status["memory_peak_bytes"] / MIB, 1),
            "n_sessions": len(counts), "least_batches": min(counts.values()), "batches": status["n_batches"]}


def test_sixteen_trainers_of_eight_streams(folder):
    streams = streams_of_all_kinds(folder)
    figures = []
    for limit, fits in ((256 * MIB, False), (768 * MIB, True), (4096 * MIB, True)):
        with Daemon(folder, data.yaml_text(streams, memory_limit=limit), "--workers", "4") as daemon:
            counts = run_trainers(daemon, list(streams), 6 * SLOW, fits)
            figures.append(figures_of(daemon, limit, counts))
            print(" ", figures[-1], flush=True)
            assert figures[-1]["share"] <= 1.1, figures
            if fits:
                assert figures[-1]["n_sessions"] == 16 and figures[-1]["least_batches"] > 0, counts
            for stream in json.loads(daemon.ctl("stats", "--json").stdout):
                assert stream["pools"] or not fits, stream["name"]
                for pool in stream["pools"]:
                    assert pool["n_hits"] + pool["n_misses"] == pool["n_allocations"], pool
                    assert pool["current_bytes"] <= pool["peak_bytes"], pool
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "all trainers are gone")
            wait_until(lambda: daemon.status()["memory_claimed_bytes"] < 64 * MIB, "their memory is given back")
    if os.environ.get("LEAT_MEMORY_FIGURES"):
        with open(os.environ["LEAT_MEMORY_FIGURES"], "w") as file:
            json.dump(figures, file, indent=1)


def test_same_batches_within_little(folder):
    prose(folder, 2000)
    streams = {"p": prose_stream(128, 32, 300)}
    digests = set()
    for settings in ({}, {"memory_limit": "80MiB"}, {"memory_limit": "1GiB"}):
        with Daemon(folder, data.yaml_text(streams, **settings), "--workers", "3") as daemon:
            digests.add(daemon.digest("p", "--epochs", "2"))
            digests.add(daemon.digest("p", "--epochs", "2", "--delivery", "copy"))
    assert len(digests) == 1, digests


def test_what_does_not_fit_is_refused(folder):
    prose(folder, 1000)
    streams = {"small": prose_stream(64, 8, 10), "large": prose_stream(512, 4096, 10, prefetch=8)}
    with Daemon(folder, data.yaml_text(streams, memory_limit="96MiB"), "--workers", "2") as daemon:
        refused = daemon.pull("large", check=False)
        message = refused.stderr.decode()
        assert refused.returncode != 0, refused
        for part in ("does not fit into memory_limit (96.0 MiB)", "it needs at least", "ring", "blocks",
                     "tokenizers", "workspace", "MiB are free"):
            assert part in message, message
        daemon.pull("small", "--epochs", "1")  # others are none the worse
        assert daemon.status()["memory_used_bytes"] < 96 * MIB


def test_a_file_too_large_to_load(folder):
    prose(folder, 100)
    with open(folder / "vocab.txt", "a") as file:
        for i in range(500000):
            file.write(f"word{i}\n")
    with Daemon(folder, data.yaml_text({"p": prose_stream(64, 8, 10)}, memory_limit="64MiB"), "--workers",
                "2") as daemon:
        refused = daemon.pull("p", check=False)
        assert b"loading the files that it names may take" in refused.stderr, refused.stderr
        assert hwm_bytes(daemon) < 70 * MIB


def test_settings(folder):
    for value, expected in (("lots", "expected a number of bytes, as 4096, 500MB or 4GiB"),
                            ("1MiB", "is outside"), ("900TB", "is more than the")):
        path = folder / "bad.yaml"
        path.write_text(f"memory_limit: {value}\nstreams: {{}}\n")
        done = subprocess.run([leat_harness.BIN / "leatd", "--config", path, "--socket-dir", folder],
                              capture_output=True, timeout=30)
        assert done.returncode == 1 and expected in done.stderr.decode(), done.stderr


if __name__ == "__main__":
    leat_harness.main(globals())

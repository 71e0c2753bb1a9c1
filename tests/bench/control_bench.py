#!/usr/bin/env python3
"""control_bench: what those who look cost those who train, as figures in JSON, one line a case.

    control_bench.py [--bin DIR] [--cases tokens,small] [--records N] [--epochs N] [--requests N] [--subscribers N]
                     [--connections N] [--rounds N] [--load stats,broken,refused,large,unknown]

A trainer pulls epochs of a stream, in turns alone and beside `connections` connections that ask for the counters of all
streams as fast as they are answered and `subscribers` subscribers (every 100 ms), until so many requests were answered,
but at least `rounds` times each. A `load` other than stats floods the daemon with what it refuses: see control_load.c. `slowdown` is by how much less a second it gets beside them, of the medians.

tokens   texts are tokenized, 32 a batch: the workers have the work
small    numbers, 4 a batch: the daemon's one loop has it
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def write_files(folder: pathlib.Path, n_records: int) -> None:
    rng = random.Random(1)
    words = [w for w in (ROOT / "README.md").read_text(encoding="utf-8").split() if w.isascii() and w.isalpha()]
    with open(folder / "t.jsonl", "w", encoding="utf-8") as file:
        for i in range(n_records):
            file.write(json.dumps({"id": i, "text": " ".join(rng.choices(words, k=60))}) + "\n")
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(20 * n_records)))
    (folder / "leatd.yaml").write_text(f"""
streams:
  tokens:
    source: {{ jsonl: {{ paths: [{folder}/t.jsonl], fields: {{ text: text }} }} }}
    tuner: off
    stages:
      - tokenize: {{ input: text, output: ids, tokenizer: {ROOT}/config/sentences/tokenizer.json, max_length: 128 }}
      - pad: {{ input: ids, length: 128 }}
      - select: {{ fields: [ids] }}
      - batch: {{ batch_size: 32 }}
  small:
    source: {{ csv: {{ paths: [{folder}/n.csv] }} }}
    tuner: off
    stages:
      - cast: {{ input: id, dtype: int64 }}
      - batch: {{ batch_size: 4 }}
""")


class Daemon:
    """leatd with its sockets in the folder of its configuration."""

    def __init__(self, folder: pathlib.Path, binaries: pathlib.Path) -> None:
        self.folder, self.binaries = folder, binaries
        self.env = {**os.environ, "LEAT_SOCKET": str(folder)}
        self.process = subprocess.Popen([binaries / "leatd", "--config", folder / "leatd.yaml", "--socket-dir", folder],
                                        stdout=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": str(folder)})
        while subprocess.run([binaries / "leatctl", "status"], env=self.env, capture_output=True).returncode:
            if self.process.poll() is not None:
                sys.exit(f"leatd ended with {self.process.returncode}")
            time.sleep(0.02)

    def rate(self, stream: str, epochs: int) -> float:
        """Batches a second of a trainer that has pulled some epochs: from its first wait to its last batch, without the questions
        that leatctl asks the control socket before and behind, which wait in line with those of its user."""
        done = subprocess.run([self.binaries / "leatctl", "pull", stream, "--epochs", str(epochs), "--json"], env=self.env,
                              capture_output=True, check=True)
        told = json.loads(done.stdout)
        return float(told["batches"] / told["seconds"])

    def loop_busy_s(self) -> float:
        done = subprocess.run([self.binaries / "leatctl", "status", "--json"], env=self.env, capture_output=True, check=True)
        return float(json.loads(done.stdout)["loop_busy_ns"]) * 1e-9

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def beside(daemon: Daemon, options: argparse.Namespace, stream: str, kind: str) -> tuple[float, dict[str, float]]:
    """The rate beside a load, and what the load had."""
    load = subprocess.Popen([options.bin.parent / "tests/bench/control_load", daemon.folder, str(options.connections),
                             str(options.subscribers), "100", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    rate = daemon.rate(stream, options.epochs)
    out, _ = load.communicate()
    if load.returncode:
        sys.exit("control_load failed")
    return rate, json.loads(out)


def figures(daemon: Daemon, stream: str, kind: str, alone: list[float], loaded: list[float], loads: list[dict[str, float]]) -> str:
    quiet, noisy = statistics.median(alone), statistics.median(loaded)
    return json.dumps({
        "case": stream, "load": kind, "rounds": len(alone), "batches_per_s": round(quiet), "beside_per_s": round(noisy),
        "slowdown": round(1 - noisy / quiet, 4), "spread": round(statistics.stdev(alone) / quiet, 4) if len(alone) > 1 else 0,
        "answers": sum(load["answers"] for load in loads), "updates": sum(load["updates"] for load in loads),
        "load_cpu_s": round(sum(load["cpu_s"] for load in loads), 2), "loop_busy_s": round(daemon.loop_busy_s(), 2)})


def measure(daemon: Daemon, options: argparse.Namespace, stream: str, kind: str) -> None:
    """Says on stderr how far it is, every now and then."""
    daemon.rate(stream, options.epochs)
    alone, loaded, loads = [], [], []
    while len(alone) < options.rounds or sum(load["answers"] for load in loads) < options.requests:
        alone.append(daemon.rate(stream, options.epochs))
        rate, load = beside(daemon, options, stream, kind)
        loaded.append(rate)
        loads.append(load)
        if len(alone) % 20 == 0:
            print(figures(daemon, stream, kind, alone, loaded, loads), file=sys.stderr, flush=True)
    print(figures(daemon, stream, kind, alone, loaded, loads), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--cases", default="tokens,small")
    parser.add_argument("--records", type=int, default=20000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--requests", type=int, default=200000)
    parser.add_argument("--subscribers", type=int, default=50)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--load", default="stats")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, options.records)
        daemon = Daemon(folder, options.bin)
        try:
            for stream in options.cases.split(","):
                for kind in options.load.split(","):
                    measure(daemon, options, stream, kind)
        finally:
            daemon.end()


if __name__ == "__main__":
    main()

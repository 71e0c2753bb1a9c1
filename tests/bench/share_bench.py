#!/usr/bin/env python3
"""share_bench: what sharing a stream costs, as figures in JSON, one line a case.

    share_bench.py [--bin DIR] [--records N] [--epochs N] [--rounds N]

A stream of texts is tokenized (config/sentences), shuffled and batched. `cpu_s` is what the daemon
took, from the first OPEN to the last end; `ratio` is against one trainer, of the medians.

one, two, four    so many trainers at once, who take what they get as fast as they can
late              two, the second one 50 ms after the first
stopped           two, of whom one is stopped (SIGSTOP) after it opened the stream: `wall_s` of the
                  other, and its ratio to that of one alone; `is_exact`: once it goes on, it gets
                  the same digest
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")


def write_files(folder, n_records):
    rng = random.Random(1)
    words = [w for w in (ROOT / "README.md").read_text(encoding="utf-8").split() if w.isascii() and w.isalpha()]
    with open(folder / "t.jsonl", "w", encoding="utf-8") as file:
        for _ in range(n_records):
            file.write(json.dumps({"text": " ".join(rng.choices(words, k=120))}) + "\n")
    (folder / "leatd.yaml").write_text(f"""
streams:
  s:
    source: {{ jsonl: {{ paths: [{folder}/t.jsonl], fields: {{ text: text }} }} }}
    tuner: off
    stages:
      - tokenize: {{ input: text, output: ids, tokenizer: {ROOT}/config/sentences/tokenizer.json, max_length: 256 }}
      - pad: {{ input: ids, length: 256 }}
      - select: {{ fields: [ids] }}
      - shuffle: {{ buffer_size: 2000, seed: 1 }}
      - batch: {{ batch_size: 32 }}
""")


class Daemon:
    def __init__(self, folder, binaries):
        self.env = {**os.environ, "LEAT_SOCKET": str(folder)}
        self.binaries = binaries
        self.process = subprocess.Popen([binaries / "leatd", "--config", folder / "leatd.yaml", "--socket-dir", folder],
                                        stdout=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": str(folder)})
        while subprocess.run([binaries / "leatctl", "status"], env=self.env, capture_output=True).returncode:
            if self.process.poll() is not None:
                sys.exit(f"leatd ended with {self.process.returncode}")
            time.sleep(0.02)

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def pull(self, epochs, *args):
        return subprocess.Popen([self.binaries / "leatctl", "pull", "s", "--epochs", str(epochs), *args],
                                env=self.env, stdout=subprocess.PIPE)

    def sessions(self):
        out = subprocess.run([self.binaries / "leatctl", "streams", "--json"], env=self.env, capture_output=True).stdout
        return json.loads(out)[0]["sessions"]

    def end(self):
        self.process.terminate()
        self.process.wait()


def digest(pull):
    return re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", pull.communicate()[0])


def pull_all(daemon, epochs, n, delay_s=0.0):
    """(CPU of the daemon, wall time)"""
    cpu_s, start = daemon.cpu_s(), time.monotonic()
    pulls = []
    for i in range(n):
        time.sleep(delay_s if i else 0)
        pulls.append(daemon.pull(epochs))
    for pull in pulls:
        pull.communicate()
    return daemon.cpu_s() - cpu_s, time.monotonic() - start


def pull_stopped(daemon, epochs, expected):
    stopped = daemon.pull(epochs, "--digest")
    while not daemon.sessions():
        time.sleep(0.005)
    os.kill(stopped.pid, signal.SIGSTOP)
    cpu_s, start = daemon.cpu_s(), time.monotonic()
    daemon.pull(epochs).communicate()
    wall_s = time.monotonic() - start
    cpu_s = daemon.cpu_s() - cpu_s
    os.kill(stopped.pid, signal.SIGCONT)
    return cpu_s, wall_s, digest(stopped) == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--records", type=int, default=60000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cases = {"one": (1, 0), "two": (2, 0), "four": (4, 0), "late": (2, 0.05)}
    found = {name: [] for name in [*cases, "stopped"]}
    is_exact = True
    with tempfile.TemporaryDirectory(prefix="leat-share-") as name:
        folder = pathlib.Path(name)
        write_files(folder, options.records)
        daemon = Daemon(folder, options.bin.resolve())
        expected = digest(daemon.pull(options.epochs, "--digest"))
        for _ in range(options.rounds):
            for case, (n, delay_s) in cases.items():
                found[case].append(pull_all(daemon, options.epochs, n, delay_s))
            *figures, same = pull_stopped(daemon, options.epochs, expected)
            found["stopped"].append(tuple(figures))
            is_exact = is_exact and same
        daemon.end()
    median = {case: [statistics.median(column) for column in zip(*figures)] for case, figures in found.items()}
    for case, (cpu_s, wall_s) in median.items():
        line = {"case": case, "cpu_s": round(cpu_s, 3), "wall_s": round(wall_s, 3),
                "ratio": round((wall_s / median["one"][1]) if case == "stopped" else cpu_s / median["one"][0], 3)}
        if case == "stopped":
            line["is_exact"] = is_exact
        print(json.dumps(line), flush=True)
    sys.exit(0 if is_exact else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Whether `leatctl why` is right: its verdict in made situations, and the gains that it predicts against
those that are then measured. A table, or JSON.

    why_bench.py BIN [--part situations|gains|all] [--set held_out|tuning|all] [--pipelines a,b] [--workers N]
                 [--seconds S] [--rounds N] [--folder DIR] [--json]

BIN holds leatd and leatctl, BIN/../tests/e2e steady (a trainer that rests after each batch). Gains are of one
more worker (N to N + 1), and of a cache that is there already: each pipeline runs under either daemon by turns
for so many rounds, each time S seconds after it has settled; the verdict is asked at the end of the round
without the change, and its range compared with the ratio of the rates of this round and the next (medians of the
rounds). The pipelines of `tuning` are those that the model was adjusted on; of `held_out` no figure was seen before
it was done. The machine is the CPUs that this may run on (taskset -c 0-3 why_bench.py ..). Exit status 1: a wrong verdict, or a
gain that is outside its range by more than 15 %.
"""
import argparse
import bz2
import gzip
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SEED, N_WORDS, SETTLE_S, ALLOWED = 1, 20000, 2.0, 0.15
N_TRIES, STOLEN = 5, 0.03
ROOT = pathlib.Path(__file__).resolve().parents[2]


# ---- data ----

def make_words():
    rng = random.Random(SEED)
    return ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(N_WORDS)]


def make_texts(path, words, n_bytes, lengths):
    rng, n = random.Random(SEED), 0
    with open(path, "w") as file:
        while n < n_bytes:
            talk = [{"role": role, "content": " ".join(rng.choices(words, k=12))} for role in ("user", "assistant")]
            text = " ".join(rng.choices(words, k=rng.choice(lengths)))
            n += file.write(json.dumps({"t": text, "n": rng.randint(0, 9), "messages": talk}) + "\n")


def make_numbers(path, n_rows):
    rng = random.Random(SEED)
    with open(path, "w") as file:
        file.write(",".join(f"x{i}" for i in range(8)) + ",name,y\n")
        for i in range(n_rows):
            file.write(",".join(f"{rng.random():.4f}" for _ in range(8)) + f",person {rng.randint(0, 999)},{i % 2}\n")


def make_data(folder):
    """Once; the last file says that all are there."""
    if (folder / "prose.txt").exists():
        return
    words, letters = make_words(), "abcdefghijklmnopqrstuvwxyz"
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(lines)) + "\n")
    make_texts(folder / "prose.jsonl", words, 32 << 20, [50, 100, 200, 400])
    make_texts(folder / "long.jsonl", words, 32 << 20, [2000, 8000])
    make_texts(folder / "short.jsonl", words, 16 << 20, [4, 8, 16])
    make_numbers(folder / "numbers.csv", 300000)
    with open(folder / "new.gz", "wb") as file:
        all_lines = (folder / "prose.jsonl").read_bytes().splitlines(keepends=True)
        for at in range(0, len(all_lines), 400):
            file.write(gzip.compress(b"".join(all_lines[at:at + 400]), 1))
    (folder / "new.gz").rename(folder / "prose.jsonl.gz")
    with open(folder / "prose.jsonl.bz2", "wb") as file:
        for at in range(0, len(all_lines), 400):
            file.write(bz2.compress(b"".join(all_lines[at:at + 400]), 1))
    (folder / "new.txt").write_text("".join(json.loads(line)["t"] + "\n" for line in all_lines))
    (folder / "new.txt").rename(folder / "prose.txt")


# ---- pipelines ----

def tokens(folder, name="t", output="ids", **arguments):
    return {"tokenize": {"input": name, "output": output, "tokenizer": str(folder / "vocab.txt"), **arguments}}


def jsonl(folder, file, **fields):
    return {"jsonl": {"paths": [str(folder / file)], "fields": fields or {"t": "text"}}}


def stream(source, *stages, **options):
    return {"source": source, "stages": list(stages), **options}


def batch(size):
    return {"batch": {"batch_size": size, "drop_last": True}}


def only(*fields):
    return {"select": {"fields": list(fields)}}


NUMBERS = [f"x{i}" for i in range(8)]


def casts(fields=NUMBERS):
    return [{"cast": {"input": field, "output": field + "f", "dtype": "float32"}} for field in fields]


def stacked(fields=NUMBERS):
    return [*casts(fields), {"stack": {"inputs": [field + "f" for field in fields], "output": "x"}}]


def tuning_pipelines(folder):
    """Name: stream, rest of the trainer after each batch in us (0: it takes batches at once)."""
    pad = {"pad": {"input": "ids", "longest": True, "value": 0}}
    csv = {"csv": {"paths": [str(folder / "numbers.csv")]}}
    return {
        "prose": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), pad, batch(32)), 0),
        "paced": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), pad, batch(32)), 3000),
        "names": (stream(csv, tokens(folder, "name", max_length=16), only("ids"), {"pad": {"input": "ids", "length": 16, "value": 0}},
                         {"shuffle": {"buffer_size": 1000}}, batch(64)), 0),
        "numbers": (stream(csv, *stacked(), only("x"), batch(256)), 0),
        **first_held_out(folder), **second_held_out(folder), **third_held_out(folder),
    }


def first_held_out(folder):
    csv = {"csv": {"paths": [str(folder / "numbers.csv")]}}
    pad = {"pad": {"input": "ids", "longest": True, "value": 0}}
    chat = [{"chat": {"messages": "messages", "template": "chatml", "output": "text"}}, tokens(folder, "text", max_length=128),
            only("ids"), {"pad": {"input": "ids", "length": 128, "value": 0}}]
    texts = [{"lower": {"input": "t"}}, {"regex_replace": {"input": "t", "pattern": "[aeiou]+", "new": "a"}},
             {"strip": {"input": "t"}}]
    return {
        "gzip": (stream(jsonl(folder, "prose.jsonl.gz"), tokens(folder), only("ids"), pad, batch(32)), 0),
        "pack": (stream(jsonl(folder, "long.jsonl"), tokens(folder), only("ids"),
                        {"pack": {"fields": ["ids"], "length": 1024, "split": True, "value": 0}}, batch(8)), 0),
        "chunk": (stream(jsonl(folder, "long.jsonl"), tokens(folder), only("ids"),
                         {"chunk": {"fields": ["ids"], "length": 256}}, pad, {"shuffle": {"buffer_size": 500}}, batch(16)), 800),
        "chat": (stream(jsonl(folder, "short.jsonl", messages="json"), *chat, batch(64)), 0),
        "texts": (stream(jsonl(folder, "prose.jsonl"), *texts, tokens(folder, max_length=256), only("ids"),
                         {"pad": {"input": "ids", "length": 256, "value": 0}}, batch(32)), 1000),
        "short": (stream(jsonl(folder, "short.jsonl"), tokens(folder), only("ids"), pad, batch(16)), 0),
        "bucket": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), pad,
                          {"bucket": {"input": "ids", "window": 512}}, batch(32)), 0),
        "spectra": (stream(csv, *stacked(), {"rfft": {"input": "x", "output": "f"}}, only("f"), batch(128)), 0),
        "wide": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"),
                        {"pad": {"input": "ids", "length": 2048, "value": 0}}, batch(64)), 0),
        "trained": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), pad, batch(8)), 500),
    }


def second_held_out(folder):
    csv = {"csv": {"paths": [str(folder / "numbers.csv")]}}
    longest = {"pad": {"input": "ids", "longest": True, "value": 0}}
    parts = ["{name} has {x0}", "and {x1}", "and {x2}"]
    features = [*casts(NUMBERS[:4]), {"normalize": {"input": "x0f", "mean": 0.5, "std": 0.3}}, {"clip": {"input": "x1f", "max": 0.9}},
                {"log1p": {"input": "x2f"}}, {"hash_bucket": {"input": "name", "output": "bucket", "buckets": 512}},
                {"cast": {"input": "y", "output": "label", "dtype": "int64"}}]
    answers = {"instruction": {"prompt": "Say it again: {t}\n", "response": "{t}", "output": "text"}}
    return {
        "template": (stream(csv, {"template": {"parts": parts}}, tokens(folder, "text", max_length=32), only("ids"),
                            {"pad": {"input": "ids", "length": 32, "value": 0}}, batch(128)), 0),
        "features": (stream(csv, *features, only("x0f", "x1f", "x2f", "x3f", "bucket", "label"), {"shuffle": {"buffer_size": 2000}},
                            batch(512)), 0),
        "causal": (stream(jsonl(folder, "prose.jsonl"), tokens(folder, max_length=256), {"causal_labels": {"input": "ids"}},
                          only("ids", "labels"), {"pad": {"input": "ids", "length": 256, "value": 0}},
                          {"pad": {"input": "labels", "length": 256, "value": -100}}, batch(16)), 300),
        "bzip": (stream(jsonl(folder, "prose.jsonl.bz2"), tokens(folder), only("ids"), longest, batch(32)), 0),
        "filter": (stream(jsonl(folder, "prose.jsonl", t="text", n="int64"), {"filter": {"input": "n", "max": 4}}, tokens(folder),
                          only("ids"), longest, batch(16)), 0),
        "dedup": (stream(jsonl(folder, "short.jsonl"), {"lower": {"input": "t"}}, {"dedup": {"input": "t"}},
                         tokens(folder, max_length=32), only("ids"), {"pad": {"input": "ids", "length": 32, "value": 0}}, batch(128)), 0),
        "tokens": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), longest, {"batch": {"max_tokens": 8192}}), 0),
        "instruct": (stream(jsonl(folder, "short.jsonl"), answers, tokens(folder, "text", max_length=64),
                            {"causal_labels": {"input": "ids", "loss_on": "completion"}}, only("ids", "labels"),
                            {"pad": {"input": "ids", "length": 64, "value": 0}}, {"pad": {"input": "labels", "length": 64, "value": -100}},
                            batch(32)), 0),
        "lines": (stream({"text": {"paths": [str(folder / "prose.txt")]}}, tokens(folder, "text", max_length=128), only("ids"),
                         {"pad": {"input": "ids", "length": 128, "value": 0}}, {"shuffle": {"buffer_size": 1000}}, batch(64)), 1500),
        "windows": (stream(jsonl(folder, "long.jsonl"), tokens(folder), only("ids"), {"chunk": {"fields": ["ids"], "length": 128}},
                           longest, batch(64)), 0),
    }


def padded(field, length, value=0):
    return {"pad": {"input": field, "length": length, "value": value}}


def third_held_out(folder):
    csv = {"csv": {"paths": [str(folder / "numbers.csv")]}}
    longest = {"pad": {"input": "ids", "longest": True, "value": 0}}
    label = {"cast": {"input": "y", "output": "label", "dtype": "int64"}}
    both = {"concat": {"sources": [jsonl(folder, "short.jsonl"), jsonl(folder, "prose.jsonl")]}}
    dialogue = [{"chat": {"messages": "messages", "template": "chatml", "output": "text"}}, tokens(folder, "text", max_length=64),
                {"causal_labels": {"input": "ids", "loss_on": "assistant"}}, only("ids", "labels"), padded("ids", 64),
                padded("labels", 64, -100)]
    return {
        "people": (stream(csv, {"lower": {"input": "name"}}, {"hash_bucket": {"input": "name", "output": "who", "buckets": 1000}},
                          *stacked(), label, only("x", "who", "label"), batch(64)), 0),
        "classes": (stream(csv, {"one_hot": {"input": "y", "output": "c", "categories": ["0", "1"]}}, *stacked(NUMBERS[:3]),
                           only("x", "c"), {"shuffle": {"buffer_size": 500}}, batch(128)), 200),
        "replace": (stream(jsonl(folder, "prose.jsonl"), {"regex_replace": {"input": "t", "pattern": "\\bth?e[a-z]*", "new": "the"}},
                           tokens(folder, max_length=64), only("ids"), padded("ids", 64), batch(64)), 0),
        "documents": (stream(jsonl(folder, "long.jsonl"), tokens(folder, max_length=1024), only("ids"), padded("ids", 1024),
                             batch(4)), 0),
        "both": (stream(both, tokens(folder), only("ids"), longest, batch(32)), 0),
        "train": (stream(jsonl(folder, "prose.jsonl"), {"split": {"train": 0.8, "test": 0.2, "part": "train"}},
                         tokens(folder), only("ids"), longest, batch(24)), 0),
        "strides": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"),
                           {"chunk": {"fields": ["ids"], "length": 64, "stride": 32}}, longest, {"shuffle": {"buffer_size": 3000}},
                           batch(256)), 0),
        "blocks": (stream(jsonl(folder, "short.jsonl"), tokens(folder), only("ids"), padded("ids", 512), batch(128)), 0),
        "buckets": (stream(jsonl(folder, "short.jsonl"), tokens(folder), only("ids"), longest,
                           {"bucket": {"input": "ids", "window": 4096}}, batch(64)), 400),
        "dialogue": (stream(jsonl(folder, "short.jsonl", messages="json"), *dialogue, batch(16)), 0),
    }


def held_out_pipelines(folder):
    csv = {"csv": {"paths": [str(folder / "numbers.csv")]}}
    longest = {"pad": {"input": "ids", "longest": True, "value": 0}}
    answers = [{"instruction": {"prompt": "{t} ", "response": "{t}", "output": "text"}}, tokens(folder, "text", max_length=48),
               {"causal_labels": {"input": "ids", "loss_on": "completion"}}, only("ids", "labels"), padded("ids", 48),
               padded("labels", 48, -100)]
    return {
        "names16": (stream(csv, {"template": {"parts": ["{name}: {y}"]}}, tokens(folder, "text", max_length=16), only("ids"),
                           padded("ids", 16), {"shuffle": {"buffer_size": 200}}, batch(256)), 0),
        "columns": (stream(csv, *casts(), {"log1p": {"input": "x0f"}}, {"normalize": {"input": "x1f", "mean": 0.5, "std": 0.3}},
                           only(*(field + "f" for field in NUMBERS)), batch(512)), 0),
        "lower": (stream(jsonl(folder, "prose.jsonl"), {"lower": {"input": "t"}}, {"strip": {"input": "t"}}, tokens(folder),
                         only("ids"), longest, batch(16)), 0),
        "halves": (stream(jsonl(folder, "prose.jsonl"), {"split": {"train": 0.5, "validation": 0.5, "part": "validation"}},
                          tokens(folder, max_length=128), only("ids"), padded("ids", 128), batch(48)), 0),
        "packed": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"),
                          {"pack": {"fields": ["ids"], "length": 512, "value": 0}}, batch(16)), 0),
        "pieces": (stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"),
                          {"chunk": {"fields": ["ids"], "length": 256, "min_length": 64}}, longest, batch(32)), 0),
        "answers": (stream(jsonl(folder, "short.jsonl"), *answers, {"shuffle": {"buffer_size": 1000}}, batch(64)), 250),
        "heads": (stream(jsonl(folder, "prose.jsonl.gz"), tokens(folder, max_length=64), only("ids"), padded("ids", 64),
                         batch(64)), 0),
        "unique": (stream(csv, {"dedup": {"input": "x0"}}, *stacked(), only("x"), batch(64)), 0),
        "above": (stream(csv, *casts(NUMBERS[:1]), {"filter": {"input": "x0f", "min": 0.3}}, *casts(NUMBERS[1:]),
                         {"stack": {"inputs": [field + "f" for field in NUMBERS], "output": "x"}}, only("x"), batch(128)), 0),
    }


# ---- running ----

def stolen_s():
    """What the hypervisor had of the processors' time, for other machines."""
    return int(pathlib.Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


class Daemon:
    """leatd with one stream `s`, and its trainer; ends with the `with` block."""

    def __init__(self, bin_folder, folder, name, spec, n_workers, rest_us=0, n_trainers=1, **settings):
        self.bin, self.rest_us, self.n_trainers = bin_folder, rest_us, n_trainers
        self.sockets = pathlib.Path(tempfile.mkdtemp(prefix="why-"))
        config = folder / f"{name}.yaml"
        everything = {"workers": n_workers, "tuner": "off", "state_directory": str(self.sockets), **settings,
                      "streams": {"s": spec}}
        config.write_text("\n".join(f"{key}: {json.dumps(value)}" for key, value in everything.items()) + "\n")
        self.env = {**os.environ, "LEAT_SOCKET": str(self.sockets)}
        self.log = open(folder / f"{name}.log", "wb")
        self.command = [self.bin / "leatd", "--config", config, "--socket-dir", self.sockets]
        self.trainers = []

    def start(self, command):
        return subprocess.Popen(list(map(str, command)), stdout=self.log, stderr=self.log, env=self.env)

    def ask(self, *words):
        done = subprocess.run([self.bin / "leatctl", *words, "--json"], capture_output=True, env=self.env, timeout=60)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def __enter__(self):
        self.process = self.start(self.command)
        while self.ask("status") is None:
            self.check()
            time.sleep(0.02)
        steady = self.bin.parent / "tests" / "e2e" / "steady"
        command = [steady, "s", 0, 1, 0, self.rest_us, 0] if self.rest_us else [self.bin / "leatctl", "pull", "s", "--epochs", "0"]
        self.trainers = [self.start(command) for _ in range(self.n_trainers)]
        return self

    def __exit__(self, *_):
        for process in (*self.trainers, self.process):
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.log.close()

    def check(self):
        """All of it still runs."""
        if any(process.poll() is not None for process in (self.process, *self.trainers)):
            raise SystemExit(f"leatd or its trainer ended: {pathlib.Path(self.log.name).read_text()[-1000:]}")

    def n_batches(self):
        return self.ask("stats", "s")[0]["n_batches"]

    def settle(self):
        """Batches come, and have come for a while."""
        end = time.monotonic() + 60
        while self.n_batches() == 0 and time.monotonic() < end:
            self.check()
            time.sleep(0.05)
        time.sleep(SETTLE_S)

    def measure(self, seconds):
        """Batches a second, and what `why` says of that time: one in which others had little of the processors, if such a one comes."""
        self.settle()
        for _ in range(N_TRIES):
            n, start, stolen = self.n_batches(), time.monotonic(), stolen_s()
            time.sleep(seconds)
            rate = (self.n_batches() - n) / (time.monotonic() - start)
            why = self.ask("why", "s", "--seconds", str(max(1, round(seconds))))
            if stolen_s() - stolen < STOLEN * seconds * why["n_cpus"] and why["other_processes"] < STOLEN:
                break
        return rate, why


def warm(bin_folder, folder, spec):
    """Its cache is whole."""
    config = folder / "warm.yaml"
    config.write_text("streams:\n  s: " + json.dumps(spec) + "\n")
    subprocess.run([bin_folder / "leatctl", "cache", "warm", config], check=True, stdout=subprocess.DEVNULL)


# ---- situations ----

class SlowPipe:
    """A FIFO that is written to without end, so many bytes a second."""

    def __init__(self, path, source, bytes_per_s):
        os.mkfifo(path)
        self.path, self.lines, self.rate = path, source.read_bytes().splitlines(keepends=True), bytes_per_s
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        try:
            with open(self.path, "wb", buffering=0) as pipe:
                start, n = time.monotonic(), 0
                while True:
                    for line in self.lines:
                        n += pipe.write(line)
                        time.sleep(max(0, n / self.rate - (time.monotonic() - start)))
        except OSError:
            pass


def situations(folder, n_cpus):
    """Name: the verdicts that are right, the daemon's arguments."""
    pad = {"pad": {"input": "ids", "longest": True, "value": 0}}
    prose = stream(jsonl(folder, "prose.jsonl"), tokens(folder), only("ids"), pad, batch(32))
    slow = stream({"jsonl": {"paths": [str(folder / "pipe")], "fields": {"t": "text"}}}, tokens(folder), only("ids"), pad, batch(8))
    one = {**prose, "jobs_in_flight": 1}
    order = stream({"csv": {"paths": [str(folder / "numbers.csv")]}}, {"cast": {"input": "y", "output": "l", "dtype": "int64"}},
                   only("l"), {"shuffle": {"buffer_size": 100000}}, batch(256), cache={"path": str(folder / "caches")})
    many = n_cpus if n_cpus > 1 else 2
    return {
        "slow trainer": (["trainer"], dict(spec=prose, n_workers=many, rest_us=20000)),
        "slow disk": (["disk"], dict(spec=slow, n_workers=many)),
        "tokenizer": (["stage"], dict(spec=prose, n_workers=n_cpus)),
        "too few workers": (["workers"], dict(spec=prose, n_workers=1)),
        "memory": (["memory"], dict(spec=prose, n_workers=many, memory_limit=None)),
        "one block": (["blocks", "workers"], dict(spec=one, n_workers=many)),
        "order": (["order"], dict(spec=order, n_workers=many)),
        "others": (["other_users"], dict(spec=prose, n_workers=n_cpus)),
    }


def least_memory(arguments, spec, n_workers, folder):
    """Just above what the stream cannot do without."""
    for mib in range(32, 512, 4):
        with Daemon(arguments.bin, folder, "least", spec, n_workers, memory_limit=f"{mib}MiB") as daemon:
            time.sleep(0.7)
            if (daemon.ask("stats", "s") or [{"n_batches": 0}])[0]["n_batches"] > 0:
                return f"{mib}MiB"
    raise SystemExit("the stream of the situation `memory` runs under no limit")


def burn(n):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]


def judge(arguments, name, right, what, folder, n_cpus):
    what = dict(what)
    if "memory_limit" in what:
        what["memory_limit"] = least_memory(arguments, what["spec"], what["n_workers"], folder)
    if "cache" in what["spec"]:
        warm(arguments.bin, folder, what["spec"])
    if name == "slow disk":
        (folder / "pipe").unlink(missing_ok=True)
        SlowPipe(folder / "pipe", folder / "prose.jsonl", 1 << 20)
    burners = burn(n_cpus * 2) if name == "others" else []
    try:
        with Daemon(arguments.bin, folder, name.replace(" ", "_"), **what) as daemon:
            rate, why = daemon.measure(arguments.seconds)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    return {"situation": name, "right": right, "verdict": why["verdict"], "is_right": why["verdict"] in right,
            "stage": why["stage"], "batches_per_s": round(rate, 1), "why": why}


# ---- gains ----

def rounds_of(arguments, folder, name, spec, rest_us):
    """By turns: as it is, with a worker more, with a cache; rates, and what was predicted."""
    cached = {**spec, "cache": {"path": str(folder / "caches")}}
    warm(arguments.bin, folder, cached)
    variants = {"base": (spec, arguments.workers), "worker": (spec, arguments.workers + 1), "cache": (cached, arguments.workers)}
    rates, verdicts = {key: [] for key in variants}, {key: [] for key in variants}
    for i in range(arguments.rounds):
        for key in list(variants)[::1 if i % 2 == 0 else -1]:
            with Daemon(arguments.bin, folder, f"{name}_{key}", *variants[key], rest_us) as daemon:
                rate, why = daemon.measure(arguments.seconds)
            rates[key].append(rate)
            verdicts[key].append(why)
    return rates, verdicts


def gains(arguments, folder, name, spec, rest_us):
    rates, verdicts = rounds_of(arguments, folder, name, spec, rest_us)
    predictions = verdicts["base"]
    result = {"pipeline": name, "batches_per_s": round(statistics.median(rates["base"]), 1),
              "verdict": statistics.mode(why["verdict"] for why in predictions), "why": predictions[-1],
              "why_then": {key: verdicts[key][-1] for key in ("worker", "cache")}}
    for key in ("worker", "cache"):
        predicted = [why["gains"][key] for why in predictions if why["gains"][key]]
        if not predicted:
            continue
        measured = statistics.median(after / before for before, after in zip(rates["base"], rates[key]))
        low, high = (statistics.median(gain[end] for gain in predicted) for end in ("low", "high"))
        result[key] = {"low": round(low, 3), "high": round(high, 3), "measured": round(measured, 3),
                       "error": round(min(max(measured, low), high) / measured - 1, 3),
                       "spread": round(max(rates[key]) / min(rates[key]) - 1, 3)}
    return result


# ---- out ----

def tell_situation(result):
    print(f"{result['situation']:<16} {result['verdict']:<12} {'right' if result['is_right'] else 'WRONG':<6} "
          f"{result['stage'] or '':<10} {result['batches_per_s']:>9} batches/s", flush=True)


def tell_gains(result):
    cells = [f"{result['pipeline']:<9} {result['verdict']:<8} {result['batches_per_s']:>9}"]
    for key in ("worker", "cache"):
        gain = result.get(key)
        cells.append(f"{gain['low']:>6.2f} {gain['high']:>6.2f} {gain['measured']:>6.2f} {100 * gain['error']:>+6.1f} %" if gain else " " * 29)
    print("  ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--part", choices=("situations", "gains", "all"), default="all")
    parser.add_argument("--set", choices=("held_out", "tuning", "all"), default="held_out")
    parser.add_argument("--pipelines", help="names, also of situations, with commas between (default: all)")
    parser.add_argument("--workers", type=int, help="of the daemon before one is added (default: half of the CPUs)")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "leat-why-bench")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.resolve()
    n_cpus = len(os.sched_getaffinity(0))
    arguments.workers = arguments.workers or max(1, n_cpus // 2)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    make_data(arguments.folder)
    wanted = arguments.pipelines.split(",") if arguments.pipelines else None
    results = {"n_cpus": n_cpus, "workers": arguments.workers, "situations": [], "gains": []}
    tell = (lambda line: None) if arguments.json else (lambda line: print(line, flush=True))
    if arguments.part != "gains":
        for name, (right, what) in situations(arguments.folder, n_cpus).items():
            if not wanted or name in wanted:
                results["situations"].append(judge(arguments, name, right, what, arguments.folder, n_cpus))
                arguments.json or tell_situation(results["situations"][-1])
    if arguments.part != "situations":
        pipelines = {**(tuning_pipelines(arguments.folder) if arguments.set != "held_out" else {}),
                     **(held_out_pipelines(arguments.folder) if arguments.set != "tuning" else {})}
        tell(f"{'':<9} {'verdict':<8} {'batches/s':>9}  {'one more worker':^30} {'a cache':^30}")
        for name, (spec, rest_us) in pipelines.items():
            if not wanted or name in wanted:
                results["gains"].append(gains(arguments, arguments.folder, name, spec, rest_us))
                arguments.json or tell_gains(results["gains"][-1])
    errors = [result[key]["error"] for result in results["gains"] for key in ("worker", "cache") if key in result]
    is_good = all(r["is_right"] for r in results["situations"]) and all(abs(error) <= ALLOWED for error in errors)
    if arguments.json:
        print(json.dumps(results, indent=1))
    elif errors:
        tell(f"errors: median {100 * statistics.median(map(abs, errors)):.1f} %, largest {100 * max(map(abs, errors)):.1f} %")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How near the tuner comes to the best setting that a hand finds: figures as a table and JSON.

    tuner_bench.py BUILD [--folder DIR] [--pipelines a,b] [--seconds S] [--rounds N] [--settle S] [--json FILE]

BUILD holds bin/leatd, bin/leatctl and tests/bench/pipeline_bench. Five pipelines that differ: `prose` (JSON
lines, a tokenizer, pad longest), `rows` (small rows, shuffle, small batches), `pack` (huge documents, chunk,
pack), `numbers` (cheap numeric rows, large batches), `cached` (epochs out of the cache). Of each first a grid of
settings is run by hand, the tuner off; then, by turns, the best of them, the defaults, the tuner with nothing
kept (`first`), and the tuner with what a longer run left (`kept`). The machine is the CPUs this may run on
(taskset -c 0-1 tuner_bench.py ..). Rates are rows a second behind the first batch, medians of the rounds;
`cpu` is the daemon's CPU time a row against the best's, which tells more on a machine that others use too.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import tempfile

WORDS, SEED = 20000, 1
FINALISTS = 4


def make_words():
    rng = random.Random(SEED)
    return ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(WORDS)]


def make_vocab(folder, words):
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + c for c in letters), *words]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(lines)) + "\n")


def make_texts(path, words, n_bytes, lengths):
    rng, n = random.Random(SEED), 0
    with open(path, "w") as file:
        while n < n_bytes:
            n += file.write(json.dumps({"t": " ".join(rng.choices(words, k=rng.choice(lengths)))}) + "\n")


def make_rows(path, words, n_rows):
    rng = random.Random(SEED)
    with open(path, "w") as file:
        file.write("id,name,age,label\n")
        for i in range(n_rows):
            file.write(f"{i},{' '.join(rng.choices(words, k=4))},{rng.randint(1, 80)},{i % 2}\n")


def make_numbers(path, n_rows):
    rng = random.Random(SEED)
    with open(path, "w") as file:
        file.write(",".join(f"x{i}" for i in range(8)) + ",y\n")
        for i in range(n_rows):
            file.write(",".join(f"{rng.random():.4f}" for _ in range(8)) + f",{i % 2}\n")


def make_data(folder):
    """Once; the last file says that all are there."""
    if (folder / "numbers.csv").exists():
        return
    words = make_words()
    make_vocab(folder, words)
    make_texts(folder / "prose.jsonl", words, 48 << 20, [50, 200, 400, 1500])
    make_texts(folder / "huge.jsonl", words, 48 << 20, [2000, 20000, 100000])
    make_rows(folder / "rows.csv", words, 600000)
    make_numbers(folder / "new.csv", 600000)
    (folder / "new.csv").rename(folder / "numbers.csv")


def pipelines(folder):
    tokenize = {"tokenize": {"input": "t", "output": "ids", "tokenizer": str(folder / "vocab.txt")}}
    only_ids = {"select": {"fields": ["ids"]}}
    rows = [{"tokenize": {"input": "name", "output": "ids", "tokenizer": str(folder / "vocab.txt"),
                          "max_length": 32}},
            {"pad": {"input": "ids", "length": 32, "value": 0, "mask": "mask"}}, {"cast": {"input": "label", "dtype": "int64"}},
            {"select": {"fields": ["ids", "mask", "label"]}}, {"shuffle": {"buffer_size": 1000}}]
    csv_rows = {"csv": {"paths": [str(folder / "rows.csv")]}}
    names = [f"x{i}" for i in range(8)]
    return {
        "prose": {"source": {"jsonl": {"paths": [str(folder / "prose.jsonl")]}},
                  "stages": [tokenize, {"pad": {"input": "ids", "longest": True, "value": 0}}, only_ids,
                             {"batch": {"batch_size": 32}}]},
        "rows": {"source": csv_rows, "stages": [*rows, {"batch": {"batch_size": 8}}]},
        "pack": {"source": {"jsonl": {"paths": [str(folder / "huge.jsonl")]}},
                 "stages": [tokenize, only_ids, {"chunk": {"fields": ["ids"], "length": 1024}},
                            {"pack": {"fields": ["ids"], "length": 4096, "value": 0, "mask": "mask"}},
                            {"batch": {"batch_size": 4}}]},
        "numbers": {"source": {"csv": {"paths": [str(folder / "numbers.csv")]}},
                    "stages": [*({"cast": {"input": name, "dtype": "float32"}} for name in names),
                               {"stack": {"inputs": names, "output": "x"}}, {"cast": {"input": "y", "dtype": "int32"}},
                               {"select": {"fields": ["x", "y"]}}, {"batch": {"batch_size": 8192}}]},
        "cached": {"source": csv_rows, "cache": {"path": str(folder / "cache")},
                   "stages": [*rows, {"batch": {"batch_size": 64}}]},
    }


class Bench:
    def __init__(self, build, folder, n_cpus):
        self.build, self.folder, self.n_cpus = build, folder, n_cpus

    def run(self, stream, epochs, state="state"):
        config = self.folder / "stream.yaml"
        config.write_text(f"state_directory: {self.folder / state}\nlog_level: error\nstreams:\n"
                          f"  bench: {json.dumps(stream)}\n")
        with open(self.folder / "out", "w+") as out:  # no pipe, which a daemon that is left would keep open
            done = subprocess.Popen(
                [self.build / "tests/bench/pipeline_bench", "--config", config, "--stream", "bench", "--bin",
                 self.build / "bin", "--workers", str(self.n_cpus), "--epochs", str(epochs)],
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            status = done.wait()
            out.seek(0)
            text = out.read()
        if status:
            os.killpg(done.pid, signal.SIGKILL)
            raise SystemExit(f"{json.dumps(stream)}:\n{text}")
        return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]

    def remove_state(self, state):
        for path in (self.folder / state).glob("tuner/*"):
            path.unlink()


def by_hand(stream, knobs):
    """The stream with these values, and the tuner off."""
    result = {**stream, "tuner": "off", "stages": list(stream["stages"])}
    for name, value in knobs.items():
        if name == "prefetch_size":
            result["stages"].append({"prefetch": {"prefetch_size": value}})
        else:
            result[name] = value
    return result


def grid(n_cpus, is_cached):
    """Settings that a hand would try."""
    blocks = [None] if is_cached else [1 << 16, None, 1 << 20]
    jobs = [n_cpus + 1, None, 8 * n_cpus + 4]
    for values in itertools.product(blocks, jobs, [4, 32, None], [None, 64]):
        names = ["block_bytes", "jobs_in_flight", "collate_batches", "prefetch_size"]
        yield {name: value for name, value in zip(names, values) if value is not None}


def rate(result):
    return result["rows"] / (result["wall_s"] - result["first_batch_s"])


def cpu(result):
    return result["daemon_cpu_s"] / result["rows"]


def calibrate(bench, stream, seconds):
    """How many epochs take that long with the defaults."""
    once = bench.run(by_hand(stream, {}), 2)["wall_s"] / 2
    return max(2, round(seconds / once))


def take_turns(bench, stream, epochs, ways, rounds):
    """Runs of each way, in random order; a way is settings by hand, or None: the tuner."""
    results = {way: [] for way in ways}
    for _ in range(rounds):
        for way, knobs in random.sample(list(ways.items()), len(ways)):
            if way == "first":
                bench.remove_state("first")
            results[way].append(bench.run(stream if knobs is None else by_hand(stream, knobs), epochs,
                                          way if knobs is None else "state"))
    return results


def medians(results, figure):
    return {way: statistics.median(map(figure, runs)) for way, runs in results.items()}


def find_best(bench, stream, epochs, rounds):
    """By a run of each of the grid, and rounds among the best of these."""
    scores = [(rate(bench.run(by_hand(stream, knobs), max(1, epochs // 3))), i, knobs)
              for i, knobs in enumerate(grid(bench.n_cpus, "cache" in stream))]
    finalists = {i: knobs for _, i, knobs in sorted(scores, reverse=True)[:FINALISTS]}
    rates = medians(take_turns(bench, stream, epochs, finalists, rounds), rate)
    return finalists[max(rates, key=rates.get)]


def compare(bench, name, stream, options):
    epochs = calibrate(bench, stream, options.seconds)
    best = find_best(bench, stream, epochs, options.rounds)
    bench.remove_state("kept")
    bench.run(stream, max(epochs, round(epochs * options.settle / options.seconds)), "kept")
    results = take_turns(bench, stream, epochs, {"best": best, "default": {}, "first": None, "kept": None},
                         options.rounds)  # measured anew: the best of many was lucky too
    rates, costs = medians(results, rate), medians(results, cpu)
    hand = max("best", "default", key=rates.get)
    tuner = results["kept"][-1]["stats"][0]["tuners"]
    return {"pipeline": name, "cpus": bench.n_cpus, "epochs": epochs, "rows_per_s": rates, "cpu_per_row": costs,
            "best": best, "ratios": {way: rates[way] / rates[hand] for way in rates},
            "cpu_ratios": {way: costs[way] / costs[hand] for way in rates},
            "tuner": tuner[0] if tuner else None}


def print_result(result):
    ratios, costs = result["ratios"], result["cpu_ratios"]
    print(f"{result['pipeline']:8} {result['cpus']:3} CPUs  best {result['rows_per_s']['best']:11.0f} rows/s  "
          + "  ".join(f"{way} {ratios[way]:.2f} (cpu {costs[way]:.2f})" for way in ratios)
          + f"  by hand {result['best'] or 'the defaults'}")
    for knob in (result["tuner"] or {"knobs": []})["knobs"]:
        print(f"             {knob['name']} {knob['value']}", end="")
    print(flush=True)
    for decision in (result["tuner"] or {"decisions": []})["decisions"]:
        print(f"             {decision['at_ns'] / 1e9:6.1f} s  {decision['reason']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "leat-tuner-bench")
    parser.add_argument("--pipelines", default="prose,rows,pack,numbers,cached")
    parser.add_argument("--seconds", type=float, default=4, help="of a run")
    parser.add_argument("--settle", type=float, default=25, help="seconds of the run that leaves what is kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.folder = options.folder.resolve()
    make_data(options.folder)
    bench = Bench(options.build.resolve(), options.folder, len(os.sched_getaffinity(0)))
    results = []
    for name in options.pipelines.split(","):
        results.append(compare(bench, name, pipelines(options.folder)[name], options))
        print_result(results[-1])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What one node of many costs: CPU time, and bytes that are read, of rank 0 of 8 and of 64 against a lone trainer's.

    cluster_bench.py BIN [--megabytes N] [--rounds N] [--case NAME] [--daemons N [--prepared] | --nginx N]

BIN holds leatctl. For each case, first the steps of rank 0 must have the digests that they have in world 1. Then `leatctl run
--no-daemon` is measured, user and system time together; of the rounds the least counts. Prints a JSON object: seconds of
world 1, for each world the share of these that its rank 0 takes, and the sum of all ranks of 8. `pack`, `filter` and `indexed`
(`blocks`, otherwise) have an index, which is made before. `lanes` is a prepared set of 8 times the data, as what is read once is a part of that; its bytes
are those that the process reads of all files.

With --daemons (root only) there are N daemons in N network namespaces, each with a trainer, which pull one after the other, and an
index: CPU seconds of one daemon that serves alone, and the CPU time of all N as a multiple of it. With --prepared they train from a
prepared set.

With --nginx N nodes train an epoch of `lanes` from a prepared set in a store that nginx plays, each without a copy of anything:
the bytes that leave nginx as a multiple of the set's, those of blocks (shards) and those of all, and the number of requests.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile

CONFIG = pathlib.Path(__file__).resolve().parents[2] / "config"
WORLDS = [8, 64]
TOKENIZE = [{"tokenize": {"input": "t", "output": "ids", "tokenizer": str(CONFIG / "sentences" / "tokenizer.json"),
                          "max_length": 128}}]
PAD = [{"pad": {"input": "ids", "length": 128, "value": 0}}, {"select": {"fields": ["ids"]}}]
BATCH = [{"batch": {"batch_size": 32}}]
NUMBERS = [{"cast": {"input": f"c{i}", "dtype": "float32"}} for i in range(8)] + [
    {"select": {"fields": [f"c{i}" for i in range(8)]}}]
CASES = {
    "plain": ("jsonl", [*TOKENIZE, *PAD, *BATCH]),
    "coarse": ("jsonl", [*TOKENIZE, *PAD, {"batch": {"batch_size": 512}}]),
    "window": ("jsonl", [*TOKENIZE, *PAD, {"shuffle": {"buffer_size": 4096}}, *BATCH]),
    "blocks": ("jsonl", [*TOKENIZE, *PAD, {"shuffle": {"blocks": True, "block_size": 64, "buffer_size": 4096}}, *BATCH]),
    "indexed": ("jsonl", [*TOKENIZE, *PAD, {"shuffle": {"blocks": True, "block_size": 64, "buffer_size": 4096}}, *BATCH]),
    "pack": ("jsonl", [*TOKENIZE, {"select": {"fields": ["ids"]}}, {"shuffle": {"buffer_size": 4096}},
                       {"pack": {"fields": ["ids"], "length": 512}}, {"batch": {"batch_size": 8}}]),
    "lanes": ("jsonl", [*TOKENIZE, *PAD, {"shuffle": {"blocks": True, "block_size": 64, "buffer_size": 4096, "lanes": 64}},
                        {"batch": {"batch_size": 64}}]),
    "filter": ("jsonl", [{"hash_bucket": {"input": "t", "output": "h", "buckets": 10}}, *TOKENIZE,
                         {"pad": {"input": "ids", "length": 128, "value": 0}}, {"select": {"fields": ["ids", "h"]}},
                         {"shuffle": {"buffer_size": 4096}}, {"filter": {"input": "h", "min": 2}}, *BATCH]),
    "numbers": ("csv", [*NUMBERS, {"shuffle": {"buffer_size": 4096}}, {"batch": {"batch_size": 256}}]),
}


def make_documents(folder, n_bytes):
    rng, n = random.Random(1), 0
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20000)]
    with open(folder / "data.jsonl", "w") as file:
        while n < n_bytes:
            n += file.write(json.dumps({"t": " ".join(rng.choices(words, k=rng.randint(10, 90)))}) + "\n")
    n = 0
    with open(folder / "data.csv", "w") as file:
        file.write(",".join(f"c{i}" for i in range(8)) + "\n")
        while n < n_bytes:
            n += file.write(",".join(f"{rng.random():.6f}" for _ in range(8)) + "\n")


def run(options, config, world, *args, rank=0):
    """What it printed, seconds of CPU, and bytes that it read."""
    command = [str(options.bin / "leatctl"), "run", str(config), "--no-daemon", "--rank", str(rank), "--world-size", str(world), *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        text = process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        counts = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return text, usage.ru_utime + usage.ru_stime, int(counts["rchar"])


def steps_of(options, config, world):
    lines = map(json.loads, run(options, config, world, "--format", "jsonl")[0].splitlines())
    return {line["step"]: line["digest"] for line in lines if "step" in line and "digest" in line}


def check(options, config):
    """Rank 0 of each world has the bytes of world 1."""
    every = steps_of(options, config, 1)
    for world in WORLDS:
        own = steps_of(options, config, world)
        assert own and all(every[step] == digest for step, digest in own.items()), (config, world)


def prepare(options, folder, config):
    for args in (["--shard", "0/2"], ["--shard", "1/2"], ["--seal"]):
        subprocess.run([str(options.bin / "leatctl"), "prepare", str(config), "-o", str(folder / "set"), *args], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(options, folder, name):
    kind, stages = CASES[name]
    config = folder / f"{name}.yaml"
    has_index = name in ("pack", "filter", "indexed")
    files = [f"data.{kind}"] * (8 if name == "lanes" else 1)
    stream = {"source": {kind: {"paths": files}}, "index": str(folder / "index") if has_index else "off", "stages": stages,
              **({"cache": {"prepared": "set"}} if name == "lanes" else {})}
    (folder / "index").mkdir(exist_ok=True)
    config.write_text("streams:\n  s: " + json.dumps(stream) + "\n")
    if has_index:
        subprocess.run([options.bin / "leatctl", "cache", "warm", config, "-q"], check=True, stdout=subprocess.DEVNULL)
    if name == "lanes":
        prepare(options, folder, config)
    check(options, config)
    parts = [(1, 0), *((world, 0) for world in WORLDS), *((8, rank) for rank in range(1, 8))]
    least = {}
    for _ in range(options.rounds):
        for world, rank in parts:
            spent = run(options, config, world, "--json", rank=rank)[1:]
            least[world, rank] = [min(values) for values in zip(spent, least.get((world, rank), spent))]
    seconds, n_bytes = least[1, 0]
    return {"world_1_s": round(seconds, 3), **{f"rank_0_of_{world}": round(least[world, 0][0] / seconds, 3) for world in WORLDS},
            "all_of_8": round(sum(least[8, rank][0] for rank in range(8)) / seconds, 3),
            "world_1_bytes": n_bytes, **{f"bytes_0_of_{world}": round(least[world, 0][1] / n_bytes, 3) for world in WORLDS}}


def measure_daemons(options, folder, name):
    import cluster_daemons

    kind, stages = CASES[name]
    config, place = folder / f"{name}.yaml", folder / f"{name}-prepared"
    place.mkdir()
    stream = {"source": {kind: {"paths": [str(folder / f"data.{kind}")] * (8 if name == "lanes" else 1)}}, "index": str(place), "stages": stages}
    if options.prepared or name == "lanes":
        stream["cache"] = {"prepared": str(place / "set")}
    text = "streams:\n  s: " + json.dumps(stream) + "\n"
    config.write_text(text)
    if "cache" in stream:
        prepare(options, place, config)
    else:
        subprocess.run([options.bin / "leatctl", "cache", "warm", config, "-q"], check=True, stdout=subprocess.DEVNULL)
    return cluster_daemons.measure(folder, text, options.daemons, options.rounds)


def measure_nginx(options, folder, name):
    import cluster_nginx

    kind, stages = CASES[name]
    config, place = folder / f"{name}.yaml", folder / f"{name}-nginx"
    (place / "root" / "b").mkdir(parents=True)
    stream = {"source": {kind: {"paths": [str(folder / f"data.{kind}")]}}, "index": "off", "stages": stages}
    config.write_text("streams:\n  s: " + json.dumps({**stream, "cache": {"prepared": str(place / "root" / "b" / "set")}}) + "\n")
    prepare(options, place / "root" / "b", config)
    steps, result = cluster_nginx.measure(options, place, stream, options.nginx)
    alone = steps_of(options, config, 1)
    assert steps == {step: digest for step, digest in alone.items() if step < len(alone) // options.nginx * options.nginx}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=40, help="of each file that is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=sorted(CASES), action="append")
    parser.add_argument("--daemons", type=int, metavar="N")
    parser.add_argument("--prepared", action="store_true")
    parser.add_argument("--nginx", type=int, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_documents(pathlib.Path(folder), int(options.megabytes * 1e6))
        of_case = measure_daemons if options.daemons else measure_nginx if options.nginx else measure
        cases = options.case or (["lanes"] if options.nginx else CASES)
        print(json.dumps({name: of_case(options, pathlib.Path(folder), name) for name in cases}, indent=2))


if __name__ == "__main__":
    main()

"""Streams drawn at random from all sources and stages, over small nasty data: for tests that hold for each of them.

`write(folder)` makes the files; `draw(rng, folder)` gives a stream as a configuration has it. The same rng gives the
same. There is Parquet if `write` finds a Python with pyarrow. A stream that leat refuses, or that has no batches, is the caller's to leave out. One that has_lanes() needs
`leatctl cache warm` before it runs.
"""
import gzip
import json
import os
import random
import subprocess
import sys

WORDS = ["the", "mill", "leat", "water", "a", "sluice", "wheel", "stone", "grain", "Mühle", "水", "naïve", "0", "x"]
LABELS = ["cat", "dog", "emu"]
LETTERS = sorted({letter for word in WORDS for letter in word} | set(" .") | set("cdog"))


def text(rng):
    return " ".join(rng.choices(WORDS, k=min(40, int(rng.lognormvariate(1.8, 0.9)))))


def records(seed, n, is_clean):
    rng = random.Random(seed)
    for i in range(n):
        record = {"id": str(i + 1000 * seed), "t": text(rng), "label": rng.choice(LABELS), "x": f"{rng.uniform(-5, 5):.3f}",
                  "group": str(rng.randrange(20))}
        if not is_clean and rng.random() < 0.08:
            record["x"] = "not a number"
        if rng.random() < 0.1:
            record["t"] = "the mill"  # for dedup
        yield record


def jsonl(seed, n, is_clean):
    lines = []
    for i, record in enumerate(records(seed, n, is_clean)):
        lines.append(json.dumps(record, ensure_ascii=i % 2 == 0))
        if not is_clean and i % 37 == 5:
            lines.append('{"id": "7", "t": ')
    return ("\n".join(lines) + "\n").encode()


def csv(seed, n, is_clean):
    lines = ["id,t,label,x,group"]
    for i, record in enumerate(records(seed, n, is_clean)):
        quote = '"' if i % 3 else ""
        lines.append(",".join(f"{quote}{value}{quote}" for value in record.values()))
        if not is_clean and i % 41 == 7:
            lines.append("too,few")
    return ("\n".join(lines) + "\n").encode()


WRITE_PARQUET = """
import json, sys, pyarrow as pa, pyarrow.parquet as pq
for path, codec, version, size in json.load(sys.stdin):
    table = pa.Table.from_pylist([json.loads(line) for line in open(path + ".jsonl", encoding="utf-8")])
    pq.write_table(table, path + ".parquet", compression=codec, data_page_version=version, row_group_size=size, data_page_size=900,
                   write_batch_size=20)
"""


def write_parquet(folder):
    """The rows of the clean JSON Lines, in row groups of other sizes."""
    files = [[str(folder / f"clean-{i}"), *how] for i, how in enumerate([("none", "1.0", 50), ("snappy", "2.0", 1000), ("zstd", "1.0", 64)])]
    for python in [sys.executable, os.environ.get("LEAT_ORACLE_PYTHON")]:
        if python and subprocess.run([python, "-c", "import pyarrow"], capture_output=True, check=False).returncode == 0:
            subprocess.run([python, "-c", WRITE_PARQUET], input=json.dumps(files), text=True, check=True)
            return


def write(folder):
    for state in ("clean", "dirty"):
        for i, n in enumerate((170, 90, 260)):
            (folder / f"{state}-{i}.jsonl").write_bytes(jsonl(i + 1, n, state == "clean"))
            (folder / f"{state}-{i}.csv").write_bytes(csv(i + 4, n, state == "clean"))
        (folder / f"{state}-3.jsonl.gz").write_bytes(gzip.compress(jsonl(8, 120, state == "clean")))
    write_parquet(folder)
    rng = random.Random(9)
    (folder / "plain.txt").write_text("".join(text(rng) + "\n" for _ in range(300)))
    tokens = [*LETTERS, *WORDS, *(word + " " for word in WORDS), *(" " + word for word in WORDS)]
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in dict.fromkeys(tokens)))


def plain_source(rng, folder, state):
    kind = rng.choice(["csv", "jsonl", "jsonl"])
    if kind == "jsonl" and state == "clean" and (folder / "clean-0.parquet").exists() and rng.random() < 0.4:
        kind = "parquet"
    names = [f"{state}-{i}.{kind}" for i in rng.sample(range(3), rng.randint(1, 3))]
    if kind == "jsonl" and rng.random() < 0.3:
        names.append(f"{state}-3.jsonl.gz")
    return {kind: {"paths": [str(folder / name) for name in names]}}


def own_stages(rng):
    """Of a source among others; as it is text in CSV and a number in JSONL, nothing is cast."""
    stages = [*maybe(rng, 0.3, [{"lower": {"input": "t"}}]), *maybe(rng, 0.3, [{"sample": {"fraction": 0.9}}])]
    return {"stages": stages} if stages else {}


def source(rng, folder, state):
    kind = rng.choice(["plain"] * 4 + ["concat", "mix"])
    if kind == "plain":
        return plain_source(rng, folder, state)
    sources = [{**plain_source(rng, folder, state), **own_stages(rng)} for _ in range(2)]
    if kind == "concat":
        return {"concat": {"sources": sources}}
    return {"mix": {"sources": sources, **rng.choice([{"weights": [1, 3]}, {"proportions": [2, 1]}]),
                    "exhausted": rng.choice(["stop", "drop"])}}


def maybe(rng, part, stages):
    return stages if rng.random() < part else []


def text_stages(rng, folder):
    vocab = {"input": "doc", "output": "ids", "vocab": str(folder / "vocab.txt"), "unknown": "skip"}
    return [*maybe(rng, 0.2, [{"lower": {"input": "t"}}]), *maybe(rng, 0.2, [{"strip": {"input": "t"}}]),
            *maybe(rng, 0.2, [{"replace": {"input": "t", "old": "mill", "new": "wheel"}}]),
            *maybe(rng, 0.2, [{"regex_replace": {"input": "t", "pattern": "l+", "new": "l"}}]),
            {"template": {"output": "doc", "join": " ", "parts": ["{t}", rng.choice(["{label}", "x {group}"])]}},
            {"tokenize": {**vocab, "mode": rng.choice(["shortest", "greedy", "random"])}}]


def number_stages(rng):
    numbers = {"cast": {"input": "x", "dtype": "float32"}}
    extra = rng.choice([{"clip": {"input": "x", "min": -2, "max": 2}}, {"bin": {"input": "x", "output": "b", "edges": [-1, 0, 1]}},
                        {"normalize": {"input": "x", "mean": 0.5, "std": 2}},
                        {"hash_bucket": {"input": "group", "output": "b", "buckets": 7}},
                        {"one_hot": {"input": "label", "output": "b", "categories": LABELS}}])
    return [numbers, {"cast": {"input": "id", "dtype": "int64"}}, extra], ["id", "x"] + ["b"] * ("output" in next(iter(extra.values())))


def row_filter(rng):
    return rng.choice([{"filter": {"input": "x", "min": -3}}, {"filter": {"input": "id", "max": 4200}},
                       {"sample": {"fraction": 0.7, "seed": rng.randrange(9)}},
                       {"split": {"train": 0.8, "validation": 0.2, "part": "train"}}])


def shuffle(rng):
    return {"shuffle": {**rng.choice([{"buffer_size": rng.choice([1, 7, 100, 1000])}, {"global": True}]),
                        "seed": rng.randrange(5), "reshuffle_each_epoch": rng.random() < 0.8}}


def order_stages(rng):
    stages = [*maybe(rng, 0.15, [{"dedup": {"input": "t"}}]), *maybe(rng, 0.15, [{"skip": {"count": rng.randrange(1, 60)}}]),
              *maybe(rng, 0.7, [shuffle(rng)]), *maybe(rng, 0.15, [row_filter(rng)]),
              *maybe(rng, 0.15, [{"take": {"count": rng.randrange(50, 300)}}]),
              *maybe(rng, 0.15, [{"repeat": {"count": 2}}]), *maybe(rng, 0.1, [shuffle(rng)])]
    return stages


def document_stages(rng):
    how = rng.choice([{"how": "concat"}, {"how": "first_fit", "window": 32}, {"how": "best_fit", "window": 16}])
    pack = {"pack": {"fields": ["ids"], "length": 64, "value": 0, "mask": "mask", "split": True, **how}}
    return [*maybe(rng, 0.3, [{"chunk": {"fields": ["ids"], "length": 16, "stride": 12}}]), *maybe(rng, 0.5, [pack])]


def batch(rng, has_tokens):
    if has_tokens and rng.random() < 0.3:
        return {"batch": {"max_tokens": 400, "max_rows": 12, "tokens_of": ["ids"]}}
    return {"batch": {"batch_size": rng.choice([1, 3, 8, 13]), "drop_last": rng.random() < 0.3}}


def draw(rng, folder):
    state = rng.choice(["clean", "clean", "dirty"])
    options = {"seed": rng.randrange(3), "on_error": "skip" if state == "dirty" else rng.choice(["fail", "skip"]),
               **rng.choice([{}, {"block_bytes": rng.choice([4096, 5000, 16384])}])}
    numbers, names = number_stages(rng)
    if rng.random() < 0.25:  # documents: tokens alone
        stages = [*text_stages(rng, folder), *maybe(rng, 0.3, [{"sample": {"fraction": 0.8}}]), {"select": {"fields": ["ids"]}},
                  *maybe(rng, 0.6, [shuffle(rng)]), *document_stages(rng)]
        if not any("pack" in stage for stage in stages):
            stages.append({"pad": {"input": "ids", "longest": True, "value": 0}})
        return {"source": source(rng, folder, state), **options, "stages": [*stages, batch(rng, False)]}
    has_tokens = rng.random() < 0.6
    order = order_stages(rng)
    fields = names + ["ids"] * has_tokens
    if any("dedup" in stage for stage in order):
        select = []
    else:
        select = [{"select": {"fields": fields}}]
    stages = [*(text_stages(rng, folder) if has_tokens else []), *numbers, *maybe(rng, 0.25, [row_filter(rng)]), *select, *order]
    if not select:
        stages.append({"select": {"fields": fields}})
    if has_tokens:
        stages += maybe(rng, 0.2, [{"bucket": {"input": "ids", **rng.choice([{"boundaries": [8, 20]}, {"window": 50}])}}])
        stages.append({"pad": {"input": "ids", "longest": True, "value": 0, "mask": "mask"}})
    return {"source": source(rng, folder, state), **options, "stages": [*stages, batch(rng, has_tokens)]}


def with_lanes(rng, stream, folder):
    """The stream with a shuffle that has lanes, as the first stage that looks at order; None: it cannot have one."""
    text = json.dumps(stream)
    if "mix" in stream["source"] or "random" in text or "select" not in text:
        return None
    shuffle_ = {"blocks": True, "block_size": rng.choice([1, 5, 16]), "buffer_size": rng.choice([1, 7, 40]),
                "lanes": rng.choice([1, 2, 3, 8]), "seed": rng.randrange(5), "reshuffle_each_epoch": rng.random() < 0.8}
    stages = []
    for stage in stream["stages"]:
        (name, args), = stage.items()
        if name in ("take", "skip", "dedup") or (name == "shuffle" and args.get("global")):
            continue
        stages += [stage, *[{"shuffle": shuffle_}] * (name == "select")]
    return {**stream, "cache": {"path": str(folder / "cache")}, "stages": stages}


def has_lanes(stream):
    return any("lanes" in stage.get("shuffle", {}) for stage in stream["stages"])

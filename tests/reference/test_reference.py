#!/usr/bin/env python3
"""The digests of leat against those of leat_reference.py, over small generated data.

    test_reference.py BIN [PATTERN]
"""
import bz2
import gzip
import json
import lzma
import pathlib
import random
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "e2e")]
try:
    import yaml
except ImportError:
    print("skipped: all: Python has no module yaml (Debian: python3-yaml)")
    sys.exit(77)

import leat_harness
import leat_reference
import leat_sources
import nasty
import random_specs
from leat_harness import ROOT, Daemon, run_digest

TEMPLATE = {"template": {"output": "doc", "join": " ",
                         "parts": ["Text: {text}", "Label {{{label}}}", "{number}", "{last}"]}}
END = [{"batch": {"batch_size": 7}}, {"prefetch": {"prefetch_size": 2}}]


def tokenize(**args):
    return {"tokenize": {"input": "doc", "output": "ids", "vocab": "vocab.txt", "unknown": "skip", **args}}


def csv_stream(*stages, source=None, **options):
    return {"source": {"csv": {"paths": ["a.csv", "b*.csv"], **(source or {})}}, **options, "stages": list(stages) + END}


def jsonl_stream(*stages, **options):
    return {"source": {"jsonl": {"paths": ["a.jsonl"]}}, **options, "stages": list(stages) + END}


def documents(*stages, end=None, **options):
    return {"source": {"jsonl": {"paths": ["docs.jsonl"]}}, **options,
            "stages": list(stages) + (END if end is None else end)}


def write_data(folder):
    (folder / "a.csv").write_bytes(nasty.csv_bytes(1, 150, blank_lines=True))
    (folder / "b1.csv").write_bytes(nasty.csv_bytes(2, 40, line_end="\r\n", bom=True))
    (folder / "b2.csv").write_bytes(nasty.csv_bytes(3, 60, final_newline=False))
    (folder / "semicolon.csv").write_bytes(nasty.csv_bytes(4, 50, delimiter=";"))
    (folder / "a.jsonl").write_bytes(nasty.jsonl_bytes(5, 200, blank_lines=True))
    (folder / "docs.jsonl").write_bytes(nasty.documents_bytes(7, 230))
    (folder / "more.jsonl").write_bytes(nasty.documents_bytes(8, 90))
    (folder / "few.jsonl").write_bytes(nasty.documents_bytes(9, 13))
    tokens = nasty.vocab_lines(6, 300)
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in tokens), encoding="utf-8", newline="")
    (folder / "talks.jsonl").write_bytes(nasty.talks_bytes(7, 200))
    (folder / "words.json").write_text(json.dumps({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {
        "type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "Response:": 4, "<|im_end|>": 5}}}))
    (folder / "scores.txt").write_text("".join(f"{(i * 37 % 11) / 4}\n" for i in range(len(tokens))))


def check(folder, stream, *runs, daemon=True):
    """One digest from the reference and from leat, for each of the runs (arguments of both). Returns
    how many batches and rows each had. Under a sanitizer, which has nothing to say of the reference
    and its time, only the last run."""
    write_data(folder)
    file = folder / "stream.yaml"
    file.write_text(yaml.safe_dump({"streams": {"s": stream}}, sort_keys=False, allow_unicode=True))
    if random_specs.has_lanes(stream):
        leat_harness.ctl("cache", "warm", file)
    counts = []
    for run in (runs or [{}])[-1 if leat_harness.SLOW > 1 else 0:]:
        expected, n_batches, n_rows = leat_reference.run(file, **run)
        assert n_batches > 0 and n_rows > 0, f"{run}: nothing to compare"
        counts.append((n_batches, n_rows))
        args = [x for key, value in run.items() for x in ("--" + key.replace("_", "-"), value)]
        for mode in [["--no-daemon"]] + [["--workers", "2"]] * daemon:
            found = run_digest(file, *args, *mode)
            assert found == expected, f"{run} {mode}: {found}, the reference has {expected}"
    return counts


SELECT = {"select": {"fields": ["ids", "mask", "y"]}}
NUMBER = {"cast": {"input": "id", "dtype": "int32"}}
LABEL = {"cast": {"input": "label", "output": "y", "dtype": "int64", "default": -1,
                  "map": {"cat": 0, "dog": 1, "emu": 2}}}
RUNS = [{}, {"epochs": 3}, {"epochs": 2, "seed": 99}, {"rank": 1, "world_size": 3}]


def test_shortest(folder):
    check(folder, csv_stream(TEMPLATE, tokenize(mode="shortest", max_length=40),
                             {"pad": {"input": "ids", "length": 40, "value": 3, "mask": "mask"}},
                             LABEL, SELECT, {"shuffle": {"buffer_size": 50, "seed": 42}}), *RUNS)


def test_shortest_scores(folder):
    check(folder, csv_stream(TEMPLATE, tokenize(mode="shortest", scores="scores.txt"),
                             {"pad": {"input": "ids", "longest": True, "value": 3, "mask": "mask"}},
                             LABEL, SELECT))


def test_greedy_unk_left(folder):
    check(folder, csv_stream(TEMPLATE, tokenize(mode="greedy", unknown="unk", unk_id=5, bos_id=1, eos_id=2,
                                                max_length=20, truncation_side="left"),
                             {"pad": {"input": "ids", "multiple_of": 8, "side": "left", "value": 9, "mask": "mask"}},
                             LABEL, SELECT, {"shuffle": {"buffer_size": 1000}}), *RUNS)


def test_random(folder):
    check(folder, csv_stream(TEMPLATE, tokenize(mode="random", seed=3),
                             {"pad": {"input": "ids", "longest": True, "value": 0, "mask": "mask"}},
                             LABEL, SELECT, seed=5), *RUNS)


def test_random_scores(folder):
    check(folder, csv_stream(TEMPLATE, tokenize(mode="random", scores="scores.txt", unknown="unk", unk_id=4),
                             {"pad": {"input": "ids", "longest": True, "value": 0, "mask": "mask"}},
                             LABEL, SELECT), *RUNS)


def test_order_stages(folder):
    check(folder, csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}},
                             {"skip": {"count": 11}}, {"shuffle": {"buffer_size": 16, "seed": 1}},
                             {"take": {"count": 90}}, {"repeat": {"count": 3}},
                             {"shuffle": {"buffer_size": 32, "seed": 1}}, {"skip": {"count": 5}}, seed=77), *RUNS)


def test_ranks(folder):
    """A rank that makes only its own rows has those of the reference, in several worlds and with each order of rows."""
    window, runs = {"shuffle": {"buffer_size": 40}}, [{"rank": r, "world_size": w, "epochs": 2} for w, r in ((2, 1), (3, 0), (8, 5))]
    source = {"mix": {"sources": [MORE, DOCS, FEW], "weights": [1, 2.5, 0.3], "exhausted": "repeat"}}
    for stages in ([], [window], [{"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 64}}], [{"shuffle": {"global": True}}],
                   [{"take": {"count": 200}}, {"repeat": {"count": 3}}, window], [window, {"filter": {"input": "group", "min": 3}}],
                   [{"pack": {"fields": ["ids", "types"], "length": 70, "window": 50, "value": 0}}, window]):
        stream = documents({"select": {"fields": ["ids", "types", "group"]}}, *stages, end=[{"batch": {"batch_size": 2}}], block_bytes=4096)
        if not any("pack" in stage for stage in stages):
            stream["stages"][-1:-1] = [{"pad": {"input": field, "longest": True, "value": 0}} for field in ("ids", "types")]
        check(folder, stream, *runs, daemon=len(stages) == 1)
    check(folder, several(source, IDS, window, block_bytes=4096), *runs)


def test_uneven_rounds(folder):
    for uneven in ("drop", "pad"):
        for world_size in (2, 4, 7):
            runs = [{"rank": rank, "world_size": world_size, "epochs": 2} for rank in (0, world_size - 1)]
            check(folder, csv_stream(NUMBER, {"select": {"fields": ["id"]}}, {"shuffle": {"buffer_size": 50}},
                                     uneven=uneven), *runs, daemon=False)


def test_uneven_rounds_of_packs(folder):
    """The steps that fill up the last round hold what the first steps of that round do, packs and all."""
    for args in ({"fields": ["ids", "types"], "segment_ids": "segments", "cu_seqlens": "cu"}, {"fields": "ids", "labels": "labels"}):
        stream = documents({"pack": {"length": 70, "window": 50, "value": 0, **args}}, uneven="pad")
        for world_size in (2, 4, 7):
            runs = [{"rank": rank, "world_size": world_size, "epochs": 2} for rank in (0, world_size - 1)]
            check(folder, stream, *runs, daemon=world_size == 4)


def test_skipped(folder):
    steps = ["0:1", "2-3", "1:5-6"]
    records = [5, "20-24", 149, "a.csv:2", "a.csv:40-60", "b1.csv:7", "b2.csv:11-19"]
    check(folder, csv_stream(NUMBER, {"select": {"fields": ["id"]}}, {"shuffle": {"buffer_size": 50}},
                             skip_steps=steps, skip_records=records), {"epochs": 2})
    check(folder, csv_stream(NUMBER, {"select": {"fields": ["id"]}}, {"shuffle": {"buffer_size": 50}},
                             skip_steps=["0:2-5", 1, 0], skip_records=[5, 6, 150], uneven="pad"),
          {"epochs": 2, "rank": 1, "world_size": 2}, daemon=False)


def test_full_shuffle(folder):
    check(folder, documents({"shuffle": {"global": True, "seed": 3}}, IDS, {"repeat": {"count": 2}}), *RUNS)


def test_blocks(folder):
    id_ = [{"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}}]
    for size in (1, 7, 40, 1000):
        blocks = {"shuffle": {"blocks": True, "block_size": size, "buffer_size": 30, "seed": 3}}
        check(folder, csv_stream(*id_, blocks, seed=4), *RUNS, daemon=size == 7)
        check(folder, csv_stream(*id_, blocks, seed=4, cache={"path": "cache"}), *RUNS, daemon=size == 7)
    check(folder, csv_stream(*id_, blocks, skip_records=[5, "20-40"], skip_steps=["1:3", 4]), *RUNS[:2], daemon=False)
    blocks["shuffle"].update(block_size=20, reshuffle_each_epoch=False)
    check(folder, csv_stream(*id_, {"repeat": {"count": 2}}, blocks), {"epochs": 2}, daemon=False)
    blocks["shuffle"].update(reshuffle_each_epoch=True)
    check(folder, csv_stream(*id_, blocks, {"repeat": {"count": 3}}, {"filter": {"input": "id", "min": 5}}), *RUNS)


def test_lanes(folder):
    id_ = [{"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}}]
    for size, n in ((1, 16), (7, 8), (40, 7), (1000, 1)):
        lanes = {"shuffle": {"blocks": True, "block_size": size, "buffer_size": 30, "lanes": n, "seed": 3}}
        check(folder, csv_stream(*id_, lanes, seed=4, cache={"path": "cache"}), *RUNS, daemon=size == 7)
    lanes["shuffle"].update(block_size=9, lanes=5, reshuffle_each_epoch=False)
    cached = {"cache": {"path": "cache"}}
    check(folder, csv_stream(*id_, {"repeat": {"count": 2}}, lanes, **cached, skip_records=[5, "20-40"]), {"epochs": 2}, daemon=False)
    lanes["shuffle"].update(reshuffle_each_epoch=True)
    again = {"shuffle": {"buffer_size": 20, "seed": 1}}
    check(folder, csv_stream(*id_, lanes, again, {"repeat": {"count": 3}}, {"filter": {"input": "id", "min": 5}}, **cached,
                             uneven="pad"), *RUNS, {"rank": 2, "world_size": 3})
    for args in ({"boundaries": [3, 9]}, {"window": 20, "seed": 2}):
        check(folder, documents(*LENGTHS, lanes, {"bucket": {"input": "ids", **args}}, **cached), {"epochs": 2}, RUNS[-1])


def has_reference(stream):
    """True unless the stream reads lines that are no JSON, or draws by the places of rows in Parquet: the reference knows neither."""
    shown = json.dumps(stream)
    draws = any(word in shown for word in ('"sample"', '"split"', '"random"'))
    return "dirty" not in shown and not ("parquet" in shown and draws)


def test_random_lanes(folder):
    """Random streams with lanes, on one machine and as one of several ranks."""
    random_specs.write(folder)
    rng, n, file = random.Random(5), 0, folder / "lanes.yaml"
    while n < 12 // leat_harness.SLOW:
        stream = random_specs.with_lanes(rng, random_specs.draw(rng, folder), folder)
        if not stream or not has_reference(stream):
            continue
        file.write_text(yaml.safe_dump({"streams": {"s": stream}}, sort_keys=False, allow_unicode=True))
        if leat_harness.ctl("cache", "warm", file, check=False).returncode != 0 or (
                leat_harness.ctl("run", file, "--no-daemon", "--world-size", 3, "--rank", 0, check=False).returncode != 0):
            continue  # too few blocks, or too few batches
        for run in [{"epochs": 2}, {"rank": n % 3, "world_size": 3}]:
            args = [x for key, value in run.items() for x in ("--" + key.replace("_", "-"), value)]
            assert run_digest(file, *args, "--no-daemon") == leat_reference.run(file, **run)[0], stream
        n += 1


def test_random_parquet(folder):
    """Random streams that read Parquet, alone and as one of several ranks."""
    random_specs.write(folder)
    if not (folder / "clean-0.parquet").exists():
        raise leat_harness.Skip("no Python with pyarrow (pip install pyarrow, or LEAT_ORACLE_PYTHON=a Python that has it)")
    rng, n, file = random.Random(6), 0, folder / "parquet.yaml"
    while n < 20 // leat_harness.SLOW:
        stream = random_specs.draw(rng, folder)
        if "parquet" not in json.dumps(stream) or not has_reference(stream):
            continue
        file.write_text(yaml.safe_dump({"streams": {"s": stream}}, sort_keys=False, allow_unicode=True))
        if leat_harness.ctl("run", file, "--no-daemon", "--world-size", 3, "--rank", 0, check=False).returncode != 0:
            continue  # too few batches
        for run in [{"epochs": 2}, {"rank": n % 3, "world_size": 3}]:
            args = [x for key, value in run.items() for x in ("--" + key.replace("_", "-"), value)]
            assert run_digest(file, *args, "--no-daemon") == leat_reference.run(file, **run)[0], stream
        n += 1


def test_order_stays_the_same(folder):
    check(folder, csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}},
                             {"shuffle": {"buffer_size": 64, "seed": 8, "reshuffle_each_epoch": False}},
                             {"repeat": {"count": 2}}), *RUNS)


def test_filters(folder):
    check(folder, csv_stream({"filter": {"input": "text", "empty": False}},
                             {"filter": {"input": "label", "equals": ["cat", "dog"]}},
                             {"filter": {"input": "last", "max_length": 30}},
                             {"cast": {"input": "id", "dtype": "int32"}},
                             {"take": {"count": 80}},
                             {"filter": {"input": "id", "min": 9, "max": 140}},
                             {"filter": {"input": "number", "min": -10}},
                             {"select": {"fields": ["id"]}}))


def test_dtypes(folder):
    casts = [{"cast": {"input": "number", "output": dtype, "dtype": dtype, "default": 0.3}}
             for dtype in ("float32", "float16", "bfloat16")]
    whole = ["int32", "int64", "uint16", "uint8", "int16", "float64"]
    casts += [{"cast": {"input": "id", "output": dtype, "dtype": dtype}} for dtype in whole]
    casts += [{"cast": {"input": "label", "output": "bool", "dtype": "bool", "default": "false", "map": {"cat": "true"}}}]
    casts += [{"cast": {"input": "bool", "output": "int8", "dtype": "int8"}}]
    names = ["bool", "float32", "uint8", "bfloat16", "int64", "float16", "uint16", "int32", "int8", "int16", "float64"]
    check(folder, csv_stream(*casts, {"select": {"fields": names}}, {"rename": {"fields": {"int64": "wide", "bool": "is_cat"}}}))


def test_normalize_and_replace(folder):
    check(folder, csv_stream({"cast": {"input": "number", "dtype": "float32", "default": 1}},
                             {"normalize": {"input": "number", "mean": 2.7, "std": 0.3}},
                             {"cast": {"input": "id", "output": "text", "dtype": "int64"}},
                             {"select": {"fields": ["text", "number"]}}))


def test_numbers(folder):
    check(folder, jsonl_stream({"clip": {"input": "meta.stars", "min": -2.5, "max": 3}},
                               {"clip": {"input": "weight", "output": "low", "max": 1.5}},
                               {"log1p": {"input": "weight", "output": "log", "nan": "default", "default": -9}},
                               {"bin": {"input": "values", "output": "bins", "edges": [-500, 0.5, 10, 900]}},
                               {"hash_bucket": {"input": "text", "output": "bucket", "buckets": 997, "salt": "s"}},
                               {"hash_bucket": {"input": "values", "buckets": 11, "dtype": "int64"}},
                               {"one_hot": {"input": "meta.lang", "output": "lang", "categories": ["de", "", "fr"], "unknown": "zeros"}},
                               {"one_hot": {"input": "flag", "output": "hot", "categories": ["1", "0"], "dtype": "uint8", "unknown": "zeros"}},
                               {"normalize": {"input": "id", "mean": 7, "std": 3, "dtype": "float64"}},
                               {"stack": {"inputs": ["log", "lang", "meta.stars", "low"], "output": "m", "dtype": "bfloat16"}},
                               {"pad": {"input": "bins", "longest": True, "value": -1}},
                               {"pad": {"input": "values", "length": 9, "value": -1}},
                               {"select": {"fields": ["id", "m", "bins", "values", "bucket", "lang", "log"]}},
                               {"shuffle": {"buffer_size": 30, "seed": 2}}), *RUNS)


def test_texts(folder):
    check(folder, csv_stream({"lower": {"input": "text"}}, {"strip": {"input": "text"}},
                             {"replace": {"input": "text", "old": "e", "new": "éE"}},
                             {"regex_replace": {"input": "text", "pattern": "[a-d]+|\\s(?=[aeo])", "new": "-"}},
                             {"strip": {"input": "text", "output": "left", "chars": "-é", "side": "left"}},
                             {"hash_bucket": {"input": "text", "buckets": 1000000007}},
                             {"hash_bucket": {"input": "left", "buckets": 1000000007}},
                             {"select": {"fields": ["text", "left"]}}))


HELPER = """
import json, os, sys
for line in sys.stdin:
    record = json.loads(line)
    n = int(record["id"])
    if n % 50 == 7:
        os.abort()
    if n % 50 == 8:
        print("rubbish")
    elif n % 50 == 9:
        print(json.dumps({"_leat": record["_leat"], "error": "no"}))
    elif n % 50 != 11:
        record.update(text=record["text"][::-1] if n % 50 != 10 else None, n=n * 3 - 5, v=[n / 3, 1], l=[n] * (n % 4))
        print(json.dumps(record))
    if n % 50 == 12:
        print(json.dumps(record))
"""


def test_exec(folder):
    (folder / "helper.py").write_text(HELPER)
    stages = ({"exec": {"command": ["/usr/bin/env", "python3", "helper.py"], "inputs": ["id", "text"], "processes": 3,
                        "schema": {"text": "text", "n": "int32", "v": "float32[2]", "l": "uint16[<=4]"},
                        "max_restarts": 1000}},
              {"hash_bucket": {"input": "text", "buckets": 1000000007}},
              {"pad": {"input": "l", "length": 4, "value": 0}},
              {"select": {"fields": ["n", "v", "l", "text"]}}, {"shuffle": {"buffer_size": 20, "seed": 3}})
    check(folder, csv_stream(*stages, on_error="skip"))


def test_bad_records_are_skipped(folder):
    check(folder, csv_stream({"cast": {"input": "number", "output": "n", "dtype": "float32"}},
                             {"cast": {"input": "label", "output": "y", "dtype": "uint8", "map": {"cat": 1, "emu": 2}}},
                             {"shuffle": {"buffer_size": 10, "seed": 4}}, {"select": {"fields": ["y", "n"]}},
                             on_error="skip"))


def test_drop_last(folder):
    stream = csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}})
    stream["stages"][-2] = {"batch": {"batch_size": 64, "drop_last": True}}
    check(folder, stream, {"epochs": 2}, {"rank": 1, "world_size": 2})


def test_without_batch(folder):
    stream = csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}},
                        {"take": {"count": 20}})
    del stream["stages"][-2]
    check(folder, stream)


def test_delimiter(folder):
    stream = csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}},
                        source={"paths": ["semicolon.csv"], "delimiter": ";"})
    check(folder, stream)


def test_names(folder):
    names = ["n", "t", "l", "x", "y"]
    for header in (True, False):
        check(folder, csv_stream({"filter": {"input": "n", "not_equals": "id"}},
                                 {"cast": {"input": "n", "dtype": "int32"}}, {"select": {"fields": "n"}},
                                 source={"header": header, "names": names}))


LENGTHS = [{"pad": {"input": "ids", "multiple_of": 4, "value": -1, "mask": "mask"}},
           {"pad": {"input": "types", "longest": True, "value": 9}},
           {"select": {"fields": ["id", "ids", "mask", "types"]}}]


def test_batches_of_tokens(folder):
    check(folder, documents(*LENGTHS, {"shuffle": {"buffer_size": 50}}, end=[{"batch": {"max_tokens": 200}}]), *RUNS)
    for batch in ({"max_tokens": 64, "max_rows": 5}, {"max_tokens": 100, "drop_last": True},
                  {"max_tokens": 90, "tokens_of": "types"}):
        check(folder, documents(*LENGTHS, end=[{"batch": batch}]), {"epochs": 2}, daemon=False)
    check(folder, documents(*LENGTHS, end=[{"batch": {"max_tokens": 40}}], on_error="skip"), daemon=False)


def test_buckets(folder):
    ends = [[{"batch": {"batch_size": 6}}], [{"batch": {"batch_size": 6, "drop_last": True}}],
            [{"batch": {"max_tokens": 150}}]]
    buckets = [{"boundaries": [3, 8, 20]}, {"boundaries": [0]}, {"window": 50, "seed": 3},
               {"window": 64, "shuffle": False}, {"window": 1000}, {"window": 2}]
    for bucket in buckets:
        for end in ends:
            stream = documents({"bucket": {"input": "ids", **bucket}}, *LENGTHS, end=end, seed=4)
            check(folder, stream, {"epochs": 2}, {"rank": 1, "world_size": 2}, daemon=False)
    check(folder, documents({"shuffle": {"buffer_size": 40}}, {"bucket": {"input": "ids", "window": 60}},
                            *LENGTHS, end=ends[2]), *RUNS)


IDS = {"select": {"fields": ["id"]}}


def test_samples(folder):
    for args in ({"fraction": 0.3}, {"fraction": 0.5, "seed": 4, "each_epoch": True}, {"fraction": 1}):
        check(folder, documents({"sample": args}, IDS, {"sample": {"fraction": 0.7}}), {"epochs": 3}, {"seed": 5},
              daemon=False)
        check(folder, documents(IDS, {"shuffle": {"buffer_size": 20}}, {"sample": args}), *RUNS)


def test_splits(folder):
    shares = {"train": 0.6, "validation": 0.3, "test": 0.1}
    for by in ({}, {"input": "user"}, {"input": "group", "seed": 9}):
        for part in shares:
            check(folder, documents({"split": {**shares, "part": part, **by}}, IDS), daemon=False)
    check(folder, documents({"shuffle": {"buffer_size": 20}}, IDS,
                            {"split": {"train": 0.9, "validation": 0.1, "part": "validation"}}), *RUNS)
    check(folder, csv_stream({"cast": {"input": "id", "dtype": "int32"}}, {"select": {"fields": ["id"]}},
                             {"split": {"train": 0.5, "test": 0.5, "part": "test"}}), {}, {"rank": 1, "world_size": 2})


def test_dedup(folder):
    for args in ({"input": "user"}, {"input": "group"}, {"input": "text"}, {},
                 {"input": "user", "max_records": 9, "when_full": "forget"},
                 {"input": "text", "max_records": 5, "when_full": "pass"}):
        check(folder, documents({"dedup": args}, IDS), {"epochs": 2}, daemon=False)
        check(folder, documents({"shuffle": {"buffer_size": 30}}, {"dedup": args}, IDS, {"repeat": {"count": 2}}),
              {"epochs": 2}, {"rank": 1, "world_size": 2})


def test_chunks(folder):
    fields = {"fields": ["ids", "types"]}
    tail = [{"pad": {"input": "ids", "length": 20, "value": 7, "mask": "mask"}},
            {"pad": {"input": "types", "longest": True, "value": 9}},
            {"select": {"fields": ["ids", "mask", "id", "types", "group"]}}]
    for args in ({"length": 8}, {"length": 8, "stride": 3}, {"length": 5, "stride": 9, "min_length": 2},
                 {"length": 20, "stride": 20, "min_length": 1}, {"length": 1}):
        check(folder, documents({"chunk": {**fields, **args}}, *tail), daemon=False)
    check(folder, documents({"chunk": {**fields, "length": 7, "stride": 5, "start": "start"}}, *tail[:2],
                            {"filter": {"input": "group", "max": 4}}, {"select": {"fields": ["start", "types", "ids"]}},
                            {"bucket": {"input": "ids", "boundaries": [3, 6]}}, end=[{"batch": {"max_tokens": 99}}]), *RUNS)
    check(folder, documents({"shuffle": {"buffer_size": 40}}, {"chunk": {**fields, "length": 6}},
                            {"shuffle": {"buffer_size": 100}}, *tail), *RUNS)


def test_packs(folder):
    made = {"mask": "mask", "position_ids": "positions", "segment_ids": "segments", "cu_seqlens": "cu"}
    ways = [{"how": "concat"}, {"how": "concat", "split": True}, {"how": "first_fit", "window": 50},
            {"window": 37}, {"how": "best_fit", "window": 1}, {"split": True, "length": 16},
            {"how": "first_fit", "split": True, "length": 3}, {"how": "concat", "split": True, "length": 1}]
    for way in ways:
        args = {"fields": ["ids", "types"], "length": 64, "value": 5, **way}
        check(folder, documents({"pack": {**args, **made, "labels": "labels"}}), daemon=False)
        check(folder, documents({"pack": {**args, "labels": "types", "ignore_index": -1}}, {"take": {"count": 20}}),
              {"epochs": 2}, {"rank": 1, "world_size": 2}, daemon=False)
    check(folder, documents({"shuffle": {"buffer_size": 70}}, {"chunk": {"fields": "ids", "length": 11, "stride": 9}},
                            {"pack": {"fields": "ids", "length": 32, "window": 90, "value": 0, **made}},
                            {"shuffle": {"buffer_size": 10}}), *RUNS)
    stream = documents({"pack": {"fields": "ids", "length": 70, "value": 0, "cu_seqlens": "cu"}}, {"repeat": {"count": 2}})
    del stream["stages"][-2]
    check(folder, stream)


def test_little_is_wasted(folder):
    """best_fit with a window of 4096 documents, of log-normal lengths: less than 1 % is padding. A window of 64 has 4 %."""
    rng = random.Random(8)
    for length, mean, n in ((512, 4, 5000), (4096, 6, 1000)):
        sizes = [min(length, int(rng.lognormvariate(mean, 1)) + 1) for _ in range(n)]
        with open(folder / "long.jsonl", "w", encoding="utf-8") as file:
            for number, size in enumerate(sizes):
                file.write(json.dumps({"ids": [number % 10] * size}) + "\n")
        stream = documents({"cast": {"input": "ids", "dtype": "uint16"}},
                           {"pack": {"fields": "ids", "length": length, "window": 4096, "value": 0}})
        stream["source"]["jsonl"]["paths"] = ["long.jsonl"]
        [(_, n_rows)] = check(folder, stream, daemon=False)
        waste = 1 - sum(sizes) / (n_rows * length)
        print(f"  {n_rows} rows of {length}: {100 * waste:.2f} % padding")
        assert waste < 0.01


def several(source, *stages, **options):
    return {"source": source, **options, "stages": list(stages) + END}


DOCS, MORE = {"jsonl": {"paths": ["docs.jsonl"]}}, {"jsonl": {"paths": ["more.jsonl", "few.jsonl"]}}
FEW, CSV = {"jsonl": {"paths": "few.jsonl"}}, {"csv": {"paths": ["a.csv", "b1.csv"]}}


def test_concat(folder):
    check(folder, several({"concat": {"sources": [MORE, DOCS, FEW]}}, IDS, {"sample": {"fraction": 0.6}},
                          {"shuffle": {"buffer_size": 40}}), *RUNS)
    ids = [{"hash_bucket": {"input": "text", "buckets": 1000003}}, {"select": {"fields": ["text"]}}]
    check(folder, several({"concat": {"sources": [CSV, DOCS]}}, *ids, {"repeat": {"count": 2}}), *RUNS)
    check(folder, several({"concat": {"sources": [DOCS, CSV, MORE]}}, *ids, on_error="skip"), daemon=False)


def test_mixes(folder):
    shares = [{"weights": [1, 2.5, 0.3]}, {"proportions": [5, 1, 2]}, {"weights": [1, 1, 1], "seed": 7}]
    for share in shares:
        for exhausted in ("stop", "repeat", "drop"):
            source = {"mix": {"sources": [MORE, DOCS, FEW], "exhausted": exhausted, **share}}
            check(folder, several(source, IDS, seed=3), {"epochs": 2}, {"rank": 1, "world_size": 2}, daemon=False)
            check(folder, several(source, {"filter": {"input": "group", "min": 5}}, IDS, {"repeat": {"count": 3}},
                                  {"take": {"count": 500}}), {"epochs": 2}, daemon=False)
    source = {"mix": {"sources": [{"concat": {"sources": [FEW, MORE]}}, DOCS], "proportions": [1, 1],
                      "exhausted": "repeat"}}
    check(folder, several(source, {"pack": {"fields": ["ids", "types"], "length": 70, "window": 50, "value": 0}},
                          {"shuffle": {"buffer_size": 9}}), *RUNS)
    source = {"mix": {"sources": [CSV, FEW], "weights": [1, 3], "exhausted": "repeat"}}
    check(folder, several(source, {"hash_bucket": {"input": "text", "buckets": 1000003}},
                          {"select": {"fields": ["text"]}}), *RUNS)
    source = {"mix": {"sources": [DOCS, FEW], "weights": [1, 1], "exhausted": "repeat"}}
    check(folder, several(source, {"filter": {"input": "id", "min": 50}}, IDS), daemon=False)


def test_stages_of_single_sources(folder):
    """Files with other columns are made alike first."""
    def number(name):
        return {"hash_bucket": {"input": name, "output": "ids", "buckets": 1000}}

    made = {**CSV, "stages": [{"filter": {"input": "text", "not_equals": ""}}, {"sample": {"fraction": 0.8}}, number("text")]}
    docs = {**DOCS, "stages": [{"rename": {"fields": {"text": "t"}}}, {"sample": {"fraction": 0.5}}, number("t"),
                               {"sample": {"fraction": 0.9}}]}
    keep = {"select": {"fields": ["ids"]}}
    check(folder, several({"concat": {"sources": [made, docs]}}, {"sample": {"fraction": 0.7}}, keep), *RUNS)
    check(folder, several({"concat": {"sources": [made, docs]}}, keep, on_error="skip"), {"epochs": 2}, daemon=False)
    def decimal():
        return {"cast": {"input": "id", "dtype": "float32"}}

    few = {**FEW, "stages": [decimal(), {"clip": {"input": "id", "max": 20}}]}
    more = {**MORE, "stages": [decimal(), {"filter": {"input": "id", "min": 5}}]}
    ids = {"select": {"fields": ["id"]}}
    both = {"concat": {"sources": [FEW, {**DOCS, "stages": [{"sample": {"fraction": 0.3}}]}]}, "stages": [decimal()]}
    for source in ({"mix": {"sources": [few, more], "weights": [1, 2], "exhausted": "repeat"}},
                   {"mix": {"sources": [both, more], "proportions": [1, 1], "exhausted": "drop"}}):
        check(folder, several(source, {"filter": {"input": "id", "max": 60}}, ids, {"shuffle": {"buffer_size": 9}}), *RUNS)


def test_jsonl(folder):
    check(folder, jsonl_stream({"template": {"output": "doc", "parts": ["{text}", "{meta.lang}", "{id}:{meta.stars}"]}},
                               tokenize(mode="shortest", max_length=64),
                               {"pad": {"input": "ids", "multiple_of": 16, "value": 1, "mask": "mask"}},
                               {"cast": {"input": "meta.stars", "output": "y", "dtype": "int32"}},
                               {"cast": {"input": "flag", "dtype": "uint8"}},
                               {"filter": {"input": "meta.lang", "not_equals": ["de"]}},
                               {"cast": {"input": "values", "dtype": "float32"}},
                               {"pad": {"input": "values", "longest": True, "value": -1}},
                               {"normalize": {"input": "weight", "mean": 0.25, "std": 2}},
                               {"select": {"fields": ["weight", "ids", "mask", "y", "flag", "values"]}},
                               {"shuffle": {"buffer_size": 30, "seed": 2}}), *RUNS)


def talk_stream(write, loss_on, *, tokenize=None, labels=None):
    return {"source": {"jsonl": {"paths": ["talks.jsonl"], "fields": {"messages": "json", "instruction": "text", "input": "text",
                                                                       "output": "text"}}},
            "on_error": "skip",
            "stages": [write, {"tokenize": {"input": "text", "output": "ids", "tokenizer": "words.json", **(tokenize or {})}},
                       {"causal_labels": {"input": "ids", "loss_on": loss_on, **(labels or {})}},
                       {"pad": {"input": "ids", "multiple_of": 4, "value": 7}}, {"pad": {"input": "labels", "multiple_of": 4}},
                       {"hash_bucket": {"input": "text", "buckets": 1000000007}},
                       {"select": {"fields": ["text", "ids", "labels"]}}] + END}


def test_chat(folder):
    for template in ("chatml", "llama-3", "mistral", "gemma", "phi-3", "zephyr"):
        chat = {"messages": "messages", "template": template, "add_generation_prompt": template in ("gemma", "zephyr")}
        check(folder, talk_stream({"chat": chat}, "assistant"), {"epochs": 2})
    chat = {"messages": "messages", "template": "mistral", "system": "Be kind.", "bos": "", "eos": " [e]"}
    check(folder, talk_stream({"chat": chat}, "completion", tokenize={"max_length": 12}))
    chat = {"messages": "messages", "prefixes": {"me": "I: ", "assistant": "You:"}, "suffixes": {"assistant": "."},
            "separator": "\n", "roles": {"user": "me"}}
    check(folder, talk_stream({"chat": chat}, "assistant", tokenize={"max_length": 6, "truncation_side": "left"},
                              labels={"dtype": "int32", "ignore_index": -1}))
    check(folder, talk_stream({"chat": chat}, "completion", tokenize={"max_length": 6}, labels={"without_loss": "fail"}))
    for labels in ({}, {"dtype": "int32", "ignore_index": -7}):
        stream = talk_stream({"chat": chat}, "assistant", labels=labels)
        stream["stages"][3:] = [{"pack": {"fields": ["ids", "labels"], "length": 256, "value": 3}}, *END]
        check(folder, stream)


def test_instruction(folder):
    check(folder, talk_stream({"instruction": {"preset": "alpaca", "eos": " <|im_end|>"}}, "completion"))
    check(folder, talk_stream({"instruction": {"preset": "alpaca", "fields": {"instruction": "output", "output": "instruction"}}}, "all"))
    check(folder, talk_stream({"instruction": {"prompt": "{{{instruction}}} {input}", "response": " {output}"}}, "assistant"))


def text_stream(*stages, **source):
    return {"source": {"text": source}, "on_error": "skip",
            "stages": [{"hash_bucket": {"input": "text", "output": "h", "buckets": 1000000007}}] + list(stages) + END}


def write_texts(folder):
    """Texts in directories, as they are and compressed, with bytes that are no UTF-8."""
    lines = [nasty.bad_text(100 + i) for i in range(4)]
    (folder / "texts" / "sub").mkdir(parents=True, exist_ok=True)
    (folder / "texts" / "a-09.txt").write_bytes(lines[0])
    (folder / "texts" / "a-10.txt.gz").write_bytes(gzip.compress(lines[1]) + gzip.compress(lines[2]))
    (folder / "texts" / "a-11.txt.bz2").write_bytes(bz2.compress(lines[2]) + bz2.compress(lines[3]) + b"garbage")
    (folder / "texts" / "sub" / "b.txt.xz").write_bytes(lzma.compress(lines[3]) + lzma.compress(lines[0]))
    (folder / "texts" / "sub" / "c.bin").write_bytes(b"not wanted\n")
    for program in ["zstd", "lz4"]:
        if not shutil.which(program):
            leat_harness.note_skipped(f"texts packed by {program}", f"{program} is not installed")
            continue
        packed = subprocess.run([program, "-c"], input=lines[1], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        (folder / "texts" / "sub" / f"d.txt.{program}").write_bytes(packed.stdout + packed.stdout)


def test_plain_text(folder):
    write_texts(folder)
    named = {"hash_bucket": {"input": "file", "output": "f", "buckets": 1000000007}}
    keep = {"select": {"fields": ["h", "f"]}}
    for source in [{"paths": "texts", "file_field": "file"},
                   {"paths": ["texts/sub", "texts/a-{09..10}.t*", "texts"], "suffix": ".txt", "file_field": "file"},
                   {"paths": "texts", "file_field": "file", "document": "file"},
                   {"paths": "texts", "suffix": [".txt", "bin"], "file_field": "file", "invalid_utf8": "fail"},
                   {"paths": "texts/*", "file_field": "file", "document": "separator", "separator": "e\n"},
                   {"paths": "texts/a*", "file_field": "file", "document": "separator", "separator": "\n\n",
                    "invalid_utf8": "fail"}]:
        check(folder, text_stream(named, keep, {"shuffle": {"buffer_size": 20}}, **source), {}, {"epochs": 2, "seed": 4})


def test_compressed_csv_and_jsonl(folder):
    write_data(folder)
    (folder / "z.csv").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    (folder / "z.jsonl").write_bytes(lzma.compress((folder / "a.jsonl").read_bytes()))
    casts = [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": "id"}}]
    check(folder, csv_stream(*casts, source={"paths": ["z.csv", "b{1..2}.csv", "a.csv"]}), *RUNS)
    check(folder, {"source": {"jsonl": {"paths": ["z.jsonl", "a.jsonl"]}}, "stages": casts + END}, *RUNS)


MAKE_PARQUET = """
import json, sys, pyarrow as pa, pyarrow.parquet as pq
rows = [json.loads(line) for line in open("a.jsonl", encoding="utf-8") if line.strip()]
for i, row in enumerate(rows):
    row |= {"stars": row.pop("meta")["stars"], "text": None if i % 11 == 3 else row["text"]}
schema = pa.schema([("id", pa.int32()), ("text", pa.utf8()), ("flag", pa.bool_()), ("stars", pa.int64()), ("weight", pa.float32()),
                    ("values", pa.list_(pa.int64()))])
table = pa.Table.from_pylist(rows, schema=schema)
pq.write_table(table, "one.parquet", row_group_size=37, data_page_size=300, write_batch_size=10, compression="zstd")
pq.write_table(table.slice(50, 90), "two.parquet", data_page_version="2.0", use_dictionary=False,
               column_encoding={"text": "DELTA_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED"})
"""


def test_parquet(folder):
    python = leat_sources.python_with_pyarrow()
    if not python:
        raise leat_harness.Skip("no Python with pyarrow (pip install pyarrow, or LEAT_ORACLE_PYTHON=a Python that has it)")
    write_data(folder)
    subprocess.run([python, "-c", MAKE_PARQUET], cwd=folder, check=True)
    doc = {"template": {"output": "doc", "parts": ["{text}", "{id}:{stars}"]}}
    keep = [{"pad": {"input": "values", "length": 9, "value": 0}}, {"pad": {"input": "ids", "multiple_of": 8, "value": 0}},
            {"select": {"fields": ["id", "ids", "flag", "stars", "weight", "values"]}}]
    source = {"parquet": {"paths": ["one.parquet", "two.parquet"]}}
    for mode, more in (("greedy", [{"shuffle": {"buffer_size": 40}}]), ("greedy", [{"shuffle": {"global": True}}]),
                       ("shortest", [{"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 64}}])):
        check(folder, {"source": source, "stages": [doc, tokenize(mode=mode), *keep, *more, *END]}, *RUNS)
    mixed = {"mix": {"sources": [{"parquet": {"paths": "two.parquet", "fields": {"text": "text", "id": "int32"}}},
                                 {"parquet": {"paths": "one.parquet", "fields": {"text": "text", "id": "int32"}}}], "weights": [1, 2]}}
    check(folder, {"source": mixed, "stages": [{"select": {"fields": ["id"]}}, {"shuffle": {"buffer_size": 30}}, *END]}, *RUNS)


def test_titanic(folder):
    file = ROOT / "config" / "titanic.yaml"
    expected = leat_reference.run(file, epochs=2)[0]
    assert run_digest(file, "--epochs", 2) == expected
    with Daemon(folder, file) as daemon:
        assert daemon.digest("titanic", "--epochs", 2) == expected
        assert daemon.digest("titanic", "--epochs", 1) == leat_reference.run(file)[0]


if __name__ == "__main__":
    leat_harness.main(globals())

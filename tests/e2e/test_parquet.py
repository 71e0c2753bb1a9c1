#!/usr/bin/env python3
"""Parquet files through the real programs: the same batches as of JSON Lines in every mode and order; positions, places, indexes,
bad records, damage.

    test_parquet.py BIN [PATTERN]
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys

import data
import leat_harness
from leat_harness import Daemon, ctl, run_digest

SKIPPED = 77
FIELDS = {"id": "int64", "text": "text", "messages": "json", "vec": "list<float32>", "d": "float64"}
STAGES = [{"hash_bucket": {"input": "text", "output": "h", "buckets": 1000003}},
          {"hash_bucket": {"input": "messages", "output": "m", "buckets": 1000003}}, {"pad": {"input": "vec", "length": 4, "value": 0}},
          {"select": {"fields": ["id", "h", "m", "vec", "d"]}}]
BATCH = [{"batch": {"batch_size": 8}}]
BLOCKS = [{"shuffle": {"buffer_size": 40, "blocks": True, "block_size": 16, "seed": 3}}]
MAKE = """
import sys, json, random, pyarrow as pa, pyarrow.parquet as pq
rng = random.Random(7)
n = 3000
rows = [{"id": i, "text": None if i % 17 == 0 else "word " * rng.randrange(120), "messages":
         [{"role": "user", "content": "q%d" % i}, {"role": "assistant", "content": "x\\n" * rng.randrange(40)}],
         "vec": [rng.random() for _ in range(i % 5)], "d": rng.random()} for i in range(n)]
schema = pa.schema([("id", pa.int64()), ("text", pa.utf8()), ("messages", pa.list_(pa.struct([("role", pa.utf8()),
                    ("content", pa.utf8())]))), ("vec", pa.list_(pa.float32())), ("d", pa.float64())])
table = pa.Table.from_pylist(rows, schema=schema)
pq.write_table(table, sys.argv[1] + "/one.parquet")
pq.write_table(table, sys.argv[1] + "/many.parquet", row_group_size=370, data_page_size=2000, write_batch_size=20, compression="zstd")
pq.write_table(table, sys.argv[1] + "/v2.parquet", row_group_size=1000, data_page_size=9000, write_batch_size=50, data_page_version="2.0",
               use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED"})
with open(sys.argv[1] + "/rows.jsonl", "w") as out:
    for row in table.to_pylist():
        out.write(json.dumps(row, separators=(",", ":")) + "\\n")
"""


def python_with_pyarrow():
    for python in [sys.executable, os.environ.get("LEAT_ORACLE_PYTHON")]:
        if python and subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode == 0:
            return python
    return None


def write_stream(folder, kind, paths, order=(), name="stream", fields=FIELDS, **options):
    file = folder / f"{name}.yaml"
    source = {kind: {"paths": [str(path) for path in paths], "fields": fields}}
    file.write_text(data.yaml_text({"s": {"source": source, **options, "stages": STAGES + list(order) + BATCH}}))
    return file


def make(folder):
    subprocess.run([python_with_pyarrow(), "-c", MAKE, str(folder)], check=True)


def test_every_file_gives_the_batches_of_jsonl(folder):
    make(folder)
    for order in [], BLOCKS:
        expected = run_digest(write_stream(folder, "jsonl", [folder / "rows.jsonl"] * 2, order), "--epochs", 2)
        for name in ["one", "many", "v2"]:
            stream = write_stream(folder, "parquet", [folder / f"{name}.parquet"] * 2, order)
            assert run_digest(stream, "--epochs", 2, "--no-daemon") == expected, name
            assert run_digest(stream, "--epochs", 2, "--workers", 3) == expected, name


def test_cache_and_position(folder):
    make(folder)
    stream = write_stream(folder, "parquet", [folder / "many.parquet"], BLOCKS)
    expected = run_digest(stream, "--epochs", 2)
    cached = write_stream(folder, "parquet", [folder / "many.parquet"], BLOCKS, name="cached", cache={"path": str(folder / "cache")})
    for _ in range(2):
        with Daemon(folder, cached) as daemon:
            assert daemon.digest("s", "--epochs", 2) == expected
    for order in [], BLOCKS, [{"shuffle": {"buffer_size": 20}}]:
        stream = write_stream(folder, "parquet", [folder / "many.parquet"], order)
        position = folder / "position"
        ctl("run", stream, "--batches", 205, "--save-position", position)
        rest = ctl("run", stream, "--position", f"@{position}", "--format", "jsonl").stdout.splitlines()
        whole = ctl("run", stream, "--format", "jsonl").stdout.splitlines()
        batches = [line for line in whole if b'"step"' in line]
        assert [line for line in rest if b'"step"' in line] == batches[205:]


def test_where_and_skipped_rows(folder):
    make(folder)
    for order in [], BLOCKS:
        found = []
        for kind, path in [("parquet", "many.parquet"), ("jsonl", "rows.jsonl")]:
            stream = write_stream(folder, kind, [folder / path], order)
            places = json.loads(ctl("where", stream, "--step", 60, "--json").stdout)["places"]
            assert all(place["file"].endswith(path) for place in places)
            found.append([place["line"] for place in places])
        assert found[0] == found[1] and (order or found[0] == list(range(481, 489))), found
    skipping = write_stream(folder, "parquet", [folder / "many.parquet"], name="skip", skip_records=["many.parquet:481-488"])
    steps = [json.loads(line) for line in ctl("run", skipping, "--format", "jsonl").stdout.splitlines()]
    steps = [line["step"] for line in steps if "step" in line and "rows" in line]
    assert steps == [step for step in range(375) if step != 60]


def test_bad_records_and_damage(folder):
    make(folder)
    whole = (folder / "many.parquet").read_bytes()
    magic = b"\x28\xb5\x2f\xfd"
    frames = [at for at in range(len(whole)) if whole[at:at + 4] == magic]
    at = frames[len(frames) // 2]
    (folder / "bad.parquet").write_bytes(whole[:at] + bytes(4) + whole[at + 4:])
    stream = write_stream(folder, "parquet", [folder / "bad.parquet"])
    for mode in ["--no-daemon"], ["--workers", 2]:
        failed = ctl("run", stream, *mode, check=False)
        assert failed.returncode == 3 and b"bad.parquet" in failed.stderr and b"row group 5: column \"" in failed.stderr, failed.stderr
    skipping = write_stream(folder, "parquet", [folder / "bad.parquet"], on_error="skip")
    done = json.loads(ctl("run", skipping, "--json").stdout)
    assert done["bad_records"] == 1 and 1000 < done["rows"] < 2500, done


def test_refusals(folder):
    make(folder)
    whole = (folder / "one.parquet").read_bytes()
    for name, content, message in [
            ("a.parquet", b"a,b,c\n1,2,3\n4,5,6\n", b"is not a Parquet file"), ("b.parquet", whole[:-100], b"its footer is missing"),
            ("c.parquet", whole[:-4] + b"PARE", b"is an encrypted Parquet file"), ("d.parquet", b"PAR1", b"is not a Parquet file"),
            ("e.parquet", gzip.compress(whole), b"is compressed as a whole (gzip)")]:
        (folder / name).write_bytes(content)
        failed = ctl("run", write_stream(folder, "parquet", [folder / name]), check=False)
        assert message in failed.stderr, (name, failed.stderr)
    failed = ctl("run", write_stream(folder, "parquet", [folder / "one.parquet"], fields={"nothing": "text"}), check=False)
    assert b'has no column "nothing": it has "id"' in failed.stderr


if __name__ == "__main__":
    if not python_with_pyarrow():
        print("skipped: neither this Python nor LEAT_ORACLE_PYTHON has pyarrow")
        sys.exit(SKIPPED)
    leat_harness.main(globals())

#!/usr/bin/env python3
"""Arrow files through the real programs: the same batches as of JSON Lines, whatever the form, the mode, the order; bad
records, places, positions.

    test_arrow.py BIN [PATTERN]
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import threading

import data
import leat_harness
from leat_harness import Daemon, ctl, run_digest

FILES = pathlib.Path(__file__).parent.parent / "pipeline/data/arrow"
FIELDS = {"id": "int64", "text": "text", "messages": "json", "vec": "list<float32>", "d": "float64"}
STAGES = [{"hash_bucket": {"input": "text", "output": "h", "buckets": 1000003}},
          {"hash_bucket": {"input": "messages", "output": "m", "buckets": 1000003}}, {"pad": {"input": "vec", "length": 4, "value": 0}},
          {"select": {"fields": ["id", "h", "m", "vec", "d"]}}]
BATCH = [{"batch": {"batch_size": 8}}]


def write_stream(folder, kind, paths, order=(), name="stream", fields=FIELDS, **options):
    file = folder / f"{name}.yaml"
    source = {kind: {"paths": [str(path) for path in paths], "fields": fields}}
    file.write_text(data.yaml_text({"s": {"source": source, **options, "stages": STAGES + list(order) + BATCH}}))
    return file


def as_jsonl(folder, file):
    """What leat reads of an Arrow file, as JSON Lines."""
    stream = write_stream(folder, "arrow", [file], name="head")
    lines = ctl("head", stream, "-n", 1000, "--json", "--after", "source").stdout.decode().splitlines()
    out = folder / "rows.jsonl"
    with out.open("w", encoding="utf-8") as target:
        for line in lines:
            row = json.loads(line)
            row["messages"] = json.loads(row["messages"])
            target.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    return out


def test_every_form_gives_the_batches_of_jsonl(folder):
    rows = as_jsonl(folder, FILES / "stream.arrow")
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 90
    packed = folder / "packed.arrow"
    packed.write_bytes(gzip.compress((FILES / "stream.arrow").read_bytes()))
    orders = [[], [{"shuffle": {"buffer_size": 20, "blocks": True, "block_size": 16, "seed": 3}}]]
    for order in orders:
        expected = run_digest(write_stream(folder, "jsonl", [rows, rows], order), "--epochs", 2)
        for name in ["stream", "file", "lz4", "zstd", "old"]:
            file = FILES / f"{name}.arrow"
            stream = write_stream(folder, "arrow", [file, file], order)
            assert run_digest(stream, "--epochs", 2, "--no-daemon") == expected, name
            assert run_digest(stream, "--epochs", 2, "--workers", 2) == expected, name
        stream = write_stream(folder, "arrow", [packed, packed], order)
        if not order:
            assert run_digest(stream, "--epochs", 2) == expected
        else:
            assert b"packed.arrow is compressed, and so can be read from front to back alone" in ctl("run", stream, check=False).stderr


def test_messages_go_to_chat(folder):
    digests = set()
    for kind, path in [("arrow", FILES / "file.arrow"), ("jsonl", as_jsonl(folder, FILES / "file.arrow"))]:
        stages = [{"chat": {"messages": "messages", "output": "text", "template": "chatml"}},
                  {"hash_bucket": {"input": "text", "output": "h", "buckets": 1000003}}, {"select": {"fields": ["h"]}}]
        stream = folder / "chat.yaml"
        source = {kind: {"paths": [str(path)], "fields": {"messages": "json"}}}
        stream.write_text(data.yaml_text({"s": {"source": source, "on_error": "skip", "stages": stages + BATCH}}))
        digests.add(run_digest(stream))
    assert len(digests) == 1


def test_cache_and_restart(folder):
    stream = write_stream(folder, "arrow", [FILES / "file.arrow"])
    expected = run_digest(stream, "--epochs", 3)
    cached = write_stream(folder, "arrow", [FILES / "file.arrow"], cache={"path": str(folder / "cache")})
    for _ in range(2):
        with Daemon(folder, cached) as daemon:
            assert daemon.digest("s", "--epochs", 3) == expected


def test_from_a_pipe(folder):
    expected = run_digest(write_stream(folder, "arrow", [FILES / "lz4.arrow"]))
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes((FILES / "lz4.arrow").read_bytes()))
    writer.start()
    assert run_digest(write_stream(folder, "arrow", [fifo]), "--no-daemon") == expected
    writer.join()


def test_position(folder):
    stream = write_stream(folder, "arrow", [FILES / "file.arrow"], [{"shuffle": {"buffer_size": 20}}])
    position = folder / "position"
    ctl("run", stream, "--batches", 5, "--save-position", position)
    rest = ctl("run", stream, "--position", f"@{position}", "--format", "jsonl").stdout.splitlines()
    whole = ctl("run", stream, "--format", "jsonl").stdout.splitlines()
    batches = [line for line in whole if b'"step"' in line]
    assert [line for line in rest if b'"step"' in line] == batches[5:]


def test_where_and_skipped_rows(folder):
    stream = write_stream(folder, "arrow", [FILES / "stream.arrow"])
    places = json.loads(ctl("where", stream, "--step", 6, "--json").stdout)["places"]
    assert [place["line"] for place in places] == list(range(49, 57))
    assert all(place["file"].endswith("stream.arrow") and place["n_lines"] == 1 for place in places)
    skipping = write_stream(folder, "arrow", [FILES / "stream.arrow"], name="skip", skip_records=["stream.arrow:49-56"])
    steps = [json.loads(line) for line in ctl("run", skipping, "--format", "jsonl").stdout.splitlines()]
    steps = [line["step"] for line in steps if "step" in line and "rows" in line]
    assert steps == [step for step in range(12) if step != 6]


def test_bad_records_are_shown(folder):
    bad = folder / "bad.jsonl"
    stream = write_stream(folder, "arrow", [FILES / "stream.arrow"], fields={**FIELDS, "f": "float32"}, on_error="quarantine",
                          quarantine=str(bad))
    stream.write_text(stream.read_text().replace("[id, h,", "[f, id, h,").replace('["id", "h",', '["f", "id", "h",'))
    ctl("run", stream)
    records = [json.loads(line) for line in bad.read_text(encoding="utf-8").splitlines()]
    assert [record["line"] for record in records] == list(range(1, 91, 7))
    assert records[1]["raw"]["id"] == 7 * 1000003 and records[1]["raw"]["f"] is None
    assert records[1]["field"] == "f"


def test_refusals(folder):
    for name, head, message in [("a.parquet", b"PAR1aaaaaaaa", b"Parquet"), ("b.csv", b"a,b,c\n1,2,3\n", b"is no Arrow file")]:
        (folder / name).write_bytes(head)
        assert message in ctl("run", write_stream(folder, "arrow", [folder / name]), check=False).stderr
    done = ctl("run", write_stream(folder, "arrow", [FILES / "stream.arrow", FILES / "dictionaries.arrow"]), check=False)
    assert b'has no column "id"; there are "k"' in done.stderr


BIG = """
import sys, json, random, pyarrow as pa, pyarrow.ipc as ipc
rng = random.Random(7)
n = 30000
rows = [{"id": i, "text": None if i % 17 == 0 else "word " * rng.randrange(120), "messages":
         [{"role": "user", "content": "q%d" % i}, {"role": "assistant", "content": "x\\n" * rng.randrange(40)}],
         "vec": [rng.random() for _ in range(i % 5)], "d": rng.random()} for i in range(n)]
schema = pa.schema([("id", pa.int64()), ("text", pa.utf8()), ("messages", pa.list_(pa.struct([("role", pa.utf8()),
                    ("content", pa.utf8())]))), ("vec", pa.list_(pa.float32())), ("d", pa.float64())])
table = pa.Table.from_pylist(rows, schema=schema)
for name, new, chunk, compression in [("s", ipc.new_stream, 1000, None), ("f", ipc.new_file, n, None), ("z", ipc.new_file, 9000, "lz4")]:
    with new(sys.argv[1] + "/" + name + ".arrow", schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=chunk)
with open(sys.argv[1] + "/rows.jsonl", "w") as out:
    for row in table.to_pylist():
        out.write(json.dumps(row, separators=(",", ":")) + "\\n")
"""


def python_with_pyarrow():
    for python in [sys.executable, os.environ.get("LEAT_ORACLE_PYTHON")]:
        if python and subprocess.run([python, "-c", "import pyarrow"], capture_output=True).returncode == 0:
            return python
    return None


def test_large_files_of_pyarrow(folder):
    python = python_with_pyarrow()
    if not python:
        print("skipped: neither this Python nor LEAT_ORACLE_PYTHON has pyarrow")
        return
    subprocess.run([python, "-c", BIG, str(folder)], check=True)
    for order in [], [{"shuffle": {"buffer_size": 300, "blocks": True, "block_size": 100, "seed": 3}}]:
        expected = run_digest(write_stream(folder, "jsonl", [folder / "rows.jsonl"], order), "--no-daemon")
        for name in ["s", "f"] if order else ["s", "f", "z"]:
            stream = write_stream(folder, "arrow", [folder / f"{name}.arrow"], order)
            assert run_digest(stream, "--workers", 2) == expected, name


if __name__ == "__main__":
    leat_harness.main(globals())

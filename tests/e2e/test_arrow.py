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
from leat_harness import Daemon, Skip, ctl, run_digest

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
            assert b"packed.arrow is compressed, so leat must read it from front to back" in ctl("run", stream, check=False).stderr


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
    for name, head, message in [("a.parquet", b"PAR1aaaaaaaa", b"Parquet"), ("b.csv", b"a,b,c\n1,2,3\n", b"is not an Arrow file")]:
        (folder / name).write_bytes(head)
        assert message in ctl("run", write_stream(folder, "arrow", [folder / name]), check=False).stderr
    done = ctl("run", write_stream(folder, "arrow", [FILES / "stream.arrow", FILES / "dictionaries.arrow"]), check=False)
    assert b'has no column "id": it has "k"' in done.stderr


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
        raise Skip("neither this Python nor LEAT_ORACLE_PYTHON has pyarrow")
    subprocess.run([python, "-c", BIG, str(folder)], check=True)
    for order in [], [{"shuffle": {"buffer_size": 300, "blocks": True, "block_size": 100, "seed": 3}}]:
        expected = run_digest(write_stream(folder, "jsonl", [folder / "rows.jsonl"], order), "--no-daemon")
        for name in ["s", "f"] if order else ["s", "f", "z"]:
            stream = write_stream(folder, "arrow", [folder / f"{name}.arrow"], order)
            assert run_digest(stream, "--workers", 2) == expected, name


DAMAGED = """
import struct, sys, pyarrow as pa, pyarrow.ipc as ipc
FOLDER, MAGIC = sys.argv[1], {"zstd": b"\\x28\\xb5\\x2f\\xfd", "lz4": b"\\x04\\x22\\x4d\\x18"}
def save(name, batches, new, damage, **options):
    with new(FOLDER + "/" + name, batches[0].schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    with open(FOLDER + "/" + name, "r+b") as file:
        data = file.read()
        at, new_bytes = damage(data)
        file.seek(at)
        file.write(new_bytes)
def frame(codec, index):
    return lambda data: ([i for i in range(len(data)) if data[i:i + 4] == MAGIC[codec]][index], bytes(4))
def words(first, indices, texts):
    return pa.record_batch([pa.array(range(first, first + len(indices)), pa.int64()),
                            pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(texts, pa.large_utf8()))], names=["id", "k"])
def offsets(data):  # the text of index 1 would begin where environments are, if no value had an address of its own
    old, new = struct.pack("<4q", 0, 8, 16, 18), struct.pack("<4q", 0, 0x7fffffffef00, 0x7fffffffefe0, 18)
    assert data.count(old) == 1
    return data.index(old), new
texts = ["xxxxxxxx", "yyyyyyyy", "zz"]
changed = [words(0, [0, 1] * 20, ["aa", "bb"]), words(40, [1] * 3, texts), words(43, [1] * 3, texts)]
more = [words(0, [0, 1] * 20, ["aa", "bb"]), words(40, [3] * 3, ["aa", "bb"] + texts), words(43, [3] * 3, ["aa", "bb"] + texts)]
save("changed.arrow", changed, ipc.new_stream, offsets)
save("delta.arrow", more, ipc.new_stream, offsets, emit_dictionary_deltas=True)
save("delta_file.arrow", more, ipc.new_file, offsets, emit_dictionary_deltas=True)
numbers = [pa.record_batch([pa.array(range(i, i + 1000), pa.int64())], names=["id"]) for i in range(0, 5000, 1000)]
for codec in MAGIC:
    save(f"changed_{codec}.arrow", changed, ipc.new_stream, frame(codec, 4), compression=codec)
    save(f"numbers_{codec}.arrow", numbers, ipc.new_stream, frame(codec, 1), compression=codec)
    save(f"numbers_{codec}_file.arrow", numbers, ipc.new_file, frame(codec, 1), compression=codec)
"""


def damaged_stream(folder, file, on_error, order=()):
    fields = {"id": "int64"} if "numbers" in file.name else {"id": "int64", "k": "text"}
    stages = [{"hash_bucket": {"input": "k", "output": "h", "buckets": 1000003}}, {"select": {"fields": ["id", "h"]}}] if "k" in fields else []
    options = {"on_error": on_error, **({"quarantine": str(folder / "bad.jsonl")} if on_error == "quarantine" else {})}
    stream = folder / "damaged.yaml"
    source = {"jsonl" if file.suffix == ".jsonl" else "arrow": {"paths": [str(file)], "fields": fields}}
    stream.write_text(data.yaml_text({"s": {"source": source, **options, "stages": stages + list(order) + [{"batch": {"batch_size": 1}}]}}))
    return stream


def check_damaged(folder, file, n_rows):
    """What is whole before the damage comes, and nothing behind it; the damage is told."""
    failing = ctl("run", damaged_stream(folder, file, "fail"), "--no-daemon", "--format", "jsonl", check=False)
    steps = [line for line in failing.stdout.splitlines() if b'"step"' in line]
    assert failing.returncode == 3 and b"the record batch with row %d" % (n_rows + 1) in failing.stderr, failing
    assert len(steps) == n_rows, len(steps)
    if n_rows == 0:
        told = ctl("run", damaged_stream(folder, file, "skip"), "--no-daemon", check=False).stderr
        assert b"leat read 1 records, 1 of them were bad" in told, told
        return
    good = folder / ("numbers.jsonl" if "numbers" in file.name else "good.jsonl")
    good.write_text("".join(json.dumps({"id": i, "k": ["aa", "bb"][i % 2]}) + "\n" for i in range(n_rows)))
    expected = run_digest(damaged_stream(folder, good, "fail"), "--no-daemon")
    for mode in ["--no-daemon"], ["--workers", 2]:
        assert ctl("run", damaged_stream(folder, file, "fail"), *mode, check=False).returncode == 3
        done = json.loads(ctl("run", damaged_stream(folder, file, "skip"), *mode, "--json", "--digest").stdout)
        assert (done["rows"], done["bad_records"], done["digest"]) == (n_rows, 1, expected), done
        (folder / "bad.jsonl").unlink(missing_ok=True)
        done = json.loads(ctl("run", damaged_stream(folder, file, "quarantine"), *mode, "--json").stdout)
        assert (done["rows"], done["bad_records"]) == (n_rows, 1), done
        bad = [json.loads(line) for line in (folder / "bad.jsonl").read_text().splitlines()]
        assert [(record["line"], record["raw"]) for record in bad] == [(n_rows + 1, "")], bad


def test_damaged_files(folder):
    python = python_with_pyarrow()
    if not python:
        raise Skip("neither this Python nor LEAT_ORACLE_PYTHON has pyarrow")
    subprocess.run([python, "-c", DAMAGED, str(folder)], check=True)
    for file in sorted(folder.glob("*.arrow")):
        packed = file.with_suffix(".arrow.gz")
        packed.write_bytes(gzip.compress(file.read_bytes()))
        n_rows = 1000 if "numbers" in file.name else 40
        check_damaged(folder, packed, n_rows)
        # the footer of a file gives every batch all dictionaries
        check_damaged(folder, file, 0 if file.name == "delta_file.arrow" else n_rows)
    shuffle = [{"shuffle": {"buffer_size": 100, "blocks": True, "block_size": 64, "seed": 1}}]
    for name in "numbers_zstd", "numbers_lz4_file":
        file = folder / f"{name}.arrow"
        done = json.loads(ctl("run", damaged_stream(folder, file, "skip", shuffle), "--epochs", 2, "--json").stdout)
        assert (done["rows"], done["bad_records"]) == (2000, 2), done


if __name__ == "__main__":
    leat_harness.main(globals())

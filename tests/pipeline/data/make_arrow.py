#!/usr/bin/env python3
"""Arrow files for test_arrow.c, made by pyarrow: the same rows in several forms, and what leat makes of them, in
arrow/rows.txt. `python3 make_arrow.py` (pyarrow 14 or later) writes them anew."""
import json
import pathlib
import random

import pyarrow as pa
import pyarrow.ipc as ipc

FOLDER = pathlib.Path(__file__).parent / "arrow"
WORDS = ["alpha", "b\u00eata", 'a "quoted" one', "\u03b4\u03ad\u03bb\u03c4\u03b1", "two\nlines", "tab\tand \\", "", "\u0001"]
N = 90


def rows():
    rng = random.Random(5)
    for i in range(N):
        yield {
            "id": i * 1000003, "i8": i - 50, "u64": i << 40, "f": None if i % 7 == 0 else i / 4, "d": i / 3, "h": i / 8,
            "b": i % 3 == 0, "text": None if i % 11 == 0 else " ".join(rng.choices(WORDS, k=i % 6)), "large": f"row {i}",
            "vec": [j / 2 for j in range(i % 5)] if i % 4 else None, "fix": [i, i + 1, -i], "flags": [i % 2 == 0] * (i % 3),
            "kind": WORDS[i % 5] if i % 9 else None,
            "messages": [{"role": r, "content": WORDS[(i + k) % 8]} for k, r in enumerate(["user", "assistant"][:i % 3])],
            "meta": None if i % 13 == 0 else {"lang": "en" if i % 2 else "de", "n": {"x": i}},
            "tags": [WORDS[i % 8]] * (i % 3), "map": [("k", i)] * (i % 2), "when": i, "none": None}


SCHEMA = pa.schema([
    ("id", pa.int64()), ("i8", pa.int8()), ("u64", pa.uint64()), ("f", pa.float32()), ("d", pa.float64()), ("h", pa.float16()),
    ("b", pa.bool_()), ("text", pa.utf8()), ("large", pa.large_utf8()), ("vec", pa.list_(pa.float32())),
    ("fix", pa.list_(pa.int16(), 3)), ("flags", pa.large_list(pa.bool_())), ("kind", pa.dictionary(pa.int8(), pa.utf8())),
    ("messages", pa.list_(pa.struct([("role", pa.utf8()), ("content", pa.utf8())]))),
    ("meta", pa.struct([("lang", pa.utf8()), ("n", pa.struct([("x", pa.int32())]))])), ("tags", pa.list_(pa.utf8())),
    ("map", pa.map_(pa.utf8(), pa.int32())), ("when", pa.timestamp("s")), ("none", pa.null())])


def table():
    import numpy
    data = list(rows())
    columns = []
    for field in SCHEMA:
        values = [row[field.name] for row in data]
        if field.name == "h":
            columns.append(pa.array(numpy.array(values, numpy.float16)))
        elif field.name == "kind":
            columns.append(pa.array(values, pa.utf8()).dictionary_encode().cast(field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def write(name, new, chunk, data, **options):
    with new(str(FOLDER / f"{name}.arrow"), data.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(data, max_chunksize=chunk)


def number(value):
    return repr(value) if isinstance(value, int) else repr(float(value))


def show(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and (not value or isinstance(value[0], (int, float))):
        return " ".join(str(v).lower() if isinstance(v, bool) else number(v) for v in value)
    if isinstance(value, list):
        entries = [{"key": v[0], "value": v[1]} if isinstance(v, tuple) else v for v in value]
        return json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    return value if isinstance(value, str) else number(value)


JSON = {"messages", "tags", "map"}


def line(row):
    meta = row.pop("meta") or {"lang": None, "n": {"x": None}}
    row.pop("when")
    row["meta.lang"], row["meta.n.x"] = meta["lang"], meta["n"]["x"]
    order = [f.name for f in SCHEMA if f.name not in ("meta", "when")]
    order[order.index("tags"):order.index("tags")] = ["meta.lang", "meta.n.x"]
    missing = {"f": -1.0, "meta.n.x": -2}
    texts = []
    for name in order:
        value = row[name]
        if name in JSON:
            text = show(value) if value else "[]"
        elif value is None:
            text = number(missing[name]) if name in missing else ""
        else:
            text = show(value)
        texts.append(f"{name}={text}")
    return "|".join(texts) + "\n"


def main():
    FOLDER.mkdir(exist_ok=True)
    whole = table()
    write("stream", ipc.new_stream, 40, whole)
    write("old", ipc.new_stream, 40, whole, use_legacy_format=True, metadata_version=ipc.MetadataVersion.V4)
    write("file", ipc.new_file, 40, whole)
    write("lz4", ipc.new_stream, 40, whole, compression="lz4")
    write("zstd", ipc.new_file, 90, whole, compression="zstd")
    (FOLDER / "rows.txt").write_text("".join(line(row) for row in rows()), encoding="utf-8")
    values = [["a", "b"], ["a", "b", "c"], ["z"]]
    schema = pa.schema([("k", pa.dictionary(pa.int16(), pa.utf8()))])
    with ipc.new_stream(str(FOLDER / "dictionaries.arrow"), schema,
                        options=ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        for texts in values:
            array = pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int16()), texts)
            writer.write_batch(pa.record_batch([array], schema=schema))
    array = pa.DictionaryArray.from_arrays(pa.array([4, 3, 2, 1, 0, None], pa.int8()), ["a", None, "c", "d", None])
    write("nulls", ipc.new_stream, 6, pa.table({"k": array}))


if __name__ == "__main__":
    main()

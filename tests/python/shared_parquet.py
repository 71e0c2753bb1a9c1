"""What the tests of Parquet share: files of all types and encodings that pyarrow writes, and the comparison of all values that
leat reads of a file with those that pyarrow reads.

leat reads a file twice: with the types that its columns have, and each column as JSON.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import pathlib
import random
import struct
import subprocess
import uuid
from typing import Any

import pytest

from leat import programs

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
VERSIONS = ["1.0", "2.0"]
MISSING = 77  # what stands in for numbers that are null
NO_TEXT = "<null>"
MOMENTS = (pa.types.is_timestamp, pa.types.is_time, pa.types.is_date)


# ---- what leat reads ----


def run_head(folder: pathlib.Path, paths: list[pathlib.Path], **source: Any) -> subprocess.CompletedProcess[str]:
    stream = folder / "stream.json"
    config = {"source": {"parquet": {"paths": [str(path) for path in paths], **source}}, "stages": [{"batch": {"batch_size": 2}}]}
    stream.write_text(json.dumps({"streams": {"s": config}}))
    command = [programs.find("leatctl"), "head", str(stream), "-n", "1000000", "--json", "--after", "source"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def head(folder: pathlib.Path, paths: list[pathlib.Path], **source: Any) -> list[dict[str, Any]]:
    done = run_head(folder, paths, **source)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def leaves(field: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """The columns that leat makes of a field: those in structs as outer.inner."""
    if not pa.types.is_struct(field.type):
        return [(prefix + field.name, field.type)]
    return [leaf for inner in field.type for leaf in leaves(inner, f"{prefix}{field.name}.")]


# ---- what pyarrow reads ----


def is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_moment(kind: Any) -> bool:
    return any(check(kind) for check in MOMENTS)


def is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind))


def texts(values: Any) -> list[str | None]:
    """Moments as Arrow's cast prints them."""
    if pa.types.is_timestamp(values.type) and values.type.tz not in (None, "UTC"):
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return [value and value.rstrip() for value in values.cast(pa.string()).to_pylist()]


def plain(value: Any) -> Any:
    """A value of Python as leat's JSON has it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds") + ("Z" if value.tzinfo else "")
    if isinstance(value, (datetime.date, uuid.UUID)):
        return str(value)
    return value


def entries(kind: Any, value: Any) -> Any:
    """Maps of Arrow are lists of pairs in Python, and of objects in JSON."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [{"key": entries(kind.key_type, key), "value": entries(kind.item_type, item)} for key, item in value]
    if pa.types.is_struct(kind):
        return {field.name: entries(field.type, value[field.name]) for field in kind}
    if is_list(kind):
        return [entries(kind.value_type, item) for item in value]
    return value


def column_of(values: Any) -> list[Any]:
    """The values of a column as leat's JSON has them."""
    if is_moment(values.type):
        return texts(values)
    if pa.types.is_decimal(values.type) and values.type.scale == 0 and values.type.precision <= 18:
        return [None if value is None else int(value) for value in values.to_pylist()]
    return [plain(entries(values.type, value)) for value in values.to_pylist()]


def reach(table: Any, path: str) -> Any:
    """The column of that path, null where a struct around it is."""
    first, *rest = path.split(".")
    values = table.column(first).combine_chunks()
    for name in rest:
        values = pa.compute.struct_field(values, name)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def same(got: Any, want: Any) -> bool:
    if got is None and isinstance(want, float) and math.isnan(want):
        return True  # JSON has no NaN
    if isinstance(want, float) and isinstance(got, (int, float)):
        if math.isnan(want):
            return math.isnan(got)
        if got == want:
            return True
        single = abs(want) < 3e38 and struct.unpack("f", struct.pack("f", want))[0] == want
        return single and struct.unpack("f", struct.pack("f", got))[0] == want
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
    return bool(got == want) and isinstance(got, bool) == isinstance(want, bool)


def compare(name: str, got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want), name
    for row, (a, b) in enumerate(zip(got, want)):
        assert same(a, b), f"{name}, row {row}: leat has {a!r}, pyarrow {b!r}"


def check_as_json(folder: pathlib.Path, path: pathlib.Path, table: Any) -> int:
    names = [field.name for field in table.schema]
    rows = head(folder, [path], fields={name: "json" for name in names}, missing={name: NO_TEXT for name in names})
    for name in names:
        values = table.column(name).combine_chunks()
        is_text = not is_number(values.type) and not pa.types.is_nested(values.type)
        got = [None if row[name] == NO_TEXT else row[name] if is_text else json.loads(row[name]) for row in rows]
        compare(f"{path.name}: {name} as json", got, column_of(values))
    return len(names) * table.num_rows


def check_as_it_is(folder: pathlib.Path, path: pathlib.Path, table: Any) -> int:
    columns = [leaf for field in table.schema for leaf in leaves(field)]
    missing: dict[str, Any] = {}
    for name, kind in columns:
        if pa.types.is_boolean(kind):
            missing[name] = False
        elif is_number(kind):
            missing[name] = MISSING
        elif not (is_list(kind) or pa.types.is_map(kind)):
            missing[name] = NO_TEXT
    rows = head(folder, [path], missing=missing)
    for name, kind in columns:
        values = reach(table, name)
        want = column_of(values)
        if is_list(kind) and is_number(kind.value_type):
            want = [[] if value is None else value for value in want]
            got = [row[name] for row in rows]
        elif is_list(kind) or pa.types.is_map(kind):
            got = [json.loads(row[name]) if row[name] else None for row in rows]
        else:
            want = [missing[name] if value is None else value for value in want]
            got = [row[name] for row in rows]
        compare(f"{path.name}: {name}", got, want)
    return len(columns) * table.num_rows


def check(folder: pathlib.Path, path: pathlib.Path) -> int:
    """Compares all values of a file, and returns how many they are."""
    table = pq.read_table(path)
    return check_as_json(folder, path, table) + check_as_it_is(folder, path, table)


# ---- files ----


def some(rng: random.Random, make: Any, n: int, nulls: str) -> list[Any]:
    """Values of which none, some in runs, or all are null."""
    if nulls == "all":
        return [None] * n
    values, is_null = [], False
    for _ in range(n):
        if nulls == "some" and rng.random() < 0.2:
            is_null = not is_null
        values.append(None if is_null else make())
    return values


def word(rng: random.Random) -> str:
    return rng.choice(["", "a", "die", "prefix-", "prefix-and", "Größe", "日本", "x" * 40]) + rng.choice(["", str(rng.randrange(50))])


ENCODINGS = {
    "int": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "float": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "text": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "fixed": ["PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"],
    "bool": ["PLAIN", "RLE"],
}


def kinds(rng: random.Random) -> dict[str, tuple[str, Any, Any]]:
    """name: (group of encodings, type, function that makes a value)"""
    def integer(bits: int, signed: bool = True) -> Any:
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return lambda: rng.choice([low, high, 0, 1, rng.randint(low, high), rng.randint(0, 100)])

    def real() -> float:
        return rng.choice([0.0, -1.5, 1e300, 5e-324, rng.random()])

    def moment(scale: int) -> Any:
        return lambda: rng.choice([0, -1, 1, rng.randrange(-2 * 10**9, 4 * 10**9)]) * scale + rng.randrange(scale)

    def number(digits: int) -> Any:
        return lambda: decimal.Decimal(rng.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-2)

    found = {f"int{bits}": ("int", getattr(pa, f"int{bits}")(), integer(bits)) for bits in (8, 16, 32, 64)}
    found |= {f"uint{bits}": ("int", getattr(pa, f"uint{bits}")(), integer(bits, False)) for bits in (8, 16, 32)}
    found["uint64"] = ("int", pa.uint64(), integer(63, False))
    found["float32"] = ("float", pa.float32(), lambda: struct.unpack("f", struct.pack("f", rng.random()))[0])
    found["float64"] = ("float", pa.float64(), real)
    found["float16"] = ("fixed", pa.float16(), lambda: rng.randrange(-2048, 2048) / 8)
    found["bool"] = ("bool", pa.bool_(), lambda: rng.random() < 0.5)
    found["text"] = ("text", pa.string(), lambda: word(rng))
    found["large_text"] = ("text", pa.large_string(), lambda: word(rng))
    found["date"] = ("int", pa.date32(), lambda: rng.randrange(-100000, 100000))
    for unit, scale in [("ms", 10**3), ("us", 10**6), ("ns", 10**9)]:
        found[f"stamp_{unit}"] = ("int", pa.timestamp(unit), moment(scale))
        found[f"utc_{unit}"] = ("int", pa.timestamp(unit, "UTC"), moment(scale))
        found[f"time_{unit}"] = ("int", pa.time32(unit) if unit == "ms" else pa.time64(unit),
                                 lambda scale=scale: rng.randrange(86400 * scale))
    found["decimal_7"] = ("fixed", pa.decimal128(7, 2), lambda: number(7)())
    found["decimal_38"] = ("fixed", pa.decimal128(38, 2), lambda: number(38)())
    found["decimal_76"] = ("fixed", pa.decimal256(76, 2), lambda: number(76)())
    found["decimal_whole"] = ("fixed", pa.decimal128(18, 0), lambda: decimal.Decimal(rng.randint(-(10**17), 10**17)))
    found["uuid"] = ("fixed", pa.uuid(), lambda: rng.randbytes(16))
    return found


def flat_table(seed: int, n: int, encodings: bool) -> tuple[Any, dict[str, str]]:
    """A column for each type, encoding and way of nulls, and the encodings."""
    rng = random.Random(seed)
    columns, chosen = {}, {}
    for name, (group, kind, make) in kinds(rng).items():
        for encoding in ENCODINGS[group] if encodings else ["dictionary"]:
            for nulls in ("none", "some", "all"):
                column = f"{name}_{encoding}_{nulls}".lower()
                values = some(rng, make, n, nulls)
                if is_moment(kind) and pa.types.is_date(kind):
                    columns[column] = pa.array(values, pa.int32()).cast(kind)
                elif is_moment(kind):
                    columns[column] = pa.array(values, pa.int32() if kind == pa.time32("ms") else pa.int64()).cast(kind)
                else:
                    columns[column] = pa.array(values, kind)
                chosen[column] = encoding
    columns["null"] = pa.nulls(n)
    return pa.table(columns), chosen


def nested_table(seed: int, n: int) -> Any:
    rng = random.Random(seed)

    def maybe(make: Any, p: float = 0.2) -> Any:
        return lambda: None if rng.random() < p else make()

    def many(make: Any, p: float = 0.2) -> Any:
        return maybe(lambda: [make() for _ in range(rng.choice([0, 1, 2, 7]))], p)

    def integer() -> int:
        return rng.randrange(-5, 1000)

    def text() -> str:
        return word(rng)

    point = pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.string()), ("w", pa.float32())]))])
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("n", pa.list_(pa.int32()))])

    def make_point() -> Any:
        return {"x": maybe(integer)(), "y": maybe(lambda: {"z": maybe(text)(), "w": 0.5 * integer()})()}

    def make_message() -> Any:
        return {"role": text(), "content": maybe(text)(), "n": many(maybe(integer))()}

    makers = {
        "numbers": (pa.list_(pa.int32()), many(integer)),
        "reals": (pa.list_(pa.float64()), many(lambda: integer() / 4)),
        "truths": (pa.list_(pa.bool_()), many(lambda: rng.random() < 0.5)),
        "whole": (pa.list_(pa.field("item", pa.int64(), nullable=False)), lambda: [integer()] * rng.randrange(4)),
        "words": (pa.list_(pa.string()), many(maybe(text))),
        "deep": (pa.list_(pa.list_(pa.list_(pa.int16()))), many(many(many(maybe(integer))))),
        "point": (point, maybe(make_point)),
        "points": (pa.list_(point), many(maybe(make_point))),
        "messages": (pa.list_(message), many(make_message)),
        "map": (pa.map_(pa.string(), pa.int64()), many(lambda: (text(), maybe(integer)()))),
        "maps": (pa.map_(pa.string(), pa.list_(pa.string())), many(lambda: (text(), many(maybe(text))()))),
        "dates": (pa.list_(pa.date32()), many(maybe(lambda: datetime.date(2000, 1, 1) + datetime.timedelta(integer())))),
        "prices": (pa.list_(pa.struct([("p", pa.decimal128(9, 2))])), many(lambda: {"p": decimal.Decimal(integer()).scaleb(-2)})),
    }
    return pa.table({name: pa.array([make() for _ in range(n)], kind) for name, (kind, make) in makers.items()})


SHAPES = {  # of a file: rows, and what pyarrow makes of them
    "small pages": (90, {"data_page_size": 256, "write_batch_size": 16, "row_group_size": 50}),
    "one page": (90, {}),
    "many rows": (4500, {"data_page_size": 20000, "row_group_size": 4300, "dictionary_pagesize_limit": 2000}),
}


def small_shape(codec: str, version: str, is_other: bool) -> str:
    """One of the two shapes with few rows for each codec and version; the other one if `is_other`."""
    is_small = (CODECS.index(codec) + VERSIONS.index(version)) % 2 == 1
    return "small pages" if is_small != is_other else "one page"


def write_all(folder: pathlib.Path, shape: str, codec: str, version: str) -> list[pathlib.Path]:
    n, options = SHAPES[shape]
    seed = CODECS.index(codec) * 2 + VERSIONS.index(version)
    common = {**options, "compression": codec, "data_page_version": version, "store_decimal_as_integer": seed % 2 == 0}
    flat, encodings = flat_table(seed, n, True)
    paths = [folder / f"{kind}-{codec}-{version}.parquet" for kind in ("flat", "dictionary", "nested", "nested_plain")]
    fixed = {name for name in encodings if name.startswith("decimal_")}
    if common["store_decimal_as_integer"]:  # which of them are integers is up to pyarrow
        encodings = {name: "PLAIN" if name in fixed else encoding for name, encoding in encodings.items()}
    pq.write_table(flat, paths[0], use_dictionary=False, column_encoding=encodings, **common)
    pq.write_table(flat_table(seed, n, False)[0], paths[1], use_deprecated_int96_timestamps=seed % 3 == 0, **common)
    nested = nested_table(seed, n // 2)
    pq.write_table(nested, paths[2], **common)
    pq.write_table(nested, paths[3], use_dictionary=False, **common)
    return paths

#!/usr/bin/env python3
"""Makes tests/pipeline/data/parquet and the seeds of the fuzz target, with pyarrow: make_parquet.py

Each file is small, so that a test can change each of its bytes.
"""
import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent
OUT, SEEDS = HERE / "parquet", HERE.parents[1] / "fuzz/corpus/parquet"
N = 12
SMALL = {"store_schema": False, "write_statistics": False}

ids = pa.array(range(N), pa.int64())
texts = pa.array([None if i % 5 == 3 else "prefix-%d" % (i // 2) for i in range(N)])
flat = {"id": ids, "text": texts, "f": pa.array([i / 4 for i in range(N)], pa.float32()), "b": pa.array([i % 3 == 0 for i in range(N)])}
nested = {
    "vec": pa.array([[j for j in range(i % 4)] for i in range(N)], pa.list_(pa.int32())),
    "meta": pa.array([{"lang": "en", "n": i} if i % 4 else None for i in range(N)]),
    "messages": pa.array([[{"role": "user", "content": "q%d" % i}] * (i % 3) for i in range(N)]),
}
times = {
    "day": pa.array([datetime.date(2024, 2, 28) + datetime.timedelta(i) for i in range(N)]),
    "when": pa.array([datetime.datetime(1969, 12, 31, 23, 59, 59, 5 * i) for i in range(N)], pa.timestamp("us", "UTC")),
    "price": pa.array([decimal.Decimal(i - 3) / 4 for i in range(N)], pa.decimal128(20, 2)),
    "raw": pa.array([b"\xff%d" % i for i in range(N)]),
}
delta = {"id": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY", "f": "BYTE_STREAM_SPLIT", "b": "RLE"}
FILES = {
    "flat": (flat, {"compression": "snappy", "row_group_size": 7}),
    "plain": (flat, {"compression": "none", "use_dictionary": False, "data_page_size": 16, "write_batch_size": 4}),
    "delta": (flat, {"compression": "zstd", "use_dictionary": False, "column_encoding": delta, "data_page_version": "2.0"}),
    "lengths": ({"text": texts}, {"compression": "lz4", "use_dictionary": False, "column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY"}}),
    "nested": (nested, {"compression": "gzip", "row_group_size": 7, "data_page_size": 16, "write_batch_size": 2}),
    "nested_v2": (nested, {"compression": "none", "data_page_version": "2.0"}),
    "times": (times, {"compression": "brotli", "use_deprecated_int96_timestamps": True}),
}

for folder in OUT, SEEDS:
    folder.mkdir(parents=True, exist_ok=True)
for index, (name, (columns, options)) in enumerate(FILES.items()):
    path = OUT / f"{name}.parquet"
    pq.write_table(pa.table(columns), path, **SMALL, **options)
    (SEEDS / name).write_bytes(bytes([index % 3, 100]) + path.read_bytes())

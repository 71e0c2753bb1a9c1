"""Parquet files that pyarrow, DuckDB and polars write, value by value as pyarrow reads them: types, encodings, codecs, versions
of pages, nulls and nesting; and what else leat does with their rows.
"""

from __future__ import annotations

import os
import pathlib

import pytest

import leat
from shared_parquet import CODECS, VERSIONS, check, check_as_json, head, nested_table, pa, pq, run_head, small_shape, write_all


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", CODECS)
def test_types_and_encodings_and_nesting(tmp_path: pathlib.Path, codec: str, version: str) -> None:
    shape = small_shape(codec, version, False)
    assert sum(check(tmp_path, path) for path in write_all(tmp_path, shape, codec, version)) > 30000


DUCKDB = """
    SELECT i::TINYINT AS tiny, i::SMALLINT AS small, i::INTEGER AS whole, i::BIGINT * 1000000007 AS big, i::UTINYINT AS utiny,
           i::USMALLINT AS usmall, i::UINTEGER AS uint, i::UBIGINT AS ubig, i::FLOAT / 3 AS f, i::DOUBLE / 3 AS d, i % 3 = 0 AS b,
           'text ' || (i % 7) AS words, repeat('x', i % 20) || i AS texts, DATE '1999-12-31' + i::INTEGER AS day,
           TIMESTAMP '1969-12-31 23:59:00' + i * INTERVAL 1 SECOND AS moment, (i / 100)::DECIMAL(9, 2) AS price,
           (i / 8)::DECIMAL(38, 4) AS long_price, TIME '00:00:01' + i * INTERVAL 1 MINUTE AS clock, [i, i + 1] AS numbers, [[i, NULL], NULL, []] AS deep,
           [{'k': 'a' || i, 'v': [i]}] AS structs, {'x': i, 'y': {'z': NULL::VARCHAR}} AS point, MAP {'a': i, 'b': NULL} AS pairs,
           CASE WHEN i % 4 = 0 THEN NULL ELSE i END AS holes, CASE WHEN i % 4 = 0 THEN NULL ELSE 't' || i END AS text_holes
    FROM range(120) t(i)"""


@pytest.mark.parametrize("version", ["V1", "V2"])
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw", "brotli"])
def test_files_of_duckdb(tmp_path: pathlib.Path, codec: str, version: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / f"duckdb-{codec}-{version}.parquet"
    duckdb.sql(f"COPY ({DUCKDB}) TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 50)")
    assert check(tmp_path, path) > 5000


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_files_of_polars(tmp_path: pathlib.Path, codec: str) -> None:
    polars = pytest.importorskip("polars")
    path = tmp_path / f"polars-{codec}.parquet"
    table = nested_table(5, 90).drop_columns(["map", "maps"])
    polars.from_arrow(table).write_parquet(path, compression=codec, row_group_size=40, data_page_size=300)
    assert check(tmp_path, path) > 1000


def test_lists_by_their_old_names(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "old.parquet"
    pq.write_table(nested_table(6, 90), path, use_compliant_nested_type=False, data_page_size=300)
    assert check(tmp_path, path) > 1000


# Files of apache/parquet-testing that pyarrow reads otherwise than leat, and who is right.
OTHERWISE = {
    "int96_from_spark": "pyarrow takes dates beyond 2262 for others",
    "map_no_value": "a map without values: leat has objects with a key, pyarrow the keys",
    "nested_structs.rust": "its times are beyond what Python can have",
}
FOLDER = os.environ.get("LEAT_PARQUET_TESTING")


@pytest.mark.skipif(not FOLDER, reason="LEAT_PARQUET_TESTING names no folder with the files of apache/parquet-testing")
def test_files_of_parquet_testing(tmp_path: pathlib.Path) -> None:
    """Values as pyarrow reads them; a file that pyarrow refuses is read by leat, or ends in one error that names it."""
    n_read = n_refused = 0
    for file in sorted(pathlib.Path(FOLDER or "").rglob("*.parquet*")):
        path = tmp_path / f"{file.name.split('.parquet')[0]}.parquet"
        path.write_bytes(file.read_bytes())
        try:
            table = pq.ParquetFile(path).read()
        except (OSError, ValueError, NotImplementedError):
            done = run_head(tmp_path, [path])
            assert done.returncode == 0 or (done.returncode == 3 and path.name in done.stderr + done.stdout), (file, done)
            n_refused += done.returncode == 3
            continue
        names = [field.name for field in table.schema if "binary" not in str(field.type)]  # leat reads bytes as text, if told so
        if names and path.stem not in OTHERWISE:
            check_as_json(tmp_path, path, table.select(names))
            n_read += 1
    assert n_read > 150 and n_refused > 10, (n_read, n_refused)


def test_python_reads_it(tmp_path: pathlib.Path) -> None:
    pq.write_table(pa.table({"x": range(100), "label": [i % 2 for i in range(100)]}), tmp_path / "a.parquet", row_group_size=30)
    batches = list(leat.parquet(str(tmp_path / "a.parquet"), fields={"x": "int64"}).batch(10))
    assert [x for batch in batches for x in batch["x"].tolist()] == list(range(100))


def test_bytes_and_numbers_of_dates(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"raw": [b"ab", None], "day": pa.array([1, -1], pa.date32()),
                             "when": pa.array([1500, -1], pa.timestamp("ns")), "clock": pa.array([7, 8], pa.time32("ms"))}), path)
    assert head(tmp_path, [path], fields={"raw": "text", "day": "int32", "when": "int64", "clock": "int64"}) == [
        {"raw": "ab", "day": 1, "when": 1, "clock": 7000}, {"raw": "", "day": -1, "when": -1, "clock": 8000}]

"""The rest of the matrix of Parquet files that pyarrow writes, and files with many rows; see test_parquet.py."""

from __future__ import annotations

import pathlib

import pytest

from shared_parquet import CODECS, VERSIONS, check, small_shape, write_all

# test_parquet.py has one small shape of each codec and version. A page is cut before it is compressed, so a few codecs do for
# many rows.
CASES = [(codec, version, small_shape(codec, version, True)) for codec in CODECS for version in VERSIONS]
CASES += [(codec, version, "many rows") for codec, version in (("none", "2.0"), ("snappy", "1.0"), ("zstd", "2.0"))]


@pytest.mark.parametrize(("codec", "version", "shape"), CASES)
def test_all(tmp_path: pathlib.Path, codec: str, version: str, shape: str) -> None:
    assert sum(check(tmp_path, path) for path in write_all(tmp_path, shape, codec, version)) > 30000

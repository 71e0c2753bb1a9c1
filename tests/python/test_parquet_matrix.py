"""The whole matrix of Parquet files that pyarrow writes, with many rows; see test_parquet.py."""

from __future__ import annotations

import pathlib

import pytest

from shared_parquet import CODECS, SHAPES, VERSIONS, check, write_all


CASES = [(codec, version, shape) for codec in CODECS for version in VERSIONS for shape in SHAPES
         if shape != "many rows" or codec in ("none", "snappy", "zstd")]


@pytest.mark.parametrize(("codec", "version", "shape"), CASES)
def test_all(tmp_path: pathlib.Path, codec: str, version: str, shape: str) -> None:
    assert sum(check(tmp_path, path) for path in write_all(tmp_path, shape, codec, version)) > 30000

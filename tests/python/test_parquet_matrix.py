"""The whole matrix of Parquet files that pyarrow writes, with many rows; see test_parquet.py."""

from __future__ import annotations

import pathlib

import pytest

from shared_parquet import CODECS, SHAPES, VERSIONS, check, write_all


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", CODECS)
def test_all(tmp_path: pathlib.Path, codec: str, version: str, shape: str) -> None:
    assert sum(check(tmp_path, path) for path in write_all(tmp_path, shape, codec, version)) > 30000

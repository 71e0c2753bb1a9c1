"""Types: batches as objects of a type of the program, and mypy --strict over the package and over a typed program."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import pathlib
import subprocess
import sys
from typing import Any, NamedTuple, NotRequired, TypedDict

import pytest

import leat
from leat import errors

PROGRAM = '''
from typing import TypedDict, assert_type

import numpy as np
from numpy.typing import NDArray

import leat

class Rows(TypedDict):
    n: NDArray[np.int64]

pipeline = leat.csv("rows.csv").cast("n", dtype="int64").batch(2)
assert_type(pipeline, leat.Pipeline)
for rows in pipeline.to("numpy").into(Rows):
    assert_type(rows, Rows)
    total: np.int64 = rows["n"].sum()
for batch in pipeline.stream:
    assert_type(batch, leat.Batch)
    assert_type(batch["n"].shape, tuple[int, ...])
with pipeline.stream[0] as first:
    assert_type(first, leat.Batch)
for made in leat.dataloader("rows.csv", None, batch_size=2):
    made["n"]
found = leat.profile(sorted, [2, 1])
assert_type(found.compile_s, float)
'''
WRONG = '''
import leat

leat.csv("rows.csv").batch("2")  # error
leat.csv("rows.csv").to("numpy").into(3)  # error
leat.csv("rows.csv").open(rnak=0)  # error
leat.csv(1.5)  # error
'''


class Dict(TypedDict):
    a: Any
    b: Any
    absent: NotRequired[Any]


@dataclasses.dataclass
class Data:
    a: Any
    other: int = 3


class Tuple(NamedTuple):
    b: Any
    other: int = 4


class Wrong(TypedDict):
    a: Any
    d: Any


def test_batches_of_a_type() -> None:
    rows = [{"a": n, "b": 10 * n, "c": 0} for n in range(5)]
    with leat.dataloader(rows, None, batch_size=2).pipeline as batches:
        arrays = batches.to("numpy")
        assert [{name: array.tolist() for name, array in batch.items()} for batch in arrays.into(Dict)][2] == {"a": [4], "b": [40]}
        made = list(arrays.into(Data))
        assert all(isinstance(one, Data) for one in made) and made[1].a.tolist() == [2, 3] and made[1].other == 3
        assert [(type(one), one.b.tolist(), one.other) for one in arrays.into(Tuple)][2] == (Tuple, [40], 4)
        with pytest.raises(errors.SpecError, match="Wrong has the fields d, but a batch has no such tensors; its tensors are a, b, c"):
            arrays.into(Wrong)
        with pytest.raises(errors.SpecError, match="is not a type for batches: give a TypedDict, a dataclass or a NamedTuple"):
            arrays.into(dict)


@pytest.mark.long
def test_mypy_finds_nothing_but_mistakes(tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    package = pathlib.Path(leat.__file__).parent
    environment = {**os.environ, "MYPYPATH": str(package.parent)}
    options = ["--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, str(package), "right.py", "wrong.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    wanted = [number for number, line in enumerate(WRONG.splitlines(), 1) if "# error" in line]
    found = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [int(line.split(":")[1]) for line in found if line.startswith("wrong.py:")] == wanted, done.stdout + done.stderr
    assert len(found) == len(wanted), done.stdout

"""batch.check(): what is wrong is found, counted and told with its place, with NumPy and without it."""

from __future__ import annotations

import json
import math
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import leat
from leat.checking import Report

Open = Callable[..., Any]


@pytest.fixture(params=["numpy", "plain"])
def first_batch(request: pytest.FixtureRequest, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens rows as one batch."""
    if request.param == "numpy":
        pytest.importorskip("numpy")
    else:
        monkeypatch.setitem(sys.modules, "numpy", None)
    streams: list[Any] = []

    def make(rows: list[dict[str, Any]], fields: dict[str, str], change: Callable[[Any], Any] = lambda pipeline: pipeline) -> Any:
        path = tmp_path / f"{len(streams)}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        pipeline = change(leat.jsonl(str(path), fields=fields)).batch(len(rows))
        streams.append(pipeline.open())
        return next(iter(streams[-1]))

    yield make
    for stream in streams:
        stream.close()


def ids_of(first_batch: Open, rows: list[list[int]], mask: bool = False, name: str = "input_ids") -> Any:
    def change(pipeline: Any) -> Any:
        return pipeline.pad(input=name, length=4, value=0, **({"mask": "attention_mask"} if mask else {}))

    return first_batch([{name: row} for row in rows], {name: "list<int32>"}, change)


def test_nothing(first_batch: Open) -> None:
    report = first_batch([{"x": 1.5}, {"x": -2.0}], {"x": "float32"}).check()
    assert report and not report.problems and list(report) == [] and len(report) == 0
    assert str(report) == "batch (epoch 0, step 0), 2 rows: no faults"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_not_finite(first_batch: Open, dtype: str) -> None:
    """NaN is 0 / 0, of a log; infinity is too large for the dtype, or a log of 0."""
    values = [0.0, -1.0, 1.0, -3.0]

    def change(pipeline: Any) -> Any:
        return pipeline.log1p(input="x", output="y", dtype=dtype)

    report: Report = first_batch([{"x": value} for value in values], {"x": "float32"}, change).check()
    assert not report
    found = {(problem.tensor, problem.kind): (problem.count, problem.first) for problem in report}
    assert len(report) == 2 and report[-1] == report.problems[1]
    assert found == {("y", "nan"): (1, (3,)), ("y", "inf"): (1, (1,))}
    assert str(report).splitlines()[1:] == ["  y: 1 NaN, the first at [3]", "  y: 1 infinite, the first at [1]"]


def test_in_a_matrix(first_batch: Open) -> None:
    def change(pipeline: Any) -> Any:
        return pipeline.log1p(input="a").log1p(input="b").stack(inputs=["a", "b"], output="m").select(fields=["m"])

    rows = [{"a": 0.0, "b": 0.0}, {"a": 0.0, "b": -2.0}, {"a": -2.0, "b": -2.0}]
    (problem,) = first_batch(rows, {"a": "float32", "b": "float32"}, change).check()
    assert (problem.kind, problem.count, problem.first) == ("nan", 3, (1, 1))


def test_range(first_batch: Open) -> None:
    batch = ids_of(first_batch, [[1, 2, 3], [4, 9], [-1, 5, 10]])
    assert [(p.count, p.first) for p in batch.check()] == [(1, (2, 0))]
    assert not batch.check(vocab_size=11).of("nan")
    (problem,) = batch.check(vocab_size=9)
    assert (problem.kind, problem.tensor, problem.count, problem.first) == ("range", "input_ids", 3, (1, 1))
    assert str(problem) == "input_ids: 3 ids outside 0..8, the first 9 at [1, 1]"
    assert str(batch.check()).endswith("input_ids: 1 id below 0, the first -1 at [2, 0]")


def test_vocab_size_that_is_none(first_batch: Open) -> None:
    batch = first_batch([{"x": 1.5}], {"x": "float32"})
    for vocab_size in (0, -1):
        with pytest.raises(leat.SpecError, match="must be at least 1"):
            batch.check(vocab_size=vocab_size)
    with pytest.raises(TypeError):
        batch.check(vocab_size="50")


def test_labels(first_batch: Open) -> None:
    """-100 is no id; one class a row is none either."""
    batch = ids_of(first_batch, [[1, -100], [-100, -5]], name="labels")
    (problem,) = batch.check(vocab_size=100)
    assert (problem.count, problem.first) == (1, (1, 1))
    assert first_batch([{"labels": -1}, {"labels": 7}], {"labels": "int64"}).check(vocab_size=2)


def test_padding(first_batch: Open) -> None:
    rows = [[0, 0], [1], [], [0, 0, 0, 0], [2, 3]]
    batch = ids_of(first_batch, rows)
    assert batch.check()  # neither a mask nor an id to look for
    (problem,) = batch.check(pad_id=0)
    assert (problem.kind, problem.count, problem.first) == ("padding", 3, (0,))
    assert str(problem) == "input_ids: 3 rows with only padding: 0, 2, 3"
    (problem,) = ids_of(first_batch, rows, mask=True).check(pad_id=0)  # the mask knows better
    assert str(problem) == "input_ids: 1 row with only padding: 2"


def test_many_rows(first_batch: Open) -> None:
    (problem,) = ids_of(first_batch, [[0]] * 20, mask=False).check(pad_id=0)
    assert str(problem).endswith("20 rows with only padding: 0, 1, 2, 3, 4, 5, 6, 7, ..")


def test_released(first_batch: Open) -> None:
    batch = first_batch([{"x": math.pi}], {"x": "float32"})
    batch.release()
    with pytest.raises(ValueError, match="released"):
        batch.check()

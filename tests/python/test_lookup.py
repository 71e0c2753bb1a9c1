"""Batches and records by their number: the same that iteration gives, and no loop moves."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import pytest

import leat
from conftest import BATCH, Leatd, expected
from leat import errors

N = 57


@pytest.fixture
def rows(tmp_path: pathlib.Path) -> leat.Pipeline:
    """Records with a number and a text, shuffled."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"n": n, "text": f"row {n}"}) + "\n" for n in range(N)))
    return leat.jsonl(path).shuffle(20, seed=3)


def _told(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


def test_each_batch_is_that_of_iteration(rows: leat.Pipeline) -> None:
    with rows.batch(4) as batches:
        wanted = _told(batches)
        numbers = list(range(len(wanted)))
        assert len(wanted) == 15 and wanted[0] != [0, 1, 2, 3]
        assert [batches[n]["n"].tolist() for n in numbers] == wanted
        random.Random(1).shuffle(numbers)
        assert [batches[n]["n"].tolist() for n in numbers] == [wanted[n] for n in numbers]
        assert [batches[-n - 1]["n"].tolist() for n in numbers] == [wanted[-n - 1] for n in numbers]
        assert batches[3].epoch == 0 and _told(batches) != wanted  # the second epoch has another order
        assert batches[3]["n"].tolist() == wanted[3]
    assert batches[3]["n"].tolist() == wanted[3]  # opens again
    batches.close()


def test_what_is_held_and_what_runs_stay_as_they_are(rows: leat.Pipeline) -> None:
    with rows.batch(4) as batches:
        wanted = _told(batches)
        batches.set_epoch(0)
        loop = iter(batches)
        first = next(loop)["n"].tolist()
        held = [batches[n] for n in (5, 6, 2, 14, 5, 0)]
        assert [first, *_told(loop)] == wanted
        assert _told(held) == [wanted[n] for n in (5, 6, 2, 14, 5, 0)]


def test_records(rows: leat.Pipeline) -> None:
    with rows as records:
        wanted = [dict(record) for record in records]
        assert len(wanted) == N
        assert [records[n] for n in (0, 1, 40, 3, -1)] == [wanted[n] for n in (0, 1, 40, 3, -1)]


def test_numbers_that_are_none(rows: leat.Pipeline) -> None:
    with rows.batch(4).opened_with(steps=3) as batches:
        assert batches[14].n_rows == 1  # `steps` ends loops, not the epoch
        for index in (15, -16, 1 << 70):
            with pytest.raises(IndexError, match=f"no item {index} in an epoch of pipeline, which has 15"):
                batches[index]
        for index in ("0", 1.5, slice(2), None):
            with pytest.raises(TypeError, match="an index must be an integer, not"):
                batches[index]  # type: ignore[index]
        batches.stream.close()
        with pytest.raises(errors.Error, match="closed"):
            batches[0]
        with pytest.raises(errors.Error, match="closed"):
            batches.stream.load_state_dict(batches.stream.state_dict())


def test_a_length_that_nobody_knows(numbers: Leatd) -> None:
    with numbers.open("some") as batches:
        for index in (50, 1 << 70):
            with pytest.raises(IndexError, match=f"no item {index} in an epoch of some, which has"):
                batches[index]
        wanted = _told(batches)
        assert [batches[n]["n"].tolist() for n in (3, 0, 1, -1)] == [wanted[n] for n in (3, 0, 1, -1)]


def test_of_a_rank(numbers: Leatd) -> None:
    for rank in range(3):
        with numbers.open("rows", rank=rank, world_size=3) as batches:
            for n in (3, 0, 1, -1):
                batch = batches[n]
                step = range(rank, 13, 3)[: len(batches)][n]
                assert (batch.step, batch["int32"].tolist()) == (step, expected("int32", step))
            with pytest.raises(IndexError):
                batches[len(batches)]


def test_of_a_dataloader() -> None:
    data = [{"n": n} for n in range(3 * BATCH + 1)]
    with leat.dataloader(data, None, batch_size=BATCH, shuffle=True, framework="numpy") as loader:
        wanted = _told(loader)
        assert [loader[n]["n"].tolist() for n in (2, 3, 0, -1)] == [wanted[n] for n in (2, 3, 0, -1)]
        loader[0]["n"][:] = 1  # an array of its own


def test_a_loader_of_torch_is_refused(rows: leat.Pipeline) -> None:
    data = pytest.importorskip("torch.utils.data")
    with rows.batch(4) as batches, leat.dataloader([{"n": 1}], None, batch_size=1) as loader:
        arrays = batches.to("numpy")
        assert arrays[1].keys() == {"n"} and batches.stream.lookup.stream.native.n_held == 0
        things = ((batches, "pipeline"), (batches.stream, "pipeline"), (arrays, "pipeline"), (loader, "loader.pipeline"))
        for thing, name in things:
            with pytest.raises(TypeError, match=rf"leat\.TorchDataset\({name}\)"):
                next(iter(data.DataLoader(thing, batch_size=None)))

"""Which rank a process is: by what is initialised in it, else by what the launcher left; and that streams are opened so, even if
the ranks are initialised later."""

from __future__ import annotations

import pathlib
import sys
import types
from typing import Any

import pytest

import leat
from leat import opening, ranks


def test_nothing_is_initialised() -> None:
    assert leat.ranks is ranks
    assert ranks.find() is None
    assert ranks.options() == {}


@pytest.mark.parametrize("given, wanted", [((0, 2), (0, 2)), ((1, 2), (1, 2)), ((None, 1), (0, 1))])
def test_arguments(given: Any, wanted: tuple[int, int]) -> None:
    assert ranks.options(*given) == {"rank": wanted[0], "world_size": wanted[1]}


@pytest.mark.parametrize(
    "given, why",
    [
        ((1, None), "no world_size"), ((None, 2), "no rank"), ((2, 2), r"must be in 0\.\.1"), ((-1, 2), "must be in 0"),
        ((0, 0), "world_size is 0, but"),
    ],
)
def test_half_of_a_pair(given: Any, why: str) -> None:
    with pytest.raises(leat.SpecError, match=why):
        ranks.options(*given)


def test_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"is_initialized": False}
    distributed = types.SimpleNamespace(is_initialized=lambda: told["is_initialized"])
    jax = types.SimpleNamespace(distributed=distributed, process_index=lambda: 3, process_count=lambda: 4)
    monkeypatch.setitem(sys.modules, "jax", jax)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert ranks.find() is None
    told["is_initialized"] = True
    assert ranks.find() == (3, 4, "jax")
    assert opening.native({}, opening.share({})) == {"rank": 3, "world_size": 4}
    assert opening.native({}, opening.share({"world_size": 1})) == {"rank": 0, "world_size": 1}


def test_groups() -> None:
    group = types.SimpleNamespace(rank=lambda: 1, size=lambda: 2)
    assert ranks.of_group(group)[:2] == (1, 2)
    with pytest.raises(leat.SpecError, match="must have rank"):
        ranks.of_group(3)


def test_torch_distributed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The group is what counts, whatever the launcher says. (Two processes of one: test_accelerate.)"""
    distributed = pytest.importorskip("torch.distributed")
    (tmp_path / "rows.csv").write_text("number\n" + "".join(f"{i}\n" for i in range(40)))
    pipeline = leat.csv(tmp_path / "rows.csv").cast("number", dtype="int32").batch(5)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pipeline.open() as stream:
        assert (stream.rank, stream.world_size, stream.native.rank_source) == (1, 2, "torchrun")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        assert ranks.find() == (0, 1, "torch.distributed")
        with pipeline.open(epochs=1) as stream:
            assert [batch["number"].tolist() for batch in stream] == [list(range(i, i + 5)) for i in range(0, 40, 5)]
        assert ranks.of_group(distributed.group.WORLD)[:2] == (0, 1)
    finally:
        distributed.destroy_process_group()
    assert ranks.find() is None


# ---- ranks that are initialised after the stream was opened


@pytest.fixture
def batches(tmp_path: pathlib.Path) -> Any:
    """Eight batches of four numbers."""
    (tmp_path / "rows.csv").write_text("number\n" + "".join(f"{i}\n" for i in range(32)))
    batches = leat.csv(tmp_path / "rows.csv").cast("number", dtype="int32").batch(4).opened_with(agree=False)
    yield batches
    batches.close()


def firsts(batches: Any) -> list[int]:
    return [int(batch["number"][0]) for batch in batches]


def initialise(monkeypatch: pytest.MonkeyPatch, rank: int, world_size: int) -> None:
    monkeypatch.setattr(ranks, "find", lambda: ranks.Ranks(rank, world_size, "torch.distributed"))


EARLY: dict[str, Any] = {
    "length": len,
    "lookup": lambda batches: batches[1].release(),
    "loop": firsts,
    "left loop": lambda batches: next(iter(batches)).release(),
    "epoch": lambda batches: batches.set_epoch(1),
    "state": lambda batches: batches.load_state_dict(batches.state_dict()),
}


@pytest.mark.parametrize("early", EARLY)
def test_a_loop_belongs_to_the_ranks_of_its_beginning(batches: Any, early: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may ask for the length, for example, before it initialises torch.distributed."""
    EARLY[early](batches)
    initialise(monkeypatch, 1, 2)
    assert firsts(batches) == [4, 12, 20, 28]
    assert (batches.stream.rank, batches.stream.world_size, len(batches)) == (1, 2, 4)
    with batches[0] as batch:
        assert int(batch["number"][0]) == 4
    monkeypatch.setattr(ranks, "find", lambda: None)  # the group was destroyed
    assert firsts(batches) == [4, 12, 20, 28]


def test_an_iterator_without_a_batch_goes_over_to_the_ranks(batches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    iterator = iter(batches)
    initialise(monkeypatch, 1, 2)
    assert len(batches) == 4
    first = next(iterator)
    assert int(first["number"][0]) == 4
    initialise(monkeypatch, 0, 2)
    assert firsts(iterator) == [12, 20, 28]  # an epoch that has begun keeps its ranks
    assert firsts(batches) == [0, 8, 16, 24]


def test_later_ranks_are_compared(batches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    comparing = batches.opened_with(agree=True)
    assert len(comparing) == 8
    monkeypatch.setattr(ranks, "find", lambda: ranks.Ranks(1, 2, "ray.train"))
    with pytest.raises(leat.SpecError, match="cannot compare"):
        next(iter(comparing))
    comparing.close()


def test_arrays_of_a_pipeline_open_nothing_before_the_loop(batches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning starts other processes with half of the variables, and initialises their ranks when it fits."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    arrays = batches.to("numpy")
    initialise(monkeypatch, 1, 2)
    assert firsts(arrays) == [4, 12, 20, 28]

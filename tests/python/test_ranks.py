"""Which rank a process is: by what is initialised in it, else by what the launcher left; and that streams are opened so."""

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

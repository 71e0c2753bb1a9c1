"""len() of streams whose batches nobody can count beforehand: known as soon as an epoch was read, if all epochs have as many."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import leat

N_ROWS = 203
BATCH = 4


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Of lists of 1 to 13 numbers; every 17th row has no number in its text."""
    path = tmp_path_factory.mktemp("lengths") / "rows.jsonl"
    rows = [{"id": i, "key": i % 60, "number": "x" if i % 17 == 5 else str(i), "ids": [i] * (i * 7 % 13 + 1)} for i in range(N_ROWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows(path: pathlib.Path) -> Any:
    """Without an index no other process would ever know."""
    return leat.jsonl(path).options(index="off")


def bad(path: pathlib.Path) -> Any:
    return rows(path).cast("number", dtype="int64").options(on_error="skip")


def shuffled(path: pathlib.Path) -> Any:
    return rows(path).shuffle(50, seed=1)


def mixed(path: pathlib.Path, **how: Any) -> Any:
    return leat.mix(leat.jsonl(path), leat.jsonl(path), **how).options(index="off").shuffle(50)


def batched(pipeline: Any, **how: Any) -> Any:
    how = how or {"batch_size": BATCH}
    return pipeline.pad(input="ids", longest=True, value=0).select(["id", "ids"]).batch(**how)


ALIKE: dict[str, Callable[[pathlib.Path], Any]] = {
    "split": lambda path: batched(rows(path).split("train", train=0.8, validation=0.2)),
    "filter": lambda path: batched(rows(path).filter("key", min=7)),
    "filter behind a shuffle": lambda path: batched(shuffled(path).filter("key", min=7)),
    "sample": lambda path: batched(rows(path).sample(0.5)),
    "sample behind a shuffle": lambda path: batched(shuffled(path).sample(0.5)),
    "dedup": lambda path: batched(rows(path).dedup(input="key")),
    "dedup behind a shuffle": lambda path: batched(shuffled(path).dedup(input="key")),
    "bad records": lambda path: batched(bad(path)),
    "bad records, shuffled": lambda path: batched(bad(path).shuffle(50)),
    "drop_last": lambda path: batched(rows(path).filter("key", min=7), batch_size=BATCH, drop_last=True),
    "pack": lambda path: rows(path).pack(16, fields=["ids"], value=0).select(["ids"]).batch(BATCH),
    "pack, always in the same order": lambda path: (
        rows(path).shuffle(50, reshuffle_each_epoch=False).pack(16, fields=["ids"], value=0).select(["ids"]).batch(BATCH)
    ),
    "pack of cut documents": lambda path: (
        shuffled(path).pack(16, fields=["ids"], value=0, how="concat", split=True).select(["ids"]).batch(BATCH)
    ),
    "chunk": lambda path: shuffled(path).chunk(4, fields=["ids"]).pad(input="ids", length=4, value=0).select(["ids"]).batch(BATCH),
    "bucket": lambda path: batched(shuffled(path).filter("key", min=7).bucket(input="ids", boundaries=[4, 8])),
    "bucket by windows": lambda path: batched(shuffled(path).filter("key", min=7).bucket(input="ids", window=30)),
    "max_tokens": lambda path: batched(rows(path), max_tokens=40),
    "take of the filtered": lambda path: batched(rows(path).filter("key", min=7).shuffle(50).take(41)),
    "mix by turns": lambda path: batched(mixed(path, proportions=[3.0, 1.0]).filter("key", min=7)),
    "mix of all": lambda path: batched(mixed(path, weights=[3.0, 1.0], exhausted="drop").filter("key", min=7)),
    "records": lambda path: rows(path).filter("key", min=7),
}
DIFFERENT: dict[str, tuple[str, Callable[[pathlib.Path], Any]]] = {
    "pack": ("pack", lambda path: shuffled(path).pack(16, fields=["ids"], value=0, window=20).select(["ids"]).batch(1)),
    "sample": ("sample", lambda path: batched(rows(path).sample(0.5, each_epoch=True))),
    "max_tokens": ("max_tokens", lambda path: batched(shuffled(path), max_tokens=40)),
    "filter": ("filter", lambda path: batched(shuffled(path).take(100).filter("key", min=30))),
    "dedup": ("dedup", lambda path: batched(shuffled(path).take(100).dedup(input="key"))),
    "chunk": ("chunk", lambda path: shuffled(path).skip(100).chunk(4, fields=["ids"]).pad(input="ids", length=4, value=0).select(["ids"]).batch(2)),
    "mix": ("mix", lambda path: batched(mixed(path, weights=[3.0, 1.0]))),
}


def count(source: Any) -> int:
    return sum(1 for _ in source)


@pytest.mark.parametrize("name", ALIKE)
def test_an_epoch_that_was_read_tells(name: str, path: pathlib.Path) -> None:
    with ALIKE[name](path) as pipeline:
        with pytest.raises(TypeError, match="after the first epoch"):
            len(pipeline)
        next(iter(pipeline))
        with pytest.raises(TypeError):
            len(pipeline)
        n = count(pipeline)
        assert len(pipeline) == n > 0
        assert [count(pipeline) for _ in range(3)] == [n] * 3 and len(pipeline) == n
        assert len(pipeline.to("numpy") if pipeline.is_batched else pipeline) == n
        with ALIKE[name](path).open() if pipeline.is_batched else ALIKE[name](path) as again:
            assert len(again) == n  # another stream of the same


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_from_epoch_to_epoch_is_never_told(name: str, path: pathlib.Path) -> None:
    why, make = DIFFERENT[name]
    with make(path) as pipeline:
        counts = set()
        for _ in range(12):
            counts.add(count(pipeline))
            with pytest.raises(TypeError, match=f"the number can differ from epoch to epoch, because of `{why}`"):
                len(pipeline)
        assert len(counts) > 1


@pytest.mark.parametrize("uneven", ["drop", "pad"])
def test_ranks(path: pathlib.Path, uneven: str) -> None:
    """Each rank has as many, and knows it by itself."""
    pipeline = batched(rows(path).filter("key", min=7)).options(uneven=uneven)
    whole = pipeline.open()
    n_steps = count(whole)
    for rank in range(3):
        n = n_steps // 3 if uneven == "drop" else -(-n_steps // 3)
        seed = {"drop": 50, "pad": 60}[uneven] + 3 * rank
        for first_step in (3, 4):  # ranks go round from there on: from 4 they come to another end
            with pipeline.open(rank=rank, world_size=3, first_epoch=1, first_step=first_step, seed=seed + first_step) as stream:
                with pytest.raises(TypeError):
                    len(stream)
                assert count(stream) < n
                if first_step == 4:
                    with pytest.raises(TypeError):
                        len(stream)
                    assert count(stream) == n
                assert len(stream) == n == count(stream)
                stream.set_epoch(0)
                assert len(stream) == n == count(stream)
    whole.close()


def test_a_length_that_is_limited(path: pathlib.Path) -> None:
    """An end that was asked for tells nothing of the epoch."""
    with batched(rows(path).filter("id", min=3)).open(steps=5) as stream:
        assert count(stream) == 5
        with pytest.raises(TypeError):
            len(stream)


@pytest.mark.parametrize("n_workers", [0, 2])
def test_data_loaders(path: pathlib.Path, n_workers: int) -> None:
    torch = pytest.importorskip("torch")
    seed = 100 + n_workers  # a stream that no other test has read
    dataset = leat.TorchDataset(batched(rows(path).split("train", train=0.8, validation=0.2, seed=seed)))
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=n_workers)
    with pytest.raises(TypeError):
        len(loader)
    n = count(loader)
    assert len(loader) == len(dataset) == n == count(loader)
    if n_workers == 0:
        assert len(leat.TorchDataset(dataset.source, rows=True)) == n * BATCH


def test_a_held_data_set() -> None:
    made = leat.dataloader([{"id": i} for i in range(50)], labels=False, batch_size=4, cache=False, options={"on_error": "skip", "index": "off"})
    with made as batches:
        with pytest.raises(TypeError):
            len(batches)
        n = count(batches)
        assert len(batches) == n == 13

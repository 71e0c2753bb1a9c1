"""A Pipeline and a DataLoader are values: a forked child opens streams of its own."""

from __future__ import annotations

import os
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import leat


def in_child(work: Callable[[], Any]) -> Any:
    """What a forked child finds."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = work()
        except BaseException as error:
            found = f"{type(error).__name__}: {error}"
        os.write(write_end, pickle.dumps(found))
        os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as file:
        found = pickle.load(file)
    os.waitpid(child, 0)
    return found


@pytest.fixture
def numbers(tmp_path: pathlib.Path) -> leat.Pipeline:
    path = tmp_path / "n.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(10)))
    return leat.jsonl(path)


def test_an_inherited_pipeline_opens_anew(numbers: leat.Pipeline) -> None:
    batches = numbers.batch(4)
    steps = iter(batches)
    assert next(steps)["n"].tolist() == [0, 1, 2, 3]
    position = batches.state_dict()

    def work() -> Any:
        found = [batch["n"].tolist() for batch in batches]
        batches.load_state_dict(position)
        rest = [batch["n"].tolist() for batch in batches]
        batches.close()
        return found, rest

    assert in_child(work) == ([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], [[4, 5, 6, 7], [8, 9]])
    assert [batch["n"].tolist() for batch in steps] == [[4, 5, 6, 7], [8, 9]]  # the child disturbed nothing
    batches.close()


def test_an_inherited_loader_begins_anew(numbers: leat.Pipeline, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("numpy")
    with leat.dataloader(tmp_path / "n.jsonl", batch_size=5, framework="numpy", cache=False) as loader:
        steps = iter(loader)
        next(steps)
        assert in_child(lambda: [batch["n"].tolist() for batch in loader]) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
        assert [batch["n"].tolist() for batch in steps] == [[5, 6, 7, 8, 9]]


def rows(batches: Any) -> list[list[int]]:
    return [batch["n"].tolist() for batch in batches]


@pytest.mark.parametrize("way", ["state", "first state", "epoch", "next epoch"])
def test_other_processes_begin_at_the_place_that_was_chosen(numbers: leat.Pipeline, way: str) -> None:
    """A program may load its checkpoint, and then fork or spawn its ranks."""
    shuffled = numbers.shuffle(5, seed=3).batch(4)
    with shuffled.open() as stream:
        epochs = [rows(stream) for _ in range(3)]
        stream.seek(1, 1)
        state = stream.state_dict()
    batches = numbers.shuffle(5, seed=3).batch(4)
    if way in ("state", "next epoch"):
        assert rows(batches) == epochs[0]
    if "state" in way:
        batches.load_state_dict(state)
        wanted = [epochs[1][1:], epochs[2]]
    else:
        batches.set_epoch(1)
        wanted = epochs[1:]
    pickled = pickle.loads(pickle.dumps(batches))
    for other in (batches, pickled):
        assert in_child(lambda: [rows(other), rows(other)]) == wanted
    assert [rows(pickled), rows(pickled)] == [rows(batches), rows(batches)] == wanted
    assert in_child(lambda: rows(batches)) == rows(pickle.loads(pickle.dumps(batches))) == epochs[0]  # a loop has begun
    batches.close()
    pickled.close()


def test_many_pipelines_in_a_daemon_of_ones_own(numbers: leat.Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    streams = [numbers.skip(n % 9).batch(1 + n).open(window=1) for n in range(70)]  # each is a stream of its own
    assert [stream.next()["n"].tolist()[0] for stream in streams] == [n % 9 for n in range(70)]
    for stream in streams:
        stream.close()

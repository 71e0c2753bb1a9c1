"""Loops as people who train write them, over every object that leat gives to be iterated: each `iter()` sees all rows of an
epoch once, and the k-th one the epoch k, whatever became of the loops before it.
"""

from __future__ import annotations

import gc
import itertools
import os
import pathlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import Leatd, wait_until

import leat
from leat import frameworks

N_ROWS, BATCH = 40, 4
N_BATCHES = N_ROWS // BATCH
N_EPOCHS = 8
YAML = """streams:
  rows:
    source: { csv: { paths: [rows.csv] } }
    stages:
      - cast: { input: id, output: id, dtype: int64 }
      - shuffle: { global: true, seed: 3 }
      - batch: { batch_size: 4 }
  long:
    source: { csv: { paths: [rows.csv] } }
    stages:
      - cast: { input: id, output: id, dtype: int64 }
      - repeat: { count: 500 }
      - batch: { batch_size: 4 }
"""
N_REPEATS = 500

Rows = list[int]


class Ahead(frameworks.Converted):
    """Batches are taken one ahead of the step, as towards a GPU."""

    def _is_ahead(self) -> bool:
        return True


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("loops") / "rows.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    return path


@pytest.fixture(scope="module")
def daemon(path: pathlib.Path) -> Iterator[Leatd]:
    daemon = Leatd(path.parent, YAML)
    leat.connect(daemon.address)
    yield daemon
    leat.connect(None)
    daemon.stop()


def shuffled(path: pathlib.Path) -> Any:
    return leat.csv(path).cast("id", dtype="int64").shuffle(global_=True, seed=3)


def dataset(path: pathlib.Path, **options: Any) -> Any:
    pytest.importorskip("torch")
    return leat.TorchDataset(shuffled(path).batch(BATCH), **options)


def torch_loader(path: pathlib.Path, **options: Any) -> Any:
    data = pytest.importorskip("torch.utils.data")
    return data.DataLoader(dataset(path), batch_size=None, **options)


def stateful_loader(path: pathlib.Path, **options: Any) -> Any:
    module = pytest.importorskip("torchdata.stateful_dataloader")
    return module.StatefulDataLoader(dataset(path), batch_size=None, **options)


def held(path: pathlib.Path) -> Any:
    rows = [{"id": i} for i in range(N_ROWS)]
    return leat.dataloader(rows, labels=False, batch_size=BATCH, shuffle=True, seed=3, cache=False)


def converted(framework: str, module: str) -> Callable[[pathlib.Path], Any]:
    def make(path: pathlib.Path) -> Any:
        pytest.importorskip(module)
        return shuffled(path).batch(BATCH).to(framework)

    return make


OBJECTS: dict[str, Callable[[pathlib.Path], Any]] = {
    "pipeline": lambda path: shuffled(path).batch(BATCH),
    "records": shuffled,
    "stream": lambda path: shuffled(path).batch(BATCH).open(),
    "declared": lambda path: leat.open("rows"),
    "pipeline.to-numpy": converted("numpy", "numpy"),
    "pipeline.to-torch": converted("torch", "torch"),
    "pipeline.to-jax": converted("jax", "jax"),
    "pipeline.to-mlx": converted("mlx", "mlx.core"),
    "stream.to": lambda path: shuffled(path).batch(BATCH).open().to("numpy"),
    "ahead": lambda path: Ahead(shuffled(path).batch(BATCH), "numpy"),
    "to_device": lambda path: leat.to_device(shuffled(path).batch(BATCH).open(), "cpu", "numpy"),
    "dataloader": held,
    "monitor": lambda path: leat.Monitor(shuffled(path).batch(BATCH), memory_interval=None),
    "dataset": dataset,
    "dataset-rows": lambda path: dataset(path, rows=True),
    "torch.DataLoader": torch_loader,
    "torch.DataLoader-workers": lambda path: torch_loader(path, num_workers=2),
    "torch.DataLoader-persistent": lambda path: torch_loader(path, num_workers=2, persistent_workers=True),
    "StatefulDataLoader": stateful_loader,
}
BEGUN_AT_ONCE = {"torch.DataLoader-workers", "torch.DataLoader-persistent", "StatefulDataLoader"}  # by iter() itself
ONE_AT_A_TIME = {"torch.DataLoader-persistent"}  # torch gives the same iterator again


def rows_of(item: Any) -> Rows:
    """Of a batch, a row or a record."""
    value = item["id"]
    number = value.tolist() if hasattr(value, "tolist") else value
    return [int(each) for each in number] if isinstance(number, list) else [int(number)]


def rows_in(items: Any) -> Rows:
    return [row for item in items for row in rows_of(item)]


@pytest.fixture(scope="module")
def epochs_of(path: pathlib.Path, daemon: Leatd) -> Callable[[str], list[Rows]]:
    """The rows of the first epochs of an object, as plain loops give them."""
    known: dict[str, list[Rows]] = {}

    def find(name: str) -> list[Rows]:
        if name not in known:
            source = OBJECTS[name](path)
            known[name] = [rows_in(source) for _ in range(N_EPOCHS if "workers" not in name else 5)]
            close(source)
        return known[name]

    return find


def close(source: Any) -> None:
    getattr(source, "close", lambda: None)()


# ---- ways to loop: each gives the rows of the loops that went through, by the number of their `iter()`


def plain(source: Any) -> dict[int, Rows]:
    return {epoch: rows_in(source) for epoch in range(3)}


def exactly_len(source: Any) -> dict[int, Rows]:
    def some() -> Rows:
        batches = iter(source)
        return rows_in(next(batches) for _ in range(len(source)))

    return {epoch: some() for epoch in range(3)}


def exactly_len_of_a_variable(source: Any) -> dict[int, Rows]:
    """The iterator of one epoch is still there as the next one begins."""
    found = {}
    for epoch in range(3):
        batches = iter(source)
        found[epoch] = [row for _ in range(len(source)) for row in rows_of(next(batches))]
    return found


def left(source: Any) -> dict[int, Rows]:
    for _ in source:
        break
    for i, _ in enumerate(source):
        if i == 2:
            break
    return {2: rows_in(source), 3: rows_in(source)}


def peek(source: Any) -> dict[int, Rows]:
    next(iter(source))
    return {1: rows_in(source)}


def begun_only(source: Any) -> dict[int, Rows]:
    """As a framework tries whether it may iterate: the epoch has not begun."""
    iter(source)
    return {0: rows_in(source), 1: rows_in(source)}


def first_few(source: Any) -> dict[int, Rows]:
    few = [rows_in(itertools.islice(source, 3)) for _ in range(2)]
    whole = rows_in(source)
    assert len(set(few[0])) == len(few[0]) and few[0] != few[1]
    return {2: whole}


def two_at_once(source: Any) -> dict[int, Rows]:
    first, second = iter(source), iter(source)
    found: tuple[Rows, Rows] = ([], [])
    for one in first:
        found[0].extend(rows_of(one))
        found[1].extend(rows_of(next(second)))
    return {0: found[0], 1: found[1], 2: rows_in(source)}


def one_within_another(source: Any) -> dict[int, Rows]:
    """As an evaluation in the middle of an epoch of the same data."""
    outer: Rows = []
    inner = {}
    for i, item in enumerate(source):
        outer += rows_of(item)
        if i % 4 == 1 and len(inner) < 2:
            inner[1 + len(inner)] = rows_in(source)
    return {0: outer, **inner, 1 + len(inner): rows_in(source)}


def zipped(source: Any) -> dict[int, Rows]:
    found = []
    for _ in range(2):
        pairs = [(rows_of(one), rows_of(other)) for one, other in zip(source, source)]
        found += [[row for pair in pairs for row in pair[i]] for i in range(2)]
    return dict(enumerate(found))


def exception_in_the_body(source: Any) -> dict[int, Rows]:
    """Its traceback is kept, as a notebook does, with what the frames hold."""
    kept = []
    for _ in range(2):
        try:
            for item in source:
                raise ValueError("in the body")
        except ValueError as error:
            kept.append(error)
    return {2: rows_in(source), 3: rows_in(source)}


def interrupted(source: Any) -> dict[int, Rows]:
    """By Ctrl-C, in the body or as the next batch is waited for."""
    kept = []
    try:
        for i, item in enumerate(source):
            if i == 2:
                os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt as error:
        kept.append(error)
    return {1: rows_in(source), 2: rows_in(source)}


def set_epoch(source: Any) -> dict[int, Rows]:
    go = getattr(source, "set_epoch", None) or getattr(getattr(source, "dataset", None), "set_epoch", None)
    if go is None:
        pytest.skip("it has no set_epoch()")
    found = {}
    for epoch in (0, 1, 4, 2):
        go(epoch)
        found[epoch] = rows_in(source)
    go(1)
    next(iter(source))
    found[2] = rows_in(source)
    return found


WAYS = [
    plain, exactly_len, exactly_len_of_a_variable, left, peek, begun_only, first_few, two_at_once, one_within_another, zipped,
    exception_in_the_body, interrupted, set_epoch,
]  # fmt: skip
WAYS_OF_TWO = {two_at_once, one_within_another, zipped}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", OBJECTS)
def test_each_loop_is_a_whole_epoch(
    name: str, way: Callable[[Any], dict[int, Rows]], path: pathlib.Path, epochs_of: Callable[[str], list[Rows]]
) -> None:
    if name in ONE_AT_A_TIME and way in WAYS_OF_TWO:
        pytest.skip("torch has one iterator at a time with workers that persist")
    whole = epochs_of(name)
    assert all(sorted(rows) == list(range(N_ROWS)) for rows in whole) and whole[0] != whole[1]
    source = OBJECTS[name](path)
    try:
        offset = int(way is begun_only and name in BEGUN_AT_ONCE)
        assert way(source) == {epoch: whole[epoch + offset] for epoch in way_epochs(way)}
    finally:
        close(source)


def way_epochs(way: Callable[[Any], dict[int, Rows]]) -> list[int]:
    """The epochs that it goes through to the end."""
    return {
        plain: [0, 1, 2], exactly_len: [0, 1, 2], exactly_len_of_a_variable: [0, 1, 2], left: [2, 3], peek: [1], begun_only: [0, 1],
        first_few: [2], two_at_once: [0, 1, 2], one_within_another: [0, 1, 2, 3], zipped: [0, 1, 2, 3],
        exception_in_the_body: [2, 3], interrupted: [1, 2], set_epoch: [0, 1, 4, 2],
    }[way]  # fmt: skip


# ---- sessions, slots and prefetched batches


def sessions(daemon: Leatd) -> list[int]:
    return [session["id"] for session in daemon.sessions()]


def expect_sessions(daemon: Leatd, n: int) -> None:
    gc.collect()
    wait_until(lambda: len(sessions(daemon)) == n, f"{n} sessions")


@pytest.fixture
def stream(daemon: Leatd) -> Iterator[Any]:
    expect_sessions(daemon, 0)
    with leat.open("rows") as stream:
        yield stream
    expect_sessions(daemon, 0)


def test_epochs_follow_each_other_in_one_session(daemon: Leatd, stream: Any) -> None:
    begun = sessions(daemon)
    for epoch in range(3):
        exactly_len(stream)
        rows_in(stream)
        stream.set_epoch(stream.epoch)
        assert sessions(daemon) == begun
    assert stream.epoch == 3 * 4


def test_an_iterator_that_nobody_has_gives_its_session_up(daemon: Leatd, stream: Any) -> None:
    kept = iter(stream)
    next(kept).release()
    other = iter(stream)
    next(other).release()
    expect_sessions(daemon, 2)
    del other
    expect_sessions(daemon, 1)
    assert stream.position.split(":epoch=")[1].startswith("1:step=1:")
    assert len(list(kept)) == N_BATCHES - 1
    expect_sessions(daemon, 0)
    assert next(iter(stream)).epoch == 2


def test_a_batch_that_is_held_keeps_its_session_alone(daemon: Leatd, stream: Any) -> None:
    held = [next(iter(stream)) for _ in range(3)]
    expect_sessions(daemon, 3)
    assert [sorted(rows_of(batch)) != [] for batch in held] == [True] * 3
    assert sorted(rows_in(stream)) == list(range(N_ROWS))
    held.clear()
    expect_sessions(daemon, 1)


def interrupt(daemon: Leatd, batches: Iterator[Any]) -> tuple[Rows, KeyboardInterrupt]:
    """What came before Ctrl-C while a batch was waited for; and the exception, whose frames know the iterator."""
    rows: Rows = []
    daemon.pause()
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    try:
        for batch in batches:
            rows += rows_of(batch)
            del batch
    except KeyboardInterrupt as error:
        return rows, error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        daemon.process.send_signal(signal.SIGCONT)
    raise AssertionError("all batches were there already")


def test_an_interrupted_wait(daemon: Leatd) -> None:
    """The next loop begins anew in the session of the one that was interrupted, which goes on where it was if it is asked to."""
    whole = [row for _ in range(N_REPEATS) for row in range(N_ROWS)]
    with leat.open("long") as stream:
        batches = iter(stream)
        rows, kept = interrupt(daemon, batches)
        assert rows_in(stream) == whole and kept
        expect_sessions(daemon, 1)
        assert rows + rows_in(batches) == whole
        expect_sessions(daemon, 1)
    expect_sessions(daemon, 0)

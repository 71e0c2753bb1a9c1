"""TorchDataset under torch's DataLoader and torchdata's StatefulDataLoader: every row once, in the one order, whatever the
workers."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import pathlib
import pickle
import time
import warnings
from collections.abc import Iterable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from conftest import START_S  # noqa: E402
import leat  # noqa: E402
from leat import ranks  # noqa: E402
from leat.torch_data import whole_batches  # noqa: E402

N_ROWS = 333  # of batches of 10: 34 steps, the last with 3 rows
BATCH = 10


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Rows without a batch: the number of each, and as many ones as the row has length."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("number,name\n" + "".join(f"{i},row é {i}\n" for i in range(N_ROWS)))
    return leat.csv(path).cast("number", dtype="int32")


@pytest.fixture(scope="module")
def batches(rows: Any) -> Any:
    return rows.batch(BATCH)


def numbers(batches: Iterable[Any]) -> list[list[int]]:
    return [batch["number"].tolist() for batch in batches]


def steps(first: int = 0, every: int = 1) -> list[list[int]]:
    """The steps first, first + every, ... as they must be."""
    return [list(range(start, min(start + BATCH, N_ROWS))) for start in range(0, N_ROWS, BATCH)][first::every]


def children_named(name: str) -> list[int]:
    """Processes of this user with that name, that belong to this process: the embedded daemon is one."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and (entry / "comm").read_text().strip() == name:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def loader(dataset: Any, n_workers: int = 0, **options: Any) -> Any:
    return DataLoader(dataset, batch_size=options.pop("batch_size", None), num_workers=n_workers, **options)


@pytest.mark.parametrize("n_workers", [0, 1, 3])
def test_the_sequence_is_that_without_workers(batches: Any, n_workers: int) -> None:
    dataset = leat.TorchDataset(batches)
    for _ in range(2):
        assert numbers(loader(dataset, n_workers)) == steps()
    dataset.close()


@pytest.mark.parametrize("n_workers", [0, 3])
def test_ranks_and_workers_share_the_steps(batches: Any, n_workers: int) -> None:
    """Of 34 steps 3 ranks get 11 each: the last one is left out, as the stream's option `uneven` says, and no other."""
    for rank in range(3):
        dataset = leat.TorchDataset(batches, rank=rank, world_size=3)
        assert numbers(loader(dataset, n_workers)) == steps(rank, 3)[:11]
        dataset.close()


def test_epochs_go_on_in_every_kind_of_loader(rows: Any) -> None:
    shuffled = rows.shuffle(100, seed=3).batch(BATCH)
    with shuffled.open() as stream:
        wanted = [[batch["number"].tolist() for batch in stream] for _ in range(5)]
    assert wanted[0] != wanted[1]
    dataset = leat.TorchDataset(shuffled)
    assert numbers(loader(dataset)) == wanted[0]
    lasting = loader(dataset, 2, persistent_workers=True)
    assert [numbers(lasting), numbers(lasting)] == wanted[1:3]
    assert [numbers(loader(dataset, 3)), numbers(loader(dataset))] == wanted[3:5]
    dataset.set_epoch(1)
    assert [numbers(lasting), numbers(loader(dataset, 2))] == wanted[1:3]
    dataset.close()


def test_a_loop_that_is_left_ends_its_epoch(batches: Any) -> None:
    dataset = leat.TorchDataset(batches)
    for n_workers in (0, 2):
        for batch in loader(dataset, n_workers):
            assert batch["number"].tolist() == list(range(BATCH))
            break
    assert dataset.state_dict()["epoch"] == 2
    dataset.close()


def test_spawned_workers_share_the_count_of_passes(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the rank, which a framework knows in the parent alone."""
    shuffled = rows.shuffle(100, seed=3).batch(BATCH)
    with shuffled.open() as stream:
        wanted = [[batch["number"].tolist() for batch in stream][1::2] for _ in range(2)]
    monkeypatch.setattr(ranks, "find", lambda: ranks.Ranks(1, 2, "torch.distributed"))
    spawning = loader(leat.TorchDataset(shuffled), 1, multiprocessing_context="spawn")
    assert [numbers(spawning), numbers(spawning)] == wanted
    assert len(children_named("leatd")) == 1


def read_two_epochs(rank: int, dataset: Any, n_workers: int, path: pathlib.Path) -> None:
    """What a process of two ranks does."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}
    torch.manual_seed(0)  # as ranks do, for equal models
    path.write_text(json.dumps([numbers(loader(dataset, n_workers)) for _ in range(2)]))


@pytest.mark.parametrize(("method", "n_workers"), [("fork", 0), ("fork", 2), ("spawn", 1)])
def test_processes_with_one_dataset_count_their_own_epochs(rows: Any, tmp_path: pathlib.Path, method: Any, n_workers: int) -> None:
    """Ranks are often forked or spawned with a dataset of their parent. Each of them reads its share of the same epochs."""
    shuffled = rows.shuffle(100, seed=3).batch(BATCH)
    with shuffled.open() as stream:
        wanted = [[batch["number"].tolist() for batch in stream] for _ in range(2)]
    dataset = leat.TorchDataset(shuffled, agree=False)
    context, paths = multiprocessing.get_context(method), [tmp_path / "0", tmp_path / "1"]
    for rank, path in enumerate(paths):  # one after the other: no timing helps
        process = context.Process(target=read_two_epochs, args=(rank, dataset, n_workers, path))
        process.start()
        process.join()
        assert json.loads(path.read_text()) == [epoch[rank::2] for epoch in wanted]
    assert numbers(loader(dataset, n_workers)) == wanted[0]
    dataset.close()


def test_a_worker_leaves_the_parents_stream_alone(batches: Any) -> None:
    dataset = leat.TorchDataset(batches)
    own = iter(dataset)
    first = [next(own) for _ in range(3)]
    assert numbers(loader(dataset, 2)) == steps()
    assert numbers(first) + numbers(own) == steps()
    dataset.close()


def test_tensors_are_the_callers_own(batches: Any) -> None:
    kept = []
    for batch in leat.TorchDataset(batches):
        batch["number"] += 1000
        kept.append(batch)
    assert numbers(kept) == [[number + 1000 for number in step] for step in steps()]
    looking = leat.TorchDataset(batches, copy=False)
    it = iter(looking)
    one, two = next(it), next(it)
    assert one["number"].tolist() + two["number"].tolist() == list(range(20))
    del one, two, it
    looking.close()


def test_a_loader_that_batches_batches_is_told(batches: Any) -> None:
    with pytest.raises(leat.SpecError, match="batch_size=None.*rows=True"):
        list(DataLoader(leat.TorchDataset(batches)))
    with pytest.raises(leat.SpecError, match="batch_size=1"):
        list(DataLoader(leat.TorchDataset(batches), batch_size=2, collate_fn=whole_batches))
    assert numbers(DataLoader(leat.TorchDataset(batches), batch_size=1, collate_fn=whole_batches)) == steps()


@pytest.mark.parametrize("n_workers", [0, 2])
def test_rows_for_loaders_that_batch(batches: Any, n_workers: int) -> None:
    dataset = leat.TorchDataset(batches, rows=True)
    given = numbers(loader(dataset, n_workers, batch_size=7))
    assert sorted(number for batch in given for number in batch) == list(range(N_ROWS))
    if n_workers == 0:
        assert given == [list(range(start, min(start + 7, N_ROWS))) for start in range(0, N_ROWS, 7)]
    dataset.close()


def test_records_of_a_pipeline_without_batch(rows: Any) -> None:
    taken = []
    for batch in DataLoader(leat.TorchDataset(rows.select(["number", "name"])), batch_size=4):
        taken.append(batch)
        if len(taken) == 2:
            break
    assert [batch["number"].tolist() for batch in taken] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert taken[1]["name"] == [f"row é {i}" for i in range(4, 8)]


def test_len_is_known_or_says_why_not(rows: Any, batches: Any) -> None:
    with batches.open(epochs=1) as stream:  # from now on it is known, if it was not before
        list(stream)
    assert len(loader(leat.TorchDataset(batches))) == 34
    assert len(leat.TorchDataset(batches, rank=1, world_size=4)) == 8
    assert len(DataLoader(leat.TorchDataset(batches, rows=True), batch_size=5)) == 68
    with pytest.raises(TypeError, match="does not know.*`dedup`"):
        len(leat.TorchDataset(rows.dedup().batch(BATCH)))


def test_what_is_no_source_is_told(batches: Any) -> None:
    with pytest.raises(leat.SpecError, match="takes a pipeline or the name of a declared stream.*you gave a list"):
        leat.TorchDataset([1, 2])
    with pytest.raises(leat.SpecError, match="world_size"):
        list(leat.TorchDataset(batches, rank=1))
    with pytest.raises(leat.SpecError, match="no option"):
        list(leat.TorchDataset(batches, windows=3))
    with pytest.raises(leat.SpecError, match="must be in 0"):
        leat.TorchDataset(batches).set_epoch(-1)
    with pytest.raises(leat.SpecError, match="must be in 0"):
        leat.TorchDataset(batches).set_epoch(2**63)
    with pytest.raises(TypeError, match="as an integer"):
        leat.TorchDataset(batches).set_epoch(1.5)
    with batches.open() as stream, pytest.raises(leat.SpecError, match="each worker"):
        leat.TorchDataset(stream)


def test_ranks_get_as_many_rows_as_each_other(batches: Any, rows: Any) -> None:
    with pytest.raises(leat.SpecError, match="drop_last=True"):
        next(iter(leat.TorchDataset(batches, rows=True, rank=0, world_size=2)))
    found = []
    for rank in range(2):
        dataset = leat.TorchDataset(rows.batch(BATCH, drop_last=True), rows=True, rank=rank, world_size=2)
        found.append([int(row["number"]) for row in dataset])
        dataset.close()
    n_rows = N_ROWS // (2 * BATCH) * BATCH
    assert found == [[row for row in range(2 * n_rows) if row // BATCH % 2 == rank] for rank in range(2)]


# ---- states


@pytest.mark.parametrize("n_taken", [0, 1, 17, 34])
def test_a_state_goes_on_with_the_next_batch(batches: Any, n_taken: int) -> None:
    dataset = leat.TorchDataset(batches)
    it = iter(dataset)
    before = [next(it) for _ in range(n_taken)]
    state = pickle.loads(pickle.dumps(dataset.state_dict()))
    for n_workers in (0, 2):
        other = leat.TorchDataset(batches)
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert numbers(before) + numbers(loader(other, n_workers)) == steps()
        assert numbers(loader(other, n_workers)) == steps()
        assert other.state_dict()["epoch"] == 2
        other.close()
    dataset.close()


def test_lasting_workers_go_on_at_a_state_once(batches: Any) -> None:
    dataset = leat.TorchDataset(batches)
    own = iter(dataset)
    before = [next(own) for _ in range(4)]
    dataset.load_state_dict(dataset.state_dict())
    lasting = loader(dataset, 1, persistent_workers=True)
    assert numbers(before) + numbers(lasting) == steps()
    dataset.set_epoch(1)
    assert numbers(lasting) == steps()
    dataset.close()


def test_a_state_in_the_midst_of_a_batch(batches: Any) -> None:
    dataset = leat.TorchDataset(batches, rows=True)
    it = iter(dataset)
    before = [int(next(it)["number"]) for _ in range(25)]
    for n_workers in (0, 2):
        other = leat.TorchDataset(batches, rows=True)
        other.load_state_dict(dataset.state_dict())
        after = [int(row["number"]) for row in loader(other, n_workers)]
        assert sorted(before + after) == list(range(N_ROWS))
        if n_workers == 0:
            assert before + after == list(range(N_ROWS))
        other.close()
    dataset.close()


def test_a_state_of_another_world(batches: Any) -> None:
    """Two ranks stop after 5 batches each; three go on with step 10."""
    state = None
    for rank in range(2):
        dataset = leat.TorchDataset(batches, rank=rank, world_size=2)
        it = iter(dataset)
        assert numbers(next(it) for _ in range(5)) == steps(rank, 2)[:5]
        assert state is None or dataset.state_dict() == state
        state = dataset.state_dict()
        dataset.close()
    seen = []
    for rank in range(3):
        dataset = leat.TorchDataset(batches, rank=rank, world_size=3)
        dataset.load_state_dict(state)
        seen += numbers(dataset)
        dataset.close()
    assert sorted(seen) == steps()[10:]


def test_a_state_without_the_rest_of_an_epoch_is_told(batches: Any) -> None:
    """Only the workers know how far they are."""
    dataset = leat.TorchDataset(batches)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert dataset.state_dict()["epoch"] == 0
        assert numbers(loader(dataset, 2)) == steps()
        assert dataset.state_dict()["epoch"] == 1
    left = iter(loader(dataset, 2))
    next(left)
    with pytest.warns(RuntimeWarning, match="this state skips the rest of epoch 1 and continues with epoch 2"):
        assert dataset.state_dict()["epoch"] == 2
    dataset.set_epoch(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert dataset.state_dict()["epoch"] == 1
    del left
    dataset.close()


def test_a_state_of_something_else_is_refused(batches: Any, rows: Any) -> None:
    dataset = leat.TorchDataset(batches)
    next(iter(dataset))
    other = leat.TorchDataset(rows.batch(BATCH + 1))
    other.load_state_dict(dataset.state_dict())
    with pytest.raises(leat.PositionError, match="batch_size"):
        next(iter(other))
    good = dataset.state_dict()
    wrong: tuple[dict[str, Any], ...] = ({"version": 2}, {"epoch": -1}, {"rows": "3"}, {"position": 7}, {"seen": None})
    for bad in ({}, None, [good], *({**good, **part} for part in wrong)):
        with pytest.raises(leat.SpecError):
            dataset.load_state_dict(bad)
    dataset.load_state_dict({**good, "position": "leat1:nonsense"})
    with pytest.raises(leat.Error):
        next(iter(dataset))
    dataset.close()


@pytest.mark.parametrize("n_workers", [0, 2])
@pytest.mark.parametrize("rows_mode", [False, True])
def test_stateful_data_loader(batches: Any, n_workers: int, rows_mode: bool) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    size = 7 if rows_mode else None

    def make() -> Any:
        return stateful(leat.TorchDataset(batches, rows=rows_mode), batch_size=size, num_workers=n_workers)

    wanted = numbers(make())
    assert sorted(number for batch in wanted for number in batch) == list(range(N_ROWS))
    for n_taken in (0, 3, len(wanted)):
        first = make()
        it = iter(first)
        before = numbers(next(it) for _ in range(n_taken))
        if n_taken == len(wanted):
            assert next(it, None) is None
        state = pickle.loads(pickle.dumps(first.state_dict()))
        del it, first
        second = make()
        second.load_state_dict(state)
        after = numbers(second)
        assert (after if n_taken == len(wanted) else before + after) == wanted
        assert numbers(second) == wanted


def test_stateful_data_loader_keeps_epochs(rows: Any) -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    shuffled = rows.shuffle(100, seed=3).batch(BATCH)
    with shuffled.open() as stream:
        wanted = [[batch["number"].tolist() for batch in stream] for _ in range(4)]
    first = stateful(leat.TorchDataset(shuffled), batch_size=None, num_workers=2)
    assert numbers(first) == wanted[0]
    it = iter(first)
    before = numbers(next(it) for _ in range(5))
    second = stateful(leat.TorchDataset(shuffled), batch_size=None, num_workers=2)
    second.load_state_dict(first.state_dict())
    assert before + numbers(second) == wanted[1]
    assert [numbers(second), numbers(second)] == wanted[2:]


def n_open_files(at_most: int) -> int:
    """multiprocessing closes a queue's pipes when its feeding thread ends, some time after the loader is gone."""
    deadline = time.monotonic() + START_S
    while len(os.listdir("/proc/self/fd")) > at_most and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    return len(os.listdir("/proc/self/fd"))


def test_nothing_stays_open(batches: Any) -> None:
    """The first round opens what the process keeps: its daemon's client, what multiprocessing needs."""
    dataset = leat.TorchDataset(batches)
    numbers(loader(dataset, 2))
    numbers(dataset)
    dataset.close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        numbers(loader(dataset, 2))
        numbers(dataset)
    dataset.close()
    assert n_open_files(before) <= before


def test_a_declared_stream(leatd: Any, rows: Any) -> None:
    before = leat.connect(leatd(rows.batch(BATCH).to_yaml("numbers")).address)
    try:
        dataset = leat.TorchDataset("numbers", open_timeout=START_S)
        for n_workers in (0, 2):
            assert numbers(loader(dataset, n_workers)) == steps()
        dataset.close()
    finally:
        leat.connect(before)

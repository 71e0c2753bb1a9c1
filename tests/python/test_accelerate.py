"""TorchDataset under Accelerate with two processes, in each of the ways in which it divides once more: no row twice, and
none missing but an uneven rest."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
from typing import Any

import pytest

import forks

MODULES = ["torch", "accelerate"]
for module in MODULES:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}", allow_module_level=True)

N_ROWS = 337  # of batches of 10: 34 steps, the last with 7 rows
BATCH = 10


def expect(seen: list[list[list[int]]], rest: int) -> list[int]:
    """All rows that both processes saw together, none twice; they saw as many batches each."""
    rows = sorted(row for batches in seen for batch in batches for row in batch)
    assert len(rows) == len(set(rows)), "a row came twice"
    assert set(rows) <= set(range(N_ROWS)) and N_ROWS - len(rows) <= rest, sorted(set(range(N_ROWS)) - set(rows))
    assert len(seen[0]) == len(seen[1])
    return rows


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of two processes saw, by case: all cases in one pair of processes, since to start one takes seconds."""
    folder = tmp_path_factory.mktemp("accelerate")
    (folder / "rows.csv").write_text("number\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    outputs = forks.run(2, folder / "outputs", forks.TORCHRUN, MODULES, __file__, str(folder), environment=forks.of_torchrun(2))
    return [json.loads(output.splitlines()[-1]) for output in outputs]


def seen(told: list[dict[str, Any]], case: str) -> list[list[list[int]]]:
    return [process[case] for process in told]


def whole_steps(rank: int) -> list[list[int]]:
    return [list(range(start, min(start + BATCH, N_ROWS))) for start in range(0, N_ROWS, BATCH)][rank::2]


def test_not_prepared(told: list[dict[str, Any]]) -> None:
    """Accelerate is there, but this loader is not its own: the ranks are torch.distributed's."""
    for case in ("plain", "plain, workers"):
        expect(seen(told, case), 0)
        assert [process[case] for process in told] == [whole_steps(0), whole_steps(1)]


@pytest.mark.parametrize("case", ["dispatched", "dispatched, workers"])
def test_dispatched_batches(told: list[dict[str, Any]], case: str) -> None:
    """Process 0 reads pairs of batches, and sends one of each. The last pair has 17 rows: 8 each."""
    expect(seen(told, case), 1)
    assert [process[case][:16] for process in told] == [whole_steps(0)[:16], whole_steps(1)[:16]]
    assert [len(process[case][16]) for process in told] == [8, 8]


@pytest.mark.parametrize("case", ["dispatched rows", "dispatched rows, workers", "split rows"])
def test_dispatched_rows(told: list[dict[str, Any]], case: str) -> None:
    expect(seen(told, case), 1)


@pytest.mark.parametrize("case", ["sharded", "sharded, workers"])
def test_sharded_batches(told: list[dict[str, Any]], case: str) -> None:
    expect(seen(told, case), 0)
    assert seen(told, case) == [whole_steps(0), whole_steps(1)]


@pytest.mark.parametrize("case", ["sharded rows", "sharded rows, workers"])
def test_sharded_rows(told: list[dict[str, Any]], case: str) -> None:
    """Rounds of 2 x 8 rows: the last one is left out."""
    assert expect(seen(told, case), 15) == list(range(N_ROWS // 16 * 16))


def test_epochs(told: list[dict[str, Any]]) -> None:
    """A prepared loader counts its epochs; the shuffled ones are those of the stream."""
    for epoch in range(2):
        got = seen(told, f"epoch {epoch}")
        expect(got, 1)
        assert [row for pair in zip(*got) for batch in pair for row in batch] == told[0]["stream"][epoch][: N_ROWS - 1]
    assert told[0]["epoch 0"] != told[0]["epoch 1"]


def test_checkpoints(told: list[dict[str, Any]]) -> None:
    """With StatefulDataLoader below: after 6 rounds each process stops; new loaders go on."""
    assert seen(told, "resumed") == [whole_steps(0)[:16], whole_steps(1)[:16]]


def test_what_cannot_be_right_is_told(told: list[dict[str, Any]]) -> None:
    for process in told:
        assert "batch_size=1" in process["sharded whole"] and "whole_batches" in process["sharded whole"]
        assert "rows=True" in process["dispatched, of 4"]
        assert "remove rank and world_size from TorchDataset" in process["with ranks"]


# ---- what the two processes run


def numbers(batches: Any) -> list[list[int]]:
    return [batch["number"].tolist() for batch in batches]


def refusal(loader: Any) -> str:
    import leat

    try:
        next(iter(loader))
    except leat.SpecError as error:
        return str(error)
    return "no refusal"


def refusals(folder: str) -> dict[str, str]:
    """Before anything is sent to the other process, which would wait for it."""
    from accelerate import DataLoaderConfiguration
    from torch.utils.data import DataLoader

    import leat

    batches = leat.csv(f"{folder}/rows.csv").cast("number", dtype="int32").batch(BATCH)
    accelerator = prepared(DataLoaderConfiguration(dispatch_batches=False))
    told = {"sharded whole": refusal(accelerator.prepare(DataLoader(leat.TorchDataset(batches), batch_size=None)))}
    of_rank = leat.TorchDataset(batches, rows=True, rank=0, world_size=2)
    told["with ranks"] = refusal(accelerator.prepare(DataLoader(of_rank, batch_size=8)))
    told["dispatched, of 4"] = refusal(prepared().prepare(DataLoader(leat.TorchDataset(batches), batch_size=4)))
    return told


def prepared(config: Any = None) -> Any:
    from accelerate import Accelerator

    return Accelerator(cpu=True, dataloader_config=config)


def main(folder: str) -> None:
    from accelerate import DataLoaderConfiguration
    from torch.utils.data import DataLoader

    import leat
    from leat.torch_data import whole_batches

    numbered = leat.csv(f"{folder}/rows.csv").cast("number", dtype="int32")
    batches = numbered.batch(BATCH)
    dispatching = prepared()
    sharding = prepared(DataLoaderConfiguration(dispatch_batches=False))
    splitting = prepared(DataLoaderConfiguration(split_batches=True))
    whole = {"batch_size": 1, "collate_fn": whole_batches}
    told: dict[str, Any] = refusals(folder)
    for n_workers in (0, 2):
        suffix = ", workers" if n_workers else ""

        def loader(rows: bool, **options: Any) -> Any:
            return DataLoader(leat.TorchDataset(batches, rows=rows), num_workers=n_workers, **options)

        told[f"plain{suffix}"] = numbers(loader(False, batch_size=None))
        told[f"dispatched{suffix}"] = numbers(dispatching.prepare(loader(False, batch_size=None)))
        told[f"dispatched rows{suffix}"] = numbers(dispatching.prepare(loader(True, batch_size=8)))
        told[f"sharded{suffix}"] = numbers(sharding.prepare(loader(False, **whole)))
        told[f"sharded rows{suffix}"] = numbers(sharding.prepare(loader(True, batch_size=8)))
    told["split rows"] = numbers(splitting.prepare(DataLoader(leat.TorchDataset(batches, rows=True), batch_size=8)))

    shuffled = numbered.shuffle(100, seed=5).batch(BATCH)
    with shuffled.open(world_size=1) as stream:
        told["stream"] = [[row for batch in stream for row in batch["number"].tolist()] for _ in range(2)]
    loader_of_epochs = dispatching.prepare(DataLoader(leat.TorchDataset(shuffled), batch_size=None))
    for epoch in range(2):
        told[f"epoch {epoch}"] = numbers(loader_of_epochs)
    told["resumed"] = resume(batches)
    print(json.dumps(told))


def resume(batches: Any) -> list[list[int]]:
    from accelerate import DataLoaderConfiguration
    from torch.utils.data import DataLoader

    import leat
    from leat.torch_data import whole_batches

    accelerator = prepared(DataLoaderConfiguration(dispatch_batches=False, use_stateful_dataloader=True))

    def make() -> Any:
        return accelerator.prepare(DataLoader(leat.TorchDataset(batches), batch_size=1, collate_fn=whole_batches))

    first = make()
    it = iter(first)
    before = numbers(next(it) for _ in range(6))
    state = first.state_dict()
    second = make()
    second.load_state_dict(state)
    return (before + numbers(second))[:16]


if __name__ == "__main__":
    main(sys.argv[1])

"""Ray, by real clusters on this machine: tasks, Ray Data and Ray Train on three nodes, one of which is lost; and the examples."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import pathlib
import re
import runpy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

if importlib.util.find_spec("ray") is None:
    pytest.skip("needs ray", allow_module_level=True)
os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "120"}

import ray
import ray.data
import ray.train
from ray.cluster_utils import Cluster

import leat
import leat.ray
from conftest import wait_until
from shared_engines import N_ROWS, N_SHARDS, Data, ancestors, wait_until_ended
from test_examples import EXAMPLES, OF_RAY, run

HANG_S = 600
N_STEPS = -(-N_ROWS // 16)


# ---- ranges of steps, without a cluster ----


@pytest.fixture
def data(tmp_path: pathlib.Path) -> Data:
    return Data(tmp_path)


def rows_of(blocks: Iterator[Any]) -> list[dict[str, Any]]:
    return [row for block in blocks for row in block.to_pylist()]


def values(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the places that `leatctl dump` tells."""
    return [{name: value for name, value in row.items() if not name.startswith("_")} for row in rows]


def test_ranges(data: Data) -> None:
    """Tasks give the rows of their steps, in any order and as often as they are asked."""
    reading = leat.ray.Steps(leat.from_yaml(data.plain), 1, 100, None)
    tasks = reading.get_read_tasks(7)
    assert len(tasks) == reading.n_tasks == -(-N_STEPS // 100)
    backwards = [rows_of(task()) for task in reversed(tasks)]
    assert [row for rows in reversed(backwards) for row in rows] == values(data.dump(data.plain, "--epoch", "1"))
    assert rows_of(tasks[1]()) == backwards[-2]
    assert rows_of(leat.ray.Steps(leat.from_yaml(data.plain), 0, 3, 5).get_read_tasks(1)[1]()) == values(
        data.dump(data.plain, "--step", "3", "--batches", "2")
    )
    with pytest.raises(leat.PositionError, match="has changed since"):
        data.csv.write_text(data.csv.read_text() + "1,1\n")
        rows_of(tasks[0]())


def test_refused(data: Data) -> None:
    numbers = leat.csv(data.csv).cast("n", dtype="int64").cast("x", dtype="bfloat16")
    for pipeline, options, why in (
        (numbers, {}, "has no `batch`"),
        (numbers.batch(8), {}, "x is bfloat16, which Arrow does not have"),
        (numbers.sample(0.5).select(["n"]).batch(8), {}, "steps: leat does not know the number of steps .*: give `steps`"),
        (numbers.select(["n"]).batch(8), {"steps_per_task": 0}, "steps_per_task: 0 is below 1"),
        (numbers.select(["n"]).batch(8), {"steps": -1}, "steps: -1 is below 0"),
    ):
        with pytest.raises(leat.SpecError, match=why):
            leat.ray.dataset(pipeline, **options)
    packed = leat.csv(data.csv).tokenize(vocab=vocabulary(data.folder), input="x", unknown="skip").pack(32, value=0, cu_seqlens="ends")
    tasks = leat.ray.Steps(packed.batch(2), 0, 1, 1).get_read_tasks(1)
    with pytest.raises(leat.SpecError, match=r"ends: a tensor \[\d+\] of 2 rows does not fit a column of Ray"):
        rows_of(tasks[0]())


def vocabulary(folder: pathlib.Path) -> pathlib.Path:
    path = folder / "vocab.txt"
    path.write_text("".join(f"{n}\n" for n in range(101)))
    return path


# ---- on three nodes ----


class Nodes:
    """A head without processors, and two nodes with two each."""

    OPTIONS = {"object_store_memory": 100 << 20, "include_dashboard": False}

    def __init__(self) -> None:
        system = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000}  # a lost node is found out sooner
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "_system_config": system, **self.OPTIONS})
        self.nodes = [self.cluster.add_node(num_cpus=2, wait=False, **self.OPTIONS) for _ in range(2)]
        self.cluster.wait_for_nodes(HANG_S)
        ray.init(self.cluster.address, log_to_driver=False, logging_level="error")

    def kill_node_of(self, pid: int) -> None:
        """Kills the node that has that process among its workers, without a farewell."""
        family = ancestors(pid)
        lost = next(node for node in self.nodes if node.all_processes["raylet"][0].process.pid in family)
        self.nodes.remove(lost)
        self.cluster.remove_node(lost, allow_graceful=False)

    def complete(self) -> None:
        while len(self.nodes) < 2:
            self.nodes.append(self.cluster.add_node(num_cpus=2, **self.OPTIONS))

    def stop(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()


@pytest.fixture(scope="module")
def all_nodes() -> Iterator[Nodes]:
    nodes = Nodes()
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    yield nodes
    nodes.stop()


@pytest.fixture
def nodes(all_nodes: Nodes) -> Nodes:
    all_nodes.complete()
    return all_nodes


@pytest.fixture
def gated(tmp_path: pathlib.Path) -> Data:
    return Data(tmp_path, gate=7)


def while_a_node_is_lost(nodes: Nodes, data: Data, work: Callable[[], Any]) -> Any:
    """The result of `work`, whose node is killed while it waits at the gate."""
    with ThreadPoolExecutor(1) as caller:
        called = caller.submit(work)
        nodes.kill_node_of(data.waiting())
        data.open_gate()
        return called.result(HANG_S)


def test_tasks(nodes: Nodes, gated: Data) -> None:
    def work() -> int:
        return leat.cluster.prepare(gated.plain, gated.set, shards=N_SHARDS, executor="ray").n_rows

    assert while_a_node_is_lost(nodes, gated, work) == N_ROWS
    gated.check_set()


def test_job(nodes: Nodes, data: Data, capsys: pytest.CaptureFixture[str]) -> None:
    """What leatctl prints, in the cluster that is there."""
    runpy.run_path(str(data.job("ray")), run_name="__main__")
    assert f"n_rows={N_ROWS}" in capsys.readouterr().out
    data.check_set()


def test_cancelled(nodes: Nodes, gated: Data) -> None:
    """A task that runs is interrupted, and leaves nothing that is half-made."""
    words = ["-o", str(gated.set), str(gated.plain), "--shard", f"0/{N_SHARDS}", "--workers", "1"]
    job = leat.ray.Tasks(1).submit(leat.cluster._attempt, words)
    leatctl = ancestors(gated.waiting())[0]
    assert job.cancel()
    gated.open_gate()
    wait_until_ended(leatctl)
    gated.check_unsealed()


def test_dataset(nodes: Nodes, gated: Data) -> None:
    def work() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = leat.ray.dataset(gated.plain, steps_per_task=60, steps=N_STEPS).take_all()
        return rows

    assert while_a_node_is_lost(nodes, gated, work) == values(gated.dump(gated.plain))


def train(config: dict[str, Any]) -> None:
    """Rank 0 or 1 of Ray Train: writes down what it is given, stops at its batch 45, and goes on from its checkpoint."""
    folder = pathlib.Path(config["folder"])
    with leat.from_yaml(folder / "plain.yaml") as batches:
        checkpoint = ray.train.get_checkpoint()
        if checkpoint is not None:
            with checkpoint.as_directory() as place:
                batches.load_state_dict(json.loads(pathlib.Path(place, "data.json").read_text()))
        rank = ray.train.get_context().get_world_rank()
        with open(folder / f"seen-{rank}-{os.getpid()}.jsonl", "w", buffering=1) as seen:
            for batch in batches:
                seen.write(json.dumps({"step": batch.step, "n": batch["n"].tolist()}) + "\n")
                if batch.step // 2 == 45 and checkpoint is None:
                    ray.train.get_all_reported_checkpoints()  # waits until that of step 80 is known
                    (folder / f"waiting-{os.getpid()}").touch()
                    wait_until((folder / "go").exists, "the gate is open")
                if batch.step // 2 % 20 == 19:
                    report(folder / f"checkpoint-{rank}-{os.getpid()}", batches, is_first=rank == 0)


def report(folder: pathlib.Path, batches: leat.Pipeline, is_first: bool) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "data.json").write_text(json.dumps(batches.state_dict()))
    checkpoint = ray.train.Checkpoint.from_directory(folder) if is_first else None
    ray.train.report({}, checkpoint=checkpoint)


def test_train(nodes: Nodes, data: Data) -> None:
    """Ranks are those of Ray's context; behind a lost node all of them go on at the checkpoint, and no row is lost or doubled."""
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    trainer = DataParallelTrainer(
        train,
        train_loop_config={"folder": str(data.folder)},
        scaling_config=ray.train.ScalingConfig(num_workers=2, placement_strategy="SPREAD"),
        run_config=ray.train.RunConfig(
            name="train", storage_path=str(data.folder / "runs"), failure_config=ray.train.FailureConfig(max_failures=3)
        ),
    )
    while_a_node_is_lost(nodes, data, trainer.fit)
    seen = [
        [json.loads(line) for line in path.read_text().splitlines()] for path in data.folder.glob("seen-*.jsonl")
    ]
    before = [run for run in seen if run[0]["step"] < 2]
    behind = [run for run in seen if run[0]["step"] >= 2]
    assert sorted(run[0]["step"] for run in before) == [0, 1]
    assert sorted(run[0]["step"] for run in behind) == [80, 81]
    steps = {item["step"]: item["n"] for item in itertools.chain(*before) if item["step"] < 80}
    steps |= {item["step"]: item["n"] for item in itertools.chain(*behind)}
    assert sorted(steps) == list(range(N_STEPS - N_STEPS % 2))
    rows = [n for step in sorted(steps) for n in steps[step]]
    assert rows == [row["n"] for row in data.dump(data.plain)][: len(rows)]


# ---- examples ----


@pytest.mark.parametrize("name", OF_RAY)
def test_example(name: str, nodes: Nodes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", nodes.cluster.address)
    status, output = run(EXAMPLES / f"{name}.py", tmp_path)
    assert status == 0, output[-8000:]
    losses = [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", output)]
    assert len(losses) > 1 and losses[-1] < 0.9 * losses[0], output[-8000:]

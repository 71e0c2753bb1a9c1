"""leat in Ray: `leat.ray.dataset`, and the tasks of `leat.cluster.prepare(executor="ray")`.

You do not need this module for Ray Train: leat reads the ranks from Ray's context, and you save `state_dict()` in a checkpoint.
"""

from __future__ import annotations

import concurrent.futures
import functools
import operator
import os
from collections.abc import Callable, Iterator
from typing import Any

import ray
import ray.data
from ray.data.block import Block, BlockAccessor, BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from . import errors, pipeline as pipelines
from .cursor import elsewhere
from .pipeline import Pipeline


def dataset(
    source: str | os.PathLike[str] | Pipeline,
    *,
    stream: str | None = None,
    epoch: int = 0,
    steps_per_task: int = 500,
    steps: int | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Makes a dataset of Ray Data from the rows of an epoch. Ray reads them in tasks of `steps_per_task` steps each.

    A task always gives the same rows, on any host, even if Ray repeats the task. With a prepared set, a cache or an index, a
    task begins at its first step without reading earlier steps. Each host needs leat and the data. Together the tasks read all
    steps, and Ray divides the rows among its consumers. Ray keeps the order of the rows if
    `ray.data.DataContext.get_current().execution_options.preserve_order` is set. A tensor [rows, ..] becomes a column of [..].

    source: a YAML file with streams, or a pipeline. The stream must have a `batch`.
    stream: the name of the stream in the file (default: the only one).
    steps: how many steps of the epoch to read, from its beginning. Give this number if the length of an epoch is unknown. A
        number above the length means the whole epoch.
    options: options of ray.data.read_datasource, such as num_cpus or concurrency.

    Raises SpecError if there is no `batch`, if the length is unknown, or if a tensor does not have one row per record. A task
    fails with a PositionError on a host whose data differs.
    """
    found = source if isinstance(source, Pipeline) else pipelines.from_yaml(source, stream)
    if not found.is_batched:
        raise errors.SpecError("a dataset of Ray needs batches, but the stream has no `batch`: add one")
    reading = Steps(found, operator.index(epoch), operator.index(steps_per_task), steps)
    made: ray.data.Dataset = ray.data.read_datasource(reading, override_num_blocks=max(1, reading.n_tasks), **options)
    return made


class Steps(Datasource):
    """Ranges of steps of an epoch."""

    def __init__(self, pipeline: Pipeline, epoch: int, steps_per_task: int, steps: int | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        if steps_per_task < 1:
            raise errors.SpecError(f"{steps_per_task} is below 1: give 1 or more", path="steps_per_task")
        self._pipeline = pipeline
        self._epoch = epoch
        self._steps_per_task = steps_per_task
        with pipeline.open(rank=0, world_size=1) as stream:
            self._position = stream.position
            self._n_steps = _length(stream.known_steps, steps, stream.native.steps_reason)
            for name, (dtype, _) in stream.schema.items():
                if dtype == "bfloat16":
                    raise errors.SpecError(f"{name} is bfloat16, which Arrow does not have: cast it to float32 in the pipeline")
        elsewhere(self._position, epoch, self._n_steps)

    @property
    def n_tasks(self) -> int:
        return -(-self._n_steps // self._steps_per_task)

    def get_name(self) -> str:
        return "leat"

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Returns one task for each range, whatever `parallelism` is."""
        metadata = BlockMetadata(num_rows=None, size_bytes=None, exec_stats=None, input_files=None)
        return [
            ReadTask(self._reader(first), metadata, per_task_row_limit=per_task_row_limit)
            for first in range(0, self._n_steps, self._steps_per_task)
        ]

    def _reader(self, first: int) -> Callable[[], Iterator[Block]]:
        place = elsewhere(self._position, self._epoch, first)
        return functools.partial(_read, self._pipeline, place, min(self._steps_per_task, self._n_steps - first))


def _length(known: int | None, steps: int | None, why: str) -> int:
    """The number of steps to read."""
    if steps is not None and operator.index(steps) < 0:
        raise errors.SpecError(f"{steps} is below 0: give 0 or more", path="steps")
    if known is None and steps is None:
        raise errors.SpecError(f"leat does not know the number of steps ({why}): give `steps`", path="steps")
    return min(n for n in (known, steps) if n is not None)


def _read(pipeline: Pipeline, position: str, n_steps: int) -> Iterator[Block]:
    """Yields a block for each batch. This function runs in a process of Ray, which keeps its daemon running for later tasks."""
    with pipeline.open(rank=0, world_size=1, position=position, steps=n_steps, epochs=1) as stream:
        for batch in stream:
            for name, tensor in batch.items():
                if tensor.shape[:1] != (batch.n_rows,):
                    raise errors.SpecError(
                        f"{name}: a tensor {list(tensor.shape)} of {batch.n_rows} rows does not fit a column of Ray, "
                        "which needs one entry for each row"
                    )
            yield BlockAccessor.batch_to_block(batch.to("numpy"))


class Tasks:
    """An executor that runs each call as a task of Ray with `n_cpus` CPUs."""

    def __init__(self, n_cpus: int) -> None:
        self._n_cpus = n_cpus

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> concurrent.futures.Future[Any]:
        reference = ray.remote(num_cpus=self._n_cpus, max_retries=0)(function).remote(*arguments)
        future: concurrent.futures.Future[Any] = reference.future()
        future.cancel = functools.partial(_cancel, reference)  # type: ignore[method-assign]
        return future


def _cancel(reference: Any) -> bool:
    ray.cancel(reference)
    return True

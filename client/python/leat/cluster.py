"""Prepares a data set on many machines at once: `leat.cluster.prepare`.

    with ProcessPoolExecutor() as pool:
        leat.cluster.prepare("train.yaml", "/shared/set", shards=64, executor=pool)

The result is a prepared set: a folder of shards with the output of the source and the per-record stages. With
`cache: {prepared: /shared/set}`, a stream reads this folder instead of the source. The batches and positions stay the same. A
shard gets its final name only when it is complete. So you may make a shard again at any time, and complete shards stay as they
are.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import logging
import operator
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from . import programs
from .errors import DataError, Error, SpecError

_POLL_S = 0.5  # for jobs that cannot be waited for
_LASTING = (DataError, SpecError)  # errors that another attempt meets as well

_log = logging.getLogger("leat.cluster")


class Executor(Protocol):
    """An executor that runs a call in another process: one of concurrent.futures, or one whose jobs have `done()`, `result()`
    and `cancel()`, as in submitit."""

    def submit(self, function: Any, /, *arguments: Any) -> Any: ...


class PreparedSet(NamedTuple):
    """A prepared set that is complete and sealed. `n_bytes` is the size of its shards."""

    folder: str
    n_shards: int
    n_blocks: int
    n_records: int
    n_rows: int
    n_bytes: int


class _Report(NamedTuple):
    """The result of an attempt: the host, and leatctl's answer or its error."""

    host: str
    answer: dict[str, Any]
    error: Error | None


def prepare(
    file: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    shards: int,
    executor: Executor | Literal["ray"],
    stream: str | None = None,
    attempts: int = 5,
    workers: int = 1,
) -> PreparedSet:
    """Prepares a stream of a YAML file in shards, with one task for each shard. Then leat checks and seals the set.

    leat must be installed on each host of the executor. `file`, its data and the folder `output` must have the same paths on
    all hosts. `output` may also be s3://bucket/folder/; then each host needs the credentials.

    executor: an executor of concurrent.futures, Dask's `client.get_executor()`, mpi4py's `MPIPoolExecutor`, or an executor of
        submitit, which makes a job array. "ray" runs Ray tasks that use `workers` CPUs each. leat does not shut the executor
        down.
    stream: the name of the stream in the file (default: the only one).
    attempts: how many times leat tries each shard at most. Each attempt may run on another host. If the stream or the data is
        wrong, leat does not try again.
    workers: the number of threads for a shard.

    If a shard fails, leat raises the error of its first attempt, which names the shard and the host. leat then cancels the
    other tasks, and does not seal the set. After an exception such as KeyboardInterrupt, leat does the same. If the executor
    cannot end a task that already runs, this task completes its shard.
    """
    n_shards, n_attempts = _number("shards", shards, 2, 100000), _number("attempts", attempts, 1, 1000)
    words = ["-o", _place(output), os.path.abspath(file), *([stream] if stream else [])]
    threads = str(_number("workers", workers, 1, 1024))
    pool = _executor(executor, workers)
    tasks = {
        f"shard {i}/{n_shards}": [*words, "--shard", f"{i}/{n_shards}", "--workers", threads] for i in range(n_shards)
    }
    _run_all(pool, tasks, n_attempts)
    sealed = _run_all(pool, {"the seal": [*words, "--seal"]}, n_attempts)["the seal"]
    return PreparedSet(**{name: sealed[name] for name in PreparedSet._fields})


def _place(output: str | os.PathLike[str]) -> str:
    text = os.fspath(output)
    return text if text.startswith("s3://") else os.path.abspath(text)


def _number(name: str, given: int, least: int, most: int) -> int:
    number = operator.index(given)
    if not least <= number <= most:
        raise SpecError(f"{number} is not in {least}..{most}", path=name)
    return number


def _executor(given: Executor | Literal["ray"], workers: int) -> Executor:
    if given == "ray":
        from .ray import Tasks

        return Tasks(workers)
    if not callable(getattr(given, "submit", None)):
        raise SpecError(f'the executor must be "ray" or an object with submit(), not {given!r}', path="executor")
    return given


# ---- in a process of the executor ----


def _attempt(words: Sequence[str]) -> _Report:
    """Makes a shard, or seals the set. leatctl ends if this process ends."""
    host = socket.gethostname()
    try:
        answer = programs.leatctl("prepare", *words, "--json", "--end-with", str(os.getpid()))
        return _Report(host, json.loads(answer), None)
    except Error as error:
        return _Report(host, {}, error)


# ---- in the process of the caller ----


class _Task:
    """The attempts at a shard, or at the seal."""

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self.name = name
        self.words = words
        self.n_attempts = 0
        self.is_told = False  # the last error is leatctl's
        self.first: Error | None = None

    def begin(self, pool: Executor) -> Any:
        self.n_attempts += 1
        return pool.submit(_attempt, self.words)

    def take(self, job: Any) -> dict[str, Any] | None:
        """Returns the answer of a job that is done, or None if the job failed."""
        self.is_told = False
        try:
            report = _Report(*job.result())
        except Exception as error:  # of any class: the executor lost the job, or could not start it
            self._fail(Error(f"{self.name}: the executor failed: {type(error).__name__}: {error}"))
            return None
        if report.error is None:
            return report.answer
        self.is_told = True
        report.error.message = f"{self.name} on {report.host}: {report.error.message}"
        self._fail(report.error)
        return None

    def begin_again(self, pool: Executor, n_attempts: int) -> Any:
        """Begins another attempt. Raises the first error if another attempt cannot help, or is not possible."""
        assert self.first is not None
        if self.n_attempts >= n_attempts or isinstance(self.first, _LASTING):
            raise self.first
        try:
            return self.begin(pool)
        except Exception as error:  # a broken pool takes no more
            raise self.first from error

    def _fail(self, error: Error) -> None:
        _log.warning("attempt %d: %s", self.n_attempts, error)
        self.first = self.first or error


def _run_all(pool: Executor, tasks: Mapping[str, Sequence[str]], n_attempts: int) -> dict[str, dict[str, Any]]:
    """Returns the answers, by the names of the tasks. If the first tasks all fail with an error of leatctl, it gives up,
    because the others would fail, too."""
    answers: dict[str, dict[str, Any]] = {}
    running: dict[Any, _Task] = {}
    n_told = 0
    batch = getattr(pool, "batch", contextlib.nullcontext)  # submitit's: all of them are one job array
    try:
        with batch():
            running.update((task.begin(pool), task) for task in (_Task(*item) for item in tasks.items()))
        while running:
            for job in _done(running):
                task = running.pop(job)
                answer = task.take(job)
                if answer is not None:
                    answers[task.name] = answer
                    continue
                n_told += task.is_told
                is_hopeless = not answers and n_told >= n_attempts
                running[task.begin_again(pool, 0 if is_hopeless else n_attempts)] = task
    except BaseException:
        for job in running:
            with contextlib.suppress(Exception):
                job.cancel()
        raise
    return answers


def _done(jobs: Iterable[Any]) -> list[Any]:
    """Waits for some of the jobs."""
    known = list(jobs)
    if all(isinstance(job, concurrent.futures.Future) for job in known):
        return list(concurrent.futures.wait(known, return_when=concurrent.futures.FIRST_COMPLETED).done)
    while not (done := [job for job in known if job.done()]):
        time.sleep(_POLL_S)
    return done

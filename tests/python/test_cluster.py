"""leat.cluster.prepare() by the executors of Python, Dask, submitit and MPI, and by ones that lose tasks or run them twice."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import multiprocessing
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

import leat
from leat import cluster
from shared_engines import HOST, N_ROWS, N_SHARDS, Data, kill_worker, wait_until_ended

HANG_S = 240


def needs(*packages: str) -> pytest.MarkDecorator:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def processes(n: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(n, multiprocessing.get_context("spawn"))


def prepare(data: Data, executor: Any, **options: Any) -> cluster.PreparedSet:
    return cluster.prepare(data.plain, data.set, shards=N_SHARDS, executor=executor, **options)


@pytest.fixture
def data(tmp_path: pathlib.Path) -> Data:
    return Data(tmp_path)


@pytest.fixture
def gated(tmp_path: pathlib.Path) -> Data:
    return Data(tmp_path, gate=7)  # in the first shard


# ---- of Python ----


def test_processes(data: Data) -> None:
    with processes(2) as pool:
        made = prepare(data, pool)
        again = prepare(data, pool, stream="train")
    assert made == again and made.folder == str(data.set)
    assert (made.n_shards, made.n_records, made.n_rows) == (N_SHARDS, N_ROWS, N_ROWS)
    data.check_set()


def test_worker_killed(gated: Data) -> None:
    """A pool of Python's breaks. What its workers began is completed or removed, and another pool goes on."""
    with processes(2) as pool, ThreadPoolExecutor(1) as caller:
        called = caller.submit(prepare, gated, pool)
        leatctl = kill_worker(gated)
        with pytest.raises(leat.Error, match=rf"shard \d/{N_SHARDS}: the executor failed: BrokenProcessPool: "):
            called.result(HANG_S)
    gated.open_gate()
    wait_until_ended(leatctl)
    gated.check_unsealed()
    with processes(2) as pool:
        prepare(gated, pool)
    gated.check_set()


def test_interrupted(gated: Data) -> None:
    """By Ctrl-C: what is being made is completed by the pool, the rest is not begun, and nothing is sealed."""

    def interrupt() -> None:
        gated.waiting()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    with ThreadPoolExecutor(1) as pool:
        watcher.start()
        with pytest.raises(KeyboardInterrupt):
            prepare(gated, pool)
        watcher.join()
        gated.open_gate()
    gated.check_unsealed()
    assert len(list(gated.set.iterdir())) == 1


# ---- executors that fail ----


class Unreliable(ThreadPoolExecutor):
    """Calls `how` with the function, its words, and the number of the attempt at them, from 0, in place of the function."""

    def __init__(self, how: Callable[[Any, list[str], int], Any]) -> None:
        super().__init__(4)
        self.attempts: dict[str, int] = {}
        self.how = how

    def submit(self, function: Any, words: list[str], /) -> Future[Any]:  # type: ignore[override]
        name = words[words.index("--shard") + 1] if "--shard" in words else "seal"
        attempt = self.attempts[name] = self.attempts.get(name, -1) + 1
        return super().submit(self.how, function, words, attempt)


def test_lost_and_repeated(data: Data) -> None:
    """Tasks are lost before and behind their work, run twice at once, and fail at their host."""

    def how(function: Any, words: list[str], attempt: int) -> Any:
        if attempt == 0:
            raise OSError("the worker is gone")
        if attempt == 1 or "--seal" in words and attempt < 3:
            with ThreadPoolExecutor(2) as both:
                list(both.map(function, [words, words]))
            raise OSError("the answer is lost")
        if attempt == 2:
            return function([word.replace("plain.yaml", "missing.yaml") for word in words])
        return function(words)

    with Unreliable(how) as pool:
        made = prepare(data, pool)
    assert pool.attempts == {**{f"{i}/{N_SHARDS}": 3 for i in range(N_SHARDS)}, "seal": 3}
    assert made.n_rows == N_ROWS
    data.check_set()


def test_first_error(data: Data) -> None:
    """The first error of a shard that fails is told. It is not sealed."""

    def how(function: Any, words: list[str], attempt: int) -> Any:
        if f"2/{N_SHARDS}" not in words:
            return function(words)
        if attempt == 0:
            return function([*words[:2], str(data.folder / "missing.yaml"), *words[3:]])
        raise OSError("the worker is gone")

    with Unreliable(how) as pool, pytest.raises(leat.NotFoundError) as caught:
        prepare(data, pool, attempts=3)
    assert str(caught.value) == f"shard 2/{N_SHARDS} on {HOST}: {data.folder}/missing.yaml: No such file or directory"
    assert pool.attempts[f"2/{N_SHARDS}"] == 2 and "seal" not in pool.attempts
    data.check_unsealed()


def test_bad_record(data: Data) -> None:
    """What is wrong with the data is tried once, and told with its place."""
    lines = data.csv.read_text().splitlines()
    lines[-1] = "x,1"
    data.csv.write_text("\n".join(lines) + "\n")
    with Unreliable(lambda function, words, attempt: function(words)) as pool, pytest.raises(leat.DataError) as caught:
        prepare(data, pool)
    name = f"{N_SHARDS - 1}/{N_SHARDS}"
    assert pool.attempts[name] == 0 and "seal" not in pool.attempts
    assert (caught.value.file, caught.value.line) == (str(data.csv), N_ROWS + 1)
    assert caught.value.message.startswith(f"shard {name} on {HOST}: ") and "is not a value of type int64" in str(caught.value), caught.value
    data.check_unsealed()


def test_nothing_works(data: Data) -> None:
    """Where no shard succeeds not each of them is tried again and again."""
    with processes(1) as pool, pytest.raises(leat.NotFoundError, match=rf"shard \d+/50 on {HOST}: "):
        cluster.prepare(data.folder / "missing.yaml", data.set, shards=50, executor=pool, attempts=3)
    with Unreliable(lambda function, words, attempt: function(words)) as pool, pytest.raises(leat.NotFoundError):
        cluster.prepare(data.folder / "missing.yaml", data.set, shards=50, executor=pool, attempts=3)
    assert sum(pool.attempts.values()) < 3
    data.check_unsealed()


def test_refused(data: Data) -> None:
    with pytest.raises(leat.SpecError, match="shards: 1 is not in 2..100000"):
        cluster.prepare(data.plain, data.set, shards=1, executor=concurrent.futures.ThreadPoolExecutor(1))
    with pytest.raises(leat.SpecError, match="attempts: 0 is not in 1..1000"):
        prepare(data, ThreadPoolExecutor(1), attempts=0)
    with pytest.raises(leat.SpecError, match="workers: 0 is not in 1..1024"):
        prepare(data, ThreadPoolExecutor(1), workers=0)
    with pytest.raises(leat.SpecError, match='executor: the executor must be "ray" or an object with submit'):
        prepare(data, "dask")
    assert not data.set.exists()


# ---- of others ----


@needs("distributed")
def test_dask(gated: Data) -> None:
    """A worker is killed while it makes a shard: Dask begins the task anew, at another worker."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.worker.daemon": False})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers,
        Client(workers) as client,
        ThreadPoolExecutor(1) as caller,
    ):
        called = caller.submit(prepare, gated, client.get_executor())
        kill_worker(gated)
        gated.open_gate()
        assert called.result(HANG_S).n_rows == N_ROWS
    gated.check_set()


@needs("distributed")
def test_job_of_dask(data: Data) -> None:
    """What leatctl prints."""
    done = subprocess.run([sys.executable, data.job("dask")], capture_output=True, text=True, timeout=HANG_S, cwd=data.folder)
    assert done.returncode == 0 and f"n_rows={N_ROWS}" in done.stdout, done
    data.check_set()


@needs("submitit")
def test_submitit(data: Data) -> None:
    import submitit

    executor = submitit.AutoExecutor(data.folder / "jobs", cluster="local")
    executor.update_parameters(timeout_min=5)
    assert prepare(data, executor).n_rows == N_ROWS
    data.check_set()
    shutil.rmtree(data.set)
    with pytest.raises(leat.NotFoundError, match=rf"shard [01]/2 on {HOST}: .*missing.yaml: No such file"):
        cluster.prepare(data.folder / "missing.yaml", data.set, shards=2, executor=executor, attempts=1)


MPI = """
import sys

from mpi4py.futures import MPIPoolExecutor

import leat

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(leat.cluster.prepare(sys.argv[1], sys.argv[2], shards=int(sys.argv[3]), executor=pool).n_rows)
"""


@needs("mpi4py")
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs openmpi-bin of Debian")
def test_mpi(data: Data) -> None:
    (data.folder / "prepare.py").write_text(MPI)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    words = [data.folder / "prepare.py", data.plain, data.set, str(N_SHARDS)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=HANG_S, cwd=data.folder)
    assert done.returncode == 0 and done.stdout.split() == [str(N_ROWS)], done
    data.check_set()

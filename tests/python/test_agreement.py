"""All ranks compare what they read: by torch.distributed, JAX and mpi4py, in processes of their own.

Each rank runs the functions of this file that `ranks_of` names, in a folder of its own, with its own copy of the data and its
own daemon, as on another machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import warnings
from typing import Any

import pytest

import leat
from forks import TIMEOUT_S, free_port, run
from leat import agreement

N_ROWS = 64
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


# ---- what ranks do: rank, folder ----


agree: Any = "auto"  # in every pipeline


def pipeline(folder: pathlib.Path, seed: int = 1, batch: int = 4) -> leat.Pipeline:
    batches = leat.csv(folder / "numbers.csv").cast("number", dtype="int32").shuffle(16, seed=seed).batch(batch)
    return batches.opened_with(agree=agree) if agree != "auto" else batches


def train(batches: Any, n: int | None = None) -> list[int]:
    seen: list[int] = []
    for i, batch in enumerate(batches):
        seen += batch["number"].tolist()
        if n is not None and i + 1 == n:
            break
    return seen


def equal(rank: int, folder: pathlib.Path) -> None:
    batches = pipeline(folder)
    seen = train(batches)
    state = batches.state_dict()
    seen2 = train(batches)
    batches.load_state_dict(state)
    assert train(batches) == seen2
    assert len(seen) == N_ROWS // 2
    batches.set_epoch(1)
    train(batches.to("numpy"))
    assert leat.ranks.find() is None or leat.ranks.find()[1] == 2


def two_streams(rank: int, folder: pathlib.Path) -> None:
    """Of other specs, at once."""
    for a, b in zip(pipeline(folder), pipeline(folder, seed=2)):
        assert a.n_rows == b.n_rows


def other_data(rank: int, folder: pathlib.Path) -> None:
    if rank == 1:
        text = (folder / "numbers.csv").read_text()
        (folder / "numbers.csv").write_text(text[: text.rindex("\n", 0, -1) + 1])
    train(pipeline(folder))


def other_seed(rank: int, folder: pathlib.Path) -> None:
    with pipeline(folder).open(seed=rank) as stream:
        train(stream)


def other_spec(rank: int, folder: pathlib.Path) -> None:
    train(pipeline(folder, batch=4 + rank))


def other_step(rank: int, folder: pathlib.Path) -> None:
    with pipeline(folder).open(agree=False) as before:
        train(before, 2)
        first = before.state_dict()
        before.next()
        second = before.state_dict()
    batches = pipeline(folder)
    train(batches, 1)
    batches.load_state_dict(second if rank else first)
    train(batches)


def other_seek(rank: int, folder: pathlib.Path) -> None:
    with pipeline(folder).open() as stream:
        train(stream, 1)
        stream.seek(1, 2 * rank)
        train(stream)


def other_epoch(rank: int, folder: pathlib.Path) -> None:
    with pipeline(folder).open() as stream:
        train(stream)
        stream.set_epoch(1 + rank)
        train(stream)


def other_number(rank: int, folder: pathlib.Path) -> None:
    stream = pipeline(folder).open()
    loop = iter(stream)
    for _ in range(2 + rank):
        next(loop)
    stream.state_dict()


def failed(rank: int, folder: pathlib.Path) -> None:
    """A stream whose ranks differed stays failed, even at a place where they would agree."""
    with pipeline(folder).open() as stream:
        train(stream, 1 + rank)
        with pytest.raises(leat.AgreementError) as first:
            stream.state_dict()
        stream.seek(1)
        for go_on in (stream.next, stream.state_dict):
            with pytest.raises(leat.AgreementError) as again:
                go_on()
            assert str(again.value) == str(first.value)


def other_version(rank: int, folder: pathlib.Path) -> None:
    """The daemon of rank 1 says that it is of another version of the order."""
    compare = agreement._Comparison.run
    if rank == 1:
        agreement._Comparison.run = lambda self, text: compare(self, re.sub(r"order=\d+", "order=999", text))  # type: ignore
    try:
        train(pipeline(folder))
    finally:
        agreement._Comparison.run = compare  # type: ignore


def meet(base: pathlib.Path, what: str, rank: int) -> None:
    """Until all ranks are as far."""
    (base / f"{rank} {what}").touch()
    while len(list(base.glob(f"* {what}"))) < int(os.environ["TEST_SIZE"]):
        time.sleep(0.05)


def one_without(rank: int, folder: pathlib.Path) -> None:
    mute = str(rank) in os.environ["TEST_MUTE"].split(",")
    meet(folder.parents[1], "begins", rank)  # or a rank that is slow to start would be missed, too
    stream = pipeline(folder).open(agree=False) if mute else pipeline(folder).open(agree_timeout=5)
    try:
        train(stream)
    except leat.AgreementError:
        with pytest.raises(leat.AgreementError):  # and it stays so
            stream.next()
        raise


def without(rank: int, folder: pathlib.Path) -> None:
    with pipeline(folder).open(agree=False, seed=rank) as stream:
        train(stream)


def dataset(rank: int, folder: pathlib.Path) -> None:
    """In forked workers, each of which compares with those of its number."""
    from torch.utils.data import DataLoader

    data = leat.TorchDataset(pipeline(folder))
    for _ in range(2):
        assert sum(len(batch["number"]) for batch in DataLoader(data, batch_size=None, num_workers=2)) == N_ROWS // 2
    other = leat.TorchDataset(pipeline(folder, seed=rank))
    with pytest.raises(Exception, match="spec .* at rank 0"):
        list(DataLoader(other, batch_size=None, num_workers=1))


def begin(by: str, rank: int, size: int, port: str) -> Any:
    if by == "torch":
        import torch.distributed as dist

        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
        return dist.destroy_process_group
    if by == "jax":
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=size, process_id=rank)
        return jax.distributed.shutdown
    if by == "mlx":
        import mlx.core as mx

        global agree
        agree = mx.distributed.init(strict=True)
        assert (agree.rank(), agree.size()) == (rank, size)
        return lambda: None
    from mpi4py import MPI

    assert (MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()) == (rank, size)
    return MPI.Finalize


def main(by: str, names: str, size: str, port: str, base: str, rank: str | None = None) -> None:
    """One after the other, in folders of their own. A line is written for each: its name, and what became of it."""
    rank = rank or os.environ["TEST_RANK"]
    folder = pathlib.Path(base) / rank
    folder.mkdir(parents=True)
    os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CACHE_HOME"] = str(folder)
    warnings.simplefilter("error", RuntimeWarning)
    end = begin(by, int(rank), int(size), port)
    for name in names.split(","):
        place = folder / name
        place.mkdir()
        (place / "numbers.csv").write_text("number\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
        try:
            globals()[name](int(rank), place)
            print(f"{name}: trained", flush=True)
        except leat.AgreementError as error:
            print(f"{name}: AgreementError: {error}", flush=True)
    meet(pathlib.Path(base), "is done", int(rank))  # stores end with rank 0
    if "one_without" in names:
        os._exit(0)  # what ends groups may wait for ranks
    end()


if __name__ == "__main__":
    main(*sys.argv[1:])


# ---- the tests ----


IMPORTS = {"torch": "torch.distributed", "jax": "jax", "mlx": "mlx.core"}


def outputs_of_mpirun(names: list[str], folder: pathlib.Path, size: int) -> list[str]:
    known = {key: text for key, text in os.environ.items() if not key.startswith(("OMPI", "SLURM", "PMI"))}
    environment = {**known, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "TEST_SIZE": str(size)}
    rank = ["-n", "1", sys.executable, __file__, "mpi", ",".join(names), str(size), "0", str(folder / "mpi")]
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "plm", "isolated"]
    command += ["--output-filename", str(folder / "out")]
    command += [word for i in range(size) for word in [":", *rank, str(i)]][1:]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout
    return [path.read_text() for path in sorted((folder / "out").glob("*/rank.*/stdout"))]


def ranks_of(by: str, names: list[str], folder: pathlib.Path, size: int = 2, **variables: str) -> list[dict[str, str]]:
    """For each rank what became of these."""
    if by == "mpi":
        texts = outputs_of_mpirun(names, folder, size)
    else:
        arguments = [by, ",".join(names), str(size), free_port(), str(folder / by)]
        texts = run(size, folder / f"{by}-outputs", ["TEST_RANK", "MLX_RANK"], [IMPORTS[by], "pytest", "leat"], __file__, *arguments,
                    environment={"TEST_SIZE": str(size), **variables})
    found = [dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE)) for text in texts]
    assert len(found) == size, texts
    return found


DIFFERENCES = {
    "other_data": ("data ", "numbers.csv of 189 bytes", "numbers.csv of 186 bytes", "at rank 0", "at rank 1"),
    "other_seed": ("seed 0 at rank 0", "1 at rank 1"),
    "other_spec": ("spec ", "at rank 0", "at rank 1"),
    "other_version": ("order ", "at rank 0", "999 at rank 1"),
    "other_step": ("step 4 at rank 0", "6 at rank 1"),
    "other_seek": ("before the first batch", "step 0 at rank 0", "2 at rank 1"),
    "other_epoch": ("before the first batch", "epoch 1 at rank 0", "2 at rank 1"),
    "other_number": ("at state_dict()", "step 4 at rank 0", "6 at rank 1"),
}


def check(found: list[dict[str, str]], names: list[str]) -> None:
    """All ranks have trained, or each tells all hosts, and what differs."""
    for name in names:
        for told in found:
            if name in DIFFERENCES:
                texts = ("AgreementError", "the ranks differ", f"({socket.gethostname()})", *DIFFERENCES[name])
                assert all(text in told[name] for text in texts), (name, texts, told)
            else:
                assert told[name] == "trained", (name, told)


@needs_torch
def test_torch(tmp_path: pathlib.Path) -> None:
    names = ["equal", "other_data", "two_streams", "without", "failed", *DIFFERENCES, "dataset"]
    names = list(dict.fromkeys(names))
    check(ranks_of("torch", names, tmp_path), names)


@needs_torch
@pytest.mark.parametrize(("size", "mute", "missing"), [(3, [0], "rank 0"), (4, [1, 3], "ranks 1, 3")])
def test_half_of_the_ranks(tmp_path: pathlib.Path, size: int, mute: list[int], missing: str) -> None:
    found = ranks_of("torch", ["one_without"], tmp_path, size, TEST_MUTE=",".join(map(str, mute)))
    for rank, told in enumerate(found):
        if rank in mute:
            assert told["one_without"] == "trained"
        else:
            assert f"AgreementError: {missing} of {size} did not report what " in told["one_without"]


SHORT = ["equal", "other_data", "other_number"]


@needs_jax
def test_jax(tmp_path: pathlib.Path) -> None:
    check(ranks_of("jax", SHORT, tmp_path), SHORT)


def test_mpi(tmp_path: pathlib.Path) -> None:
    if shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None:
        pytest.skip("needs openmpi-bin of Debian, and mpi4py of PyPI")
    check(ranks_of("mpi", SHORT, tmp_path), SHORT)


@pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="mlx is not installed")
def test_mlx(tmp_path: pathlib.Path) -> None:
    """A group has to be given, and messages can be late in one way alone: all ranks wait for one that does not come."""
    hosts = tmp_path / "hosts.json"
    hosts.write_text(json.dumps([[f"127.0.0.1:{free_port()}"] for _ in range(2)]))
    check(ranks_of("mlx", SHORT, tmp_path, MLX_HOSTFILE=str(hosts)), SHORT)
    hosts.write_text(json.dumps([[f"127.0.0.1:{free_port()}"] for _ in range(2)]))
    (tmp_path / "mlx").rename(tmp_path / "before")
    found = ranks_of("mlx", ["one_without"], tmp_path, MLX_HOSTFILE=str(hosts), TEST_MUTE="1")
    assert "AgreementError: another rank of 2 did not report what it reads" in found[0]["one_without"]
    assert found[1]["one_without"] == "trained"


class Communicator:
    """A communicator of other ranks, which has no messages for these."""

    def __init__(self, rank: int, size: int) -> None:
        self.Get_rank, self.Get_size, self.py2f = (lambda: rank), (lambda: size), (lambda: 0)

    def improbe(self, **options: Any) -> None:
        raise AssertionError("a message is looked for")


def test_nothing_to_compare_through(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numbers.csv").write_text("number\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    batches = pipeline(tmp_path)
    monkeypatch.setattr(agreement, "_has_warned", False)
    with pytest.warns(RuntimeWarning, match="the 2 ranks cannot compare what they read.*agree=False"):
        with batches.open(rank=0, world_size=2, epochs=1) as stream:
            train(stream)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with batches.open(rank=0, world_size=2, epochs=1) as stream:  # once
            train(stream)
            stream.state_dict()
        with batches.open(rank=0, world_size=2, epochs=1, agree=False) as stream:
            train(stream)
        with batches.open(world_size=1, epochs=1, agree=True) as stream:
            train(stream)
    with batches.open(rank=0, world_size=2, agree=True) as stream, pytest.raises(leat.SpecError, match="agree is True"):
        stream.next()
    for rank, size in ((1, 2), (0, 3)):
        group = Communicator(rank, size)
        with batches.open(rank=0, world_size=2, agree=group) as stream, pytest.raises(leat.SpecError, match="with these ranks"):
            stream.next()
    with pytest.raises(leat.SpecError, match="but it must be True, False"):
        batches.open(rank=0, world_size=2, agree=7)
    with pytest.raises(leat.SpecError, match="agree_timeout"):
        batches.open(rank=0, world_size=2, agree_timeout=0)


def test_ranks_in_words() -> None:
    assert agreement._ranks([3]) == "rank 3"
    assert agreement._ranks([7, 0, 5, 6]) == "ranks 0, 5-7"
    assert agreement._ranks(range(4)) == "ranks 0-3"

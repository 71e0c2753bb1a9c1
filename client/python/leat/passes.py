"""Counts the passes over a dataset, in memory that a DataLoader's workers share with the process that made them.

A pass is one iteration over the dataset. A worker is forked or spawned for each pass and ends with it, so it cannot count
passes. The process that made the dataset cannot count them either, because torch does not tell it when a pass begins. So the
first worker of an iteration begins a pass, and the others join it. They recognise each other by the seed that torch gives to an
iteration, and by their number. Persistent workers keep their seed: a worker that has already joined a pass begins the next one.
Without workers, each iteration is a pass.

Each process that makes loaders counts its own passes, since it may be one of several ranks that were forked or spawned with the
same dataset. So a process has memory for its own passes, and memory that it inherited. A worker of a DataLoader uses the
inherited memory, which is that of the process with the loader.

A process changes the memory only while it holds a lock on the file. The lock ends with the process.
"""

from __future__ import annotations

import fcntl
import mmap
import operator
import os
import struct
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import context, reduction
from typing import Any, NamedTuple

from .errors import SpecError

MAX_WORKERS = 4096
MAX_EPOCH = 2**62
N_KEPT = 64  # the last passes, which workers can join
_HEAD = struct.Struct("=qqq")  # the epoch that comes next, number of passes, whether none has begun since `set`
_PASS = struct.Struct("=qqqqq")  # seed, number of workers, epoch, whether it is the first since `set`, workers that ended it
_PLACE = struct.Struct("=q")  # how many passes there were when this worker joined its last one
_STEPS = struct.Struct("=qq")  # steps of an epoch that was read over all ranks, 0: none was; of how many ranks
_STEPS_AT = _HEAD.size + N_KEPT * _PASS.size
_PLACES_AT = _STEPS_AT + _STEPS.size


class Worker(NamedTuple):
    """A worker of a DataLoader."""

    id: int
    n_workers: int
    seed: int  # of the iteration: the same for all of its workers


class Pass(NamedTuple):
    """A pass: its number, its epoch, and whether it is the first pass after a call of `set`."""

    number: int
    epoch: int
    is_first: bool


class _Memory:
    """Memory that processes share, in a file without a name."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        os.ftruncate(fd, _PLACES_AT + MAX_WORKERS * _PLACE.size)
        self.bytes = mmap.mmap(fd, 0)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # `os` may be gone at the end of the process
        close(self.fd)


class Passes:
    """The passes of a dataset, and the epoch of the next one."""

    def __init__(self, epoch: int = 0) -> None:
        self._own: _Memory | None = None  # of the passes of this process; None: not needed yet
        self._inherited: _Memory | None = None  # that of the process which forked or spawned this one
        self._start = (epoch, 0, True), (0, 0)  # the head and the steps of `_own` when it is made
        _check(epoch)
        _passes.add(self)

    def set(self, epoch: int) -> None:
        """Makes the next pass of this process, or of its workers, read this epoch."""
        _check(epoch)
        with self._locked():
            _, n_passes, _ = self._head()
            _HEAD.pack_into(self._memory, 0, epoch, n_passes, True)

    def begin(self, worker: Worker | None) -> Pass:
        """Begins or joins a pass. If `worker` is None, the process itself begins one."""
        with self._locked():
            number = self._find(worker)
            if number is None:
                number = self._add(worker)
            if worker is not None:
                _PLACE.pack_into(self._memory, self._place(worker), number + 1)
            _, _, epoch, is_first, _ = self._read(number)
            return Pass(number, epoch, bool(is_first))

    def give_back(self, given: Pass) -> None:
        """Takes back a pass of this process that returned no item, unless another pass has begun since."""
        with self._locked():
            _, n_passes, is_fresh = self._head()
            if n_passes == given.number + 1 and not is_fresh:
                _HEAD.pack_into(self._memory, 0, given.epoch, given.number, given.is_first)

    def end(self, ended: Pass) -> None:
        """Notes that a worker has read its part of a pass to the end."""
        with self._locked():
            seed, count, epoch, is_first, n_ended = self._read(ended.number)
            self._write(ended.number, (seed, count, epoch, is_first, n_ended + 1))

    @property
    def open_epoch(self) -> int | None:
        """The epoch of the last pass, or None if all its workers have read their parts to the end."""
        with self._locked():
            _, n_passes, is_fresh = self._head()
            _, count, epoch, _, n_ended = self._read(n_passes - 1) if n_passes > 0 else (0, 0, 0, 0, 0)
            return epoch if not is_fresh and n_ended < count else None

    def resume(self, epoch: int) -> None:
        """Corrects the epoch of the last pass."""
        with self._locked():
            _, n_passes, is_fresh = self._head()
            if n_passes > 0:
                seed, count, _, is_first, n_ended = self._read(n_passes - 1)
                self._write(n_passes - 1, (seed, count, epoch, is_first, n_ended))
            _HEAD.pack_into(self._memory, 0, epoch + 1, n_passes, is_fresh)

    def keep_steps(self, n_steps: int, world_size: int) -> None:
        """Stores the number of steps of a complete epoch, over all ranks."""
        with self._locked():
            _STEPS.pack_into(self._memory, _STEPS_AT, n_steps, world_size)

    def steps(self, world_size: int) -> int | None:
        """Returns the most recently stored number of steps, or None if it was stored for another number of ranks."""
        with self._locked():
            n_steps, n_ranks = _STEPS.unpack_from(self._memory, _STEPS_AT)
        return n_steps if n_ranks == world_size else None

    @property
    def next_epoch(self) -> int:
        """The epoch of the next pass."""
        return self._head()[0]

    @property
    def last(self) -> int:
        """The number of the last pass, or -1."""
        return self._head()[1] - 1

    @property
    def is_fresh(self) -> bool:
        """True if no pass has begun since the last call of `set`."""
        return bool(self._head()[2])

    def _shared(self) -> _Memory:
        """The memory that counts the passes of this process: a worker's is that of its DataLoader's process."""
        if self._inherited is not None and _is_worker():
            return self._inherited
        if self._own is None:
            self._own = _Memory(os.memfd_create("leat-passes", os.MFD_CLOEXEC))
            head, steps = self._start
            _HEAD.pack_into(self._own.bytes, 0, *head)
            _STEPS.pack_into(self._own.bytes, _STEPS_AT, *steps)
        return self._own

    @property
    def _memory(self) -> mmap.mmap:
        return self._shared().bytes

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fd = self._shared().fd
        fcntl.lockf(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(fd, fcntl.LOCK_UN)

    def _place_now(self) -> tuple[tuple[int, int, bool], tuple[int, int]]:
        epoch, n_passes, is_fresh = self._head()
        n_steps, n_ranks = _STEPS.unpack_from(self._memory, _STEPS_AT)
        return (epoch, n_passes, bool(is_fresh)), (n_steps, n_ranks)

    def before_fork(self) -> None:
        """Creates the memory that a forked process inherits, and notes where the child's own passes start."""
        self._start = self._place_now()

    def after_fork(self) -> None:
        """In the forked process: treats the present memory as inherited. The child's own memory is created later."""
        self._inherited, self._own = self._shared(), None

    def _head(self) -> tuple[int, int, int]:
        epoch, n_passes, is_fresh = _HEAD.unpack_from(self._memory, 0)
        return epoch, n_passes, is_fresh

    def _read(self, number: int) -> tuple[int, int, int, int, int]:
        seed, count, epoch, is_first, n_ended = _PASS.unpack_from(self._memory, _HEAD.size + number % N_KEPT * _PASS.size)
        return seed, count, epoch, is_first, n_ended

    def _write(self, number: int, fields: tuple[int, int, int, int, int]) -> None:
        _PASS.pack_into(self._memory, _HEAD.size + number % N_KEPT * _PASS.size, *fields)

    def _place(self, worker: Worker) -> int:
        if not 0 <= worker.id < MAX_WORKERS:
            raise SpecError(
                f"num_workers is {worker.n_workers}, but a DataLoader of a leat dataset may have at most {MAX_WORKERS} workers"
            )
        return _PLACES_AT + worker.id * _PLACE.size

    def _find(self, worker: Worker | None) -> int | None:
        """Finds the pass that another worker of the same iteration began."""
        if worker is None:
            return None
        _, n_passes, _ = self._head()
        (joined,) = _PLACE.unpack_from(self._memory, self._place(worker))
        for number in range(max(joined, n_passes - N_KEPT), n_passes):
            if self._read(number)[:2] == (worker.seed, worker.n_workers):
                return number
        return None

    def _add(self, worker: Worker | None) -> int:
        epoch, number, is_fresh = self._head()
        seed, count = (worker.seed, worker.n_workers) if worker is not None else (0, 0)
        self._write(number, (seed, count, epoch, is_fresh, 0))
        _HEAD.pack_into(self._memory, 0, epoch + 1, number + 1, False)
        return number

    def __getstate__(self) -> dict[str, Any]:
        """Lets a spawned process inherit the memory. Any other copy begins with the next epoch."""
        if context.get_spawning_popen() is not None:
            return {"fd": reduction.DupFd(self._shared().fd), "start": self._place_now()}
        return {"epoch": self.next_epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Passes.__init__(self, state.get("epoch", 0))
        if "fd" in state:
            self._inherited, self._start = _Memory(state["fd"].detach()), state["start"]


_passes: weakref.WeakSet[Passes] = weakref.WeakSet()  # of this process


def _check(epoch: int) -> None:
    if not 0 <= operator.index(epoch) <= MAX_EPOCH:
        raise SpecError(f"the epoch is {epoch}, but it must be in 0..{MAX_EPOCH}")


def _is_worker() -> bool:
    """True in a worker of a DataLoader."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def _before_fork() -> None:
    for passes in list(_passes):
        passes.before_fork()


def _after_fork() -> None:
    for passes in list(_passes):
        passes.after_fork()


os.register_at_fork(before=_before_fork, after_in_child=_after_fork)

"""Which pass over a dataset comes next, told by memory that a DataLoader's workers share with the process that made them.

A worker is forked or spawned anew for each pass and dies with it: it cannot count passes, and the process that holds the
dataset is not asked when one begins. So they are counted in shared memory. The first worker of a loader's iteration begins
a pass, the others join it: they know each other by the seed that torch gives to all of an iteration, and by their number; a
worker that has joined a pass already means the next one (workers that persist keep their seed). In the process itself each
iteration is a pass.

Every change is made under a lock of the file; a process that dies lets go of it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import context, reduction
from typing import Any, NamedTuple

from .errors import SpecError

MAX_WORKERS = 4096
N_KEPT = 64  # passes that can still be joined
_HEAD = struct.Struct("=qqq")  # the epoch that comes next, number of passes, whether none has begun since `set`
_PASS = struct.Struct("=qqqq")  # seed, number of workers, epoch, whether it is the first since `set`
_PLACE = struct.Struct("=q")  # how many passes there were when this worker joined its last one
_STEPS = struct.Struct("=qq")  # steps of an epoch that was read over all ranks, 0: none was; of how many ranks
_STEPS_AT = _HEAD.size + N_KEPT * _PASS.size
_PLACES_AT = _STEPS_AT + _STEPS.size


class Worker(NamedTuple):
    """One of a DataLoader's workers."""

    id: int
    n_workers: int
    seed: int  # of the iteration: the same for all of its workers


class Pass(NamedTuple):
    """A pass: which one it is, its epoch, and whether it is the first one since `set`."""

    number: int
    epoch: int
    is_first: bool


class Passes:
    """The passes of a dataset that were begun, and the epoch of the next."""

    def __init__(self, epoch: int = 0) -> None:
        self._attach(os.memfd_create("leat-passes", os.MFD_CLOEXEC))
        self.set(epoch)

    def set(self, epoch: int) -> None:
        """The pass that begins next, in whatever process, is one of that epoch."""
        if epoch < 0:
            raise SpecError(f"epoch {epoch} is negative")
        with self._locked():
            _, n_passes, _ = self._head()
            _HEAD.pack_into(self._memory, 0, epoch, n_passes, True)

    def begin(self, worker: Worker | None) -> Pass:
        """The pass that this worker begins or joins now; None: of the process itself."""
        with self._locked():
            number = self._find(worker)
            if number is None:
                number = self._add(worker)
            if worker is not None:
                _PLACE.pack_into(self._memory, self._place(worker), number + 1)
            _, _, epoch, is_first = self._read(number)
            return Pass(number, epoch, bool(is_first))

    def give_back(self, given: Pass) -> None:
        """That pass of the process itself was never asked for anything, and nobody has it: the next one begins in its place, if none
        has begun since."""
        with self._locked():
            _, n_passes, is_fresh = self._head()
            if n_passes == given.number + 1 and not is_fresh:
                _HEAD.pack_into(self._memory, 0, given.epoch, given.number, given.is_first)

    def resume(self, epoch: int) -> None:
        """The pass that was begun last is of another epoch than was thought."""
        with self._locked():
            _, n_passes, is_fresh = self._head()
            if n_passes > 0:
                seed, count, _, is_first = self._read(n_passes - 1)
                self._write(n_passes - 1, (seed, count, epoch, is_first))
            _HEAD.pack_into(self._memory, 0, epoch + 1, n_passes, is_fresh)

    def tell_steps(self, n_steps: int, world_size: int) -> None:
        """An epoch that was read had so many steps, over all ranks."""
        with self._locked():
            _STEPS.pack_into(self._memory, _STEPS_AT, n_steps, world_size)

    def steps(self, world_size: int) -> int | None:
        """What tell_steps() was told last, in whatever process; None: nothing, or of another number of ranks."""
        with self._locked():
            n_steps, n_ranks = _STEPS.unpack_from(self._memory, _STEPS_AT)
        return n_steps if n_ranks == world_size else None

    @property
    def next_epoch(self) -> int:
        """Of the pass that begins next."""
        return self._head()[0]

    @property
    def last(self) -> int:
        """The number of the pass that was begun last; -1: none was."""
        return self._head()[1] - 1

    @property
    def is_fresh(self) -> bool:
        """None has begun since `set`."""
        return bool(self._head()[2])

    def _attach(self, fd: int) -> None:
        self._fd = fd
        os.ftruncate(fd, _PLACES_AT + MAX_WORKERS * _PLACE.size)
        self._memory = mmap.mmap(fd, 0)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def _head(self) -> tuple[int, int, int]:
        epoch, n_passes, is_fresh = _HEAD.unpack_from(self._memory, 0)
        return epoch, n_passes, is_fresh

    def _read(self, number: int) -> tuple[int, int, int, int]:
        seed, count, epoch, is_first = _PASS.unpack_from(self._memory, _HEAD.size + number % N_KEPT * _PASS.size)
        return seed, count, epoch, is_first

    def _write(self, number: int, fields: tuple[int, int, int, int]) -> None:
        _PASS.pack_into(self._memory, _HEAD.size + number % N_KEPT * _PASS.size, *fields)

    def _place(self, worker: Worker) -> int:
        if not 0 <= worker.id < MAX_WORKERS:
            raise SpecError(f"a DataLoader of {worker.n_workers} workers is too many: at most {MAX_WORKERS}")
        return _PLACES_AT + worker.id * _PLACE.size

    def _find(self, worker: Worker | None) -> int | None:
        """The pass that another worker of the same iteration has begun."""
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
        self._write(number, (seed, count, epoch, is_fresh))
        _HEAD.pack_into(self._memory, 0, epoch + 1, number + 1, False)
        return number

    def __getstate__(self) -> dict[str, Any]:
        """For a process that is being spawned the memory itself; for anything else the epoch that comes next."""
        if context.get_spawning_popen() is not None:
            return {"fd": reduction.DupFd(self._fd)}
        return {"epoch": self.next_epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "fd" in state:
            self._attach(state["fd"].detach())
        else:
            Passes.__init__(self, state["epoch"])

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the process's end there is no `os` any more
        if getattr(self, "_fd", -1) >= 0:
            close(self._fd)

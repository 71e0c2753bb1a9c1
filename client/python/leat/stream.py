"""An open stream: epochs of batches, a position to go on from.

`for batch in stream` is one epoch, the next `for` the next one. Where a loop was left early, the next one goes on there: the
position is the stream's, not the loop's.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from . import _leat, errors

if TYPE_CHECKING:
    import asyncio

    from .batch import Batch
    from .frameworks import Converted

logger = logging.getLogger("leat")
_ANY_EPOCH = 2**64 - 1  # for _leat.Stream.next: whichever it is


class _Begun:
    """How many ends of epochs had been told as a loop began."""

    n_ends = _ANY_EPOCH
    native: _leat.Stream | None = None  # that told them

    def begin(self, native: _leat.Stream) -> None:
        self.native = native
        self.n_ends = native.n_ends


class _Loop(_Begun, threading.local):
    """Where the `for` of a thread is, and whether it saw the end of its epoch."""

    is_at_end = False


class Stream:
    """Batches of an open stream, for this rank. Threads may share one: each batch comes to one of them, and the `for` of each
    ends with the epoch.

    `native` is the extension's stream, `reopen(position)` opens another one there (for `load_state_dict` of a position that this
    one cannot seek to), `progress` shows each epoch with tqdm, if that is installed.
    """

    def __init__(
        self,
        native: _leat.Stream,
        *,
        reopen: Callable[[str], _leat.Stream] | None = None,
        progress: bool = False,
    ) -> None:
        self.native = native
        self.progress = progress
        self._reopen = reopen
        self._bar: Any = None
        self._loop = _Loop()
        self._waiting: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    # ---- what it is

    @property
    def name(self) -> str:
        return self.native.name

    @property
    def schema(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """name → (dtype, shape); -1 in a shape varies from batch to batch."""
        return {name: (dtype, shape) for name, dtype, shape in self.native.tensors}

    @property
    def batch_size(self) -> int:
        """Rows of a whole batch."""
        return self.native.batch_size

    @property
    def window(self) -> int:
        """Batches that may be held at once."""
        return self.native.window

    @property
    def rank(self) -> int:
        return self.native.rank

    @property
    def world_size(self) -> int:
        return self.native.world_size

    @property
    def n_steps(self) -> int:
        """Steps of an epoch over all ranks. TypeError: not known beforehand, and why."""
        if self.native.n_steps is None:
            raise TypeError(f"the number of steps of {self.name} is not known: {self.native.steps_reason}")
        return self.native.n_steps

    def __len__(self) -> int:
        """Batches of an epoch for this rank: the steps congruent to rank modulo world_size."""
        return max(0, -(-(self.n_steps - self.rank) // self.world_size))

    # ---- batches

    def next(self, timeout: float | None = None) -> Batch | None:
        """The next batch; None at the end of an epoch (and for ever behind the last one). timeout in seconds, 0: TimedOutError
        at once if none is there."""
        return self._next(timeout, None)

    def _next(self, timeout: float | None, loop: _Begun | None) -> Batch | None:
        """Within the epoch of that loop; None: in whichever."""
        native = self.native
        try:
            got = native.next(timeout, _ANY_EPOCH if loop is None else self._ends(loop))
        except errors.Error as error:
            if error.code != -errno.EBADF or self.native is native:
                raise
            return self._next(timeout, loop)  # another thread went to another place meanwhile
        if isinstance(got, int):
            self._end_epoch(got)
            return None
        bar = self._bar  # another thread may close it
        if bar is not None:
            bar.update(1)
        return got  # type: ignore[return-value]

    def __getitem__(self, index: object) -> NoReturn:
        """TypeError. A DataLoader takes what has numbered items; it is told what it is to be given."""
        raise TypeError(
            f"a stream has no item {index!r}: its batches come in order, by `for`. torch's DataLoader and Trainer take "
            "leat.TorchDataset(pipeline)"
        )

    def __iter__(self) -> Iterator[Batch]:
        self._loop.is_at_end = False
        self._loop.begin(self.native)
        return self

    def __next__(self) -> Batch:
        if self._loop.is_at_end:
            raise StopIteration
        self._begin_bar()
        batch = self._next(None, self._loop)
        if batch is None:
            raise StopIteration
        return batch

    def _ends(self, loop: _Begun) -> int:
        """How many ends had been told as that loop began, or as the stream went to where it is now."""
        if loop.native is not self.native:
            loop.n_ends = _ANY_EPOCH if loop.native is None else 0
            loop.native = self.native
        return loop.n_ends

    def epochs(self, n: int) -> Iterator[Batch]:
        """The batches of the next n epochs, one after the other."""
        for _ in range(n):
            yield from self

    def _end_epoch(self, outcome: int) -> None:
        self._loop.is_at_end = True
        self._close_bar()
        logger.debug("%s: %s", self.name, "the last epoch ended" if outcome == _leat.END else "an epoch ended")

    def _begin_bar(self) -> None:
        if not self.progress or self._bar is not None:
            return
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        total = None if self.native.n_steps is None else len(self)
        epoch, step = self.native.position_numbers
        self._bar = tqdm(total=total, initial=step // self.world_size, desc=f"{self.name} epoch {epoch}", unit="batch")

    def _close_bar(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()

    # ---- asyncio: loaded by who uses it, as it takes 4 MiB and 40 ms

    async def __aiter__(self) -> AsyncIterator[Batch]:
        loop = _Begun()
        loop.begin(self.native)
        self._begin_bar()
        while (batch := await self._next_async(loop)) is not None:
            yield batch

    async def next_async(self) -> Batch | None:
        """As next(), for an event loop: no thread waits. Several tasks may wait at once."""
        return await self._next_async(None)

    async def _next_async(self, loop: _Begun | None) -> Batch | None:
        while True:
            with contextlib.suppress(errors.TimedOutError):
                return self._next(0, loop)
            await self._wait_readable()

    async def _wait_readable(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, [])
        readable: asyncio.Future[None] = loop.create_future()
        if not waiting:
            loop.add_reader(self.native.fileno(), _set_results, waiting)
        waiting.append(readable)
        try:
            await readable
        finally:
            waiting.remove(readable)
            if not waiting and self._waiting.get(loop) is waiting:
                del self._waiting[loop]
                loop.remove_reader(self.native.fileno())

    def _wake_waiting(self, native: _leat.Stream) -> None:
        """Before its descriptor is closed that tasks wait for, in whatever threads their loops run: they look again."""
        if not self._waiting:
            return
        import asyncio

        fd = native.fileno()
        while self._waiting:
            loop, waiting = self._waiting.popitem()
            if loop is asyncio._get_running_loop():
                loop.remove_reader(fd)
                _set_results(waiting)
            else:
                loop.call_soon_threadsafe(loop.remove_reader, fd)
                loop.call_soon_threadsafe(_set_results, waiting)

    # ---- positions

    @property
    def position(self) -> str:
        """Where to go on: behind the last batch that was given. A line of text, for a checkpoint."""
        return self.native.position

    @property
    def epoch(self) -> int:
        """Of the next batch."""
        return self.native.position_numbers[0]

    @property
    def step(self) -> int:
        """Of the next batch of this rank, over all ranks."""
        return self.native.position_numbers[1]

    def set_epoch(self, epoch: int) -> None:
        """The next batch is the first one of that epoch. Batches that are held stay readable."""
        self.seek(epoch)

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next batch is the first of this rank at or after `step` (counted over all ranks). Batches that are held stay
        readable."""
        settle_copies(is_waiting=True)
        try:
            self.native.seek(epoch, step)
        except errors.HeldError:
            if self._reopen is None:
                raise
            self._replace(self._reopen(_elsewhere(self.position, epoch, step)))
        self._loop.is_at_end = False
        self._loop.n_ends = _ANY_EPOCH
        self._close_bar()

    def state_dict(self) -> dict[str, Any]:
        """{"position": text, "version": 1}: the same for all ranks that have seen the same number of batches."""
        return {"position": self.position, "version": 1}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on at the position of a state_dict(), also of another world size. PositionError: it is of another stream, or of
        other data, and in what they differ. Batches that are held stay readable."""
        position = position_of(state)
        if self._reopen is not None:
            self._replace(self._reopen(position))
        else:
            self._seek_position(position)
        self._loop.is_at_end = False
        self._loop.n_ends = _ANY_EPOCH
        self._close_bar()

    def _replace(self, native: _leat.Stream) -> None:
        """In this order: whom the end of the old one wakes finds the new one."""
        old, self.native = self.native, native
        self._wake_waiting(old)
        old.close()
        settle_copies(is_waiting=True)

    def _seek_position(self, position: str) -> None:
        epoch, step, _seed, world_size = _leat.position_parse(position)
        if _bound_part(position) != _bound_part(self.position):
            raise errors.PositionError(
                f"the position is of another stream, other data or another seed: {position!r} where {self.name} has "
                f"{self.position!r}"
            )
        settle_copies(is_waiting=True)
        self.native.seek(epoch, step)

    # ---- the rest

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> Converted:
        """The same epochs as dicts of arrays of "torch", "jax", "mlx" or "numpy"; see Batch.to()."""
        from . import frameworks

        return frameworks.Converted(self, framework, device=device, copy=copy)

    def close(self) -> None:
        """Ends the session. Batches that are held stay readable."""
        self._close_bar()
        self._wake_waiting(self.native)
        self.native.close()
        settle_copies(is_waiting=True)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<leat.Stream {self.name}: rank {self.rank} of {self.world_size}, at {self.native.position_numbers}>"


def _set_results(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def settle_copies(is_waiting: bool) -> None:
    """Gives slots back that a GPU has read; all that are on their way to one, if it is to wait for them."""
    cuda = sys.modules.get(f"{__package__}.cuda")
    if cuda is not None:
        cuda.settle(is_waiting)


def position_of(state: Mapping[str, Any]) -> str:
    """Of a state_dict(). PositionError: it is none."""
    if not isinstance(state, Mapping) or state.get("version") != 1 or not isinstance(state.get("position"), str):
        raise errors.PositionError(f'{{"position": text, "version": 1}} is wanted, not {state!r}')
    return str(state["position"])


def _bound_part(position: str) -> list[str]:
    """What must be the same where one goes on: all but the numbers of epoch, step and ranks."""
    return [part for part in position.split(":") if not part.startswith(("epoch", "step", "world"))]


def _elsewhere(position: str, epoch: int, step: int) -> str:
    """The same stream's position there."""
    numbers = {"epoch": epoch, "step": step}
    parts = (part.partition("=") for part in position.split(":"))
    return ":".join(f"{name}{equals}{numbers.get(name, value)}" for name, equals, value in parts)

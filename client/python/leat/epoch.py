"""One loop over a stream. These rules hold for all objects of leat that you can iterate:

- `iter(x)` begins a new epoch of x, even if you left an earlier loop in the middle. Each `iter()` gets the next epoch number,
  and `set_epoch(n)` sets the next number to n. After `load_state_dict`, the next `iter()` continues at the loaded position,
  which may be in the middle of an epoch. If you drop an iterator before its first batch, the next iterator gets the same
  epoch. So a framework may call `iter()` just to test if an object is iterable.
- Each iterator has its own position and its own session, so two iterators do not disturb each other.
- At the end of an epoch, the iterator passes its session on to the next iterator, with the batches that are already
  prefetched. If you leave a loop in the middle, its session ends with the iterator.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from . import progress

if TYPE_CHECKING:
    from . import _leat
    from .batch import Batch
    from .cursor import Cursor
    from .stream import Stream

logger = logging.getLogger("leat")


class Epoch(Iterator["Batch"], AsyncIterator["Batch"]):
    """Iterates over the batches of one epoch, with `for` or `async for`. Threads and tasks may share an Epoch: each batch goes
    to one of them, and all their loops end with the epoch."""

    def __init__(self, stream: Stream, cursor: Cursor) -> None:
        self._stream = stream
        self.cursor = cursor
        self._bar: progress.Bar | None = None
        self._has_bar = stream.progress

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Batch:
        batch = self.cursor.next()
        if batch is None or self._has_bar:
            self._pass_on(batch)
        if batch is None:
            raise StopIteration
        return batch

    def next(self, timeout: float | None = None) -> Batch | None:
        """Returns the next batch, or None at the end of the epoch. `timeout` is in seconds. With 0, next() raises
        TimedOutError at once if no batch is ready."""
        return self._pass_on(self.cursor.next(timeout))

    def __aiter__(self) -> Epoch:
        return self

    async def __anext__(self) -> Batch:
        batch = self._pass_on(await self.cursor.next_async())
        if batch is None:
            raise StopAsyncIteration
        return batch

    @property
    def native(self) -> _leat.Stream:
        """The native stream of this iterator's session."""
        return self.cursor.native

    @property
    def position(self) -> str:
        """The position after the last batch that this iterator returned."""
        return self.cursor.position

    def state_dict(self) -> dict[str, Any]:
        """Like Stream.state_dict(), for this iterator."""
        return self._stream.state_at(self.position)

    def hold_position(self) -> None:
        """Keeps the position unchanged until release_position(), while the program reads batches ahead."""
        self.cursor.hold_position()

    def release_position(self) -> None:
        """Moves the position behind all batches that were read."""
        self.cursor.release_position()

    def _pass_on(self, batch: Batch | None) -> Batch | None:
        if self._has_bar:
            self._show(batch)
        if batch is None:
            self._stream._on_end(self.cursor)
            logger.debug("%s: an epoch ended", self._stream.name)
        return batch

    def _show(self, batch: Batch | None) -> None:
        if batch is None:
            self._close_bar()
            return
        if self._bar is None:
            self._bar = progress.begin(self._stream, batch)
        self._bar.update(1)

    def _close_bar(self) -> None:
        bar, self._bar, self._has_bar = self._bar, None, False
        if bar is not None:
            bar.close()

    def __del__(self) -> None:
        try:
            self._close_bar()
            self._stream._on_end(self.cursor)
        except Exception:  # at the end of the process all names of modules may be None
            pass

"""One loop over a stream. This is the rule of all that leat gives to be iterated:

- `iter(x)` begins a fresh epoch of x, whatever became of the loops before it. Epochs are numbered by x from its start: each
  `iter()` takes the next number; `set_epoch(n)` makes the next one n, and `load_state_dict` lets it go on in the middle, once.
  An iterator that nobody has any more, and that was never asked for a batch, has not begun its epoch: the next one does. So it
  does no harm that a framework tries whether it may iterate.
- Each iterator has a cursor and a session of its own: two of them do not disturb each other.
- The session of an iterator that came to its end goes on into the next epoch, with what was prefetched. One that was left in the
  middle ends as soon as nobody has the iterator any more.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _leat
    from .batch import Batch
    from .cursor import Cursor
    from .stream import Stream

logger = logging.getLogger("leat")


class Epoch(Iterator["Batch"], AsyncIterator["Batch"]):
    """The batches of one epoch, by `for` or `async for`. Threads and tasks may share it: each batch comes to one of them, and
    the loops of all end with the epoch."""

    def __init__(self, stream: Stream, cursor: Cursor) -> None:
        self._stream = stream
        self.cursor = cursor
        self._bar: Any = None
        self._has_bar = stream.progress

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Batch:
        batch = self.cursor.next()
        if batch is None or self._has_bar:
            self._told(batch)
        if batch is None:
            raise StopIteration
        return batch

    def next(self, timeout: float | None = None) -> Batch | None:
        """The next batch; None at the end of the epoch. timeout in seconds, 0: TimedOutError at once if none is there."""
        return self._told(self.cursor.next(timeout))

    def __aiter__(self) -> Epoch:
        return self

    async def __anext__(self) -> Batch:
        batch = self._told(await self.cursor.next_async())
        if batch is None:
            raise StopAsyncIteration
        return batch

    @property
    def native(self) -> _leat.Stream:
        """The session that it takes from."""
        return self.cursor.native

    @property
    def position(self) -> str:
        """Where to go on: behind the last batch that was given."""
        return self.cursor.position

    def state_dict(self) -> dict[str, Any]:
        """As Stream.state_dict(), of this iterator."""
        return {"position": self.position, "version": 1}

    def hold_place(self) -> None:
        """For who takes batches ahead of giving them: the position stays where it is, until let_place()."""
        self.cursor.hold_place()

    def let_place(self) -> None:
        """The position is behind all that was taken."""
        self.cursor.let_place()

    def _told(self, batch: Batch | None) -> Batch | None:
        if self._has_bar:
            self._show(batch)
        if batch is None:
            self._stream._on_left(self.cursor)
            logger.debug("%s: an epoch ended", self._stream.name)
        return batch

    def _show(self, batch: Batch | None) -> None:
        """The bar of tqdm."""
        if batch is None:
            self._close_bar()
            return
        if self._bar is None:
            from tqdm.auto import tqdm  # type: ignore[import-untyped]

            stream, n_steps = self._stream, self._stream.known_steps
            done = batch.step // stream.world_size
            total = None if n_steps is None else len(stream)
            self._bar = tqdm(total=total, initial=done, desc=f"{stream.name} epoch {batch.epoch}", unit="batch")
        self._bar.update(1)

    def _close_bar(self) -> None:
        bar, self._bar, self._has_bar = self._bar, None, False
        if bar is not None:
            bar.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # as the process ends, nothing may be there any more
            self._close_bar()
            self._stream._on_left(self.cursor)

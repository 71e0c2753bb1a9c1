"""An open stream: epochs of batches, and a position to go on from. epoch.py has the rules of iteration."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _leat, errors
from .cursor import Cursor, LeftError, Limits, Opener, Session, elsewhere, settle_copies, steps_of
from .epoch import Epoch
from .lookup import Lookup, place, refuse_loaders

if TYPE_CHECKING:
    from .agreement import Agreement
    from .batch import Batch
    from .frameworks import Converted


class Stream:
    """Batches of an open stream, for this rank.

    Each `iter()` begins a fresh epoch with a cursor of its own. next(), state_dict() and the like use the cursor that was
    begun last. Threads share an epoch by sharing its iterator, or by calling next().

    native: the extension's stream. opener: opens another session of it. limits: those of `native`. progress: shows a bar for
    each epoch. agreement: compares the ranks.
    """

    def __init__(
        self,
        native: _leat.Stream,
        *,
        opener: Opener | None = None,
        limits: Limits | None = None,
        progress: bool = False,
        agreement: Agreement | None = None,
    ) -> None:
        self.progress = progress
        self._agreement = agreement
        self._opener = opener
        self._limits = limits or Limits()
        self._lock = threading.RLock()
        self._described = native  # the last session that was open
        self._cursors: weakref.WeakSet[Cursor] = weakref.WeakSet()
        self._lookup: Lookup | None = None
        self._iterator: weakref.ref[Epoch] | None = None  # over the cursor that was begun last
        self._cursor = self._watched(Cursor(opener, self._limits, native.position_numbers[0], session=Session(native)))

    # ---- what it is

    @property
    def native(self) -> _leat.Stream:
        """The native stream of the cursor that was begun last."""
        self._described = self._cursor.native
        return self._described

    @property
    def _session(self) -> _leat.Stream:
        """The native stream that describes this one. No session is opened for that."""
        session = self._cursor.session
        if session is not None:
            self._described = session.native
        return self._described

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def schema(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """name → (dtype, shape); -1 in a shape varies from batch to batch."""
        return {name: (dtype, shape) for name, dtype, shape in self._session.tensors}

    @property
    def batch_size(self) -> int:
        """Rows of a whole batch."""
        return self._session.batch_size

    @property
    def window(self) -> int:
        """The number of batches that you may hold at once, of one iterator."""
        return self._session.window

    @property
    def rank(self) -> int:
        return self._session.rank

    @property
    def world_size(self) -> int:
        return self._session.world_size

    @property
    def known_steps(self) -> int | None:
        """Steps of an epoch over all ranks; None: unknown, at least until an epoch was read."""
        return steps_of(self._session)

    @property
    def n_steps(self) -> int:
        """Steps of an epoch over all ranks. TypeError: unknown; the message says why."""
        n_steps = self.known_steps
        if n_steps is None:
            raise TypeError(f"the number of steps of {self.name} is not known: {self._session.steps_reason}")
        return n_steps

    def __len__(self) -> int:
        """Batches of an epoch for this rank: the steps congruent to rank modulo world_size."""
        return max(0, -(-(self.n_steps - self.rank) // self.world_size))

    # ---- batches

    def __iter__(self) -> Epoch:
        """The next epoch, from its start or, once, from the place of load_state_dict() or seek()."""
        with self._lock:
            iterator = Epoch(self, self._begin())
            self._iterator = weakref.ref(iterator)
            return iterator

    def __aiter__(self) -> Epoch:
        return self.__iter__()

    def next(self, timeout: float | None = None) -> Batch | None:
        """The next batch of the epoch that was begun last, or else of the next one. One thread gets None at the end of each
        epoch; after the last epoch all do. timeout in seconds; 0: TimedOutError at once if none is ready."""
        while True:
            cursor = self._current()
            try:
                batch = cursor.next(timeout)
            except LeftError:
                continue
            if batch is not None or self._take_end(cursor):
                return batch

    async def next_async(self) -> Batch | None:
        """As next(), for an event loop. Several tasks may wait at once."""
        while True:
            cursor = self._current()
            try:
                batch = await cursor.next_async()
            except LeftError:
                continue
            if batch is not None or self._take_end(cursor):
                return batch

    def epochs(self, n: int) -> Iterator[Batch]:
        """The batches of the next n epochs, one after the other."""
        for _ in range(n):
            yield from self

    def _begin(self) -> Cursor:
        """Begins the next epoch, and returns its cursor."""
        with self._lock:
            if self._cursor.is_used or self._has_reader:
                self._described = self._session
                self._cursor = self._watched(self._cursor.follow(self._has_reader))
            return self._cursor

    def _current(self) -> Cursor:
        """The cursor that was begun last or, if next() returned its end, the next one."""
        with self._lock:
            return self._begin() if self._cursor.is_end_returned else self._cursor

    def _take_end(self, cursor: Cursor) -> bool:
        """True for the first call at the end of the cursor's epoch."""
        with self._lock:
            is_first, cursor.is_end_returned = not cursor.is_end_returned, True
            return is_first

    def _on_end(self, cursor: Cursor) -> None:
        """Called when an iterator ends or is dropped. The session of the last one goes on with the next."""
        cursor.is_end_returned |= cursor.is_ended
        if cursor is not self._cursor:
            cursor.leave()
        elif cursor.is_used and not cursor.is_over:
            cursor.pause()

    @property
    def _has_reader(self) -> bool:
        """True if an iterator over the last cursor is alive."""
        iterator = self._iterator() if self._iterator is not None else None
        return iterator is not None and iterator.cursor is self._cursor

    def _watched(self, cursor: Cursor) -> Cursor:
        self._cursors.add(cursor)
        if self._agreement is not None:
            cursor.before_first = self._agreement.before_first
        return cursor

    def state_at(self, position: str) -> dict[str, Any]:
        """The state_dict() of a position. AgreementError: other ranks have another one."""
        if self._agreement is not None:
            self._agreement.at_state(position, self._session)
        return {"position": position, "version": 1}

    def __getitem__(self, index: SupportsIndex) -> Batch:
        """The batch of that number in the first epoch, for this rank: what its iteration gives. No loop moves, and no other rank
        is asked. A number behind the last one that you asked for is fast; others may be read from the start.

        IndexError: there is no such batch. TypeError: a negative number, and the length is not known; or a loader of torch
        asks, and the message says what to give it."""
        refuse_loaders(index, "a stream", "pipeline")
        return self.lookup.find(index)

    @property
    def lookup(self) -> Lookup:
        """Finds batches by their numbers, in a session of its own."""
        with self._lock:
            if self._lookup is None:
                if self._opener is None:
                    raise errors.Error("this stream was made of one session, and cannot open another")
                self._cursor.check_open()
                native = self._opener(place(self._session.position), Limits(), True)
                self._lookup = Lookup(Stream(native, opener=self._opener))
            return self._lookup

    # ---- positions

    @property
    def position(self) -> str:
        """A line of text for a checkpoint: the place behind the last batch of the iterator that was begun last."""
        return self._cursor.position

    @property
    def epoch(self) -> int:
        """The epoch of the next batch."""
        return _leat.position_parse(self.position)[0]

    @property
    def step(self) -> int:
        """The step of this rank's next batch, counted over all ranks."""
        step = _leat.position_parse(self.position)[1]
        return step + (self.rank - step) % self.world_size

    def set_epoch(self, epoch: int) -> None:
        """The next iterator begins that epoch. Existing iterators go on."""
        self.seek(epoch)

    def seek(self, epoch: int, step: int = 0) -> None:
        """The next iterator, or next(), begins at this rank's first batch at or after `step` (counted over all ranks)."""
        self._expect()
        with self._lock:
            last = self._cursor
            last.check_open()
            place = elsewhere(last.position, epoch, step)
            if last.is_used and last.is_over and (epoch, step) == (last.epoch + 1, 0) and self._limits == Limits():
                self._cursor = self._watched(last.follow(has_reader=False))
            elif last.is_used or self._has_reader or place != last.position or last.limits != self._limits:
                session = self._let_go()
                self._cursor = self._watched(
                    Cursor(self._opener, self._limits, epoch, place, self._moved(session, epoch, step))
                )

    def _moved(self, session: Session | None, epoch: int, step: int) -> Session | None:
        """Moves the session to another place. None: it was closed."""
        if session is None:
            return None
        settle_copies(is_waiting=True)
        try:
            session.native.seek(epoch, step)
        except errors.Error:  # batches are held, or it failed: a new session will tell
            session.close()
            return None
        return session

    def state_dict(self) -> dict[str, Any]:
        """Returns {"position": text, "version": 1}, equal for all ranks that have seen the same number of batches. All ranks
        call it, and compare theirs (see OpenOptions.agree); `position` is the text alone, which is not compared."""
        return self.state_at(self.position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iterator, or next(), goes on at the position of a state_dict(), also of another world size. PositionError:
        it is of another stream or other data; the message says what differs."""
        position = position_of(state)
        cursor = Cursor(self._opener, self._limits, _leat.position_parse(position)[0], position)
        cursor.native  # opens it now, so that errors are raised here
        self._expect()
        with self._lock:
            session = self._let_go()
            self._cursor = self._watched(cursor)
        if session is not None:
            session.close()

    def _expect(self) -> None:
        if self._agreement is not None:
            self._agreement.expect()

    def _let_go(self) -> Session | None:
        """Takes the session from the last cursor, unless an iterator uses it. Waits for its batches end."""
        self._described = self._session
        last, has_reader, self._iterator = self._cursor, self._has_reader, None
        if has_reader and not last.is_over:
            return last.give() if last.is_interrupted else None
        return last.abandon()

    # ---- the rest

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> Converted[dict[str, Any]]:
        """The same epochs as dicts of arrays of "torch", "jax", "mlx" or "numpy"; see Batch.to(). `.into(Kind)` gives them types."""
        from . import frameworks

        return frameworks.Converted(self, framework, device=device, copy=copy)

    def close(self) -> None:
        """Ends the sessions of all iterators. Held batches stay readable."""
        with self._lock:
            cursors = [self._cursor, *self._cursors]
            self._described = self._session
            lookup, self._lookup = self._lookup, None
        if lookup is not None:
            lookup.stream.close()
        for cursor in cursors:
            cursor.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<leat.Stream {self.name}: rank {self.rank} of {self.world_size}, at {(self.epoch, self.step)}>"


def position_of(state: Mapping[str, Any]) -> str:
    """The position in a state_dict(). PositionError: it is no state_dict()."""
    if not isinstance(state, Mapping) or state.get("version") != 1 or not isinstance(state.get("position"), str):
        raise errors.PositionError(f'{{"position": text, "version": 1}} was expected, not {state!r}')
    return str(state["position"])

"""An open stream: epochs of batches, and a position to continue from. epoch.py has the rules for loops."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _leat, errors
from .cursor import Cursor, LeftError, Limits, Opener, Session, elsewhere, settle_copies, steps_of
from .epoch import Epoch
from .lookup import FIRST_EPOCH, Lookup, refuse_loaders

if TYPE_CHECKING:
    from .batch import Batch
    from .frameworks import Converted
    from .opening import Group


class Stream:
    """The batches of an open stream, for this rank.

    Each `iter()` begins a new epoch with its own position. next(), state_dict() and similar methods use the iterator that you
    began last. Threads share an epoch if they share its iterator, or if they call next().

    native: the extension's stream. opener: a function that opens another session of the stream. limits: the limits of `native`.
    progress: True shows a bar for each epoch. group: the ranks, and the object that compares them. position: where the program
    asked to open the session, or "".
    """

    def __init__(
        self,
        native: _leat.Stream,
        *,
        opener: Opener | None = None,
        limits: Limits | None = None,
        progress: bool = False,
        group: Group | None = None,
        position: str = "",
    ) -> None:
        self.progress = progress
        self._group = group
        self._opener = opener
        self._limits = limits or Limits()
        self._lock = threading.RLock()
        self._described = native  # the last session that was open
        self._cursors: weakref.WeakSet[Cursor] = weakref.WeakSet()
        self._lookup: Lookup | None = None
        self._iterator: weakref.ref[Epoch] | None = None  # over the cursor that was begun last
        self._cursor = self._watched(Cursor(opener, self._limits, native.position_numbers[0], session=Session(native)))
        self._cursor.is_loaded, self._cursor.chosen = True, position  # from the options

    # ---- what it is

    @property
    def native(self) -> _leat.Stream:
        """The native stream of the iterator that you began last."""
        self._described = self._cursor.native
        return self._described

    @property
    def _session(self) -> _leat.Stream:
        """The native stream that describes this stream. Opens a new session only if the ranks have changed."""
        self._follow_ranks()
        session = self._cursor.session
        if session is not None:
            self._described = session.native
        return self._described

    def _follow_ranks(self) -> None:
        """Switches the epoch to the present ranks, if no batch of it was read yet."""
        cursor = self._cursor
        if self._group is not None and cursor.session is not None and not cursor.is_used:
            self._group.follow(cursor)

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def schema(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """A dict of name to (dtype, shape). -1 in a shape means that the size varies from batch to batch."""
        return {name: (dtype, shape) for name, dtype, shape in self._session.tensors}

    @property
    def batch_size(self) -> int:
        """The number of rows of a full batch."""
        return self._session.batch_size

    @property
    def window(self) -> int:
        """How many batches of an iterator you may hold at once."""
        return self._session.window

    @property
    def rank(self) -> int:
        return self._session.rank

    @property
    def world_size(self) -> int:
        return self._session.world_size

    @property
    def known_steps(self) -> int | None:
        """The number of steps of an epoch over all ranks, or None if leat does not know it yet. leat may know it after the
        first epoch."""
        return steps_of(self._session)

    @property
    def n_steps(self) -> int:
        """The number of steps of an epoch over all ranks. Raises TypeError with the reason if leat does not know this
        number."""
        n_steps = self.known_steps
        if n_steps is None:
            raise TypeError(f"leat does not know the number of steps of {self.name}: {self._session.steps_reason}")
        return n_steps

    def __len__(self) -> int:
        """The number of batches of an epoch for this rank. All ranks have the same number. It includes the steps in `skip_steps`."""
        return self.n_steps // self.world_size

    # ---- batches

    def __iter__(self) -> Epoch:
        """Begins the next epoch at its start. The first call after load_state_dict() or seek() begins at their position
        instead."""
        with self._lock:
            iterator = Epoch(self, self._begin())
            self._iterator = weakref.ref(iterator)
            return iterator

    def __aiter__(self) -> Epoch:
        return self.__iter__()

    def next(self, timeout: float | None = None) -> Batch | None:
        """Returns the next batch of the epoch that you began last, or of the next epoch. At the end of each epoch, one thread
        gets None. After the last epoch, all threads get None. `timeout` is in seconds. With `timeout=0`, the call raises
        TimedOutError at once if no batch is ready."""
        while True:
            cursor = self._current()
            try:
                batch = cursor.next(timeout)
            except LeftError:
                continue
            if batch is not None or self._take_end(cursor):
                return batch

    async def next_async(self) -> Batch | None:
        """Like next(), but for an asyncio event loop. Several tasks may wait at once."""
        while True:
            cursor = self._current()
            try:
                batch = await cursor.next_async()
            except LeftError:
                continue
            if batch is not None or self._take_end(cursor):
                return batch

    def epochs(self, n: int) -> Iterator[Batch]:
        """Yields the batches of the next n epochs, one epoch after the other."""
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
        """The cursor that was begun last. If next() has already returned its end, begins the next cursor."""
        with self._lock:
            return self._begin() if self._cursor.is_end_returned else self._cursor

    def _take_end(self, cursor: Cursor) -> bool:
        """True for the first call at the end of the cursor's epoch."""
        with self._lock:
            is_first, cursor.is_end_returned = not cursor.is_end_returned, True
            return is_first

    def _on_end(self, cursor: Cursor) -> None:
        """Called when an iterator ends or is dropped. The next iterator continues with the session of the last one."""
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
        cursor.group = self._group
        return cursor

    def state_at(self, position: str) -> dict[str, Any]:
        """Returns the state_dict() of a position. Raises AgreementError if other ranks have another position."""
        native = self._session
        agreement = self._group.agreement(native) if self._group is not None else None
        if agreement is not None:
            agreement.at_state(position, native)
        return {"position": position, "version": 1}

    def __getitem__(self, index: SupportsIndex) -> Batch:
        """Returns the batch with this number, as a loop over the first epoch yields it on this rank. Does not affect your loops
        or other ranks. This is fast if you ask for the batches in order. Otherwise leat may read from the start.

        Raises IndexError if there is no such batch. Raises TypeError if the number is negative and the length is not known.
        Also raises TypeError if torch's DataLoader asks; the message then says what to give to the DataLoader."""
        refuse_loaders(index, "a stream", "pipeline")
        return self.lookup.find(index)

    @property
    def lookup(self) -> Lookup:
        """Finds batches by their numbers, in a separate session."""
        with self._lock:
            if self._lookup is not None and not self._lookup.serves(self._session):
                self._lookup.stream.close()
                self._lookup = None
            if self._lookup is None:
                if self._opener is None:
                    raise errors.Error(
                        "cannot find batches by number, because this stream cannot open a second session: loop over the stream"
                    )
                self._cursor.check_open()
                native = self._opener(elsewhere(self._session.position, FIRST_EPOCH, 0), Limits(), True)
                self._lookup = Lookup(Stream(native, opener=self._opener))
            return self._lookup

    # ---- positions

    @property
    def position(self) -> str:
        """A line of text for a checkpoint: the position after the last batch of the iterator that you began last."""
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
        """Makes the next iterator begin this epoch. If you have loaded a position in this epoch, the iterator continues there.
        Existing iterators do not change."""
        with self._lock:
            self._cursor.check_open()
            if not self.continues(epoch):
                self.seek(epoch)

    def continues(self, epoch: int) -> bool:
        """True if the next iterator continues at a loaded position in this epoch."""
        cursor = self._cursor
        return cursor.is_loaded and not cursor.is_used and not self._has_reader and cursor.epoch == epoch

    def seek(self, epoch: int, step: int = 0) -> None:
        """Makes the next iterator, or next(), begin at this rank's first batch at or after `step` (counted over all ranks)."""
        self._expect()
        with self._lock:
            last = self._cursor
            last.check_open()
            place = elsewhere(last.position, epoch, step)
            if last.is_used and last.is_over and (epoch, step) == (last.epoch + 1, 0) and self._limits == Limits():
                self._cursor = self._watched(last.follow(has_reader=False))
                self._cursor.chosen = place
            elif last.is_used or self._has_reader or place != last.position or last.limits != self._limits:
                session = self._let_go()
                self._cursor = self._watched(
                    Cursor(self._opener, self._limits, epoch, place, self._moved(session, epoch, step))
                )
                self._cursor.chosen = place

    def _moved(self, session: Session | None, epoch: int, step: int) -> Session | None:
        """Moves the session to another position. Returns None if this was not possible and the session is now closed."""
        if session is None:
            return None
        settle_copies(is_waiting=True)
        try:
            session.native.seek(epoch, step)
        except errors.Error:  # batches are held, or it failed: a new session will tell
            session.close()
            return None
        return session

    @property
    def chosen(self) -> str:
        """The position at which the next loop begins, if load_state_dict(), seek() or set_epoch() chose one. Otherwise "". A
        forked child may read this too."""
        return "" if self._cursor.is_used else self._cursor.chosen

    def state_dict(self) -> dict[str, Any]:
        """Returns {"position": text, "version": 1}. The result is equal on all ranks that have read the same number of batches.
        Call state_dict() on all ranks, because it compares their positions (see OpenOptions.agree). Reading the
        attribute `position` gives the text, and compares nothing."""
        self._follow_ranks()
        return self.state_at(self.position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iterator, or next(), continue at the position of a state_dict(), on any number of ranks. Raises
        PositionError if the position belongs to another stream or other data. The message says what differs."""
        position = position_of(state)
        self._cursor.check_open()
        cursor = Cursor(self._opener, self._limits, _leat.position_parse(position)[0], position)
        cursor.is_loaded, cursor.chosen = True, position
        cursor.native  # opens it now, so that errors are raised here
        self._expect()
        with self._lock:
            session = self._let_go()
            self._cursor = self._watched(cursor)
        if session is not None:
            session.close()

    def _expect(self) -> None:
        if self._group is not None:
            self._group.expect()

    def _let_go(self) -> Session | None:
        """Takes the session from the last cursor, unless an iterator uses this session. A thread that waits for a batch stops
        waiting."""
        self._described = self._session
        last, has_reader, self._iterator = self._cursor, self._has_reader, None
        if has_reader and not last.is_over:
            return last.give() if last.is_interrupted else None
        return last.abandon()

    # ---- the rest

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> Converted[dict[str, Any]]:
        """Returns an iterable of the same epochs, with batches as dicts of arrays of "torch", "jax", "mlx" or "numpy"; see
        Batch.to(). `.into(Kind)` on the result makes objects of your own type."""
        from . import frameworks

        return frameworks.Converted(self, framework, device=device, copy=copy)

    def close(self) -> None:
        """Ends the sessions of all iterators. You can still read the batches that you hold."""
        with self._lock:
            cursors = [self._cursor, *self._cursors]
            self._described = self._session
            lookup, self._lookup = self._lookup, None
        if lookup is not None:
            lookup.stream.close()
        for cursor in cursors:
            cursor.close()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "cannot pickle or copy a stream, because it belongs to the process that opened it: pickle its pipeline, or"
            " leat.TorchDataset(pipeline)"
        )

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<leat.Stream {self.name}: rank {self.rank} of {self.world_size}, at {(self.epoch, self.step)}>"


def position_of(state: Mapping[str, Any]) -> str:
    """Returns the position in a state_dict(). Raises PositionError if this is not a state_dict()."""
    if not isinstance(state, Mapping) or state.get("version") != 1 or not isinstance(state.get("position"), str):
        raise errors.PositionError(f'a state must be {{"position": text, "version": 1}}, as state_dict() returns it, but it is {state!r}')
    return str(state["position"])

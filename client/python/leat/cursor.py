"""Cursors: the position of a loop in a stream, and the session with the daemon that delivers its batches."""

from __future__ import annotations

import contextlib
import errno
import operator
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from . import _leat, errors

if TYPE_CHECKING:
    import asyncio

    from .batch import Batch
    from .opening import Group

_known_steps: dict[tuple[str, int], int] = {}  # the steps of an epoch that was read, by stream and world size


class Limits(NamedTuple):
    """How many epochs and batches of this rank are left. None means no limit."""

    epochs: int | None = None
    steps: int | None = None

    def less(self, n_epochs: int, n_steps: int) -> Limits:
        """Returns the limits that are left after this number of epochs and steps."""
        return Limits(
            None if self.epochs is None else self.epochs - n_epochs, None if self.steps is None else self.steps - n_steps
        )

    @property
    def are_reached(self) -> bool:
        return (self.epochs is not None and self.epochs <= 0) or (self.steps is not None and self.steps <= 0)


_NO_LIMITS = Limits()

# Opens another session at a position, within limits. The last argument is true if an epoch begins there.
Opener = Callable[[str, Limits, bool], _leat.Stream]


class LeftError(Exception):
    """The stream moved to another position while a thread waited for a batch. So the cursor of this thread was abandoned."""


class Waiting:
    """The asyncio tasks that wait for a batch of a session. Waiting needs no thread. The first task imports asyncio (4 MiB, 40
    ms)."""

    def __init__(self, native: _leat.Stream) -> None:
        self.native = native
        self._tasks: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    async def until_readable(self) -> None:
        """Returns when the session has something to read, or after wake()."""
        import asyncio

        loop = asyncio.get_running_loop()
        tasks = self._tasks.setdefault(loop, [])
        readable: asyncio.Future[None] = loop.create_future()
        if not tasks:
            loop.add_reader(self.native.fileno(), _set_results, tasks)
        tasks.append(readable)
        try:
            await readable
        finally:
            tasks.remove(readable)
            if not tasks and self._tasks.get(loop) is tasks:
                del self._tasks[loop]
                loop.remove_reader(self.native.fileno())

    def wake(self) -> None:
        """Wakes all tasks, in the threads of their loops. Call this before you close the session's descriptor."""
        if not self._tasks:
            return
        import asyncio

        fd = self.native.fileno()
        while self._tasks:
            loop, tasks = self._tasks.popitem()
            if loop is asyncio._get_running_loop():
                loop.remove_reader(fd)
                _set_results(tasks)
            else:
                loop.call_soon_threadsafe(loop.remove_reader, fd)
                loop.call_soon_threadsafe(_set_results, tasks)


def _set_results(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class Session:
    """A session with the daemon, and the tasks that wait for it."""

    def __init__(self, native: _leat.Stream) -> None:
        self.native = native
        self.waiting = Waiting(native)
        self.has_kept_steps = native.n_steps is not None

    def close(self) -> None:
        if not self.native.is_closed:
            self.waiting.wake()
        self.native.close()
        settle_copies(is_waiting=True)


class Cursor:
    """A position in an epoch of a stream, and the session that reads from there.

    The first use opens the session. A cursor that has passed its session on keeps its position. At its next use, it opens
    another session at this position. Threads may share a cursor: each batch goes to one thread, and the end of the epoch to
    all threads.
    """

    def __init__(
        self, opener: Opener | None, limits: Limits, epoch: int, position: str = "", session: Session | None = None
    ) -> None:
        """position: the position of the cursor, if it has no session."""
        self.limits = limits  # at the cursor's start
        self.epoch = epoch
        self.given: str | None = None  # the position behind the last returned batch, while more were taken
        self.is_used = False  # next() was called
        self.is_loaded = False  # its place is one of a saved position
        self.chosen = ""  # its place at the start, if the program chose it
        self.is_ended = False
        self.is_end_returned = False  # Stream.next() returned the end
        self.is_interrupted = False  # it raised an exception, so its reader may neither go on nor drop it
        self.group: Group | None = None  # until it has prepared the first batch
        self._opener = opener
        self._position = position
        self._lock = threading.RLock()
        self._n_ends = self._n_batches = 0  # the session's, when the cursor got it
        self._n_taken = 0  # from the sessions before this one
        self._is_abandoned = self._is_closed = False
        self.session: Session | None = None
        if session is not None:
            self._take(session)

    # ---- the session

    @property
    def native(self) -> _leat.Stream:
        """The native stream of the session. Opens a session if there is none."""
        return self._opened().native

    def _opened(self) -> Session:
        with self._lock:
            if self.session is None:
                self._take(Session(self._open()))
            assert self.session is not None
            return self.session

    def check_open(self) -> None:
        """Raises Error if the stream is closed."""
        if self._is_closed:
            raise errors.Error("the stream is closed: open it again", code=-errno.EBADF)

    def _open(self) -> _leat.Stream:
        self.check_open()
        if self._opener is None:
            raise errors.Error("this stream has only one session, and cannot open another one")
        step = _leat.position_parse(self._position)[1]
        return self._opener(self._position, self.limits.less(0, self._n_taken), step == 0)

    def _take(self, session: Session) -> None:
        self._n_ends, self._n_batches = session.native.n_ends, session.native.n_batches
        self.session = session

    def give(self) -> Session | None:
        """Gives up the session, and returns it. Returns None if there is no session, or if the stream is closed."""
        with self._lock:
            session = self.session
            if session is None or self._is_closed:
                return None
            with contextlib.suppress(errors.ForkedError):  # a child inherits no session
                self._position = session.native.position
            self._n_taken += session.native.n_batches - self._n_batches
            self.session = None
            return session

    def leave(self) -> None:
        """Ends the session, and keeps the position."""
        session = self.give()
        if session is not None:
            session.close()

    def reopen(self) -> None:
        """Ends the session, and opens another one at the same position. Raises ForkedError in a forked child."""
        position = self.position
        self.leave()
        self._position = position
        self._opened()

    def pause(self) -> None:
        """Tells the daemon to stop preparing batches."""
        session = self.session
        if session is None or session.native.is_closed:
            return
        try:
            session.native.pause()
        except errors.HeldError:
            self.leave()

    def abandon(self) -> Session | None:
        """Like give(), but the cursor will not be used again. A thread that waits for a batch of this cursor gets
        LeftError."""
        self._is_abandoned = True
        return self.give()

    def close(self) -> None:
        """Ends the session. The cursor still knows its position."""
        with self._lock:
            self._is_closed = True
            session = self.session
        if session is not None:
            session.close()

    def follow(self, has_reader: bool) -> Cursor:
        """Makes the cursor of the next epoch. The new cursor takes over the session of this one. If `has_reader` is true, a
        reader still uses this cursor, which then keeps its session until the epoch is over."""
        with self._lock:
            limits = _NO_LIMITS if self.limits == _NO_LIMITS else self.limits.less(1, self._n_all)
            session = self.give() if self.is_over or not has_reader or self.is_interrupted else None
            if session is not None and not self._passes_over(session):
                session = None
            place = elsewhere(self.position, self.epoch + 1, 0) if session is None else ""
            following = Cursor(self._opener, limits, self.epoch + 1, place, session)
            following._is_closed = self._is_closed
            return following

    @property
    def _n_all(self) -> int:
        return self._n_taken + (self.session.native.n_batches - self._n_batches if self.session is not None else 0)

    def _passes_over(self, session: Session) -> bool:
        """Moves the session to the start of the next epoch, if it is not there yet. If this fails, closes the session and
        returns False."""
        if self.is_ended:
            return True
        try:
            if self._is_all_given(session.native):
                self._read_end(session)
            else:
                session.native.skip_epoch()
        except errors.Error:  # batches are held, or it failed: a new session will tell
            session.close()
            return False
        return True

    def _read_end(self, session: Session) -> None:
        """Reads the end of an epoch after its last batch."""
        native = session.native
        got = native.next(None, self._n_ends)
        if not isinstance(got, int):
            got.release()
            raise errors.Error(
                f"the daemon announced {native.n_steps} steps in an epoch of {native.name}, but the epoch has more"
            )
        self._end(session)

    # ---- batches

    def next(self, timeout: float | None = None) -> Batch | None:
        """Returns the next batch, or None at the end of the epoch. Raises LeftError if the cursor was abandoned."""
        self.is_used = True
        session = self.session
        if session is None:
            if self.is_ended or self.limits.are_reached:
                self.is_ended = True
                return None
            session = self._opened()
        try:
            group = self.group
            if group is not None:
                group.before_first(self)
                self.group = None
                session = self.session or session
            got = session.native.next(timeout, self._n_ends)
        except errors.TimedOutError:
            raise
        except errors.Error as error:
            if error.code == -errno.EBADF and self.session is not session:
                return self._next_elsewhere(timeout)
            self.is_interrupted = True
            raise
        except BaseException:
            self.is_interrupted = True
            raise
        if got.__class__ is not int:
            return got  # type: ignore[return-value]
        if self.session is not session and not self.is_ended:
            return self._next_elsewhere(timeout)
        self._end(session)
        return None

    def _next_elsewhere(self, timeout: float | None) -> Batch | None:
        """Continues after another cursor took over the session during a wait."""
        if self._is_abandoned:
            raise LeftError
        return self.next(timeout)

    async def next_async(self) -> Batch | None:
        """Like next(), for an event loop. Several tasks may wait at once."""
        group = self.group
        if group is not None and group.may_wait(self):
            import asyncio

            await asyncio.to_thread(group.before_first, self)
        while True:
            with contextlib.suppress(errors.TimedOutError):
                return self.next(0)
            await self._opened().waiting.until_readable()

    def _end(self, session: Session) -> None:
        with self._lock:
            if self.is_ended:
                return
            self.is_ended = True
            native = session.native
            if not session.has_kept_steps and native.n_steps is not None:
                session.has_kept_steps = True
                _known_steps[_identity(native)] = native.n_steps

    # ---- the place

    @property
    def is_over(self) -> bool:
        """True if the epoch has ended, or if all its batches were returned."""
        session = self.session
        return self.is_ended or (session is not None and not session.native.is_closed and self._is_all_given(session.native))

    def _is_all_given(self, native: _leat.Stream) -> bool:
        epoch, step = native.position_numbers
        return native.n_steps is not None and epoch == self.epoch and step >= native.n_steps

    @property
    def position(self) -> str:
        """The position at which to continue: after the last batch that was returned."""
        session = self.session
        return self.given or (self._position if session is None else session.native.position)

    def hold_position(self) -> None:
        """Keeps `position` unchanged until release_position(), even if more batches are read."""
        self.given = self.position

    def release_position(self) -> None:
        """Moves `position` behind all batches that were read."""
        self.given = None


def steps_of(native: _leat.Stream) -> int | None:
    """Returns the number of steps in an epoch, of all ranks together. Returns None if this process has not read a whole epoch."""
    return _known_steps.get(_identity(native)) if native.n_steps is None else native.n_steps


def _identity(native: _leat.Stream) -> tuple[str, int]:
    return bound_part(native.position), native.world_size


def bound_part(position: str) -> str:
    """Returns the part of a position that must match before a stream can continue there: all except epoch, step and world
    size."""
    return ":".join(part for part in position.split(":") if not part.startswith(("epoch", "step", "world")))


def elsewhere(position: str, epoch: int, step: int) -> str:
    """Returns the same position, but with another epoch and step. Raises SpecError if one of them is out of range."""
    numbers = {"epoch": operator.index(epoch), "step": operator.index(step)}
    for name, number in numbers.items():
        if not 0 <= number < 2**64:
            raise errors.SpecError(f"{name} is {number}, but it must be in 0..{2**64 - 1}")
    parts = (part.partition("=") for part in position.split(":"))
    return ":".join(f"{name}{equals}{numbers.get(name, value)}" for name, equals, value in parts)


def settle_copies(is_waiting: bool) -> None:
    """Frees the slots that a GPU has read. With is_waiting, it waits until the GPU has read all slots."""
    cuda = sys.modules.get(f"{__package__}.cuda")
    if cuda is not None:
        cuda.settle(is_waiting)

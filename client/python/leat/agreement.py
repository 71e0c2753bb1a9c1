"""All ranks compare what they are going to read. If the data, spec, seed or position of one rank differs, all ranks raise an
error.

They compare before the first batch of a stream, before the first batch after `load_state_dict`, `seek` or `set_epoch`, and at
each `state_dict`. The ranks send messages through the framework that the program has initialised: torch.distributed's store,
JAX's coordination service, or MPI (mpi4py). leat uses no collective operations there, so no rank waits longer than
`agree_timeout`. Rank 0 collects a fingerprint from each rank, compares them, and sends the result to each rank. MLX has only
collective operations, and a program cannot ask if MLX is initialised. So leat uses MLX only if you set `agree` to an MLX
group.

If a rank does not take part, for example because it has `agree=False`, the other ranks fail after `agree_timeout`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from . import ranks
from .errors import AgreementError, SpecError

if TYPE_CHECKING:
    from . import _leat
    from .cursor import Cursor

    Agree = bool | Literal["auto"] | Any  # a group of torch.distributed or MLX, or a communicator of mpi4py

TIMEOUT_S = 300.0
_WARN_S = 20.0  # a rank that waits so long tells for whom
_ANSWER_S = 5.0  # rank 0 gives up so much earlier than the others, to tell them why
_LATE_S = 1.0
_POLL_S = 0.0005, 0.05  # the first pause, and the longest
_N_FILES = 3  # that are named
_N_HOSTS = 4
_ADVICE = "Make all ranks read the same streams and call state_dict() equally often, or set agree=False on all ranks"
_UNREADABLE = 2**64 - 1  # in place of the size of a file
_AGREED, _TELL_FILES, _LATE = "agreed", "files", "late"

_begun: dict[str, int] = {}  # streams of a name that were compared
_lock = threading.Lock()
_has_warned = False


class Line(Protocol):
    """Passes messages between ranks. A rank receives each message once, under its key."""

    name: str
    rank: int
    size: int

    def send(self, to: int, key: str, text: str) -> None: ...
    def poll(self, source: int, key: str) -> str | None:
        """Returns the message of this rank, or None if it has not arrived yet."""


# ---- torch.distributed, JAX ----


class _Store:
    """Passes messages through a store of keys and values."""

    def __init__(self, name: str, prefix: str, rank: int, size: int) -> None:
        self.name, self.rank, self.size = name, rank, size
        self._prefix = prefix

    def send(self, to: int, key: str, text: str) -> None:
        self.set(f"{self._prefix}/{key}/{self.rank}-{to}", text)

    def poll(self, source: int, key: str) -> str | None:
        return self.take(f"{self._prefix}/{key}/{source}-{self.rank}")

    def set(self, key: str, text: str) -> None:
        raise NotImplementedError

    def take(self, key: str) -> str | None:
        raise NotImplementedError


class _Torch(_Store):
    """Uses the store of torch's default group. For threads and forked workers, it clones the store, because each clone has its
    own connection. This takes up to a second. The clone lives as long as the group."""

    _copies: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()  # with the process

    def __init__(self, group: Any, rank: int, size: int) -> None:
        from torch.distributed import distributed_c10d

        name = getattr(group, "group_name", "") if group is not None else ""
        super().__init__("torch.distributed", f"leat/{name}{_worker()}", rank, size)
        store = distributed_c10d._get_default_store()
        self._store: Any = self._copy_of(store) if hasattr(store, "clone") else store

    def _copy_of(self, store: Any) -> Any:
        pid, copy = self._copies.get(store, (0, None))
        if pid != os.getpid():
            copy = store.clone()
            self._copies[store] = os.getpid(), copy
        return copy

    def set(self, key: str, text: str) -> None:
        self._store.set(key, text)

    def take(self, key: str) -> str | None:
        if not self._store.check([key]):
            return None
        text: str = self._store.get(key).decode()
        self._store.delete_key(key)
        return text


def _worker() -> str:
    """Returns a suffix for keys. With this suffix, a worker of a DataLoader compares only with workers of the same number on
    other ranks."""
    data = sys.modules.get("torch.utils.data")
    info = data.get_worker_info() if data is not None else None
    return "" if info is None else f"/worker {info.id}"


class _Jax(_Store):
    """Passes messages through JAX's coordination service."""

    def __init__(self, rank: int, size: int) -> None:
        from jax._src import distributed

        super().__init__("jax", "leat", rank, size)
        self._client: Any = distributed.global_state.client

    def set(self, key: str, text: str) -> None:
        self._client.key_value_set(key, text, allow_overwrite=True)

    def take(self, key: str) -> str | None:
        try:
            text: str = self._client.key_value_try_get(key)
        except Exception as error:  # of a class that depends on JAX's version
            if "NOT_FOUND" in str(error):
                return None
            raise
        self._client.key_value_delete(key)
        return text


# ---- MPI ----


class _Mpi:
    """Passes messages through an MPI communicator, all with the same tag."""

    name = "mpi4py"
    _TAG = 0x1EA7
    _received: dict[tuple[int, int, str], str] = {}  # by communicator, rank and key
    _sent: list[Any] = []

    def __init__(self, comm: Any) -> None:
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self._comm = comm
        self._number = comm.py2f()

    def send(self, to: int, key: str, text: str) -> None:
        request = self._comm.isend((key, text), dest=to, tag=self._TAG)
        deadline = time.monotonic() + _ANSWER_S
        while not request.Test() and time.monotonic() < deadline:
            self._receive()
            time.sleep(_POLL_S[0])
        self._sent[:] = [one for one in [*self._sent, request] if not one.Test()]

    def poll(self, source: int, key: str) -> str | None:
        self._receive()
        return self._received.pop((self._number, source, key), None)

    def _receive(self) -> None:
        from mpi4py import MPI

        status = MPI.Status()
        while (message := self._comm.improbe(source=MPI.ANY_SOURCE, tag=self._TAG, status=status)) is not None:
            key, text = message.recv()
            self._received[self._number, status.Get_source(), key] = text


# ---- MLX ----


class _Mlx:
    """Passes messages through an MLX group. MLX has only collective operations, which wait without a time limit. So leat runs
    them in a thread, and abandons the thread if a rank does not take part. Each rank gets the texts of all ranks."""

    name = "mlx"

    def __init__(self, group: Any) -> None:
        self.rank, self.size = group.rank(), group.size()
        self._group = group

    def exchange(self, text: str, timeout: float) -> list[str] | None:
        """Returns the texts of all ranks, or None if a rank did not send its text in time."""
        found: list[list[str]] = []
        mx = sys.modules["mlx.core"]
        mx.synchronize()  # what the trainer has begun goes first
        thread = threading.Thread(target=lambda: found.append(self._gather(mx, text.encode())), daemon=True)
        thread.start()
        thread.join(min(timeout, threading.TIMEOUT_MAX))
        return found[0] if found else None

    def _gather(self, mx: Any, own: bytes) -> list[str]:
        def gather(numbers: Any) -> Any:
            return mx.distributed.all_gather(numbers, group=self._group, stream=mx.cpu).reshape(self.size, -1).tolist()

        sizes = [size for size, in gather(mx.array([len(own)], dtype=mx.int32))]
        rows = gather(mx.array(list(own.ljust(max(*sizes, 1))), dtype=mx.uint8))
        return [bytes(row[:size]).decode() for row, size in zip(rows, sizes)]


# ---- which of them ----


def find(agree: Agree, rank: int, world_size: int) -> Line | _Mlx | None:
    """Finds a way for these ranks to compare. Returns None if no initialised framework has the same ranks."""
    line = _automatic() if agree is True or isinstance(agree, str) else _of_group(agree)
    return line if line is not None and (line.rank, line.size) == (rank, world_size) else None


def _automatic() -> Line | None:
    found = ranks.find()
    if found is not None and found.source == "jax":
        return _Jax(found.rank, found.world_size)
    if found is not None and found.source == "torch.distributed":
        return _Torch(None, found.rank, found.world_size)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized():
        return None
    return _Mpi(mpi.COMM_WORLD)


def _of_group(group: Any) -> Line | _Mlx:
    if hasattr(group, "Get_rank") and hasattr(group, "improbe"):
        return _Mpi(group)
    if type(group).__module__.partition(".")[0] == "torch":
        return _Torch(group, group.rank(), group.size())
    if type(group).__module__.partition(".")[0] == "mlx":
        return _Mlx(group)
    kinds = 'True, False, "auto", a group of torch.distributed or MLX, or a communicator of mpi4py'
    raise SpecError(f"agree is {group!r}, but it must be {kinds}")


# ---- comparing ----


class _Member:
    """What a rank reported."""

    def __init__(self, rank: int, text: str) -> None:
        told = json.loads(text)
        self.rank = rank
        self.comparison: str = told["comparison"]
        self.host: str = told["host"]
        self.fingerprint: str = told["fingerprint"]
        self.files: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """The values that must be equal on all ranks, by name."""
        parts = (part.partition("=") for part in self.fingerprint.split(":"))
        return {"stream": self.comparison, **{name: value for name, _, value in parts}}


class Agreement:
    """The comparisons of one stream. Any thread may use it."""

    def __init__(self, agree: Agree, timeout: float | None, native: _leat.Stream) -> None:
        self._agree = agree
        self._timeout = TIMEOUT_S if timeout is None else float(timeout)
        if not self._timeout > 0:
            raise SpecError(f"{timeout!r} is not a number of seconds above 0", path="agree_timeout")
        if not (isinstance(agree, bool) or agree == "auto"):
            _of_group(agree)
        self._rank, self._world_size = native.rank, native.world_size
        self._stream = native.name
        self._key = ""
        self._n_compared = 0
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._is_due = True  # before the next first batch of an epoch
        self._failure: AgreementError | None = None

    def expect(self) -> None:
        """Call this when the stream moves to another position. The ranks then compare before the next batch."""
        self._is_due = True

    def before_first(self, cursor: Cursor) -> None:
        """Compares if the stream is new or has moved."""
        with self._lock:
            self._raise_failure()
            if self._is_due:
                self._compare(cursor.position, cursor.native, "before the first batch")
                self._is_due = False

    def at_state(self, position: str, native: _leat.Stream) -> None:
        """Compares the position that a checkpoint will hold."""
        with self._lock:
            self._raise_failure()
            self._compare(position, native, "at state_dict()")

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise AgreementError(self._failure.message, code=self._failure.code)

    def _compare(self, position: str, native: _leat.Stream, when: str) -> None:
        if os.getpid() != self._pid:
            return
        line = find(self._agree, self._rank, self._world_size)
        if line is None:
            self._tell_nothing()
            return
        if not self._key:
            self._key = _new_key(self._stream)
        self._n_compared += 1
        key, what = f"{self._key}/{self._n_compared}", f"{self._stream}, {when}"
        comparison = _Comparison(line, key, what, self._timeout, native.files)
        try:
            comparison.run(position + native.order)
        except AgreementError as error:
            self._failure = error
            raise
        except Exception as error:  # of a store whose rank is gone
            self._failure = AgreementError(
                f"the ranks could not compare what they read (stream {what}, through {line.name}): {error}"
            )
            raise self._failure from error

    def _tell_nothing(self) -> None:
        """Warns once that leat does not compare the ranks."""
        global _has_warned
        why = (
            f"the {self._world_size} ranks cannot compare what they read, because neither torch.distributed nor JAX nor "
            "mpi4py is initialised with these ranks"
        )
        if self._agree != "auto":
            raise SpecError(
                f"{why}, but agree is {self._agree!r}: initialise one of these libraries first, or set agree=False", path="agree"
            )
        if not _has_warned and self._rank == 0 and not _worker():
            _has_warned = True
            from .pipeline import outside

            warnings.warn(f"{why}. To end this warning, set agree=False", RuntimeWarning, stacklevel=outside())


def _new_key(stream: str) -> str:
    """Makes the key of a comparison. All ranks compare streams of the same name in the same order."""
    with _lock:
        _begun[stream] = _begun.get(stream, 0) + 1
        return f"{stream}/{_begun[stream]}"


class _Comparison:
    """One comparison. `what` describes the comparison in errors. `files` lists the files of this rank."""

    def __init__(self, line: Line | _Mlx, key: str, what: str, timeout: float, files: str) -> None:
        self._line = line
        self._key = key
        self._what = what
        self._timeout = timeout
        self._files = files

    def run(self, fingerprint: str) -> None:
        """Returns if all ranks reported the same values. Raises AgreementError if the values differ, or if a rank did not
        report."""
        own = json.dumps({"host": socket.gethostname(), "comparison": self._key, "fingerprint": fingerprint})
        line = self._line
        if isinstance(line, _Mlx):
            verdict = self._exchange(line, own)
        else:
            verdict = self._lead(line, own) if line.rank == 0 else self._follow(line, own)
        if verdict != _AGREED:
            raise AgreementError(verdict)

    def _exchange(self, line: _Mlx, own: str) -> str:
        told = line.exchange(own, self._timeout)
        if told is None:
            return self._missing("another rank")
        members = [_Member(rank, text) for rank, text in enumerate(told)]
        if _differ(members, "data"):
            files = line.exchange(self._files, 2 * _ANSWER_S) or []
            for member, text in zip(members, files):
                member.files = text
        return self._judge(members)

    def _judge(self, members: list[_Member]) -> str:
        differences = _differences(members)
        return f"the ranks differ (stream {self._what}): {differences}" if differences else _AGREED

    def _follow(self, line: Line, own: str) -> str:
        line.send(0, self._key, own)
        verdict = self._wait(line, [0], "", self._timeout + _ANSWER_S).get(0)
        if verdict == _TELL_FILES:
            line.send(0, self._key + "/files", self._files)
            verdict = self._wait(line, [0], "/verdict", 2 * _ANSWER_S).get(0)
        if verdict is None:
            line.send(0, self._key, _LATE)
            return self._missing(_ranks([0]))
        return verdict

    def _lead(self, line: Line, own: str) -> str:
        others = range(1, line.size)
        begin = time.monotonic()
        told = self._wait(line, others, "", self._timeout)
        if time.monotonic() - begin > _LATE_S:  # another rank may have given up meanwhile
            told.update((rank, text) for rank in others if (text := line.poll(rank, self._key)) is not None)
        missing = [rank for rank in others if told.get(rank, _LATE) == _LATE]
        members = [_Member(rank, text) for rank, text in sorted({0: own, **told}.items()) if text != _LATE]
        kind = ""
        if not missing and _differ(members, "data"):
            self._gather_files(line, members)
            kind = "/verdict"
        verdict = self._missing(_ranks(missing)) if missing else self._judge(members)
        for rank in others:
            line.send(rank, self._key + kind, verdict)
        return verdict

    def _gather_files(self, line: Line, members: list[_Member]) -> None:
        others = range(1, line.size)
        for rank in others:
            line.send(rank, self._key, _TELL_FILES)
        found = {0: self._files, **self._wait(line, others, "/files", _ANSWER_S)}
        for member in members:
            member.files = found.get(member.rank, "")

    def _wait(self, line: Line, sources: Iterable[int], kind: str, timeout: float) -> dict[int, str]:
        """Returns the messages of these ranks that arrive in time."""
        begin = time.monotonic()
        found: dict[int, str] = {}
        missing = set(sources)
        pause, longest = _POLL_S
        has_warned = False
        while True:
            for rank in sorted(missing):
                text = line.poll(rank, self._key + kind)
                if text is not None:
                    found[rank] = text
                    pause = _POLL_S[0]
            missing -= found.keys()
            waited = time.monotonic() - begin
            if not missing or waited >= timeout:
                return found
            if waited > _WARN_S and not has_warned and line.rank == 0:
                has_warned = True
                text = f"{self._here()} still waits for {_ranks(missing)} of {line.size} to report {self._subject(_ranks(missing))}"
                warnings.warn(f"{text}. It gives up after {timeout:g} s. {_ADVICE}", RuntimeWarning, stacklevel=2)
            time.sleep(min(pause, timeout - waited))
            pause = min(2 * pause, longest)

    def _here(self) -> str:
        return f"Rank {self._line.rank} on {socket.gethostname()}"

    def _missing(self, missing: str) -> str:
        return (
            f"{missing} of {self._line.size} did not report {self._subject(missing)}. "
            f"{self._here()} waited {self._timeout:g} s. {_ADVICE}"
        )

    def _subject(self, missing: str) -> str:
        read = "they read" if missing.startswith("ranks") else "it reads"
        return f"what {read} (stream {self._what}, through {self._line.name})"


# ---- what differs ----


def _ranks(numbers: Iterable[int]) -> str:
    """ "rank 3", "ranks 0, 4-7" """
    runs: list[list[int]] = []
    for rank in sorted(numbers):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return ("rank " if len(runs) == 1 and runs[0][0] == runs[0][1] else "ranks ") + text


def _places(members: list[_Member]) -> str:
    hosts = list(dict.fromkeys(member.host for member in members))
    shown = ", ".join(hosts[:_N_HOSTS]) + (", .." if len(hosts) > _N_HOSTS else "")
    return f"{_ranks(member.rank for member in members)} ({shown})"


def _told(members: list[_Member], value: Callable[[_Member], str]) -> str:
    """ "7 at rank 0 (a), 8 at rank 1 (b)" """
    groups: dict[str, list[_Member]] = {}
    for member in members:
        groups.setdefault(value(member), []).append(member)
    return ", ".join(f"{text} at {_places(group)}" for text, group in groups.items())


def _differ(members: list[_Member], name: str) -> bool:
    return len({member.fields.get(name) for member in members}) > 1


def _differences(members: list[_Member]) -> str:
    """Returns the differences as text, or an empty text if there are none."""
    found = []
    for name in members[0].fields:
        if _differ(members, name):
            found.append(f"{name} {_told(members, lambda member: _short(member.fields.get(name, 'none')))}")
            if name == "data":
                found += _file_differences(members)
    return "; ".join(found)


def _short(value: str) -> str:
    return f"{value[:12]}.." if len(value) == 32 else value


def _file_differences(members: list[_Member]) -> list[str]:
    """Compares the files by their positions in the lists, because a file may have different names on different ranks."""
    lists = {member.rank: [line.split("\t", 2) for line in member.files.splitlines()] for member in members}
    if not all(lists.values()):
        return []

    def describe(index: int, member: _Member) -> str:
        files = lists[member.rank]
        if index >= len(files):
            return "no such file"
        size, digest, name = files[index]
        contents = "unreadable" if int(size) == _UNREADABLE else f"of {int(size):,} bytes ({digest[:8]}..)"
        return f"{json.loads(name)} {contents}"

    n_files = max(map(len, lists.values()))
    other = [
        index
        for index in range(n_files)
        if len({tuple(files[index][:2]) if index < len(files) else () for files in lists.values()}) > 1
    ]
    told = [_told(members, partial(describe, index)) for index in other[:_N_FILES]]
    return [*told, *([f"and {len(other) - _N_FILES} more files"] if len(other) > _N_FILES else [])]

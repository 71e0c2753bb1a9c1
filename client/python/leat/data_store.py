"""The folder in which data that Python held is kept as files, each named by a digest of what it holds.

Files are written under a temporary name and linked to their own, so that one is whole or not there, and the first one stays:
its inode and its times are part of the token cache's key, and nothing changes them. Who uses a file holds a shared lock on it
for as long as the process lives; above `max_bytes` the least recently used that nobody has a lock on go (their atime, set
here, tells when).

`$XDG_CACHE_HOME/leat/data`, of this user alone; `$LEAT_DATA_SIZE` is its size at most ("50GiB" if it says nothing).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from .errors import DataError, Error, SpecError

log = logging.getLogger("leat")

FORMAT = b"leat data 1\0"  # another one where the same digest would name other bytes
DEFAULT_SIZE = "50GiB"
_TEMPORARY = ".writing-"
_TEMPORARY_NS = 60 * 10**9  # a younger one may be about to be locked
_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}

_leases: dict[str, int] = {}  # path → descriptor with a shared lock, until this process ends
_leases_lock = threading.Lock()


def _after_fork() -> None:
    global _leases_lock
    _leases_lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)


class Sink(Protocol):
    """Where a writer of data puts its bytes."""

    def write(self, data: bytes, /) -> int: ...


class Digester:
    """A sink that digests, and writes to a file if there is one, up to `max_bytes`."""

    closed = False  # pyarrow asks

    def __init__(self, file: BinaryIO | None = None, max_bytes: int = 0) -> None:
        self._hash = hashlib.blake2b(FORMAT, digest_size=16)
        self._file = file
        self._max_bytes = max_bytes
        self.n_bytes = 0

    def write(self, data: bytes, /) -> int:
        self._hash.update(data)
        size = memoryview(data).nbytes
        self.n_bytes += size
        if self._file:
            if self.n_bytes > self._max_bytes:
                raise DataError(
                    f"the data takes more than the {self._max_bytes:,} bytes that the folder of data may have: "
                    "take less of it, or set LEAT_DATA_SIZE"
                )
            with _keeping():
                self._file.write(data)
        return size

    def flush(self) -> None:
        pass

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def folder() -> str:
    """Where the files are."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "leat", "data")


def max_bytes() -> int:
    """How much the folder may hold. SpecError: $LEAT_DATA_SIZE is no size."""
    text = os.environ.get("LEAT_DATA_SIZE") or DEFAULT_SIZE
    match = re.fullmatch(r"\s*(\d{1,18})\s*([a-z]*)\s*", text.lower())
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        raise SpecError(f"LEAT_DATA_SIZE is {text!r}, which is no size such as 50GiB")
    return int(match[1]) * unit


def keep(suffix: str, write: Callable[[Sink], None], *, is_cheap: bool) -> str:
    """The path of a file that holds what `write` writes, which is held for the life of this process.

    is_cheap: `write` may be called twice, and is called for the digest alone first, so that what is there already is not
    written again; else it is called once. Errors: DataError if it is too large, Error if the folder cannot be written.
    """
    if is_cheap:
        digester = Digester()
        write(digester)
        path = os.path.join(folder(), digester.hexdigest() + suffix)
        with _keeping():
            if _lease(path):
                return path
    return _write(suffix, write)


@contextlib.contextmanager
def _keeping() -> Iterator[None]:
    """Around what is done with the folder, and not around what comes from the data, whose errors are not of here."""
    try:
        yield
    except OSError as error:
        code = -(error.errno or errno.EIO)
        raise Error(f"the data cannot be kept in {folder()}: {error.strerror or error}", code=code) from error


def _write(suffix: str, write: Callable[[Sink], None]) -> str:
    limit = max_bytes()
    temporary = os.path.join(folder(), f"{_TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}")
    began = time.monotonic()
    try:
        with _keeping():
            os.makedirs(folder(), mode=0o700, exist_ok=True)
            file = open(temporary, "xb", opener=_open_private)
        with _closing(file):
            digester = Digester(file, limit)
            with _keeping():
                fcntl.flock(file, fcntl.LOCK_EX)  # a temporary file without a lock is one of who was killed
            write(digester)
            with _keeping():
                file.flush()
                os.fsync(file.fileno())
        path = os.path.join(folder(), digester.hexdigest() + suffix)
        with _keeping():
            _publish(temporary, path)
    finally:
        _remove(temporary)
    log.info("kept %s bytes of data as %s in %.2f s", f"{digester.n_bytes:,}", path, time.monotonic() - began)
    _evict(limit)
    return path


@contextlib.contextmanager
def _closing(file: BinaryIO) -> Iterator[None]:
    """What could be written was flushed before; on a full disk close() tries again, and would hide why."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.close()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _publish(temporary: str, path: str) -> None:
    """Gives the file its name and takes a lease, unless there is one of that name; that one is as good."""
    for _ in range(100):
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        if _lease(path):
            return
    raise OSError(errno.EBUSY, "somebody removes what is written", path)


def _lease(path: str) -> bool:
    """Holds the file, if there is one, and notes that it was used."""
    with _leases_lock:
        if path in _leases and _is_same(_leases[path], path):
            fd = _leases[path]
        else:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return False
            fcntl.flock(fd, fcntl.LOCK_SH)
            if not _is_same(fd, path):  # it went between the two
                os.close(fd)
                return False
            if path in _leases:
                os.close(_leases[path])
            _leases[path] = fd
        status = os.fstat(fd)
        os.utime(path, ns=(time.time_ns(), status.st_mtime_ns))
        return True


def _is_same(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        pass


def _evict(limit: int) -> None:
    """Removes what nobody uses, the least recently used first, until what is left fits; and what killed writers left."""
    found = list(_files())
    found.sort(key=lambda item: item[0].st_atime_ns)
    total = sum(status.st_size for status, _, _ in found)
    young = time.time_ns() - _TEMPORARY_NS
    for status, path, name in found:
        is_left = name.startswith(_TEMPORARY)
        if (status.st_mtime_ns < young if is_left else total > limit) and _remove_unused(path):
            total -= status.st_size


def _files() -> Iterator[tuple[os.stat_result, str, str]]:
    with os.scandir(folder()) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process takes it out just now
                if entry.is_file(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False), entry.path, entry.name


def _remove_unused(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)

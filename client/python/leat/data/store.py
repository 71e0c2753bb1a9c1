"""The folder `$XDG_CACHE_HOME/leat/data`, which keeps data of Python programs as files. A file's name is a digest of its
content.

leat writes a file under a temporary name, and then links it to its final name. So a file under its final name is complete. If
the file already exists, leat keeps it unchanged, because its inode and times are part of the token cache's key. A process
locks each file that it uses (a shared lock), until the process ends. If the folder exceeds `max_bytes`, leat removes files
without a lock, the least recently used first. At each use, leat sets the atime of the file.

Only this user can read the folder. `$LEAT_DATA_SIZE` limits its size (default: 50GiB).
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

from ..errors import DataError, Error, SpecError

log = logging.getLogger("leat")

FORMAT = b"leat data 1\0"  # changes when the same data is written as other bytes
DEFAULT_SIZE = "50GiB"
_TEMPORARY = ".writing-"
_TEMPORARY_NS = 60 * 10**9  # a younger temporary file may be locked soon
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
    """Receives the bytes of a writer."""

    def write(self, data: bytes, /) -> int: ...


class Digester:
    """A sink that computes a digest of the bytes. If there is a file, it also writes up to `max_bytes` bytes to the file."""

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
                    f"the data is larger than {self._max_bytes:,} bytes, the limit for data that leat stores on disk: "
                    "use less data, or raise the limit with LEAT_DATA_SIZE"
                )
            with _keeping():
                self._file.write(data)
        return size

    def flush(self) -> None:
        pass

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def folder() -> str:
    """The path of the folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "leat", "data")


def max_bytes() -> int:
    """The size limit of the folder. Raises SpecError if $LEAT_DATA_SIZE is not a size."""
    text = os.environ.get("LEAT_DATA_SIZE") or DEFAULT_SIZE
    match = re.fullmatch(r"\s*(\d{1,18})\s*([a-z]*)\s*", text.lower())
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        raise SpecError(f"LEAT_DATA_SIZE is {text!r}, but it must be a size such as 50GiB")
    return int(match[1]) * unit


def keep(suffix: str, write: Callable[[Sink], None], *, is_cheap: bool) -> str:
    """Returns the path of a file with the bytes that `write` writes, and locks the file until this process ends.

    is_cheap means that `write` may be called twice. leat then first calls it for the digest, so that it does not write existing
    data again. Raises DataError if the data is too large, and Error if leat cannot write to the folder.
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
    """Turns an OSError of the folder into an Error. Do not read the data in this block, because an error in the data is not
    an error of the folder."""
    try:
        yield
    except OSError as error:
        code = -(error.errno or errno.EIO)
        raise Error(f"leat cannot store the data in {folder()}: {error.strerror or error}", code=code) from error


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
                fcntl.flock(file, fcntl.LOCK_EX)  # a temporary file without a lock was left by a killed process
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
    """Ignores errors of close(). On a full disk, close() tries to write again, and its error would hide the first error."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.close()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _publish(temporary: str, path: str) -> None:
    """Links the file to its final name, unless a file of this name exists, and locks the file."""
    for _ in range(100):
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        if _lease(path):
            return
    raise OSError(errno.EBUSY, "another program removes the files that leat writes", path)


def _lease(path: str) -> bool:
    """Locks the file and sets its atime. Returns False if there is no such file."""
    with _leases_lock:
        if path in _leases and _is_same(_leases[path], path):
            fd = _leases[path]
        else:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return False
            fcntl.flock(fd, fcntl.LOCK_SH)
            if not _is_same(fd, path):  # it was removed between the two calls
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
    """Removes unused files, the least recently used first, until the rest fits. Also removes temporary files of killed
    processes."""
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
            with contextlib.suppress(FileNotFoundError):  # another process removes it
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

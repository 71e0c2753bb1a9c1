"""The exceptions of leat.

The attributes of an error say where it happened: `file`, `line`, `column` (in bytes, from 1) and `path`, which is the place in
the configuration, such as "stages[5].shuffle.buffer_size". Unknown attributes are None. `str(error)` is
"file:line:column: path: message". Each class is also a subclass of one of Python's own exceptions.
"""

from __future__ import annotations

import errno
import functools
import re
from typing import Any


class Error(Exception):
    """The base of leat's exceptions. `code` is the negative errno of libleat, or 0."""

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.file = file
        self.line = line
        self.column = column
        self.path = path

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return ": ".join(part for part in (place, self.path, self.message) if part)

    def __reduce__(self) -> tuple[Any, ...]:
        place = {name: getattr(self, name) for name in ("code", "file", "line", "column", "path")}
        return functools.partial(type(self), self.message, **place), ()


class SpecError(Error, ValueError):
    """A pipeline, an argument or an option is wrong."""


class DataError(Error, ValueError):
    """The data does not fit the pipeline. `file` and `line` say where."""


class NotFoundError(Error, LookupError):
    """The stream, file or tensor does not exist. The message suggests the most similar name."""


class DaemonError(Error, ConnectionError):
    """No daemon answers, a lost daemon did not come back before the timeout, or the daemon's answer is malformed."""


class PermissionDeniedError(Error, PermissionError):
    """The daemon does not allow you to do this."""


class PositionError(Error, ValueError):
    """The position belongs to another stream, other data or another seed. The message says what differs."""


class AgreementError(Error, RuntimeError):
    """The ranks do not read the same data, or a rank did not report what it reads. The message names ranks, hosts and
    files."""


class HeldError(Error, BufferError):
    """You hold as many batches as the window allows. Release some, or delete the arrays that view them."""


class TimedOutError(Error, TimeoutError):
    """No batch or answer came in time. You may try again."""


class ForkedError(Error, RuntimeError):
    """A forked child used a stream, a batch or a device of its parent. Open a new stream in the child."""


_OF_CODE: dict[int, type[Error]] = {
    errno.EINVAL: SpecError,
    errno.E2BIG: SpecError,
    errno.ENOENT: NotFoundError,
    errno.ESTALE: PositionError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: ForkedError,
    errno.ENOBUFS: HeldError,
    errno.EBUSY: HeldError,
    errno.EAGAIN: TimedOutError,
    errno.ETIMEDOUT: TimedOutError,
    errno.EBADMSG: DataError,
    errno.EILSEQ: DataError,
    errno.ENODATA: DataError,
    errno.EROFS: PermissionDeniedError,
    errno.ECONNREFUSED: DaemonError,
    errno.ECONNRESET: DaemonError,
    errno.EPROTO: DaemonError,
    errno.EPROTONOSUPPORT: DaemonError,
    errno.ESHUTDOWN: DaemonError,
    errno.ENOTDIR: DaemonError,
    errno.ENAMETOOLONG: SpecError,
}
_WRONG_VALUES = frozenset((errno.EINVAL, errno.E2BIG, errno.ERANGE, errno.EOVERFLOW, errno.EFBIG))


def from_code(
    code: int, message: str, file: str | None, line: int | None, column: int | None, path: str | None
) -> Error:
    """Makes the exception for a negative errno of libleat. The C extension calls this function."""
    kind = _OF_CODE.get(-code, Error)
    return in_data(kind(message, code=code, file=file, line=line, column=column, path=path))


def in_data(error: Error) -> Error:
    """If a path of the pipeline does not name an existing file, moves the file's name from the message to `file`."""
    found = re.fullmatch(r"(.+): (No such file or directory|no file matches .*|the directory has no file.*)", error.message, re.DOTALL)
    if found and error.file is None and re.search(r"\bpaths\[\d+\]$", error.path or ""):
        error.file, error.message = found.groups()
    return error


def from_run(
    code: int, message: str, file: str | None, line: int | None, column: int | None, path: str | None
) -> Error:
    """Makes the exception for an error that ended a running stream. If a data file is faulty, this is a DataError."""
    kind = DataError if file and -code in _WRONG_VALUES else _OF_CODE.get(-code, Error)
    return kind(message, code=code, file=file, line=line, column=column, path=path)

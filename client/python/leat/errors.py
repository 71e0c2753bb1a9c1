"""What can go wrong, as exceptions.

Each carries where it happened: `file`, `line`, `column` (in bytes, from 1; None where unknown) and `path`, the place in the
configuration ("stages[5].shuffle.buffer_size"). `str(error)` has all of it, "file:line:column: path: message". The classes are
also those of Python's own that people catch for such things.
"""

from __future__ import annotations

import errno
import re
from typing import Any


class Error(Exception):
    """The root of what leat raises. `code` is the negative errno of libleat, 0 where there is none."""

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
        return _restore, (type(self), self.message, self.code, self.file, self.line, self.column, self.path)


class SpecError(Error, ValueError):
    """A pipeline, an argument or an option is not what it must be."""


class DataError(Error, ValueError):
    """The data is not what the pipeline takes it for; `file` and `line` say where."""


class NotFoundError(Error, LookupError):
    """No such stream, file or tensor; the message names the nearest."""


class DaemonError(Error, ConnectionError):
    """No daemon answers, it is gone for longer than it is waited for, or what it says makes no sense."""


class PermissionDeniedError(Error, PermissionError):
    """The daemon does not let this user do that."""


class PositionError(Error, ValueError):
    """The stream is not the one of which a position was taken; the message says in what they differ."""


class HeldError(Error, BufferError):
    """Every batch that may be held at once is held: release some, or let go of the arrays that look into them."""


class TimedOutError(Error, TimeoutError):
    """Nothing came in time."""


class ForkedError(Error, RuntimeError):
    """A forked child used what its parent opened. Open it anew in the child."""


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
    """The exception for a negative errno of libleat; the extension calls it wherever it fails."""
    kind = _OF_CODE.get(-code, Error)
    return in_data(kind(message, code=code, file=file, line=line, column=column, path=path))


def in_data(error: Error) -> Error:
    """With the file of the data for its `file`, where a pipeline is in no file itself and one of its paths leads nowhere."""
    found = re.fullmatch(r"(.+): (No such file or directory|no file matches|holds no file.*)", error.message, re.DOTALL)
    if found and error.file is None and re.search(r"\bpaths\[\d+\]$", error.path or ""):
        error.file, error.message = found.groups()
    return error


def from_run(
    code: int, message: str, file: str | None, line: int | None, column: int | None, path: str | None
) -> Error:
    """The same for what ended a stream that ran: whatever is wrong with a file there is the data."""
    kind = DataError if file and -code in _WRONG_VALUES else _OF_CODE.get(-code, Error)
    return kind(message, code=code, file=file, line=line, column=column, path=path)


def _restore(
    kind: type[Error], message: str, code: int, file: str | None, line: int | None, column: int | None, path: str | None
) -> Error:
    return kind(message, code=code, file=file, line=line, column=column, path=path)

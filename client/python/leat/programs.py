"""Finds and runs leat's programs: leatd, which makes batches, and leatctl.

leat looks for them in the folder $LEAT_BIN, in the package (if it came as a wheel), beside the package (in a build tree), and on the PATH.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from .errors import DaemonError, Error, NotFoundError, SpecError, from_code

_USAGE = 2  # leatctl's exit status for a wrong command line
_INTERRUPTIBLE_S = 0.5  # interrupts of Ray's are seen between two waits
_STOP_TIMEOUT_S = 5.0
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _folders() -> Iterator[str]:
    given = os.environ.get("LEAT_BIN")
    if given:
        yield given
    yield os.path.join(_PACKAGE, "bin")
    yield os.path.normpath(os.path.join(_PACKAGE, "..", "..", "bin"))


def find(name: str) -> str:
    """Returns the path of the program "leatd" or "leatctl". Raises NotFoundError if leat does not find it."""
    for folder in _folders():
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    path_of = shutil.which(name)
    if path_of:
        return path_of
    raise NotFoundError(
        f"leat did not find {name} in {', '.join(_folders())} or on the PATH: install leat's wheel, or build leat and set "
        "LEAT_BIN to the folder of its programs"
    )


def _error_in(output: str) -> dict[str, Any] | None:
    try:
        found = json.loads(output)["error"]
    except (ValueError, TypeError, KeyError):
        return None
    return found if isinstance(found, dict) else None


def _raise_error(arguments: Sequence[str], output: str, complaint: str, kind: type[Error] = DaemonError) -> None:
    """Raises the error that `leatctl ... --json` printed. If it printed none, raises an error with its last message."""
    error = _error_in(output) or _error_in(complaint)
    if error is None:
        name = f"leatctl {arguments[0]}: "
        words = complaint.strip().removeprefix(name) or output.strip() or "failed, and gave no reason"
        raise kind(name + words)
    place = (error[name] or None for name in ("file", "line", "column", "path"))
    raise from_code(error["code"], error["message"], *place)


def leatctl(*arguments: str, keep: int | None = None) -> str:
    """Runs leatctl and returns its output, or raises its error. With --json among the arguments, the error has a file and a
    line. keep: a file descriptor that leatctl inherits.
    """
    command = [find("leatctl"), *arguments]
    kept = () if keep is None else (keep,)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", pass_fds=kept
    ) as process:
        output, complaint = _communicate(process)
    if process.returncode != 0:
        _raise_error(arguments, output, complaint, SpecError if process.returncode == _USAGE else DaemonError)
    return output


def _communicate(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Waits for the process. An exception here, such as Ctrl-C, ends the process, which first removes its incomplete files."""
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=_INTERRUPTIBLE_S)
    except BaseException:
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
        raise

"""Finds and runs leat's programs: leatd, which makes batches, and leatctl.

They are searched in the folder $LEAT_BIN, in the package (of a wheel), beside the package of a build tree, and on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

from .errors import DaemonError, Error, NotFoundError, SpecError, from_code

_USAGE = 2  # leatctl's exit status for a wrong command line
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def _folders() -> Iterator[str]:
    given = os.environ.get("LEAT_BIN")
    if given:
        yield given
    yield os.path.join(_PACKAGE, "bin")
    yield os.path.normpath(os.path.join(_PACKAGE, "..", "..", "bin"))


def find(name: str) -> str:
    """The path of "leatd" or "leatctl". NotFoundError: there is none."""
    for folder in _folders():
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    path_of = shutil.which(name)
    if path_of:
        return path_of
    raise NotFoundError(
        f"there is no {name} in {', '.join(_folders())} or on the PATH: install leat's wheel, which brings it along, or build "
        "leat and name the folder of its programs in LEAT_BIN"
    )


def _error_in(output: str) -> dict[str, Any] | None:
    try:
        found = json.loads(output)["error"]
    except (ValueError, TypeError, KeyError):
        return None
    return found if isinstance(found, dict) else None


def _raise_error(arguments: Sequence[str], output: str, complaint: str, kind: type[Error] = DaemonError) -> None:
    """Raises the error that `leatctl ... --json` printed, else its last message."""
    error = _error_in(output) or _error_in(complaint)
    if error is None:
        name = f"leatctl {arguments[0]}: "
        words = complaint.strip().removeprefix(name) or output.strip() or "failed without a word"
        raise kind(name + words)
    place = (error[name] or None for name in ("file", "line", "column", "path"))
    raise from_code(error["code"], error["message"], *place)


def leatctl(*arguments: str, keep: int | None = None) -> str:
    """Runs leatctl and returns its output. Its error is raised; with --json among the arguments it has a place. keep: a
    descriptor that leatctl inherits.
    """
    command = [find("leatctl"), *arguments]
    kept = () if keep is None else (keep,)
    done = subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, text=True, encoding="utf-8", pass_fds=kept
    )
    if done.returncode != 0:
        _raise_error(arguments, done.stdout, done.stderr, SpecError if done.returncode == _USAGE else DaemonError)
    return done.stdout

"""The commands `leatd` and `leatctl` that pip puts on the PATH. Each replaces itself with the program of its name in
leat/bin."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_BIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def _become(name: str) -> NoReturn:
    path = os.path.join(_BIN, name)
    os.execv(path, [path, *sys.argv[1:]])


def leatd() -> NoReturn:
    _become("leatd")


def leatctl() -> NoReturn:
    _become("leatctl")

"""The progress bar of an epoch.

leat shows a bar if the program asks for it (`progress=True`), or if LEAT_PROGRESS is 1. It shows a bar only in a terminal
(stderr) or in a notebook. LEAT_PROGRESS=0 hides all bars. Of several ranks, only the first one shows a bar. The bar is tqdm's
or, if tqdm is not installed, a line of text.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

from .errors import SpecError

if TYPE_CHECKING:
    from .batch import Batch
    from .stream import Stream

VARIABLE = "LEAT_PROGRESS"
_REDRAW_S = 0.1  # as tqdm


class Bar(Protocol):
    def update(self, n: int = 1) -> Any:
        """Adds n batches."""

    def close(self) -> None:
        """Ends the bar. It stays on the screen."""


def is_wanted(asked: bool | None, rank: int = 0) -> bool:
    """True if this rank shows a bar. asked: the value of `progress` that the program gave, or None."""
    said = os.environ.get(VARIABLE, "")
    if said not in ("", "0", "1"):
        raise SpecError(f"the environment variable {VARIABLE} is {said!r}, but it must be 0 or 1")
    is_asked = said == "1" if asked is None else asked and said != "0"
    return is_asked and rank == 0 and _is_looked_at()


def _is_looked_at() -> bool:
    try:
        return _is_notebook() or sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is no stderr, or it is closed
        return False


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


def begin(stream: Stream, batch: Batch) -> Bar:
    """Creates the bar for the epoch that begins or continues with this batch."""
    done = batch.step // stream.world_size
    total = None if stream.known_steps is None else len(stream)
    name = f"{stream.name} epoch {batch.epoch}"
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return _Line(name, done, total)
    bar: Bar = tqdm(total=total, initial=done, desc=name, unit="batch")
    return bar


class _Line:
    """A bar as a line of text. Each update overwrites the line."""

    def __init__(self, name: str, done: int, total: int | None) -> None:
        self._name, self._done, self._total = name, done, total
        self._first = done
        self._start = self._shown = time.monotonic()
        self._show(self._start)

    def update(self, n: int = 1) -> None:
        self._done += n
        now = time.monotonic()
        if now - self._shown >= _REDRAW_S:
            self._show(now)

    def close(self) -> None:
        self._show(time.monotonic())
        sys.stderr.write("\n")
        sys.stderr.flush()

    def _show(self, now: float) -> None:
        self._shown = now
        of = "" if self._total is None else f" of {self._total:,} ({100 * self._done // max(1, self._total)} %)"
        took = now - self._start
        speed = f", {(self._done - self._first) / took:,.1f} batches/s" if took > 0 else ""
        sys.stderr.write(f"\r{self._name}: {self._done:,}{of}{speed}\x1b[K")
        sys.stderr.flush()

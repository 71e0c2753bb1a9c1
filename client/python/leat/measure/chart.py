"""Draws bytes over time, with matplotlib or as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .sizing import GIB, format_memory_size
from .table import seconds

_BLOCKS = " ▁▂▃▄▅▆▇█"


class Chart(str):
    """A str that notebooks and the interpreter print without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def figure(times: Sequence[float], lines: Mapping[str, Sequence[int]], faint: Mapping[str, Sequence[int]]) -> Any:
    """Returns a matplotlib Figure in GiB (2^30 bytes) over seconds, with the lines `faint` on a second axis below. You need not
    close the figure, because pyplot does not know it. Returns None if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    picture = Figure(figsize=(9, 5), layout="constrained")
    upper, lower = picture.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for axes, group in ((upper, lines), (lower, faint)):
        for name, values in group.items():
            axes.plot(times, [value / GIB for value in values], label=name)
        axes.set_ylabel("GiB")
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")
    lower.set_xlabel("seconds")
    return picture


def draw(times: Sequence[float], values: Sequence[int], *, title: str, width: int = 72, height: int = 10) -> Chart:
    """Returns a chart of `width` columns. Each column shows the maximum of the values in its part of the time."""
    if not values:
        return Chart(f"{title}: there are no samples")
    most = max(values) or 1
    columns = _columns(times, values, width)
    rows = []
    for row in range(height, 0, -1):
        label = format_memory_size(most * row / height, binary=True) if row in (height, (height + 1) // 2) else ""
        rows.append(f"{label:>9} |" + "".join(_cell(value / most * height - (row - 1)) for value in columns))
    foot = f"{'0':>9} +" + "-" * width
    ends = " " * 11 + "0 s" + seconds(times[-1]).rjust(width - 3)
    return Chart("\n".join((f"{title}, peak {format_memory_size(most, binary=True)}", *rows, foot, ends)))


def _cell(fill: float) -> str:
    return _BLOCKS[round(max(0.0, min(1.0, fill)) * (len(_BLOCKS) - 1))]


def _columns(times: Sequence[float], values: Sequence[int], width: int) -> list[int]:
    """Returns the maximum of the values in each column. A column without a sample repeats the column before it."""
    columns: list[int] = [-1] * width
    span = times[-1] - times[0] or 1.0
    for at, value in zip(times, values):
        column = min(width - 1, int((at - times[0]) / span * width))
        columns[column] = max(columns[column], value)
    last = values[0]
    for i, value in enumerate(columns):
        last = columns[i] = value if value >= 0 else last
    return columns

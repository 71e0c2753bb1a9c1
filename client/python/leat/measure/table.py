"""Tables of text: a column of words, then columns of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "-"


def table(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    """Lays out `rows` under `head`. The first column is flush left, the others are flush right. None becomes "-"."""
    lines = [[NONE if cell is None else str(cell) for cell in row] for row in ([head] if head else []) + list(rows)]
    n_columns = max((len(line) for line in lines), default=0)
    lines = [line + [""] * (n_columns - len(line)) for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(n_columns)]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    words = [cells[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
    return "  ".join(words).rstrip()


def figure(value: float | None) -> str:
    """Formats a number: as a whole number above 100, otherwise with three significant digits."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percent(share: float | None) -> str:
    """Formats a fraction as "12.3 %"."""
    return NONE if share is None else f"{100 * share:.1f} %"


def seconds(value: float | None) -> str:
    """Formats a time in a suitable unit: "1.23 s", "45.6 ms", "789 us"."""
    if value is None:
        return NONE
    for limit, factor, unit in ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "us")):
        if abs(value) >= limit:
            return f"{figure(value * factor)} {unit}"
    return NONE

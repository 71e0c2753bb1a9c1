"""A pipeline as a notebook shows it: its stages, the tensors of a batch, the first records, and a picture of how it runs.

Names and values come from the data, so all text is escaped. The picture is an image, in which no script runs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pipeline import Pipeline

_N_ROWS, _N_SHOWN = 3, 100  # records, and characters of a value


def html(pipeline: Pipeline) -> str:
    """The view. If the pipeline or its data is wrong, the view shows the error."""
    source, stages = pipeline.spec["source"], pipeline.stages
    parts = [_table(("stage", "arguments"), [(kind, _short(dict(given))) for kind, given in (source, *stages)])]
    try:
        plan = json.loads(pipeline.explain("json", measure=False))
        tensors = [(each["name"], each["dtype"], _short(each["shape"])) for each in plan["tensors"]]
        parts.append(_table(("tensor", "dtype", "shape (-1 varies)"), tensors))
        rows = pipeline.head(_N_ROWS)
        names = list(dict.fromkeys(name for row in rows for name in row))
        parts.append(_table(names, [[_short(row.get(name)) for name in names] for row in rows]))
        picture = base64.b64encode(pipeline.explain("svg", measure=False).encode()).decode()
        parts.append(f'<img alt="the plan" src="data:image/svg+xml;base64,{picture}">')
    except Exception as error:  # a notebook shows a view that raises as nothing at all
        parts.append(f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>")
    return "\n".join(parts)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _N_SHOWN else text[:_N_SHOWN] + " .."


def _table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in line) for tag, line in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"

"""Reads data sets of Hugging Face's library `datasets`.

If the rows are in Arrow files in the cache of `datasets`, leat reads these files directly. The attribute `cache_files` alone
does not prove this: for a slice of a file, or for renamed columns, it still names the whole file. So leat compares: each block
of the table must be one memory-mapped file with the same number of rows and the same types, without an indices mapping. The
table may have fewer columns than the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import columns as kinds
from . import held
from .columns import Column
from ..errors import SpecError
from .held import N_BATCH_ROWS, Held, Rows, Tables

# Harmless changes of a mapped table. A slice shows in the number of rows.
_HARMLESS = {"slice", "drop", "remove_column", "select", "replace_schema_metadata"}
_MEDIA = {"Image", "Audio", "Video", "Pdf", "Nifti"}


def recognise(data: Any) -> Held | None:
    """Takes a Dataset or IterableDataset. Returns None for anything else. Raises SpecError for a dict of several data sets."""
    name = type(data).__name__
    if name in ("DatasetDict", "IterableDatasetDict"):
        splits = ", ".join(map(repr, data))
        first = next(iter(data), "train")
        raise SpecError(f"a {name} holds several data sets, {splits}: pass one of them, for example data[{first!r}]")
    if name == "IterableDataset" or hasattr(data, "_ex_iterable"):
        return _of_iterable(data)
    if not hasattr(data, "with_format") or not hasattr(data, "features"):
        return None
    return _of_custom(data) if data.format["type"] == "custom" else _of_dataset(data)


def _of_dataset(data: Any) -> Tables:
    names = list(data.format["columns"] or data.column_names)
    described = _described(data.features, data.features.arrow_schema)

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        view = data.with_format("arrow", columns=list(wanted))
        for start in range(0, len(data), N_BATCH_ROWS):
            yield view[start : start + N_BATCH_ROWS].select(list(wanted))

    return Tables({name: described[name] for name in names}, len(data), read, _mapped_files(data))


def _described(features: Mapping[str, Any], schema: Any) -> dict[str, Column]:
    found = kinds.of_arrow_schema(schema)
    for name, feature in features.items():
        if type(feature).__name__ == "ClassLabel":
            found[name] = replace(found[name], classes=tuple(feature.names or ()), is_coded=True)
        if type(feature).__name__ in _MEDIA:
            found[name] = Column(name, "", f"{type(feature).__name__.lower()} files")
    return found


def _mapped_files(data: Any) -> tuple[str, ...]:
    """Returns the Arrow files whose rows are exactly those of the data set, in order. In case of doubt, it returns none."""
    if data._indices is not None:
        return ()
    table = data.data
    rows = getattr(table, "blocks", None) or [[table]]
    if any(len(row) != 1 or not _is_whole(row[0]) for row in rows):
        return ()
    if not all(_holds_the_same(row[0], table.schema) for row in rows):
        return ()
    return tuple(held.absolute(row[0].path) for row in rows)


def _is_whole(block: Any) -> bool:
    """True if the block is a whole file. A single cast is harmless, too: if the cast changed a type, _holds_the_same() notices
    this."""
    done = [replay[0] for replay in getattr(block, "replays", [("?",)])]
    return hasattr(block, "path") and done.count("cast") <= 1 and set(done) <= _HARMLESS | {"cast"}


def _holds_the_same(block: Any, schema: Any) -> bool:
    """True if the file has the same number of rows as the block, and all columns of the table with the same types."""
    types = held.arrow_types(block.path)
    return held.arrow_rows(block.path) == block.num_rows and all(types.get(field.name) == field.type for field in schema)


def _of_custom(data: Any) -> Rows:
    """leat calls the user's function (`set_transform`) once for each row."""
    first = [data[at] for at in range(min(len(data), N_BATCH_ROWS))]

    def read() -> Iterator[Mapping[str, Any]]:
        return itertools.chain(first, data.select(range(len(first), len(data))) if len(data) > len(first) else ())

    return Rows(kinds.of_rows(first), len(data), read)


def _of_iterable(data: Any) -> Tables | Rows:
    """Reads the rows only once and keeps them, because they may come from the network."""
    from . import recognise as recogniser

    if data.features is None:
        return recogniser._of_iterable(data)
    described = _described(data.features, data.features.arrow_schema)

    def read(wanted: Sequence[str]) -> Iterator[Any]:
        view = data.select_columns(list(wanted)).with_format("arrow")
        return (table.select(list(wanted)) for table in view.iter(batch_size=N_BATCH_ROWS))

    return Tables(described, None, read, is_cheap=False)

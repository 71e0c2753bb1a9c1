"""The three forms of data. Each has columns, a number of rows, and a method that makes files for leat.

`Files` are files that leat reads as they are. `Tables` are Arrow data: pandas, polars, pyarrow, Parquet, data sets of Hugging
Face. `Rows` are Python objects: lists of dicts, data sets of PyTorch, generators. leat writes tables and rows to a file: an
Arrow stream, or JSON Lines if pyarrow is not installed. It always writes batches of 1,000 rows, whatever the sizes of the
input's chunks.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from . import columns as kinds
from . import store
from .columns import Column
from .store import Sink
from ..errors import DataError, Error, SpecError

if TYPE_CHECKING:
    from ..pipeline import Pipeline

N_BATCH_ROWS = 1000


@dataclass(frozen=True)
class Files:
    """Files that a source of leat reads: the name of the source, and its arguments without `paths`.

    columns is None until recognise.find_columns() finds them. n_rows is None if it is not known.
    """

    source: str
    paths: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Column] | None = None
    n_rows: int | None = None

    def with_json(self, names: Sequence[str] | None, json: Sequence[str]) -> Files:
        """Returns the same files with the fields `json` as JSON text, whatever they hold, beside the fields `names`."""
        if not json or self.source != "jsonl":
            return self
        if self.columns is None and names is None:
            raise SpecError("with json=, also give the other columns that you want: columns=[..]")
        wanted = [name for name in (self.columns or {} if names is None else names) if name not in json]
        types = {name: self.columns[name].kind if self.columns else "text" for name in wanted} | dict.fromkeys(json, "json")
        return replace(self, arguments={**self.arguments, "fields": types})

    @property
    def is_untyped(self) -> bool:
        """True if all columns are read as texts, even columns of numbers."""
        return self.source == "csv"

    def pipeline(self) -> Pipeline:
        """Returns a pipeline with only the source."""
        from .. import pipeline

        return pipeline.source(self.source, paths=list(self.paths), **self.arguments)


@dataclass(frozen=True)
class Tables:
    """Rows of Arrow data.

    read(names): yields pyarrow tables of up to 1,000 rows. files: the Arrow files that hold exactly these rows, or none.
    is_cheap: True if read() may be called twice.
    """

    columns: Mapping[str, Column]
    n_rows: int | None
    read: Callable[[Sequence[str]], Iterator[Any]]
    files: tuple[str, ...] = ()
    is_cheap: bool = True

    def keep(self, names: Iterable[str], forms: Mapping[str, str] | None = None) -> Files:
        wanted = kinds.wanted(self.columns, names, forms)
        described = {column.name: column for column in wanted}
        if self.files and not any(column.is_converted for column in wanted):
            return Files("arrow", self.files, {"fields": _fields(wanted)}, described, self.n_rows)
        writer = _ArrowWriter(wanted)

        def write(sink: Sink) -> None:
            writer.write(sink, self._arrays(wanted))

        path = store.keep(".arrow", write, is_cheap=self.is_cheap)
        return Files("arrow", (path,), {}, described, self.n_rows if self.n_rows is not None else writer.n_rows)

    def _arrays(self, wanted: Sequence[Column]) -> Iterator[list[Any]]:
        row = 0
        for table in self.read([column.name for column in wanted]):
            yield [kinds.arrow_array(column, _one_array(table.column(at)), row) for at, column in enumerate(wanted)]
            row += table.num_rows


def _one_array(chunked: Any) -> Any:
    if not hasattr(chunked, "num_chunks"):
        return chunked
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


@dataclass(frozen=True)
class Rows:
    """Rows of Python. read() yields them from the first one on; it may be called twice if `is_cheap`."""

    columns: Mapping[str, Column]
    n_rows: int | None
    read: Callable[[], Iterator[Mapping[str, Any]]]
    is_cheap: bool = False

    def keep(self, names: Iterable[str], forms: Mapping[str, str] | None = None) -> Files:
        wanted = kinds.wanted(self.columns, names, forms)
        writer = _ArrowWriter(wanted) if has_pyarrow() else _JsonWriter(wanted)

        def write(sink: Sink) -> None:
            writer.write(sink, self._values(wanted))

        path = store.keep(writer.suffix, write, is_cheap=self.is_cheap)
        return Files(writer.source, (path,), writer.arguments, {column.name: column for column in wanted}, writer.n_rows)

    def _values(self, wanted: Sequence[Column]) -> Iterator[list[list[Any]]]:
        for first, rows in in_pieces(self.read()):
            yield [kinds.python_values(column, [row.get(column.name) for row in rows], first) for column in wanted]


Held = Files | Tables | Rows


def has_pyarrow() -> bool:
    return importable("pyarrow")


def importable(name: str) -> bool:
    """True if this package is installed. Does not import the package."""
    return importlib.util.find_spec(name) is not None


def in_pieces(rows: Iterator[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yields pairs: the number of the first row, and a list of up to 1,000 rows."""
    piece: list[Any] = []
    first = 0
    for row in rows:
        piece.append(row)
        if len(piece) == N_BATCH_ROWS:
            yield first, piece
            first += len(piece)
            piece = []
    if piece:
        yield first, piece


class _ArrowWriter:
    """Writes columns as an Arrow IPC stream."""

    suffix, source = ".arrow", "arrow"

    def __init__(self, wanted: Sequence[Column]) -> None:
        self._wanted = wanted
        self.arguments: dict[str, Any] = {}
        self.n_rows = 0

    def write(self, sink: Sink, pieces: Iterable[Sequence[Any]]) -> None:
        """pieces: the columns' values of each batch, as pyarrow arrays or lists."""
        import pyarrow as pa  # type: ignore[import-untyped]

        types = [kinds.arrow_type(column.kind) for column in self._wanted]
        schema = pa.schema([(column.name, kind) for column, kind in zip(self._wanted, types)])
        self.n_rows = 0
        with pa.ipc.new_stream(sink, schema) as stream:
            for values in pieces:
                arrays = [item if isinstance(item, pa.Array) else pa.array(item, kind) for item, kind in zip(values, types)]
                batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
                stream.write_batch(batch)
                self.n_rows += batch.num_rows


class _JsonWriter:
    """Writes columns as JSON Lines. The source gets the types of the columns as its argument `fields`."""

    suffix, source = ".jsonl", "jsonl"

    def __init__(self, wanted: Sequence[Column]) -> None:
        self._names = [column.name for column in wanted]
        written = [replace(column, kind="text") if column.kind == "json" else column for column in wanted]
        self.arguments = {"fields": _fields(written)}
        self.n_rows = 0

    def write(self, sink: Sink, pieces: Iterable[Sequence[Any]]) -> None:
        self.n_rows = 0
        for values in pieces:
            lines = [self._line(row) for row in zip(*values)]
            sink.write("".join(lines).encode())
            self.n_rows += len(lines)

    def _line(self, row: Sequence[Any]) -> str:
        known = {name: value for name, value in zip(self._names, row) if value is not None and value == value}
        try:
            return json.dumps(known, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        except ValueError as error:
            raise DataError(f"JSON cannot hold this number ({error}): install pyarrow, or remove the number") from error


def _fields(wanted: Iterable[Column]) -> dict[str, str]:
    """The argument `fields` of a source for these columns. Escapes dots in names, because a dot without an escape separates
    the parts of a path."""
    found = {}
    for column in wanted:
        path = column.name.replace("\\", "\\\\").replace(".", "\\.")
        found[column.name] = column.kind if path == column.name else f"{path} {column.kind}"
    return found


# ---- Arrow's own ----


def of_table(table: Any, columns: Mapping[str, Column] | None = None) -> Tables:
    """Makes Tables from a pyarrow.Table, a RecordBatch, or an object with `__arrow_c_stream__`."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    elif not isinstance(table, pa.Table):
        table = pa.RecordBatchReader.from_stream(table).read_all()
    table = table.unify_dictionaries()

    def read(names: Sequence[str]) -> Iterator[Any]:
        chosen = table.select(list(names))
        for start in range(0, chosen.num_rows, N_BATCH_ROWS):
            yield chosen.slice(start, N_BATCH_ROWS)

    found = kinds.of_arrow_schema(table.schema)
    for name, column in found.items():
        found[name] = _with_classes(column, table.column(name))
    return Tables({**found, **(columns or {})}, table.num_rows, read)


def _with_classes(column: Column, values: Any) -> Column:
    """Adds the names of the classes to a dictionary-encoded column of texts, if all chunks have the same dictionary."""
    import pyarrow.types as types  # type: ignore[import-untyped]

    if not types.is_dictionary(values.type) or not column.is_text or not values.num_chunks:
        return column
    first = values.chunk(0).dictionary
    if not all(chunk.dictionary.equals(first) for chunk in values.chunks[1:]):
        return column
    return replace(column, classes=tuple(str(name) for name in first.to_pylist()))


def of_parquet(paths: Sequence[str]) -> Tables:
    """Parquet files with the same columns, one after the other."""
    import pyarrow as pa
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    try:
        files = [parquet.ParquetFile(path, memory_map=True) for path in paths]
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"this is not a readable Parquet file: {error}", file=", ".join(paths)) from error
    schema = files[0].schema_arrow
    for path, file in zip(paths, files):
        if not file.schema_arrow.equals(schema):
            raise DataError("the columns differ from those of the first file", file=path)

    def read(names: Sequence[str]) -> Iterator[Any]:
        for file in files:
            for batch in file.iter_batches(batch_size=N_BATCH_ROWS, columns=list(names)):
                yield batch.select(list(names))

    return Tables(kinds.of_arrow_schema(schema), sum(file.metadata.num_rows for file in files), read)


def of_arrow(paths: Sequence[str]) -> Tables:
    """Arrow files and streams with the same columns, one after the other. leat reads them as they are if it can."""
    import pyarrow as pa

    try:
        schemas = [_read_arrow(path, lambda reader: reader.schema) for path in paths]
        n_rows = sum(map(arrow_rows, paths))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"this is not a readable Arrow file: {error}", file=", ".join(paths)) from error
    for path, schema in zip(paths, schemas):
        if not schema.equals(schemas[0]):
            raise DataError("the columns differ from those of the first file", file=path)

    def read(names: Sequence[str]) -> Iterator[Any]:
        for path in paths:
            with pa.memory_map(path) as source:
                for batch in _batches(_arrow_reader(source)):
                    for start in range(0, batch.num_rows, N_BATCH_ROWS):
                        yield batch.select(list(names)).slice(start, N_BATCH_ROWS)

    return Tables(kinds.of_arrow_schema(schemas[0]), n_rows, read, tuple(paths))


def arrow_rows(path: str) -> int:
    """Counts the rows of an Arrow file or stream. Reads only the headers of its batches."""
    return int(_read_arrow(path, lambda reader: sum(batch.num_rows for batch in _batches(reader))))


def arrow_types(path: str) -> dict[str, Any]:
    """The column types of an Arrow file or stream."""
    return {field.name: field.type for field in _read_arrow(path, lambda reader: reader.schema)}


def _read_arrow(path: str, ask: Callable[[Any], Any]) -> Any:
    import pyarrow as pa

    with pa.memory_map(path) as source:
        return ask(_arrow_reader(source))


def _arrow_reader(source: Any) -> Any:
    import pyarrow as pa

    is_file = source.read(6) == b"ARROW1"
    source.seek(0)
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def _batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "num_record_batches"):
        return iter(reader)
    return (reader.get_batch(at) for at in range(reader.num_record_batches))


def require_pyarrow(what: str) -> None:
    if not has_pyarrow():
        raise Error(f"{what} needs pyarrow, which is not installed: pip install pyarrow")


def absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(os.path.expanduser(os.fspath(path)))

"""Recognises the data that your program holds, and makes the source of a pipeline from it.

leat recognises an object by its class and by the module of this class. This needs no imports, because a program that holds a
data frame has imported its library. leat reads files as they are. It also reads files in the cache of `datasets` as they are,
unless an indices mapping, a cast or a function changes their rows. leat writes other data to a file once, below
`$XDG_CACHE_HOME/leat/data`. The name of the file is a digest of its content, so the next epoch and the next process find the
file again.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import DataError, NotFoundError, SpecError
from . import columns as kinds
from . import held, hugging_face
from .columns import Column
from .held import Files, Held, Rows

if TYPE_CHECKING:
    from ..pipeline import Pipeline

# Sources by the suffix of a file, without the suffix of a compression.
_SOURCES = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".txt": "text", ".text": "text", ".md": "text",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".parquet": "parquet", ".pq": "parquet",
}
_COMPRESSED = (".gz", ".zst", ".lz4", ".bz2", ".xz")
N_SAMPLE_ROWS = 100
_GLOB = ("*", "?", "[", "{")


def as_source(data: Any, columns: Sequence[str] | None = None, *, json: Sequence[str] = ()) -> Pipeline:
    """Makes a pipeline that reads `data`. The pipeline has only a source.

    data: a data set of Hugging Face or PyTorch, a pandas or polars data frame, a pyarrow table, a list of dicts or of texts, a
        dict of lists, an iterable of rows, or paths of CSV, JSONL, text, Arrow and Parquet files.
    columns: the columns to read, in this order (default: all columns). It is an error if leat cannot read one of them.
    json: columns whose values become JSON text, even if they are nested. The stage `chat` expects its `messages` in this form.
    Raises SpecError if leat does not know the type of the data, or if a column does not exist. Raises DataError if values do
    not fit, or if the data is too large.
    """
    return keep(recognise(data), columns, {name: "json" for name in json}).pipeline()


def find_columns(thing: Held) -> Held:
    """Finds the columns of files by their first 100 records. A CSV field that looks like a number counts as a number."""
    if not isinstance(thing, Files) or thing.columns is not None:
        return thing
    rows = thing.pipeline().head(N_SAMPLE_ROWS)
    columns = kinds.of_spelled(rows) if thing.is_untyped else kinds.of_rows(rows)
    if not columns:
        raise DataError("the data has no record, so leat cannot find its columns", file=", ".join(thing.paths))
    return replace(thing, columns={name: column if column.kind else Column(name, "text") for name, column in columns.items()})


def require_rows(thing: Held) -> None:
    """Raises DataError if there are no rows."""
    if thing.n_rows == 0 or (thing.n_rows is None and thing.columns == {}):
        raise DataError("the data has no rows")


def keep(thing: Held, names: Sequence[str] | None = None, forms: Mapping[str, str] | None = None) -> Files:
    """Makes files with these columns."""
    if isinstance(thing, Files):
        return thing.with_json(names, [name for name, form in (forms or {}).items() if form == "json"])
    return thing.keep([*thing.columns, *(forms or {})] if names is None else [*names, *(forms or {})], forms)


def recognise(data: Any) -> Held:
    """Recognises data. It reads only as much of the data as it needs to find the columns."""
    if isinstance(data, (Files, held.Tables, Rows)):
        return data
    if isinstance(data, (str, os.PathLike)):
        return _of_paths([data])
    for origin, of_origin in _ORIGINS:
        if _comes_from(data, origin):
            found = of_origin(data)
            if found is not None:
                return found
    if hasattr(data, "__arrow_c_stream__"):
        held.require_pyarrow(f"a {type(data).__qualname__}")
        return held.of_table(data)
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if isinstance(data, Sequence) and not isinstance(data, (bytes, bytearray, memoryview)):
        return _of_paths(data) if _are_paths(data) else _of_sequence(data)
    if isinstance(data, (bytes, bytearray, memoryview)):
        raise _unknown(data)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        return _of_indexed(data)
    if isinstance(data, Iterable):
        return _of_iterable(data)
    raise _unknown(data)


def _unknown(data: Any) -> SpecError:
    known = "a data set, a data frame, a list of dicts, or paths"
    return SpecError(f"leat cannot read data of the type {_type_name(data)}: give {known}")


def _comes_from(data: Any, origin: str) -> bool:
    return any(kind.__module__.partition(".")[0] == origin for kind in type(data).__mro__)


def _type_name(data: Any) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}"


# ---- data frames ----


def _of_pandas(data: Any) -> Held | None:
    if type(data).__name__ == "Series":
        data = data.to_frame(data.name if data.name is not None else "text")
    if type(data).__name__ != "DataFrame":
        return None
    names = [str(name) for name in data.columns]
    if len(set(names)) < len(names):
        same = ", ".join(sorted({name for name in names if names.count(name) > 1}))
        raise DataError(f"several columns of the data frame have the same name, {same}: rename them")
    if not held.has_pyarrow():
        return _of_columns({name: _values_of(data.iloc[:, at]) for at, name in enumerate(names)})
    import pyarrow as pa  # type: ignore[import-untyped]

    arrays, refused = {}, {}
    for at, name in enumerate(names):
        try:
            arrays[name] = pa.chunked_array(_chunks(pa.Array.from_pandas(data.iloc[:, at])))
        except (pa.ArrowException, TypeError, ValueError) as error:
            refused[name] = Column(name, "", f"values that Arrow cannot store in one column ({error})")
    tables = held.of_table(pa.table(arrays))
    return held.Tables({name: {**tables.columns, **refused}[name] for name in names}, len(data), tables.read)


def _chunks(array: Any) -> list[Any]:
    if not hasattr(array, "chunks"):
        return [array]
    return list(array.chunks) or [array.combine_chunks()]


def _values_of(series: Any) -> list[Any]:
    """Returns the values of a column, with None for missing values. (In a column of texts, pandas may use NaN for a missing
    value.)"""
    values: list[Any] = series.tolist()
    if series.dtype.kind == "f":
        return values
    return [None if isinstance(value, float) and value != value else value for value in values]


def _of_polars(data: Any) -> Held | None:
    if type(data).__name__ == "LazyFrame":
        data = data.collect()
    if type(data).__name__ == "Series":
        data = data.to_frame(data.name or "text")
    if type(data).__name__ != "DataFrame":
        return None
    if not held.has_pyarrow():
        return _of_columns({name: data[name].to_list() for name in data.columns})
    return held.of_table(data.to_arrow())


def _of_pyarrow(data: Any) -> Held | None:
    if hasattr(data, "to_reader"):  # of pyarrow.dataset, and of Table
        data = data.to_reader()
    elif hasattr(data, "to_table"):
        data = data.to_table()
    return held.of_table(data) if hasattr(data, "__arrow_c_stream__") or hasattr(data, "schema") else None


def _of_torch(data: Any) -> Held | None:
    if type(data).__name__.endswith("DataLoader"):
        raise SpecError("this is a DataLoader, which yields batches: give its data set, `loader.dataset`")
    return None


_ORIGINS: list[tuple[str, Callable[[Any], Held | None]]] = [
    ("datasets", hugging_face.recognise),
    ("pandas", _of_pandas),
    ("polars", _of_polars),
    ("pyarrow", _of_pyarrow),
    ("torch", _of_torch),
]


# ---- rows of Python ----


def _of_mapping(data: Mapping[Any, Any]) -> Held:
    values = list(data.values())
    if values and all(hasattr(value, "__getitem__") and not isinstance(value, (str, bytes)) for value in values):
        if any(isinstance(value, Mapping) or _comes_from(value, "datasets") for value in values):
            names = ", ".join(map(repr, data))
            first = next(iter(data))
            raise SpecError(f"this dict contains several data sets, {names}: pass one of them, for example data[{first!r}]")
        return _of_columns({str(name): value for name, value in data.items()})
    raise SpecError("a dict must have a list for each column: {column: [value, ..]}; for a single row, pass [row]")


def _of_columns(data: Mapping[str, Any]) -> Rows:
    """Makes rows from columns: `data` has a list of values for each name."""
    lists = {name: value if isinstance(value, list) else list(kinds.plain(value)) for name, value in data.items()}
    sizes = {name: len(value) for name, value in lists.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise DataError(f"the columns have different lengths: {told}")

    def read() -> Iterator[Mapping[str, Any]]:
        return (dict(zip(lists, row)) for row in zip(*lists.values()))

    return Rows(kinds.of_rows(read()), next(iter(sizes.values()), 0), read, is_cheap=True)


def _of_sequence(data: Sequence[Any]) -> Rows:
    """Makes rows from a list of rows. All rows together decide the kinds of the columns."""
    def read() -> Iterator[Mapping[str, Any]]:
        return (as_row(row, at) for at, row in enumerate(data))

    return Rows(kinds.of_rows(read()), len(data), read, is_cheap=True)


def _of_indexed(data: Any) -> Rows:
    """Makes rows from a PyTorch data set, which has a length and items. leat finds the columns in the first 1,000 items, and
    reads each item only once."""
    n_rows = len(data)
    first = [as_row(data[at], at) for at in range(min(n_rows, held.N_BATCH_ROWS))]

    def read() -> Iterator[Mapping[str, Any]]:
        return itertools.chain(first, (as_row(data[at], at) for at in range(len(first), n_rows)))

    return Rows(kinds.of_rows(first), n_rows, read)


def _of_iterable(data: Iterable[Any]) -> Rows:
    """Makes rows from an iterable. leat finds the columns in the first 1,000 items, and reads each item only once."""
    source = iter(data)
    first = [as_row(row, at) for at, row in enumerate(itertools.islice(source, held.N_BATCH_ROWS))]
    rest: list[Iterator[Any]] = [source]

    def read() -> Iterator[Mapping[str, Any]]:
        if not rest:
            raise DataError("these rows can be read only once, and leat has already read them: make a new iterator")
        return itertools.chain(first, (as_row(row, at) for at, row in enumerate(rest.pop(), len(first))))

    return Rows(kinds.of_rows(first), None, read)


def as_row(item: Any, row: int) -> Mapping[str, Any]:
    """Converts a row to a mapping. A row is a dict, a text, a named tuple, a dataclass, or a tuple of one text and one
    number."""
    if isinstance(item, Mapping):
        return item
    if isinstance(item, str):
        return {"text": item}
    if hasattr(item, "_asdict"):
        return dict(item._asdict())
    if hasattr(item, "__dataclass_fields__"):
        return {name: getattr(item, name) for name in item.__dataclass_fields__}
    if isinstance(item, (tuple, list)) and len(item) == 2:
        values = [kinds.plain(value) for value in item]
        texts = [isinstance(value, str) for value in values]
        if sum(texts) == 1 and isinstance(values[texts.index(False)], (int, float)):
            return {"text": values[texts.index(True)], "label": values[texts.index(False)]}
    raise DataError(f"row {row:,} is a {_type_name(item)}: a row must be a dict, a text, a named tuple or (text, label)")


# ---- paths ----


def _are_paths(data: Sequence[Any]) -> bool:
    """Texts are paths if all of them have a known suffix and the first one exists."""
    if not data or not all(isinstance(item, (str, os.PathLike)) for item in data[: held.N_BATCH_ROWS]):
        return False
    if isinstance(data[0], os.PathLike):
        return True
    return all(source_of(item) for item in data) and bool(_expanded(data[0]))


def source_of(path: str | os.PathLike[str]) -> str:
    """Returns the source that reads a file of this name, or ""."""
    name = os.fspath(path).lower()
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return _SOURCES.get(os.path.splitext(name)[1], "")


def _of_paths(data: Sequence[str | os.PathLike[str]]) -> Held:
    paths = [held.absolute(path) for path in data]
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return _of_folder(paths[0])
    files: list[str] = []
    for given, path in zip(data, paths):
        found = _expanded(path)
        if not found:
            raise NotFoundError(f"there is no file {os.fspath(given)!r}{_hint(os.fspath(given))}", file=path)
        files += found
    sources = {source_of(path) for path in files}
    if len(sources) > 1 or "" in sources:
        names = ", ".join(sorted({os.path.splitext(path)[1] or os.path.basename(path) for path in files}))
        raise SpecError(f"all files must have the same type, one of .csv, .tsv, .jsonl, .txt, .arrow and .parquet, but these are {names}")
    return _of_files(sources.pop(), paths)


def _hint(path: str) -> str:
    looks_named = not os.path.splitext(path)[1] and path.count("/") <= 1 and not path.startswith((".", "/", "~"))
    return f": for a data set of the Hub, use leat.hub({path!r})" if looks_named else ""


def _expanded(path: str | os.PathLike[str]) -> list[str]:
    """Returns the files of a path or glob. Does not expand ranges ({000..127}), because leat expands them later."""
    path = held.absolute(path)
    if "{" in path:
        return [path]
    if os.path.exists(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) if any(sign in path for sign in _GLOB) else []


def _of_files(source: str, paths: Sequence[str]) -> Held:
    if source == "parquet":
        held.require_pyarrow("Parquet")
        return held.of_parquet([file for path in paths for file in _expanded(path)])
    if source == "json":
        return _of_json(paths)
    if source == "arrow":
        files = [file for path in paths for file in _expanded(path)]
        return held.of_arrow(files) if held.has_pyarrow() else Files("arrow", tuple(files))
    is_tsv = source == "csv" and all(".tsv" in path.lower() for path in paths)
    return Files(source, tuple(paths), {"delimiter": "\t"} if is_tsv else {})


def _of_json(paths: Sequence[str]) -> Held:
    """Reads .json files. Each contains an array of rows, or JSON Lines."""
    files = [file for path in paths for file in _expanded(path)]
    if any(file.lower().endswith(_COMPRESSED) or not _is_array(file) for file in files):
        return Files("jsonl", tuple(files))
    rows: list[Any] = []
    for file in files:
        with open(file, encoding="utf-8") as stream:
            try:
                rows += json.load(stream)
            except ValueError as error:
                raise DataError(f"this file is not JSON: {error}", file=file) from error
    return _of_sequence(rows)


def _is_array(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(64).lstrip().startswith(b"[")


def _of_folder(path: str) -> Held:
    """Reads a folder that `save_to_disk()` wrote, or a folder with files of one kind."""
    if os.path.exists(os.path.join(path, "dataset_dict.json")):
        splits = sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
        raise SpecError(f"{path} contains several data sets, {', '.join(splits)}: give the path of one of them")
    if os.path.exists(os.path.join(path, "state.json")):
        return _of_saved(path)
    names = [os.path.join(root, name) for root, _, files in os.walk(path) for name in files if not name.startswith(".")]
    sources = {source_of(name) for name in names} - {""}
    if len(sources) != 1:
        several = f"files of several kinds, {', '.join(sorted(sources))}: give the files of one kind"
        raise SpecError(f"{path} contains {several if sources else 'no files that leat can read'}")
    source = sources.pop()
    return _of_files(source, sorted((name for name in names if source_of(name) == source), key=os.fsencode))


def _of_saved(path: str) -> Held:
    """Reads the folder with `datasets`, which knows the columns, if it is installed. Otherwise it reads the Arrow files
    directly."""
    if held.importable("datasets"):
        import datasets  # type: ignore[import-untyped]

        return hugging_face.recognise(datasets.load_from_disk(path)) or Files("arrow", ())
    with open(os.path.join(path, "state.json"), encoding="utf-8") as file:
        names = [entry["filename"] for entry in json.load(file)["_data_files"]]
    return _of_files("arrow", [os.path.join(path, os.path.basename(name)) for name in names])

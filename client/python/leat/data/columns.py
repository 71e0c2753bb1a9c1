"""Finds the kind of each column from Arrow's types or Python's values, and converts values to this kind.

Kinds are "text", "bool", "int64", "float32", "float64", lists of numbers ("list<int64>"), and "json" for nested values as JSON
text. leat writes data only in these kinds. So the same rows in pandas, polars, Arrow or dicts become the same bytes, and have
the same key in the token cache. If a column contains anything else (images, bytes, structs), its `refusal` says why leat
cannot read it. This is an error only if you use the column.
"""

from __future__ import annotations

import datetime
import decimal
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import DataError, SpecError

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
NO_VALUES = "only nulls"  # why a column cannot be read
NAME_MAX = 63  # bytes of a field's name


@dataclass(frozen=True)
class Column:
    """One column.

    kind: the kind, or "" if leat cannot read the column; then `refusal` says why.
    classes: the names of a categorical column's values, in the order of its codes.
    is_coded: the values are codes (ClassLabel), not names (Categorical).
    is_converted: leat must convert the column first, because it cannot read the type that the column has in its files.
    """

    name: str
    kind: str
    refusal: str = ""
    classes: tuple[str, ...] = ()
    is_coded: bool = False
    is_converted: bool = False

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    @property
    def is_number(self) -> bool:
        return self.kind in ("bool", "int64", "float32", "float64")

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list<")

    def __str__(self) -> str:
        return f"{self.name} ({_shown(self.kind) or self.refusal})"


def _shown(kind: str) -> str:
    """Returns the kind as messages write it: "int64[]". Specs still have "list<int64>", like positions and caches of older
    versions."""
    return f"{kind[5:-1]}[]" if kind.startswith("list<") else kind


def wanted(columns: Mapping[str, Column], names: Iterable[str], forms: Mapping[str, str] | None = None) -> list[Column]:
    """Returns the named columns, in this order. forms: "json" for a column that leat reads as JSON text, "codes" for a
    categorical column. Raises SpecError if a column does not exist, and DataError if leat cannot read it."""
    chosen = []
    for name in dict.fromkeys(names):
        column = columns.get(name)
        if column is None:
            raise SpecError(f"there is no column {name!r}; the data has {', '.join(columns) or 'no columns'}")
        column = _in_form(column, (forms or {}).get(name))
        if not column.kind:
            raise DataError(
                f"the column {name!r} cannot be read, because it contains {column.refusal}: leave this column out, and name"
                " the columns that you want"
            )
        if not 0 < len(name.encode("utf-8", "replace")) <= NAME_MAX:
            raise DataError(f"the name of the column {name!r} must have 1 to {NAME_MAX} bytes: rename the column")
        chosen.append(column)
    return chosen


def _in_form(column: Column, form: str | None) -> Column:
    if form == "json":
        return replace(column, kind="json", refusal="")
    if form == "codes" and column.classes:
        return replace(column, kind="int64", is_coded=True)
    return column


# ---- by Arrow's types ----


def of_arrow_schema(schema: Any) -> dict[str, Column]:
    """The columns of a pyarrow.Schema."""
    return {field.name: of_arrow_type(field.name, field.type) for field in schema}


def of_arrow_type(name: str, kind: Any) -> Column:
    import pyarrow.types as types  # type: ignore[import-untyped]

    if types.is_dictionary(kind):
        return replace(of_arrow_type(name, kind.value_type), is_converted=True)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        element = _arrow_number(kind.value_type)
        return Column(name, f"list<{element}>" if element else "", "" if element else f"nested values ({kind})")
    if types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}:
        return Column(name, "", "files (such as images or sound)")
    scalar = "text" if _is_arrow_text(kind) else _arrow_number(kind)
    is_converted = _is_arrow_time(kind) or types.is_decimal(kind)
    return Column(name, scalar, "" if scalar else _arrow_refusal(kind), is_converted=is_converted)


def _is_arrow_text(kind: Any) -> bool:
    import pyarrow.types as types

    is_view = getattr(types, "is_string_view", lambda _: False)
    return bool(types.is_string(kind) or types.is_large_string(kind) or is_view(kind) or _is_arrow_time(kind))


def _is_arrow_time(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind))


def _arrow_number(kind: Any) -> str:
    import pyarrow.types as types

    if types.is_boolean(kind):
        return "bool"
    if types.is_integer(kind) or types.is_decimal(kind) and kind.scale <= 0:
        return "int64"
    if types.is_float16(kind) or types.is_float32(kind):
        return "float32"
    return "float64" if types.is_float64(kind) or types.is_decimal(kind) else ""


def _arrow_refusal(kind: Any) -> str:
    import pyarrow.types as types

    if types.is_null(kind):
        return NO_VALUES
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return f"bytes ({kind})"
    if types.is_nested(kind):
        return f"nested values ({kind})"
    return f"values of the type {kind}"


def arrow_type(kind: str) -> Any:
    """Returns the Arrow type that leat writes for this kind."""
    import pyarrow as pa

    if kind.startswith("list<"):
        return pa.list_(arrow_type(kind[5:-1]))
    scalars = {"text": pa.string, "json": pa.string, "bool": pa.bool_, "int64": pa.int64, "float32": pa.float32}
    return scalars.get(kind, pa.float64)()


def arrow_array(column: Column, values: Any, first_row: int) -> Any:
    """Converts some rows to a pyarrow array (without chunks) of the column's kind. A DataError names the rows."""
    import pyarrow as pa
    import pyarrow.types as types

    try:
        if column.kind == "json":
            return pa.array([_json_text(value) for value in values.to_pylist()], pa.string())
        if types.is_dictionary(values.type):
            values = values.indices if column.is_coded else values.dictionary_decode()
        if types.is_large_list(values.type) or types.is_fixed_size_list(values.type):
            values = values.cast(pa.list_(values.type.value_type))
        values = values.cast(arrow_type(column.kind))
        return pa.concat_arrays([values, values[:0]])  # a copy: Arrow writes a slice with its neighbours
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        rows = f"{first_row:,} to {first_row + len(values) - 1:,}"
        raise DataError(f"the column {column.name!r}, in rows {rows}: {error}") from error


# ---- by Python's values ----

_SCALARS: dict[type, str] = {str: "text", bool: "bool", int: "int64", float: "float64"}


def plain(value: Any) -> Any:
    """Converts a value to a JSON value: scalars and arrays of NumPy, torch and others to numbers and lists, dates to text."""
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, (datetime.date, datetime.time)) and type(value).__name__ != "NaTType":
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist") and not isinstance(value, (bytes, memoryview)):  # arrays and scalars of NumPy
        return value.tolist()
    if isinstance(value, (str, bool, int, float)):  # a subclass, such as an enum
        return next(kind(value) for kind in _SCALARS if isinstance(value, kind))
    return list(value) if isinstance(value, tuple) else value


def kind_of(value: Any) -> tuple[str, str]:
    """Returns (kind, refusal) of a plain value that is not None."""
    kind = _SCALARS.get(type(value))
    if kind:
        return kind, ""
    if isinstance(value, list) and all(type(item) in (bool, int, float) for item in value):
        kinds = {_SCALARS[type(item)] for item in value}
        return f"list<{_wider(kinds) if kinds else 'int64'}>", ""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "", "bytes"
    if isinstance(value, (list, dict)):
        return "", "nested values (dicts, or lists with elements that are not numbers)"
    return "", f"objects of the type {type(value).__module__}.{type(value).__qualname__}"


def _wider(kinds: set[str]) -> str:
    return "float64" if "float64" in kinds else "int64" if "int64" in kinds else "bool"


def merge(name: str, kinds: Iterable[tuple[str, str]]) -> Column:
    """Returns the type of a column that can hold values of all the given kinds."""
    found = set(kinds)
    refusal = next((reason for kind, reason in found if not kind), "")
    names = {kind for kind, _ in found}
    if not found or refusal:
        return Column(name, "", refusal or NO_VALUES)
    if len(names) == 1:
        return Column(name, names.pop())
    if all(kind.startswith("list<") for kind in names):
        return Column(name, f"list<{_wider({kind[5:-1] for kind in names})}>")
    if "text" in names or any(kind.startswith("list<") for kind in names):
        return Column(name, "", f"values of different kinds: {', '.join(sorted(map(_shown, names)))}")
    return Column(name, _wider(names))


def of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """The columns of some rows, in the order of their first values."""
    seen: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        for name, value in row.items():
            kinds = seen.setdefault(str(name), set())
            value = plain(value)
            if value is not None:
                kinds.add(kind_of(value))
    return {name: merge(name, kinds) for name, kinds in seen.items()}


_INT = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(nan|inf)", re.IGNORECASE)
_BOOLS = frozenset(["true", "false", "True", "False", "TRUE", "FALSE"])


def _kind_of_text(text: str) -> str:
    """Finds the kind of a CSV field from its text."""
    if _INT.fullmatch(text) and len(text) <= 20:
        return "int64" if INT64_MIN <= int(text) <= INT64_MAX else "text"
    if _NUMBER.fullmatch(text):
        return "float64"
    return "bool" if text in _BOOLS else "text"


def spells_number(text: str) -> bool:
    return _kind_of_text(text) != "text"


def of_spelled(rows: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """Returns the columns of some CSV rows. If all values of a column look like numbers, it is a column of numbers."""
    seen: dict[str, set[str]] = {}
    for row in rows:
        for name, text in row.items():
            kinds = seen.setdefault(name, set())
            if text != "":
                kinds.add(_kind_of_text(text))
    return {name: Column(name, _spelled(kinds)) for name, kinds in seen.items()}


def _spelled(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "float64" if kinds == {"int64", "float64"} else "text"


def python_values(column: Column, values: Sequence[Any], first_row: int) -> list[Any]:
    """Converts values of some rows to the column's kind. None stays None. Raises DataError if a value does not fit."""
    return [_fit(column, plain(value), first_row + at) for at, value in enumerate(values)]


def _fit(column: Column, value: Any, row: int) -> Any:
    if column.kind == "json":
        return _json_text(value)
    if value is None:
        return None
    kind, refusal = kind_of(value)
    if kind == "list<int64>" and not value:
        return value
    if merge(column.name, [(kind, refusal), (column.kind, "")]).kind != column.kind:
        here, before = _shown(kind) or refusal, _shown(column.kind)
        raise DataError(f"the column {column.name!r} is {here} in row {row:,}, but {before} in the rows before it")
    if column.kind == "text" and not value.isascii():
        _check_utf8(column.name, value, row)
    return _converted(column, value, row)


def _check_utf8(name: str, value: str, row: int) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the column {name!r} of row {row:,} is not Unicode text: {error.reason} at {error.start:,}") from error


def _converted(column: Column, value: Any, row: int) -> Any:
    if column.kind.startswith("list<float"):
        return [_float(column, item, row) for item in value]
    if column.kind == "list<int64>":
        return [_int(column, item, row) for item in value]
    if column.kind.startswith("float"):
        return _float(column, value, row)
    return _int(column, value, row) if column.kind == "int64" else value


def _int(column: Column, value: Any, row: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise DataError(f"the column {column.name!r} of row {row:,} is {value}, which does not fit into a 64-bit integer")
    return int(value)


def _float(column: Column, value: Any, row: int) -> float:
    """Raises DataError for an integer beyond 2^53 that a float would round."""
    if isinstance(value, int) and abs(value) > 1 << 53 and int(float(value)) != value:
        where = f"the column {column.name!r} of row {row:,}"
        raise DataError(
            f"{where} is {value}, which float64 would round; but the column needs float64, because other rows have fractions"
        )
    return float(value)


def _json_text(value: Any) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)

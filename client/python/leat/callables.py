"""Python functions in a pipeline. `Pipeline.map` makes an `exec` stage, whose helper processes run this module.

A helper is `python -m leat.callables PAYLOAD [--batched N]`. It reads each record as a line of JSON, and answers with one
line. PAYLOAD is the function as text (see `carried`). With --batched, the function gets all pending records at once, at most
N. Which records come together depends on timing. So the result for a row must depend only on this row.
"""

from __future__ import annotations

import dis
import functools
import json
import os
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import carried
from . import spec as specs
from .errors import SpecError

if TYPE_CHECKING:
    from .pipeline import Pipeline

Function = Callable[[Any], "Mapping[str, Any] | None"]

ROW = "_row"  # the column of a batched function that numbers its rows
_SAMPLE_RECORDS = 16  # the function's answers to these tell the types
_START_S = 300.0
_BATCH_MAX = 4096
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR")  # as `exec` does, beside LC_*
_COST = (
    "a Python function takes 10 to 100 us per record, because each record goes to another process and back as JSON; a stage of "
    "leat takes about 1 us. Use a stage of leat if one does the same work, or increase `processes`. "
    "To end this warning, set warn=False"
)


class CostWarning(UserWarning):
    """Warns that a Python function in your pipeline is slow. The pipeline works, and its batches are correct."""


# ---- types ----


def _type_of(name: str, value: Any) -> tuple[str, int | None]:
    """Returns the type of an element and the length of the list. The length is None for a scalar, and -1 for any length."""
    if hasattr(value, "dtype"):  # an array of NumPy, torch, JAX, MLX
        dtype = specs.dtype_name(value.dtype)
        dtype = {"uint32": "int64", "uint64": "int64"}.get(dtype, dtype)
        shape = tuple(getattr(value, "shape", ()))
        if len(shape) > 1:
            hint = f"a field can only be a number or a flat list of numbers, so return {name}.reshape(-1)"
            raise SpecError(f"an array of {len(shape)} dimensions cannot be a field: {hint}", path=f"map.{name}")
        if dtype not in ("object",) and not dtype.startswith("str"):
            return dtype, shape[0] if shape else None
    if isinstance(value, bool):
        return "bool", None
    if isinstance(value, int):
        return "int64", None
    if isinstance(value, float):
        return "float32", None
    if isinstance(value, str):
        return "text", None
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], str):
        return _type_of(name, max(value, key=lambda item: isinstance(item, float)))[0], -1
    raise SpecError(f"leat cannot find a type for {value!r}: give `schema`, for example schema={{{name!r}: \"int64[]\"}}", path=f"map.{name}")


def _type_of_all(name: str, values: list[Any]) -> str:
    """Returns the type of a field from its values in some records. If all arrays have the same length, the type includes this
    length."""
    found = [_type_of(name, value) for value in values]
    dtype = "float32" if {dtype for dtype, _ in found} == {"int64", "float32"} else found[0][0]
    lengths = [size for _, size in found if size is not None]
    if len(lengths) < len(found):
        return dtype
    size = lengths[0] if len(set(lengths)) == 1 else -1
    return f"{dtype}[{size if size > 0 else ''}]"


def _sample(pipeline: Pipeline, function: Function, inputs: list[str] | None, batch_size: int) -> list[Mapping[str, Any]]:
    """Returns the function's answers to the first records, without the records that it drops."""
    records = pipeline.head(_SAMPLE_RECORDS)
    if not records:
        raise SpecError(
            "leat cannot find the types of the new fields, because the data has no record: give `schema`", path="map.schema"
        )
    given = [dict(record) if inputs is None else {name: record[name] for name in inputs} for record in records]
    answers: list[Any] = [] if batch_size else [function(record) for record in given]
    for first in range(0, len(given), batch_size) if batch_size else ():
        answers += _answer_batch(function, given[first : first + batch_size])
    found = [answer for answer in answers if answer is not None]
    wrong = next((answer for answer in found if not isinstance(answer, Mapping) or not answer), None)
    if wrong is not None or not found:
        raise SpecError(f"the function must return a dict with its new fields, but it returned {wrong!r}", path="map")
    return found


def _find_schema(pipeline: Pipeline, function: Function, inputs: list[str] | None, batch_size: int) -> dict[str, str]:
    """Finds the types of the new fields. With batch_size 0, the function takes single records."""
    answers = _sample(pipeline, function, inputs, batch_size)
    return {str(name): _type_of_all(str(name), [answer[name] for answer in answers]) for name in answers[0]}


def _may_return_none(function: Any) -> bool:
    """True if the function may return None, as far as its bytecode shows."""
    if isinstance(function, functools.partial):
        return _may_return_none(function.func)
    if not hasattr(function, "__code__"):
        function = getattr(type(function), "__call__", None)
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return False
    steps = list(dis.get_instructions(code))
    return any(
        step.opname == "RETURN_CONST" and step.argval is None
        or step.opname == "RETURN_VALUE" and before.opname == "LOAD_CONST" and before.argval is None
        for before, step in zip(steps, steps[1:])
    )


# ---- the stage ----


def stage(
    pipeline: Pipeline,
    function: Function,
    schema: Mapping[str, Any] | None,
    inputs: str | Iterable[str] | None,
    *,
    processes: int,
    deadline: float | None,
    warn: bool,
    batched: bool = False,
    batch_size: int = 256,
    drops: bool | None = None,
) -> dict[str, Any]:
    """Makes the arguments of the `exec` stage that runs the function."""
    if not callable(function):
        raise SpecError(f"map() needs a function, not {function!r}", path="map")
    if not 1 <= batch_size <= _BATCH_MAX:
        raise SpecError(f"{batch_size} is not in 1..{_BATCH_MAX}", path="map.batch_size")
    names = None if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
    if warn:
        warnings.warn(_COST, CostWarning, stacklevel=3)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join([package, *(entry or os.getcwd() for entry in sys.path)])
    how = ["--batched", str(batch_size)] if batched else []
    command = [sys.executable, "-m", "leat.callables", carried.pack(function), *how]
    _try(command, path)
    given = {name: specs.dtype_name(kind) for name, kind in schema.items()} if schema is not None else None
    return {
        "command": command,
        "schema": given or _find_schema(pipeline, function, names, batch_size if batched else 0),
        "inputs": names,
        "drops": (batched or _may_return_none(function) if drops is None else drops) or None,
        "processes": processes,
        "ahead": batch_size - 1 if batched and batch_size > 1 else None,
        "deadline": deadline,
        "environment": {"PYTHONPATH": path},
    }


def _try(command: list[str], path: str) -> None:
    """Tries to load the function in another process, with the same environment variables as in the stage `exec`. Raises
    SpecError if this fails."""
    known = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    done = subprocess.run(
        [*command, "--try"], env={**known, "PYTHONPATH": path}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_START_S,
    )
    if done.returncode != 0:
        words = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        raise SpecError(f"another process cannot load the function: {words}", path="map")


# ---- the helper ----


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(
        f"a record cannot hold a {type(value).__name__}: return texts, numbers, booleans, and lists or arrays of them"
    )


class _Column(list[Any]):
    """A list of texts or lists. Like a NumPy array, it accepts arrays of indices or booleans as keys."""

    def __getitem__(self, key: Any) -> Any:
        if not hasattr(key, "tolist") or not getattr(key, "ndim", 0):
            return super().__getitem__(key)
        keys = key.tolist()
        if keys and isinstance(keys[0], bool):
            return _Column(item for item, is_wanted in zip(self, keys) if is_wanted)
        return _Column(super(_Column, self).__getitem__(at) for at in keys)


def _column(values: list[Any]) -> Any:
    """Makes a NumPy array from numbers, if NumPy is installed."""
    if not all(isinstance(value, (bool, int, float)) for value in values):
        return _Column(values)
    try:
        import numpy
    except ImportError:
        return _Column(values)
    return numpy.array(values)


def _rows_of(answer: Mapping[str, Any], given: dict[str, list[Any]], n: int) -> list[int]:
    """Returns, for each row of the answer, the number of its row among the n given rows. Raises ValueError if leat cannot find
    this out."""
    rows = [int(row) for row in answer.get(ROW, range(n))]
    sizes = {name: len(value) for name, value in answer.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"the function returned columns of different lengths: {sizes}")
    m = next(iter(sizes.values()), 0)
    if ROW in answer or m == n:
        if len(set(rows)) != len(rows) or not all(0 <= row < n for row in rows):
            raise ValueError(f"the returned column {ROW!r} has a number twice, or a number that the function did not get")
        return rows
    if m > n:
        raise ValueError(f"the function got {n} rows and returned {m}: it may return {n} or fewer")
    return _rows_by_value(answer, given, m, n)


def _rows_by_value(answer: Mapping[str, Any], given: dict[str, list[Any]], m: int, n: int) -> list[int]:
    """Identifies rows by the columns that the function returned unchanged."""
    shared = [name for name in answer if name in given]
    ours = [repr([given[name][row] for name in shared]) for row in range(n)]
    theirs = [repr([_bare(answer[name][row]) for name in shared]) for row in range(m)]
    kept = set(theirs)
    rows = [row for row in range(n) if ours[row] in kept]
    if not shared or [ours[row] for row in rows] != theirs:
        raise ValueError(
            f"the function returned {m} of {n} rows, and leat cannot tell which ones: also return the column {ROW!r}"
        )
    return rows


def _bare(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _answer_batch(function: Function, records: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Calls the function with all records at once. Returns its answer to each record, or None for a record that it drops."""
    n = len(records)
    given = {name: [record[name] for record in records] for name in records[0]}
    answer = function({**{name: _column(values) for name, values in given.items()}, ROW: _column(list(range(n)))})
    if answer is None:
        return [None] * n
    if not isinstance(answer, Mapping):
        raise TypeError(f"the function must return a dict of columns, but it returned {answer!r}")
    found: list[dict[str, Any] | None] = [None] * n
    names = [name for name in answer if name != ROW]
    for at, row in enumerate(_rows_of(answer, given, n)):
        record = {name: answer[name][at] for name in names}
        found[row] = None if all(value is None for value in record.values()) else record
    return found


def _line(tag: str, answer: Mapping[str, Any] | None) -> str:
    if answer is None:
        return json.dumps({"_leat": tag, "_drop": True})
    try:
        return json.dumps({**answer, "_leat": tag}, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        return _failed(tag, error)


def _failed(tag: str, error: BaseException) -> str:
    return json.dumps({"_leat": tag, "error": f"{type(error).__name__}: {error}"})


def _answer(function: Function, line: str) -> str:
    record = json.loads(line)
    tag = record.pop("_leat")
    try:
        return _line(tag, function(record))
    except Exception as error:
        return _failed(tag, error)


def _answers(function: Function, lines: list[str]) -> list[str]:
    records = [json.loads(line) for line in lines]
    tags = [record.pop("_leat") for record in records]
    try:
        return [_line(tag, answer) for tag, answer in zip(tags, _answer_batch(function, records))]
    except Exception as error:
        return [_failed(tag, error) for tag in tags]


def _waiting_lines(fd: int, most: int) -> Iterator[list[str]]:
    """Yields all pending lines, up to `most` at a time."""
    rest = b""
    while some := os.read(fd, 1 << 20):
        *lines, rest = (rest + some).split(b"\n")
        for first in range(0, len(lines), most):
            yield [line.decode() for line in lines[first : first + most]]


def main() -> None:
    """The helper process: answers records until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # the log gets what the function prints
    function = carried.unpack(sys.argv[1])
    if "--try" in sys.argv:
        return
    if "--batched" in sys.argv:
        for lines in _waiting_lines(sys.stdin.fileno(), int(sys.argv[sys.argv.index("--batched") + 1])):
            print("\n".join(_answers(function, lines)), file=answers, flush=True)
        return
    for line in sys.stdin:
        print(_answer(function, line), file=answers, flush=True)


if __name__ == "__main__":
    main()

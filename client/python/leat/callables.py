"""Python functions in a pipeline: `Pipeline.map` makes an `exec` stage of one, whose helpers are run by this very file.

A helper is `python -m leat.callables PAYLOAD`: a record comes as a line of JSON on its standard input, and is answered by one.
The payload is the function. What can be imported is named (module and name); a lambda, a function within another, or one of
`__main__`, is taken along
by value: its code, what it closes over, and the globals that it uses. A digest of its source stands beside it, so that a
    stream whose function has changed is another stream.
"""

from __future__ import annotations

import base64
import dis
import hashlib
import importlib
import inspect
import json
import marshal
import os
import pickle
import sys
import types
import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import SpecError

if TYPE_CHECKING:
    from .pipeline import Pipeline

Function = Callable[[dict[str, Any]], Mapping[str, Any]]

_PAYLOAD_MAX = 40 << 10  # a stream is described in one packet of 64 KiB
_COST = (
    "a Python function costs some 10 to 100 us a record, as each goes to another process and back as JSON; stages of leat "
    "cost about 1 us. Where there is a stage that does it, take that; else raise `processes`. (warn=False: not this warning)"
)


class CostWarning(UserWarning):
    """What was asked for works, and is slow."""


# ---- a function as text ----


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")


def _is_importable(function: Any) -> bool:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name:
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is function


def _names_of(code: types.CodeType) -> set[str]:
    """Of globals: co_names has those of attributes, too."""
    names = {str(each.argval) for each in dis.get_instructions(code) if each.opname in _LOADS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names


def _pack(item: Any, within: tuple[types.FunctionType, ...]) -> tuple[str, Any]:
    """An object that a function uses, as something that can be pickled."""
    if isinstance(item, types.ModuleType):
        return "module", item.__name__
    if not isinstance(item, types.FunctionType) or _is_importable(item):
        return "pickle", pickle.dumps(item)
    if any(item is other for other in within):
        raise SpecError(f"{item.__qualname__} comes back to itself through another function: put it into a module", path="map")
    return "function", _pack_function(item, within)


def _pack_function(function: types.FunctionType, within: tuple[types.FunctionType, ...] = ()) -> dict[str, Any]:
    within = (*within, function)
    wanted = _names_of(function.__code__)
    uses = {name: item for name, item in function.__globals__.items() if name in wanted and item is not function}
    return {
        "code": marshal.dumps(function.__code__),
        "name": function.__name__,
        "recurs": function.__name__ in wanted and function.__globals__.get(function.__name__) is function,
        "defaults": pickle.dumps((function.__defaults__, function.__kwdefaults__)),
        "globals": {name: _pack(item, within) for name, item in uses.items()},
        "closure": [_pack(cell.cell_contents, within) for cell in function.__closure__ or ()],
    }


def _unpack(kind: str, item: Any) -> Any:
    if kind == "module":
        return importlib.import_module(item)
    return _unpack_function(item) if kind == "function" else pickle.loads(item)


def _unpack_function(packed: dict[str, Any]) -> types.FunctionType:
    names: dict[str, Any] = {"__builtins__": __builtins__, "__name__": "__leat_function__"}
    names |= {name: _unpack(*item) for name, item in packed["globals"].items()}
    closure = tuple(types.CellType(_unpack(*item)) for item in packed["closure"])
    function = types.FunctionType(marshal.loads(packed["code"]), names, packed["name"], None, closure or None)
    function.__defaults__, function.__kwdefaults__ = pickle.loads(packed["defaults"])
    if packed["recurs"]:
        names[packed["name"]] = function
    return function


def _digest(function: Any) -> str:
    """Of its source, where there is one: a change there makes another stream."""
    try:
        source = inspect.getsource(inspect.getmodule(function) or function)
    except (OSError, TypeError):
        source = ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def pack(function: Function) -> str:
    """The function as a word of text, for a process of the same Python. SpecError: it uses what cannot be taken along."""
    try:
        if _is_importable(function):
            content: Any = ("name", (function.__module__, function.__qualname__, _digest(function)))
        elif isinstance(function, types.FunctionType):
            content = ("function", _pack_function(function))
        else:
            content = ("pickle", pickle.dumps(function))
        text = base64.urlsafe_b64encode(zlib.compress(pickle.dumps(content))).decode()
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(f"{function!r} cannot be taken to another process: {error}", path="map") from error
    if len(text) > _PAYLOAD_MAX:
        raise SpecError(
            f"{function!r} with all that it uses is {len(text)} bytes, more than {_PAYLOAD_MAX}: put it into a module, and "
            "let that load what is large",
            path="map",
        )
    return text


def unpack(text: str) -> Function:
    kind, content = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(text)))
    if kind == "name":
        found: Any = importlib.import_module(content[0])
        for part in content[1].split("."):
            found = getattr(found, part)
        return found  # type: ignore[no-any-return]
    return _unpack(kind, content)  # type: ignore[no-any-return]


# ---- the stage ----


def _type_of(name: str, value: Any) -> str:
    """The type in a schema that the value of an answer has."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float32"
    if isinstance(value, str):
        return "text"
    if hasattr(value, "dtype"):  # of NumPy
        return str(value.dtype) + ("[]" if getattr(value, "ndim", 0) else "")
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], str):
        return f"{_type_of(name, max(value, key=lambda item: isinstance(item, float)))}[]"
    raise SpecError(f"no type fits {value!r}: give `schema`, as schema={{{name!r}: \"int64[]\"}}", path=f"map.{name}")


def _find_schema(pipeline: Pipeline, function: Function, inputs: list[str] | None) -> dict[str, str]:
    records = pipeline.head(1)
    if not records:
        raise SpecError("there is no record to find out what the function returns: give `schema`", path="map.schema")
    given = records[0] if inputs is None else {name: records[0][name] for name in inputs}
    answer = function(dict(given))
    if not isinstance(answer, Mapping) or not answer:
        raise SpecError(f"the function returned {answer!r}: expected a dict of the fields that it makes", path="map")
    return {str(name): _type_of(str(name), value) for name, value in answer.items()}


def stage(
    pipeline: Pipeline,
    function: Function,
    schema: Mapping[str, str] | None,
    inputs: str | Iterable[str] | None,
    *,
    processes: int,
    deadline: float | None,
    warn: bool,
) -> dict[str, Any]:
    """The arguments of the `exec` stage that runs the function."""
    if not callable(function):
        raise SpecError(f"map takes a function, not {function!r}", path="map")
    names = None if inputs is None else [inputs] if isinstance(inputs, str) else list(inputs)
    if warn:
        warnings.warn(_COST, CostWarning, stacklevel=3)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return {
        "command": [sys.executable, "-m", "leat.callables", pack(function)],
        "schema": dict(schema) if schema is not None else _find_schema(pipeline, function, names),
        "inputs": names,
        "processes": processes,
        "deadline": deadline,
        "environment": {"PYTHONPATH": os.pathsep.join([package, *(entry or os.getcwd() for entry in sys.path)])},
    }


# ---- the helper ----


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no value of a record")


def _answer(function: Function, line: str) -> str:
    record = json.loads(line)
    tag = record.pop("_leat")
    try:
        answer = {**function(record), "_leat": tag}
        return json.dumps(answer, default=_plain, allow_nan=False)
    except Exception as error:
        return json.dumps({"_leat": tag, "error": f"{type(error).__name__}: {error}"})


def main() -> None:
    """The helper: answers records until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the function prints goes to the log
    function = unpack(sys.argv[1])
    for line in sys.stdin:
        print(_answer(function, line), file=answers, flush=True)


if __name__ == "__main__":
    main()

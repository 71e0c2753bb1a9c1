"""The parts of a stream as plain values: a source, stages and options, each with its arguments.

Values are normalised. Paths become absolute, because the daemon has another working directory. Numbers of NumPy become
numbers of Python, and tuples become lists. `to_yaml` writes the values as YAML, for leatctl and for operators.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _stages
from .errors import SpecError

Arguments = dict[str, Any]
Stage = tuple[str, Arguments]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./*-]*")
_URL = re.compile(r"[a-z0-9]+://")  # an object, which has no folder
_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", str: "text"}
_WORDS = {"nan", "inf", "infinity", "true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def dtype_name(given: Any) -> str:
    """Returns the name of a dtype: "int64" for torch.int64, numpy.int64, numpy.dtype("int64"), jax.numpy.int64, mlx.core.int64
    or int. Raises SpecError if the value is not a dtype."""
    name = given if isinstance(given, str) else _dtype(given)
    if name is None:
        raise SpecError(
            f'{given!r} is not a dtype: give a name such as "int64", or a dtype of torch, NumPy, JAX or MLX', path="dtype"
        )
    return name


def _dtype(given: Any) -> str | None:
    """Returns the name of a dtype, or None if the value is not a dtype."""
    if isinstance(given, type) and given in _PYTHON_TYPES:
        return _PYTHON_TYPES[given]
    origin = type(given) if not isinstance(given, type) else given
    package, kind = origin.__module__.partition(".")[0], type(given).__name__
    if package in ("torch", "mlx") and kind in ("dtype", "Dtype"):
        return str(given).rpartition(".")[2]
    if package == "numpy" and hasattr(given, "newbyteorder") or package in ("numpy", "ml_dtypes") and isinstance(given, type):
        return str(sys.modules["numpy"].dtype(given).name)
    return str(given.dtype.name) if kind == "_ScalarMeta" else None  # of JAX


def value(given: Any, where: str) -> Any:
    """Normalises a value to a number, a text, or a list or dict of such values. A dtype becomes its name."""
    if isinstance(given, (bool, int, float, str)) or given is None:
        return given
    dtype = _dtype(given)
    if dtype is not None:
        return dtype
    if isinstance(given, os.PathLike):
        return os.fspath(given)
    if isinstance(given, Mapping):
        return {str(value(key, where)): value(item, where) for key, item in given.items()}
    if callable(getattr(given, "item", None)) and not getattr(given, "shape", ()):
        return value(given.item(), where)  # a scalar of NumPy
    if callable(getattr(given, "read", None)):
        name = getattr(given, "name", None)
        named = f", {name!r}" if isinstance(name, str) else ""
        raise SpecError(f"{given!r} is an open file: give its path{named}, because the daemon opens it", path=where)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray)):
        return [value(item, where) for item in given]
    what = "give a number, a str, a path, or a list or dict of such values"
    raise SpecError(f"{given!r} has type {type(given).__name__}: {what}", path=where)


def absolute(path: Any, base: str | None = None) -> Any:
    """Makes a path absolute, or each path of a list. A relative path starts at `base` (default: the working directory). Raises
    SpecError for "-"."""
    if isinstance(path, list):
        return [absolute(item, base) for item in path]
    if not isinstance(path, str):
        raise SpecError(f"{path!r} has type {type(path).__name__}: give a path, or a list of paths")
    if path == "-":
        raise SpecError('"-" would mean the standard input of the daemon, not of your process: give the path of a FIFO')
    if not path or _URL.match(path):
        return path
    folder = base or os.getcwd()
    return folder if path == "." else os.path.join(folder, os.path.expanduser(path.removeprefix("./")))


def _resolve(kind: str, found: Arguments, base: str | None) -> Arguments:
    named = [found.get("paths")] if isinstance(found.get("paths"), str) else found.get("paths")
    if kind in _stages.SOURCES and isinstance(named, list) and any(str(path).startswith("hf://") for path in named):
        from .data import hub

        found["paths"] = hub.paths(named)
    for name in _stages.PATHS.get(kind, frozenset()):
        first, _, rest = name.partition(".")
        if not rest and found.get(first) is not None:
            found[first] = absolute(found[first], base)
        elif rest and isinstance(found.get(first), dict) and rest in found[first]:
            found[first] = {**found[first], rest: absolute(found[first][rest], base)}
    return found


def arguments(kind: str, given: Mapping[str, Any], base: str | None = None) -> Arguments:
    """Normalises the arguments that are not None. Relative paths start at `base`."""
    found = {name: value(item, f"{kind}.{name}") for name, item in given.items() if item is not None}
    if kind == "exec":
        found.setdefault("directory", base or os.getcwd())
    if kind == "options" and found.get("index") not in (None, "auto", "off"):
        found["index"] = absolute(found["index"], base)
    if kind == "options" and isinstance(found.get("cache"), str):
        found["cache"] = {"path": found["cache"]}
    if "sources" in found and kind in _stages.SOURCES:
        found["sources"] = [
            {inner: given if inner == "stages" else arguments(inner, given or {}, base) for inner, given in item.items()}
            | ({"stages": [_one_stage(stage, base) for stage in item["stages"]]} if item.get("stages") else {})
            for item in found["sources"]
        ]
    return _resolve(kind, found, base)


def _one_stage(stage: str | Mapping[str, Any], base: str | None) -> dict[str, Arguments]:
    if isinstance(stage, str):
        return {stage: {}}
    return {kind: arguments(kind, given or {}, base) for kind, given in stage.items()}


def source_stages(source: Stage) -> list[list[Stage]]:
    """Returns the stages inside each source of a `concat` or `mix`."""
    found = []
    for item in source[1].get("sources", []):
        own = [(kind, given) for stage in item.get("stages", []) for kind, given in stage.items()]
        inner = [source_stages((kind, given)) for kind, given in item.items() if kind != "stages"]
        found += [[*stages, *own] for stages in inner[0]] or [own]
    return found


# ---- YAML ----


def _quote(text: str) -> str:
    """Puts a text in double quotes, and escapes characters that are not printable."""
    out = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            out.append("\\" + character)
        elif 0xD800 <= code <= 0xDFFF:
            raise SpecError(f"{text!r} is not valid text, because it contains only half of a surrogate pair")
        elif character.isprintable() and code != 0xFEFF:
            out.append(character)
        else:
            out.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'


def _scalar(item: Any) -> str:
    if item is None:
        return "null"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float):
        return repr(item) if math.isfinite(item) else "nan" if math.isnan(item) else "inf" if item > 0 else "-inf"
    if isinstance(item, int):
        return str(item)
    text = str(item)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else _quote(text)


def flow(item: Any) -> str:
    """Writes YAML's flow form: `{ input: text, fields: [a, b] }`."""
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_scalar(key)}: {flow(inner)}" for key, inner in item.items()) + " }" if item else "{}"
    if isinstance(item, Sequence) and not isinstance(item, str):
        return "[" + ", ".join(flow(inner) for inner in item) + "]"
    return _scalar(item)


def to_yaml(name: str, source: Stage, stages: Sequence[Stage], options: Mapping[str, Any]) -> str:
    """Returns the YAML of a file with one stream, for leatd and leatctl."""
    lines = ["streams:", f"  {_scalar(name)}:", f"    source: {flow({source[0]: source[1]})}"]
    lines += [f"    {key}: {flow(item)}" for key, item in options.items()]
    if stages:
        lines.append("    stages:")
        lines += [f"      - {kind}: {flow(given)}" for kind, given in stages]
    return "\n".join(lines) + "\n"

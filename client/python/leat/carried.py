"""Packs functions and objects as text, for another process that runs the same Python. `Pipeline.map` sends functions in this
form.

Importable objects are sent by name, as pickle does. Functions and classes of `__main__`, lambdas and nested functions are sent
by value: a function as its code, its closure and the globals that it uses; a class as its bases and members.
"""

from __future__ import annotations

import base64
import dataclasses
import dis
import enum
import hashlib
import importlib
import inspect
import io
import marshal
import pickle
import sys
import types
import zlib
from typing import Any

from .errors import SpecError

TEXT_MAX = 40 << 10  # a stream is described in one packet of 64 KiB

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_EMPTY_CELL = "leat: an empty cell"
_OF_A_CLASS_ALONE = {"__dict__", "__weakref__", "_abc_impl", "__doc__", "__slots__"}
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def pack(thing: Any) -> str:
    """Packs an object as text. Raises SpecError if it uses something that cannot be sent."""
    file = io.BytesIO()
    try:
        _Pickler(file).dump((thing, _digest(thing)))
    except SpecError:
        raise
    except Exception as error:
        raise SpecError(f"{thing!r} cannot be sent to another process: {error}", path="map") from error
    text = base64.urlsafe_b64encode(zlib.compress(file.getvalue())).decode()
    if len(text) > TEXT_MAX:
        raise SpecError(
            f"{thing!r} and the objects that it uses take {len(text)} bytes, but the limit is {TEXT_MAX}: put the function "
            "into a module that loads the large data itself",
            path="map",
        )
    return text


def unpack(text: str) -> Any:
    return pickle.loads(zlib.decompress(base64.urlsafe_b64decode(text)))[0]


def _digest(thing: Any) -> str:
    """Returns a digest of the source code of the object's module. So if this code changes, the stream becomes a different
    one."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    if not _is_importable(named):
        return ""
    try:
        source = inspect.getsource(inspect.getmodule(named) or named)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def _is_importable(thing: Any) -> bool:
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name:
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is thing


class _Pickler(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, types.ModuleType):
            return importlib.import_module, (thing.__name__,)
        if isinstance(thing, types.FunctionType) and not _is_importable(thing):
            return _reduce_function(thing)
        if isinstance(thing, type) and thing.__module__ != "builtins" and not _is_importable(thing):
            return _reduce_class(thing)
        if isinstance(thing, types.MappingProxyType):
            return _make_proxy, (dict(thing),)
        if type(thing).__module__ == "dataclasses" and any(thing is item for item in vars(dataclasses).values()):
            return getattr, (dataclasses, next(name for name, item in vars(dataclasses).items() if item is thing))
        if isinstance(thing, (classmethod, staticmethod)):
            return type(thing), (thing.__func__,)
        if isinstance(thing, property):
            return property, (thing.fget, thing.fset, thing.fdel, thing.__doc__)
        return NotImplemented


# ---- functions ----


def _names_of(code: types.CodeType) -> set[str]:
    """The globals that code uses. (co_names would also include the names of attributes.)"""
    names = {str(each.argval) for each in dis.get_instructions(code) if each.opname in _LOADS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names


def _reduce_function(function: types.FunctionType) -> tuple[Any, ...]:
    code = function.__code__
    wanted = _names_of(code)
    state = {
        "globals": {name: item for name, item in function.__globals__.items() if name in wanted},
        "cells": [_content_of(cell) for cell in function.__closure__ or ()],
        "members": {
            "__defaults__": function.__defaults__, "__kwdefaults__": function.__kwdefaults__,
            "__qualname__": function.__qualname__, **function.__dict__,
        },
    }
    return _make_function, (marshal.dumps(code), function.__name__), state, None, None, _fill_function


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY_CELL


def _make_function(code: bytes, name: str) -> types.FunctionType:
    made = marshal.loads(code)
    cells = tuple(types.CellType() for _ in made.co_freevars)
    return types.FunctionType(made, {"__builtins__": __builtins__, "__name__": "__leat__"}, name, None, cells or None)


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"]):
        if not (isinstance(content, str) and content == _EMPTY_CELL):
            cell.cell_contents = content
    for name, member in state["members"].items():
        setattr(function, name, member)


# ---- classes ----


def _reduce_class(kind: type) -> tuple[Any, ...]:
    if issubclass(kind, enum.Enum):
        raise SpecError(f"the enum {kind.__qualname__} cannot be sent to another process: define it in an importable module", path="map")
    first = {name: kind.__dict__[name] for name in ("__slots__", "__doc__") if name in kind.__dict__}
    members = {
        name: member
        for name, member in kind.__dict__.items()
        if name not in _OF_A_CLASS_ALONE and not isinstance(member, _DESCRIPTORS)
    }
    return _make_class, (type(kind), kind.__name__, kind.__bases__, first), members, None, None, _fill_class


def _make_proxy(members: dict[Any, Any]) -> Any:
    return types.MappingProxyType(members)


def _make_class(meta: Any, name: str, bases: tuple[type, ...], first: dict[str, Any]) -> type:
    return types.new_class(name, bases, {"metaclass": meta}, lambda members: members.update(first))


def _fill_class(kind: type, members: dict[str, Any]) -> None:
    for name, member in members.items():
        setattr(kind, name, member)

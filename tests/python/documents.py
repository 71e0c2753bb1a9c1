"""What a Markdown file shows of Python: its blocks, and whether what they use of leat exists.

A block that runs as it stands has a comment on the line before it: `<!-- run -->`, or `<!-- run, prints -->` where the next
block is what it prints. The others are parts of something larger (a loop around `batch`, a model of the reader's): of these the
names, methods and keywords of leat are looked up. What a name is follows from how it was made in the block, else from
CONVENTION, the names that the documentation uses everywhere; what remains unknown is passed over.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import pathlib
import re
import typing
from collections.abc import Iterator
from typing import Any

from conftest import note_skipped
import leat

RUN = "<!-- run -->"
RUN_PRINTS = "<!-- run, prints -->"
@dataclasses.dataclass(frozen=True)
class Object:
    """Something of that class."""

    kind: type[Any]


CONVENTION = {
    "leat": leat,
    "batches": Object(leat.Pipeline),
    "stream": Object(leat.Stream),
    "batch": Object(leat.Batch),
    "tokenizer": Object(leat.Tokenizer),
    "monitor": Object(leat.Monitor),
}


@dataclasses.dataclass
class Block:
    """A fenced block. `line`: of its fence, from 1; `mark`: the line before it; `printed`: the text of the next block."""

    file: pathlib.Path
    line: int
    language: str
    text: str
    mark: str
    printed: str = ""

    @property
    def runs(self) -> bool:
        return self.mark in (RUN, RUN_PRINTS)

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, f"{self.file.name}:{self.line}", "exec")

    @property
    def missing(self) -> list[str]:
        """The modules that it imports, and that are not here."""
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        return [name for name in names if importlib.util.find_spec(name.split(".")[0]) is None]


def blocks(file: pathlib.Path) -> list[Block]:
    """All fenced blocks of the file, in their order."""
    found: list[Block] = []
    fence: int | None = None
    lines = file.read_text(encoding="utf-8").split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if fence is None:
            fence = i
            continue
        text = "\n".join(lines[fence + 1 : i]) + "\n"
        found.append(Block(file, fence + 1, lines[fence].removeprefix("```"), text, lines[fence - 1] if fence else ""))
        fence = None
    for block, following in zip(found, found[1:]):
        block.printed = following.text if block.mark == RUN_PRINTS else ""
    return found


def section(file: pathlib.Path, title: str) -> list[str]:
    """The lines of a section, its title included."""
    lines = file.read_text(encoding="utf-8").split("\n")
    start = lines.index(f"## {title}")
    ends = (i for i, line in enumerate(lines) if i > start and line.startswith("## "))
    return lines[start : next(ends, len(lines))]


def spans(file: pathlib.Path) -> Iterator[tuple[int, str]]:
    """The pieces of code within the text, with the number of their line; not those of blocks."""
    inside = False
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        inside ^= line.startswith("```")
        if not inside:
            yield from ((number, piece) for piece in re.findall(r"`([^`]+)`", line))


def exists(name: str) -> bool:
    """Whether that is a name of leat's, `leat.x.y`, or one of its modules."""
    found: Any = leat
    for i, part in enumerate(name.split(".")[1:], 2):
        try:
            if hasattr(found, part):
                found = getattr(found, part)
            else:
                found = importlib.import_module(".".join(name.split(".")[:i]))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("leat"):
                return False
            note_skipped(name, f"{error.name} is not installed")
            return True
        except ImportError:
            return False
    return True


def _returned(function: Any, owner: type[Any] | None) -> Object | None:
    """What a function says that it returns, where that is an object of leat's."""
    annotation = getattr(function, "__annotations__", {}).get("return")
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if text == "Self":
        return Object(owner) if owner else None
    found = getattr(inspect.getmodule(function), text, None) or getattr(leat, text, None)
    return Object(found) if inspect.isclass(found) and found.__module__.startswith("leat") else None


def _keywords(function: Any, signature: inspect.Signature) -> set[str] | None:
    """The keywords that a function takes; None: any."""
    names = set()
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            unpacked = re.match(r"Unpack\[(?:\w+\.)?(\w+)\]", str(parameter.annotation))
            options = unpacked and getattr(inspect.getmodule(function), unpacked[1], None)
            if not options:
                return None
            names |= set(typing.get_type_hints(options))
        elif parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            names.add(parameter.name)
    return names


def _sets_itself(owner: type[Any], name: str) -> bool:
    """Whether objects of that class have an attribute that their class has not."""
    for kind in owner.__mro__:
        if name in getattr(kind, "__annotations__", {}):
            return True
        init = vars(kind).get("__init__")
        if inspect.isfunction(init) and kind.__module__.startswith("leat.") and f"self.{name}" in inspect.getsource(init):
            return True
    return False


class Reader:
    """Reads a block as far as leat goes. `problems`: what it uses that does not exist."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: dict[str, Any] = dict(CONVENTION)
        self.problems: list[str] = []

    def read(self) -> list[str]:
        for statement in self.block.tree.body:
            self._statement(statement)
        return self.problems

    def _complain(self, node: ast.AST, text: str) -> None:
        line = self.block.line + getattr(node, "lineno", 0)
        self.problems.append(f"{self.block.file.name}:{line}: {text}")

    def _statement(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            kind = self._kind(node.value)
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.known[target.id] = kind
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                kind = self._kind(item.context_expr)
                if isinstance(item.optional_vars, ast.Name) and kind is not None:
                    self.known[item.optional_vars.id] = kind
            self._each(node.body)
        else:
            self._each(ast.iter_child_nodes(node))

    def _each(self, nodes: Any) -> None:
        for node in nodes:
            if isinstance(node, ast.expr):
                self._kind(node)
            else:
                self._statement(node)

    def _kind(self, node: ast.expr) -> Any:
        """What an expression is: a module, a class, an Object, a function, a method as (function, class); None: unknown."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        self._each(ast.iter_child_nodes(node))
        return None

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self._kind(node.value)
        if inspect.ismodule(owner):
            if exists(f"{owner.__name__}.{node.attr}"):
                with contextlib.suppress(ImportError):
                    return getattr(owner, node.attr, None)
                return None
            self._complain(node, f"{owner.__name__} has no {node.attr!r}")
            return None
        kind = owner.kind if isinstance(owner, Object) else owner
        if not inspect.isclass(kind):
            return None
        if not hasattr(kind, node.attr):
            if not hasattr(kind, "__getattr__") and not _sets_itself(kind, node.attr):
                self._complain(node, f"{kind.__name__} has no {node.attr!r}")
            return None
        method = inspect.getattr_static(kind, node.attr)
        return (getattr(method, "__func__", method), kind) if inspect.isroutine(method) else None

    def _call(self, node: ast.Call) -> Any:
        called = self._kind(node.func)
        self._each(node.args)
        self._each(keyword.value for keyword in node.keywords)
        if isinstance(called, Object):
            called = (getattr(called.kind, "__call__", None), called.kind)
        function, owner = called if isinstance(called, tuple) else (called, None)
        if not callable(function):
            return None
        self._arguments(node, function)
        return Object(function) if inspect.isclass(function) else _returned(function, owner)

    def _arguments(self, node: ast.Call, function: Any) -> None:
        try:
            keywords = _keywords(function, inspect.signature(function))
        except (TypeError, ValueError):  # of C, which tells none
            return
        for keyword in node.keywords:
            if keyword.arg is not None and keywords is not None and keyword.arg not in keywords:
                self._complain(node, f"{ast.unparse(node.func)} has no argument {keyword.arg!r}")

#!/usr/bin/env python3
"""Writes leat/_stages.py from the daemon's tables of stages and sources. The file has a typed method of Pipeline for each
stage, and a function for each source. Their docstrings are the help texts of the tables.

    generate_stages.py OUTPUT LEATCTL...      LEATCTL is the path of leatctl; an emulator may come before it

The tables mark positional arguments; all others are keyword arguments. None means the default of the table. A name that is a
keyword in Python gets an underscore: `global_`.
"""

import json
import keyword
import subprocess
import sys
import textwrap
from typing import Any

Entry = dict[str, Any]

WIDTH = 127
TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "number or token": "float | str",
    "text": "str",
    "field": "str",
    "path": "Path",
    "bytes": "int | str",
    "seconds": "int | str",
    "map": "Mapping[str, Any]",
    "list of texts": "Scalars",
    "list of fields": "Names",
    "list of paths": "Paths",
}
# Required arguments that Pipeline infers.
INFERRED = {("pad", "input"), ("chunk", "fields"), ("pack", "fields"), ("bucket", "input")}
# Arguments that take more than the table says: any tokenizer, a number that is read from a text.
WIDER = {("tokenize", "tokenizer"): "Any", ("cast", "default"): "str | float"}
# Written by hand, since their arguments are pipelines.
BY_HAND = {"concat", "mix"}

HEAD = '''"""The sources and stages. Generated from leat's tables; do not edit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing import Self

    from .pipeline import Pipeline

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]
Names = str | Sequence[str]
Scalars = str | float | Sequence[str | float]
DType = Any  # a name, such as "int64", or a dtype of torch, NumPy, JAX or MLX
'''

BEGIN = '''

def _begin(kind: str, arguments: dict[str, Any]) -> Pipeline:
    from .pipeline import Pipeline

    return Pipeline.begin(kind, arguments)
'''

STAGES = '''

def _names(first: Names, more: tuple[str, ...]) -> Names:
    return [*([first] if isinstance(first, str) else first), *more] if more else first


class Stages:
    """Has a method for each stage. The method returns a new pipeline with this stage at its end."""

    __slots__ = ()

    def stage(self, kind: str, arguments: Mapping[str, Any]) -> Self:
        """Adds a stage of this kind, with all arguments that are not None."""
        raise NotImplementedError

    def with_options(self, arguments: Mapping[str, Any]) -> Self:
        """Sets options of the stream."""
        raise NotImplementedError
'''


def python_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def type_of(argument: Entry) -> str:
    if argument["type"] == "dtype":
        return "DType"
    if "choices" in argument:
        return f"Literal[{', '.join(json.dumps(choice) for choice in argument['choices'])}]"
    return "Path | Mapping[str, Any]" if "arguments" in argument else TYPES[argument["type"]]


def is_required(kind: str, argument: Entry) -> bool:
    return bool(argument["required"]) and (kind, argument["name"]) not in INFERRED


def parameter(kind: str, argument: Entry) -> str:
    name = python_name(argument["name"])
    annotation = WIDER.get((kind, argument["name"])) or type_of(argument)
    return f"{name}: {annotation}" if is_required(kind, argument) else f"{name}: {annotation} | None = None"


def is_list_alone(entry: Entry) -> bool:
    """True if the only argument is a list of fields. The caller may give these fields one by one: select("a", "b")."""
    [first, *others] = entry["arguments"] or [{"type": ""}]
    return not others and first["type"] == "list of fields" and bool(first.get("positional"))


def parameters(entry: Entry) -> list[str]:
    """Returns the positional arguments in the order of the table, then the keyword arguments, the required ones first."""
    kind, arguments = entry["name"], entry["arguments"]
    places = [argument for argument in arguments if argument.get("positional")]
    names = [argument for argument in arguments if not argument.get("positional")]
    names.sort(key=lambda argument: not is_required(kind, argument))
    if is_list_alone(entry):
        return [parameter(kind, places[0]), "*more: str"]
    return [parameter(kind, argument) for argument in places] + ["*"] * bool(names) + [
        parameter(kind, argument) for argument in names
    ]


def range_of(argument: Entry) -> str:
    if "min" not in argument or "choices" in argument:
        return ""
    items = " items" if argument["type"].startswith("list") or argument["type"] == "map" else ""
    return f"{argument['min']:.15g} to {argument['max']:.15g}{items}"


def help_of(argument: Entry, prefix: str = "") -> list[str]:
    """Returns the docstring's lines for an argument and for the arguments inside it."""
    default = f"default: {argument['default'] or repr('')}" if argument["default"] is not None else ""
    names = " or ".join(argument["choices"]) if argument["type"] == "dtype" and "choices" in argument else ""
    notes = "; ".join(note for note in (names, range_of(argument), default) if note)
    text = f"{prefix}{python_name(argument['name'])}: {argument['help']}{f' ({notes})' if notes else ''}"
    lines = textwrap.wrap(text, WIDTH - 12, subsequent_indent="    ")
    for inner in argument.get("arguments", []):
        lines += help_of(inner, f"{prefix}{argument['name']}.")
    return lines


def docstring(entry: Entry, indent: str) -> list[str]:
    lines = [f"{entry['summary'][0].upper()}{entry['summary'][1:]}.", ""]
    for argument in entry["arguments"]:
        lines += help_of(argument)
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return textwrap.indent(f'"""{text}\n"""', indent).split("\n")


def call(entry: Entry, before: str, indent: str) -> str:
    pairs = [f"{json.dumps(argument['name'])}: {python_name(argument['name'])}" for argument in entry["arguments"]]
    if is_list_alone(entry):
        pairs = [f"{pair.partition(':')[0]}: _names({pair.partition(': ')[2]}, more)" for pair in pairs]
    text = f"{before}{{{', '.join(pairs)}}})"
    if len(indent + text) + 11 <= WIDTH:
        return text
    inner = textwrap.fill(", ".join(pairs), WIDTH - 1, initial_indent=indent + " " * 8, subsequent_indent=indent + " " * 8)
    return f"{before}{{\n{inner},\n{indent}    }})"


def define(entry: Entry, name: str, first: list[str], result: str, body: str, indent: str) -> list[str]:
    lines = ["", f"{indent}def {name}("]
    lines += [f"{indent}    {text}," for text in first + parameters(entry)]
    lines += [f"{indent}) -> {result}:", *docstring(entry, indent + "    ")]
    return lines + [f"{indent}    return {body}"]


def define_source(entry: Entry) -> list[str]:
    body = call(entry, f"_begin({json.dumps(entry['name'])}, ", "")
    return ["", *define(entry, entry["name"], [], "Pipeline", body, "")]


def define_stage(entry: Entry) -> list[str]:
    body = call(entry, f"self.stage({json.dumps(entry['name'])}, ", "    ")
    return define(entry, python_name(entry["name"]), ["self"], "Self", body, "    ")


def path_names(arguments: list[Entry], prefix: str = "") -> list[str]:
    names = [prefix + argument["name"] for argument in arguments if argument["type"] in ("path", "list of paths")]
    for argument in arguments:
        names += path_names(argument.get("arguments", []), f"{prefix}{argument['name']}.")
    return names


def tables(entries: list[Entry]) -> list[str]:
    lines = ["", "# Arguments that name files, by the kind of source or stage.", "PATHS: dict[str, frozenset[str]] = {"]
    for entry in entries:
        names = path_names(entry["arguments"])
        if names:
            lines.append(f"    {json.dumps(entry['name'])}: frozenset({json.dumps(names)}),")
    sources = [entry["name"] for entry in entries if entry["kind"] == "source"]
    # `pad` decides how batches are made, so it belongs to the whole stream
    per_record = [entry["name"] for entry in entries if entry["kind"] == "map" and entry["name"] != "pad"]
    lines += ["}", "# Stages that you may add to a single source within `concat` or `mix`."]
    text = ", ".join(json.dumps(name) for name in per_record)
    inner = textwrap.fill(text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    lines += ["PER_RECORD: frozenset[str] = frozenset(", "    {", f"{inner},", "    }", ")"]
    return [*lines, f"SOURCES: frozenset[str] = frozenset({json.dumps(sources)})"]


def generate(entries: list[Entry]) -> str:
    lines = [HEAD.rstrip("\n"), *tables(entries), BEGIN.rstrip("\n")]
    for entry in entries:
        if entry["kind"] == "source" and entry["name"] not in BY_HAND:
            lines += define_source(entry)
    lines.append(STAGES.rstrip("\n"))
    for entry in entries:
        if entry["kind"] not in ("source", "options"):
            lines += define_stage(entry)
    options = next(entry for entry in entries if entry["kind"] == "options")
    lines += define(options, "options", ["self"], "Self", call(options, "self.with_options(", "    "), "    ")
    return "\n".join(lines) + "\n"


def main() -> None:
    output, *leatctl = sys.argv[1:]
    entries = json.loads(subprocess.run([*leatctl, "stages", "--json"], check=True, stdout=subprocess.PIPE).stdout)
    with open(output, "w", encoding="utf-8") as file:
        file.write(generate(entries))


if __name__ == "__main__":
    main()

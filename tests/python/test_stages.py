"""The generated methods: all stages and arguments are there, as in the tables; positional ones; names that Python keeps for
itself.
"""

from __future__ import annotations

import ast
import inspect
import json
import pathlib
import subprocess
import sys
from typing import Any

import leat
from leat import _stages, programs
from leat.pipeline import Pipeline
from shared_pipelines import ROOT

ENTRIES: list[dict[str, Any]] = json.loads(programs.leatctl("stages", "--json"))
BY_HAND = {"concat", "mix"}


def python_name(name: str) -> str:
    return name + "_" if name in ("global",) else name


def parameters(entry: dict[str, Any]) -> dict[str, inspect.Parameter]:
    home: Any = _stages if entry["kind"] == "source" else Pipeline
    found = dict(inspect.signature(getattr(home, entry["name"])).parameters)
    found.pop("self", None)
    found.pop("more", None)  # select("a", "b")
    return found


def test_every_argument_is_there() -> None:
    for entry in ENTRIES:
        if entry["name"] in BY_HAND:
            continue
        found = parameters(entry)
        assert set(found) == {python_name(argument["name"]) for argument in entry["arguments"]}, entry["name"]
        for argument in entry["arguments"]:
            is_positional = found[python_name(argument["name"])].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            assert is_positional == bool(argument.get("positional")), (entry["name"], argument["name"])


def test_docstrings_tell_all() -> None:
    for entry in ENTRIES:
        if entry["name"] in BY_HAND:
            continue
        home: Any = leat if entry["kind"] == "source" else Pipeline
        text = inspect.getdoc(getattr(home, entry["name"])) or ""
        assert entry["summary"][1:20] in text
        for argument in entry["arguments"]:
            assert f"{python_name(argument['name'])}: " in text, (entry["name"], argument["name"])


def test_every_source_is_public() -> None:
    names = {entry["name"] for entry in ENTRIES if entry["kind"] == "source"}
    assert names == set(_stages.SOURCES)
    assert all(callable(getattr(leat, name)) for name in names)


def test_type_checkers_see_the_sources() -> None:
    """They are where they are defined, and not what a module's __getattr__ may give."""
    tree = ast.parse(pathlib.Path(leat.__file__).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "_stages"]
    assert {alias.name for node in found for alias in node.names} == set(_stages.SOURCES) - BY_HAND


def test_places_of_arguments() -> None:
    base = leat.csv("a.csv")
    calls = [
        (base.cast("a", "b", dtype="int32"), {"input": "a", "output": "b", "dtype": "int32"}),
        (base.replace("t", "x", "y"), {"input": "t", "old": "x", "new": "y"}),
        (base.shuffle(10, seed=1), {"buffer_size": 10, "seed": 1}),
        (base.shuffle(global_=True), {"global": True}),
        (base.take(3), {"count": 3}),
        (base.sample(0.5), {"fraction": 0.5}),
        (base.rename({"a": "b"}), {"fields": {"a": "b"}}),
        (base.select(["a"]), {"fields": ["a"]}),
        (base.split("train", train=0.9, test=0.1), {"part": "train", "train": 0.9, "test": 0.1}),
        (base.stack(["a", "b"], "c"), {"inputs": ["a", "b"], "output": "c"}),
        (base.batch(32, drop_last=True), {"batch_size": 32, "drop_last": True}),
        (base.batch(max_tokens=100), {"max_tokens": 100}),
        (base.repeat(2), {"count": 2}),
    ]
    for pipeline, expected in calls:
        assert dict(pipeline.stages[-1][1]) == expected


def test_numpy_numbers() -> None:
    np = __import__("pytest").importorskip("numpy")
    pipeline = leat.csv("a.csv").batch(np.int64(3)).bin("a", edges=np.array([1.5, 2])).take(np.array(4))
    given = [dict(given) for _, given in pipeline.stages]
    assert given == [{"batch_size": 3}, {"input": "a", "edges": [1.5, 2.0]}, {"count": 4}]
    assert all(type(value) in (int, str, list) for _, given in pipeline.stages for value in given.values())


def test_generator_is_stable() -> None:
    script = ROOT / "client" / "python" / "generate_stages.py"
    command = [sys.executable, script, "/dev/stdout", programs.find("leatctl")]
    once = subprocess.run(command, capture_output=True, check=True).stdout
    with open(_stages.__file__ or "", "rb") as file:
        assert file.read() == once
    assert max(map(len, once.decode().split("\n"))) <= 127

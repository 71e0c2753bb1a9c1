"""Python functions in a pipeline: taken along as they are, asked in processes of their own, and what goes wrong told."""

from __future__ import annotations

import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from leat import callables, errors
from shared_pipelines import lay_out

SUFFIX = "!"


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    yield


def shout(record: dict[str, Any]) -> dict[str, Any]:
    return {"loud": record["Name"].upper() + SUFFIX}


def shout_with(suffix: str, record: dict[str, Any]) -> dict[str, Any]:
    return {"loud": record["Name"].upper() + suffix}


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


class Adder:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        return {"sum": int(record["PassengerId"]) + self.n}


upper = open(os.devnull)  # what cannot be taken along, called like a method that is


def there_and_back(function: Any) -> Any:
    return callables.unpack(callables.pack(function))


def test_what_is_taken_along() -> None:
    offset = 5

    def add(record: dict[str, int], times: int = 2) -> dict[str, float]:
        def inner(x: int) -> int:
            return x * times + offset

        return {"n": math.sqrt(inner(record["n"])), "m": len(re.findall("a", SUFFIX))}

    assert there_and_back(add)({"n": 2}) == {"n": 3.0, "m": 0}
    assert there_and_back(lambda record: {"n": record["n"] + offset})({"n": 1}) == {"n": 6}
    assert there_and_back(shout) is shout  # by its name
    assert there_and_back(Adder(4))({"PassengerId": "3"}) == {"sum": 7}
    assert there_and_back(functools.partial(shout_with, "?"))({"Name": "a"}) == {"loud": "A?"}

    def recursive(n: int) -> int:
        return factorial(n)

    assert there_and_back(recursive)(5) == 120


def test_a_global_called_like_a_method_stays() -> None:
    assert there_and_back(lambda record: {"loud": record["Name"].upper()})({"Name": "a"}) == {"loud": "A"}
    with pytest.raises(errors.SpecError):
        callables.pack(lambda record: {"loud": upper})


def test_of_main(tmp_path: pathlib.Path) -> None:
    """A script's own functions, which nobody else can import."""
    script = """
import json, leat
PREFIX = "> "
def clean(text): return PREFIX + text.lower()
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def work(record): return {"low": clean(record["Name"]), "fib": fib(10), "first": json.dumps(record["PassengerId"])}
if __name__ == "__main__":
    records = list(leat.csv("train.csv").map(work, warn=False).take(3))
    assert records[0]["low"] == "> " + records[0]["Name"].lower(), records[0]
    assert records[2]["fib"] == 55 and records[1]["first"] == '"2"'
"""
    (tmp_path / "script.py").write_text(script)
    subprocess.run([sys.executable, "script.py"], check=True)


def test_a_pipeline_with_one() -> None:
    np = pytest.importorskip("numpy")
    with pytest.warns(callables.CostWarning, match="a Python function costs"):
        pipeline = leat.csv("train.csv").map(
            lambda record: {"n": len(record["Name"]), "v": [1.0, len(record["Sex"])], "ok": True}
        )
    assert pipeline.stages[-1][1]["schema"] == {"n": "int64", "v": "float32[]", "ok": "bool"}
    records = list(pipeline.take(30))
    assert all(record["n"] == len(record["Name"]) and record["ok"] == np.True_ for record in records)
    assert all(record["v"].tolist() == [1.0, len(record["Sex"])] for record in records)
    two = leat.csv("train.csv").map(Adder(1000), schema={"sum": "int64"}, inputs="PassengerId", processes=2, warn=False)
    sums = [value for batch in two.batch(100) for value in memoryview(batch["sum"]).tolist()]
    assert sums == list(range(1001, 1892))


def test_texts_of_a_function_can_be_tokenized() -> None:
    pipeline = leat.csv("train.csv").map(shout, inputs=["Name"], warn=False).tokenize("modernbert").pad(16).batch(8)
    assert next(iter(pipeline))["input_ids"].shape == (8, 16)


def test_what_it_raises_is_told() -> None:
    def picky(record: dict[str, Any]) -> dict[str, Any]:
        if record["PassengerId"] == "7":
            raise ValueError("seven is too much")
        return {"n": 1}

    pipeline = leat.csv("train.csv").map(picky, schema={"n": "int32"}, warn=False)
    with pytest.raises(errors.Error, match="ValueError: seven is too much") as caught:
        list(pipeline)
    assert caught.value.line == 8
    assert len(list(pipeline.options(on_error="skip"))) == 890


def test_prints_do_not_disturb() -> None:
    def chatty(record: dict[str, Any]) -> dict[str, Any]:
        print("hello")
        return {"n": 2}

    assert len(list(leat.csv("train.csv").map(chatty, warn=False).take(5))) == 5


def test_another_function_is_another_stream() -> None:
    def made(n: int) -> leat.Pipeline:
        return leat.csv("train.csv").map(lambda record: {"n": n}, schema={"n": "int32"}, warn=False).batch(4)

    one = made(1)
    state = one.state_dict()
    made(1).load_state_dict(state)
    with pytest.raises(errors.PositionError):
        made(2).load_state_dict(state)


def test_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = leat.csv("train.csv")
        big = "x" * 10_000_000 + os.urandom(60000).hex()
        lock = __import__("threading").Lock()
        for function, says in (
            (7, "takes a function"),
            (lambda record: None, "expected a dict"),
            (lambda record: {}, "expected a dict"),
            (lambda record: {"n": None}, "no type fits None"),
            (lambda record: {"n": []}, "no type fits"),
            (lambda record: {"n": big}, "put it into a module"),
            (lambda record: {"n": lock.locked()}, "cannot be taken to another process"),
        ):
            with pytest.raises(errors.SpecError, match=says):
                base.map(function)  # type: ignore[arg-type]
        pathlib.Path("empty.txt").write_text("")
        with pytest.raises(errors.SpecError, match="no record"):
            leat.text("empty.txt").map(lambda record: {"n": 1})


def test_answers() -> None:
    tag = "9e37"
    np = pytest.importorskip("numpy")

    def answer(function: Any, **fields: Any) -> Any:
        return json.loads(callables._answer(function, json.dumps({"_leat": tag, **fields})))

    assert answer(lambda record: {"n": np.arange(3), "m": np.float32(2)}) == {"_leat": tag, "n": [0, 1, 2], "m": 2.0}
    assert answer(lambda record: record, a="é") == {"_leat": tag, "a": "é"}
    assert "ZeroDivisionError" in answer(lambda record: {"n": 1 // 0})["error"]
    assert "not JSON compliant" in answer(lambda record: {"n": float("nan")})["error"]
    assert "is no value of a record" in answer(lambda record: {"n": object()})["error"]
    assert answer(lambda record: {"_leat": "other", "n": 1})["_leat"] == tag

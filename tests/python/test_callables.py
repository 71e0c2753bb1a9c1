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
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from leat import callables, carried, errors
from shared_pipelines import lay_out

SUFFIX = "!"
HANG_S = 120  # nothing that goes on at all takes so long


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
    return carried.unpack(carried.pack(function))


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
        carried.pack(lambda record: {"loud": upper})


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
    with pytest.warns(callables.CostWarning, match="a Python function takes"):
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


@pytest.mark.parametrize("prefetch", [0, 1, 4])
def test_is_not_called_for_epochs_that_nobody_reads(tmp_path: pathlib.Path, prefetch: int) -> None:
    log, n_records, n_again = tmp_path / "calls", 891, 20  # some records are asked about again
    log.touch()

    def count(record: dict[str, Any]) -> dict[str, Any]:
        with open(log, "ab") as file:
            file.write(b"x")
        return {"n": int(record["PassengerId"])}

    pipeline = leat.csv("train.csv").map(count, schema={"n": "int64"}, warn=False).select("n").shuffle(1000).batch(32)
    batches = iter(pipeline.prefetch(prefetch) if prefetch else pipeline)
    next(batches)
    end = time.monotonic() + HANG_S
    while log.stat().st_size < 2 * n_records:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert sum(1 for _ in batches) == 27
    assert log.stat().st_size <= 2 * n_records + n_again


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
            (7, "needs a function"),
            (lambda record: None, "must return a dict"),
            (lambda record: {}, "must return a dict"),
            (lambda record: {"n": None}, "leat cannot find a type for None"),
            (lambda record: {"n": []}, "leat cannot find a type for"),
            (lambda record: {"n": big}, "put the function into a module"),
            (lambda record: {"n": lock.locked()}, "cannot be sent to another process"),
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
    assert "a record cannot hold" in answer(lambda record: {"n": object()})["error"]
    assert answer(lambda record: {"_leat": "other", "n": 1})["_leat"] == tag


def test_objects_of_main(tmp_path: pathlib.Path) -> None:
    """Their classes are known to nobody else: they are taken along, with what they use and inherit."""
    script = """
import dataclasses, leat
WORD = "ha"
def twice(text): return text + text
class Base:
    sep = " "
    def join(self, *parts): return self.sep.join(parts)
class Loud(Base):
    __slots__ = ("end",)
    def __init__(self, end): self.end = end
    @property
    def tail(self): return twice(self.end)
    @staticmethod
    def up(text): return text.upper()
    @classmethod
    def made(cls, end): return cls(end)
    def join(self, *parts): return super().join(*parts) + self.tail
    def __call__(self, record): return {"loud": self.join(self.up(record["Name"]), WORD)}
@dataclasses.dataclass
class Adder:
    n: int
    more: list = dataclasses.field(default_factory=list)
    def __call__(self, record): return {"sum": int(record["PassengerId"]) + self.n + len(dataclasses.fields(self))}
records = list(leat.csv("train.csv").map(Loud.made("!"), warn=False).map(Adder(1000, [1]), warn=False).take(3))
assert records[0]["loud"] == records[0]["Name"].upper() + " ha!!", records[0]
assert [record["sum"] for record in records] == [1003, 1004, 1005]
"""
    (tmp_path / "script.py").write_text(script)
    subprocess.run([sys.executable, "script.py"], check=True)


def test_what_cannot_be_loaded_is_told_at_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here_alone.py").write_text(
        "import os\nassert 'ONLY_HERE' in os.environ, 'only here'\ndef work(record): return {'n': 1}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ONLY_HERE", "1")
    import here_alone  # type: ignore[import-not-found]

    with pytest.raises(errors.SpecError, match="another process cannot load the function: AssertionError: only here"):
        leat.csv("train.csv").map(here_alone.work, warn=False)
    local_enum = __import__("enum").Enum("Kind", "A B")
    local_enum.__module__, local_enum.__qualname__ = "__main__", "Kind"
    with pytest.raises(errors.SpecError, match="the enum Kind cannot be sent to another process"):
        leat.csv("train.csv").map(lambda record: {"n": local_enum.A.value}, warn=False)


def test_arrays_have_their_dtype_and_length() -> None:
    np = pytest.importorskip("numpy")

    def schema(function: Any, **options: Any) -> dict[str, Any]:
        pipeline = leat.csv("train.csv").map(function, warn=False, **options)
        return dict(pipeline.stages[-1][1]["schema"])

    assert schema(lambda record: {"v": np.zeros(8, np.float32), "h": np.float16(1), "b": np.ones(3, bool)}) == {
        "v": "float32[8]", "h": "float16", "b": "bool[3]",
    }
    assert schema(lambda record: {"v": np.arange(len(record["Name"])), "l": [1, 2]}) == {"v": "int64[]", "l": "int64[]"}
    assert schema(lambda record: {"n": 1}, schema={"n": np.int16}) == {"n": "int16"}
    with pytest.raises(errors.SpecError, match=r"2 dimensions cannot be a field.*v.reshape\(-1\)"):
        schema(lambda record: {"v": np.zeros((2, 2))})
    with leat.csv("train.csv").map(lambda record: {"v": np.full(4, 2.5)}, warn=False).select("v").batch(3) as batches:
        assert batches.schema["v"] == ("float64", (-1, 4))
        assert next(iter(batches))["v"].tolist() == [[2.5] * 4] * 3


def test_tensors_of_torch_have_their_dtype_and_length() -> None:
    torch = pytest.importorskip("torch")

    def embed(record: dict[str, Any]) -> dict[str, Any]:
        return {"v": torch.ones(4) * len(record["Name"]), "n": torch.tensor(3), "b": torch.zeros(2, dtype=torch.bfloat16)}

    made = leat.csv("train.csv").map(embed, warn=False)
    assert made.stages[-1][1]["schema"] == {"v": "float32[4]", "n": "int64", "b": "bfloat16[2]"}
    with made.select("v", "n").batch(2) as batches:
        batch = next(iter(batches))
        assert batch["v"].shape == (2, 4) and batch["n"].tolist() == [3, 3]


EVEN = [n for n in range(1, 892) if n % 2 == 0]


def ids_of(pipeline: leat.Pipeline, batch_size: int = 50) -> list[int]:
    with pipeline.select("id").batch(batch_size) as batches:
        return [n for batch in batches for n in batch["id"].tolist()]


def test_none_leaves_a_record_out() -> None:
    def even(record: dict[str, Any]) -> dict[str, Any] | None:
        n = int(record["PassengerId"])
        return {"id": n} if n % 2 == 0 else None

    source = leat.csv("train.csv")
    made = source.map(even, warn=False)
    assert made.stages[-1][1]["drops"] is True
    assert ids_of(made) == ids_of(source.map(even, warn=False, processes=3)) == EVEN
    behind = ids_of(source.shuffle(200, seed=3).map(even, warn=False))
    assert sorted(behind) == EVEN and behind == ids_of(  # as a filter at the same place
        source.cast("PassengerId", "id", dtype="int64").shuffle(200, seed=3).map(lambda r: {"odd": r["id"] % 2}, warn=False)
        .filter("odd", max=0)
    )
    assert len(source.map(lambda record: {"n": 1}, warn=False).select("n").batch(9)) == 99
    with pytest.raises(errors.Error, match="to allow this, set `drops: true`"):
        list(source.map(even, drops=False, warn=False))


def test_a_position_among_records_that_are_left_out() -> None:
    def made() -> leat.Pipeline:
        keep = leat.csv("train.csv").map(lambda r: {"id": int(r["PassengerId"])} if int(r["PassengerId"]) % 3 else None, warn=False)
        return keep.select("id").shuffle(100, seed=5).batch(10)

    with made() as batches:
        steps = iter(batches)
        for _ in range(7):
            next(steps)
        state = batches.state_dict()
        rest = [batch["id"].tolist() for batch in steps]
    with made() as again:
        again.load_state_dict(state)
        assert [batch["id"].tolist() for batch in again] == rest


@pytest.mark.parametrize("processes", [1, 3])
def test_batched(processes: int) -> None:
    np = pytest.importorskip("numpy")
    source = leat.csv("train.csv").cast("PassengerId", "id", dtype="int64")
    names = [record["Name"] for record in leat.csv("train.csv")]

    def low(batch: dict[str, Any]) -> dict[str, Any]:
        return {"low": [name.lower() for name in batch["Name"]], "id": batch["id"]}

    def some(batch: dict[str, Any]) -> dict[str, Any]:  # a mask of all columns, as people filter
        kept = {name: column[batch["id"] % 2 == 0] for name, column in batch.items()}
        return {"low": [name.lower() for name in kept["Name"]], "id": kept["id"], "_row": kept["_row"]}

    def by_value(batch: dict[str, Any]) -> dict[str, Any]:
        rows = [row for row in range(len(batch["id"])) if batch["id"][row] % 2 == 0]
        return {"low": [batch["Name"][row].lower() for row in rows], "id": np.array(batch["id"])[rows]}

    def gaps(batch: dict[str, Any]) -> dict[str, Any]:
        even = [n % 2 == 0 for n in batch["id"]]
        return {
            "low": [name.lower() if is_even else None for name, is_even in zip(batch["Name"], even)],
            "id": [int(n) if is_even else None for n, is_even in zip(batch["id"], even)],
        }

    everyone = list(range(1, 892))
    pads = {"inputs": ["Name", "id"], "batch_size": 64}

    def ids(function: Any) -> list[int]:
        return ids_of(source.map(function, batched=True, processes=processes, warn=False, **pads), 33)

    assert ids(low) == everyone
    assert ids(some) == ids(by_value) == ids(gaps) == EVEN
    records = list(source.map(some, batched=True, processes=processes, warn=False, **pads))
    assert [(record["id"], record["low"], record["Name"]) for record in records] == [
        (n, names[n - 1].lower(), names[n - 1]) for n in EVEN
    ]
    assert ids_of(source.map(lambda batch: None if 5 in batch["id"] else {"id": batch["id"]}, batched=True, batch_size=1, warn=False)) == [
        n for n in everyone if n != 5
    ]
    lost = source.map(lambda batch: {"half": batch["id"][::2] + 1}, batched=True, schema={"half": "int64"}, warn=False)
    with pytest.raises(errors.Error, match="cannot tell which ones: also return the column '_row'"):
        list(lost)

"""tests/bench/compare.py: that it compares what is equal, says so where it is not, and reckons ratios of rounds."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))
compare = pytest.importorskip("compare")


def is_there(module: str) -> bool:
    """Whether the module and the packages around it can be found."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def needs(*modules: str) -> Any:
    missing = [name for name in modules if not is_there(name)]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}")


@pytest.mark.long  # the peers take 40 s to start
@needs("leat._leat", "mlx", "mlx.data", "datasets", "tokenizers", "numpy")
def test_a_small_run(tmp_path: pathlib.Path) -> None:
    found = tmp_path / "found.json"
    command = [sys.executable, BENCH / "compare.py", "--contenders", "mlx-data,datasets,leat", "--pipelines", "prose,prepared"]
    command += ["--rows", "100", "--check-rows", "200", "--rounds", "1", "--seconds", "0.2", "--length", "128"]
    command += ["--json", found]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900, env={**os.environ})
    assert done.returncode == 0, done.stderr
    prose, prepared = json.loads(found.read_text())["found"]
    assert all(prose["equal"][name].endswith("the same") for name in ("mlx-data", "datasets"))
    assert prose["medians"]["leat"]["cached_samples_per_s"] > 0 and prose["medians"]["leat"]["memory"] > 1 << 20
    assert [(ratio["leat"], ratio["other"]) for ratio in prose["ratios"]] == [("leat", "mlx-data"), ("leat", "datasets")]
    assert all(ratio["cold"] > 0 and ratio["memory"] > 0 for ratio in prose["ratios"])
    assert list(prepared["equal"]) == ["datasets", "leat"] and prepared["equal"]["datasets"].endswith("the same")  # mlx-data has no format
    assert prepared["medians"]["leat"]["samples_per_s"] > 0
    assert "leat / mlx-data" in done.stdout and "leat / datasets" in done.stdout


def result(rate: float, memory: int) -> dict[str, Any]:
    return {"samples_per_s": rate, "cached_samples_per_s": None, "first_batch_s": 0.1, "memory": memory, "own_memory": memory}


def test_ratios_are_medians_of_those_of_rounds() -> None:
    results = {"torch": [result(1, 8), result(10, 8), result(2, 8)], "leat": [result(30, 2), result(200, 4), result(80, 1)]}
    (found,) = compare.ratios(results)
    assert (found["cold"], found["cached"], found["memory"]) == (30, None, 0.25)
    assert compare.times(30) == "30.0x" and compare.times(0.25) == "0.25x" and compare.times(None) == "-"


def test_rows_that_differ_end_the_run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a"}\n')
    task = compare.Task("prose", str(tmp_path / "rows.jsonl"), 8, tokenizer="t.json", field="text")
    seen = {"leat": "a", "torch": "a", "mlx-data": "b"}

    def call(job: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"n": 1, "n_tokens": 1, "exact": seen[job["contender"]], "loose": "x"}

    monkeypatch.setattr(compare, "call", call)
    options = type("Options", (), {"check_rows": 1})
    assert list(compare.check(task, ["torch", "leat"], options, tmp_path)) == ["torch", "leat"]
    with pytest.raises(SystemExit, match="rows of mlx-data are others"):
        compare.check(task, ["torch", "leat", "mlx-data"], options, tmp_path)
    with pytest.raises(SystemExit, match="rows of mlx-data"):  # a tokenizer's ids are exact, whatever its texts
        compare.check(task, ["leat", "mlx-data"], options, tmp_path)


def test_the_rows_are_those_of_the_reference(tmp_path: pathlib.Path) -> None:
    compare.repeat_rows(2000, tmp_path / "rows.csv")
    task = compare.Task("titanic", str(tmp_path / "rows.csv"), 64, vocab="v")
    contenders = sys.modules["contenders"]
    rows = list(contenders.records(task))
    assert len(rows) == 2000 and rows[0] == rows[891] and rows[0][1] in (0, 1)
    assert rows[0][0].startswith("Passenger class: ")
    shared = [list(contenders.records(task, first, 2)) for first in (0, 1)]
    assert [row for pair in zip(*shared) for row in pair] == rows
    assert sorted(contenders.shuffled(rows, 100)) == sorted(rows)

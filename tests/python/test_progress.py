"""The bar of an epoch: only where a person looks on, with and without tqdm."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import termios
import types

import pytest

import leat
from leat import errors, progress

PROGRAM = """
import sys
if "bare" in sys.argv:
    sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
import leat
asked = {"progress": True} if "asked" in sys.argv else {"progress": False} if "refused" in sys.argv else {}
with leat.csv("rows.csv").cast("n", dtype="int32").batch(2).opened_with(**asked) as batches:
    for epoch in range(2):
        for batch in batches:
            pass
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAT_PROGRESS", raising=False)
    (tmp_path / "rows.csv").write_text("n\n" + "1\n" * 7)


def _seen(*how: str, is_terminal: bool = True, said: str | None = None) -> str:
    """What a person at stderr, a terminal or a file, sees of the program."""
    mine, other = os.openpty() if is_terminal else os.pipe()
    if is_terminal:
        termios.tcsetwinsize(other, (24, 80))
    environment = {**os.environ, **({"LEAT_PROGRESS": said} if said is not None else {})}
    command = [sys.executable, "-c", PROGRAM, *how]
    with subprocess.Popen(command, stderr=other, env=environment) as process:
        os.close(other)
        seen = b""
        try:
            while some := os.read(mine, 1 << 16):
                seen += some
        except OSError:  # a terminal whose other end is closed
            pass
        os.close(mine)
    assert process.returncode == 0, seen.decode()
    return seen.decode()


def test_a_line_without_tqdm() -> None:
    seen = _seen("bare", "asked")
    first, second, rest = seen.split("\n")
    assert first.split("\r")[1].startswith("pipeline epoch 0: 0") and "pipeline epoch 1: 4 of 4 (100 %)" in second.split("\r")[-2]
    assert rest == ""


def test_the_bar_of_tqdm() -> None:
    pytest.importorskip("tqdm")
    seen = _seen("asked")
    assert "pipeline epoch 0" in seen and "pipeline epoch 1: 100%" in seen and "4/4" in seen


@pytest.mark.parametrize(("how", "is_terminal", "said", "has_bar"), [
    ((), True, None, False), ((), True, "1", True), ((), False, "1", False), (("asked",), False, None, False),
    (("asked",), True, "0", False), (("refused",), True, "1", False), (("asked",), True, "", True),
])
def test_who_gets_one(how: tuple[str, ...], is_terminal: bool, said: str | None, has_bar: bool) -> None:
    assert ("epoch" in _seen("bare", *how, is_terminal=is_terminal, said=said)) == has_bar


def test_of_a_notebook_and_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    assert not progress.is_wanted(True)  # pytest's stderr is no terminal
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert progress.is_wanted(True) and not progress.is_wanted(True, rank=1) and not progress.is_wanted(None)
    shell.config.clear()  # a terminal of IPython
    assert not progress.is_wanted(True)
    monkeypatch.setenv("LEAT_PROGRESS", "yes")
    with pytest.raises(errors.SpecError, match="LEAT_PROGRESS is 'yes', but it must be 0 or 1"), leat.csv("rows.csv").cast("n", dtype="int32").batch(2) as batches:
        next(iter(batches))

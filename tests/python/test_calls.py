"""leat.profile: the first call apart from the others, and a call lasts until its result is computed."""

from __future__ import annotations

from typing import Any

import pytest

import leat
from conftest import note_skipped
from leat import errors
from leat.measure import calls


class _Clock:
    """A clock that stands still unless it is moved, in place of the module `time`."""

    now = 0

    def perf_counter_ns(self) -> int:
        return self.now


def test_compiling_is_apart_from_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr(calls, "time", clock)
    took = iter([5_000_000_000, 2_000_000, 3_000_000, 40_000_000])
    given = []

    def step(a: int, b: int) -> int:
        given.append((a, b))
        clock.now += next(took)
        return a + b

    found = leat.profile(step, 1, 2, calls=3)
    assert given == [(1, 2)] * 4
    assert (found.name, found.first_s, found.calls_s) == ("step", 5.0, (0.002, 0.003, 0.04))
    assert (found.compute_s, found.compile_s) == (0.003, 4.997)
    assert str(found) == "step: compile 5 s, then compute 3 ms a call (median of 3, 2 ms to 40 ms)"
    assert calls.Profile("f", 1.0, (2.0,)).compile_s == 0
    with pytest.raises(errors.SpecError, match="calls is 0"):
        leat.profile(step, 1, 2, calls=0)


def test_a_call_ends_with_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of lazy frameworks are waited for, also within lists and dicts."""
    for name in ("jax", "mlx.core"):
        try:
            module: Any = pytest.importorskip(name)
        except pytest.skip.Exception as error:
            note_skipped(name, str(error))
            continue
        settled = []
        wait = module.block_until_ready if name == "jax" else module.eval
        monkeypatch.setattr(module, "block_until_ready" if name == "jax" else "eval",
                            lambda *given, wait=wait: (settled.append(given), wait(*given)))
        ones = getattr(module, "numpy", module).ones(8)
        found = leat.profile(lambda: {"sum": [ones + 1], "n": 3}, calls=2)
        assert len(found.calls_s) == 2
        waited = [given for given in settled if given]
        assert len(waited) >= 3 and "2" in str(waited[-1])

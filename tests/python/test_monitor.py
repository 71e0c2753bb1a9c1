"""Monitor and compare(): what is counted, which phase a moment belongs to, what is waiting."""

from __future__ import annotations

import gc
import importlib.util
import io
import itertools
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from leat.measure import monitor as monitor_module
from leat.measure.counting import TokenCount, samples_of
from leat.measure.monitor import Monitor, Phase, Summary

ROWS, LENGTH = 4, 8


def batch(n_tokens: int = 6, rows: int = ROWS) -> dict[str, Any]:
    mask = [1] * n_tokens + [0] * (LENGTH - n_tokens)
    return {"input_ids": [[7] * LENGTH] * rows, "attention_mask": [mask] * rows, "labels": [0] * rows}


class Clock:
    """In place of the module `time`: goes on when it is told to, and 1 us with each look."""

    def __init__(self) -> None:
        self.now_ns = 10**15

    def perf_counter_ns(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


clock = Clock()


@pytest.fixture(autouse=True)
def no_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_module, "time", clock)


def slow(n: int, wait_s: float) -> Iterator[dict[str, Any]]:
    for _ in range(n):
        clock.sleep(wait_s)
        yield batch()


class Native:
    """A stream that says itself how long it has waited."""

    def __init__(self) -> None:
        self.waited_ns = 10**12


class Stream:
    """As leat.Stream: `native`, and one epoch an iteration. Half of its time is waiting, half is work."""

    def __init__(self, n: int) -> None:
        self.native = Native()
        self.n = n

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _ in range(self.n):
            clock.sleep(0.01)
            self.native.waited_ns += 5_000_000
            yield batch()

    def __len__(self) -> int:
        return self.n


def test_counts_batches_samples_and_tokens_without_padding() -> None:
    monitor = Monitor([batch(), batch(3), batch(LENGTH, rows=1)], memory_interval=None)
    assert [len(each["labels"]) for each in monitor] == [ROWS, ROWS, 1]
    seen = monitor.summary().training
    assert (seen.n_batches, seen.n_samples, seen.n_tokens, seen.n_steps) == (3, 9, 4 * 6 + 4 * 3 + 8, 3)
    assert seen.samples_per_s == pytest.approx(9 / seen.wall_s)
    assert seen.tokens_per_s == pytest.approx(44 / seen.wall_s)
    assert len(monitor) == 3


def test_epochs_add_up_and_the_clock_rests_between_them() -> None:
    monitor = Monitor([batch()] * 5, memory_interval=None)
    list(monitor)
    clock.sleep(0.2)
    list(monitor)
    seen = monitor.summary().training
    assert seen.n_batches == 10 and seen.wall_s < 0.001


def test_share_of_waiting_is_that_of_the_loader() -> None:
    monitor = Monitor(slow(10, 0.02), memory_interval=None)
    for _ in monitor:
        clock.sleep(0.02)
    share = monitor.summary().training.waited_share
    assert share == pytest.approx(0.5, abs=0.01)


def test_waiting_of_a_stream_is_what_it_says() -> None:
    monitor = Monitor(Stream(20), memory_interval=None)
    list(monitor)
    seen = monitor.summary().training
    assert seen.waited_s == pytest.approx(0.1, abs=0.001) and seen.fetched_s == pytest.approx(0.2, abs=0.001)


@pytest.mark.skipif(importlib.util.find_spec("leat._leat") is None, reason="the extension is not built")
def test_streams_of_leat(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor_module, "time", time)
    numpy = pytest.importorskip("numpy")
    (tmp_path / "rows.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(1000)))
    pipeline = leat.csv(str(tmp_path / "rows.csv")).cast("x", dtype="int64").batch(32)
    for batches in (pipeline, pipeline.stream, pipeline.to("numpy")):
        monitor = Monitor(batches, tokens="x", memory_interval=None)
        before = pipeline.stream.native.waited_ns
        seen = numpy.sort(numpy.concatenate([numpy.asarray(each["x"]).copy() for each in monitor]))
        assert (seen == numpy.arange(1000)).all()
        waited_s = (pipeline.stream.native.waited_ns - before) / 1e9
        found = monitor.summary().training
        assert (found.n_batches, found.n_samples, found.n_tokens) == (32, 1000, 1000)
        assert waited_s <= found.waited_s + 1e-6 and found.waited_s <= found.fetched_s
    pipeline.close()


@pytest.mark.skipif(importlib.util.find_spec("leat._leat") is None, reason="the extension is not built")
def test_a_torch_dataset_waits_in_streams_of_its_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(monitor_module, "time", time)
    (tmp_path / "rows.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(100)))
    pipeline = leat.csv(str(tmp_path / "rows.csv")).cast("x", dtype="int64").batch(32)
    dataset = leat.TorchDataset(pipeline)
    monitor = Monitor(dataset, tokens="x", memory_interval=None)
    assert sum(len(each["x"]) for each in monitor) == 100
    dataset.close()
    found = monitor.summary().training
    assert found.waited_s == found.fetched_s > 0
    assert pipeline._stream is None


def test_phases_are_kept_apart() -> None:
    monitor = Monitor([batch()] * 10, memory_interval=None)
    epoch = iter(monitor)
    with monitor.warm_up():
        for _ in itertools.islice(epoch, 2):
            clock.sleep(0.01)
        with monitor.compiling():
            clock.sleep(0.05)
    for _ in epoch:
        clock.sleep(0.001)
    seen = monitor.summary()
    assert (seen.warm_up.n_batches, seen.compiling.n_batches, seen.training.n_batches) == (2, 0, 8)
    assert (seen.warm_up.n_steps, seen.compiling.n_steps, seen.training.n_steps) == (2, 0, 8)
    assert seen.compiling.wall_s == pytest.approx(0.05, abs=0.001)
    assert seen.warm_up.wall_s == pytest.approx(0.02, abs=0.001) and seen.training.wall_s == pytest.approx(0.008, abs=0.001)
    assert seen.step_s == pytest.approx(0.001, abs=0.0001)
    text = str(seen)
    assert "warm-up" in text and "compiling" in text and "samples/s" in text


def test_compiling_inside_of_a_step_is_no_part_of_it() -> None:
    monitor = Monitor([batch()], memory_interval=None)
    for _ in monitor:
        clock.sleep(0.01)
        with monitor.compiling():
            clock.sleep(0.1)
    seen = monitor.summary()
    assert seen.step_s == pytest.approx(0.01, abs=0.001) and seen.training.wall_s == pytest.approx(0.01, abs=0.001)


def test_a_step_ends_with_the_phase_that_its_batch_came_in() -> None:
    monitor = Monitor([batch()] * 3, memory_interval=None)
    epoch = iter(monitor)
    with monitor.compiling():
        next(epoch)
        clock.sleep(0.1)
    clock.sleep(1)  # a look at what came out, say: no step
    for _ in epoch:
        clock.sleep(0.01)
    seen = monitor.summary()
    assert (seen.compiling.n_steps, seen.training.n_steps) == (1, 2)
    assert seen.step_s == pytest.approx(0.01, abs=0.001)


def test_marked_steps_are_the_steps() -> None:
    monitor = Monitor([batch()] * 8, memory_interval=None)
    for i, _ in enumerate(monitor):
        clock.sleep(0.002)
        if i % 4 == 3:
            monitor.step()
    seen = monitor.summary()
    assert seen.training.n_steps == 2 and seen.step_s == pytest.approx(0.008, abs=0.001)


def test_leaving_the_loop_and_errors_stop_the_clock() -> None:
    monitor = Monitor(slow(100, 0), memory_interval=0.01)
    for _ in monitor:
        break
    gc.collect()

    def broken() -> Iterator[dict[str, Any]]:
        yield batch()
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(monitor.watch(broken()))
    before = monitor.summary().training
    clock.sleep(0.05)
    after = monitor.summary().training
    assert before.wall_s == after.wall_s and after.n_batches == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "leat-memory"]


def test_nothing_to_watch_and_nothing_seen() -> None:
    with pytest.raises(TypeError, match="watch"):
        iter(Monitor())
    seen = Monitor(memory_interval=None).summary()
    assert seen.training == Phase() and seen.training.samples_per_s is None and seen.training.waited_share is None
    assert "-" in str(seen)
    with pytest.raises(ValueError, match="at least one Monitor"):
        leat.compare()


def test_what_a_user_counts() -> None:
    monitor = Monitor(["ab", "cde"], count=lambda text: (1, len(text)), memory_interval=None)
    list(monitor)
    seen = monitor.summary().training
    assert (seen.n_samples, seen.n_tokens) == (2, 5)
    without = Monitor([[1, 2]], count=lambda each: (len(each), None), memory_interval=None)
    list(without)
    assert without.summary().training.n_tokens is None


def test_peak_memory_is_seen_while_it_runs() -> None:
    monitor = Monitor([batch()], memory_interval=0.01)
    for _ in monitor:
        held = bytearray(b"x" * (64 << 20))
        profile = monitor._memory
        assert profile is not None
        while len(profile.samples) < 4:
            time.sleep(0.01)
    seen = monitor.summary()
    assert seen.rss_peak is not None and seen.rss_peak > len(held)
    assert "peak memory" in str(seen)


def test_compare_prints_ratios_to_the_first() -> None:
    def run(name: str, n_samples: int, pss: int | None) -> Summary:
        return Summary(name, Phase(2.0, 1.0, 1.0, 10, n_samples, None, 10), Phase(), Phase(), 0.1, 0.2, 1 << 30, pss)

    out = io.StringIO()
    found = leat.compare(run("torch", 100, 4 << 30), run("leat", 2500, 1 << 30), file=out)
    assert found.ratios["samples/s"] == (1.0, 25.0)
    assert found.ratios["peak PSS"] == (1.0, 0.25)
    assert found.ratios["tokens/s"] == (None, None)
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["torch", "leat", "ratio"]
    assert any(line.split() == ["samples/s", "50", "1,250", "25x"] for line in lines)
    assert not any("tokens/s" in line or "compiling" in line for line in lines)
    assert "x" not in str(leat.compare(run("torch", 100, None), file=io.StringIO())).split("\n")[1]


def test_compare_takes_monitors(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (Monitor([batch()] * 3, name=name, memory_interval=None) for name in ("one", "other"))
    list(one), list(other)
    leat.compare(one, other)
    assert "samples/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"x": [[1, 2], [3, 4]], "y": [0, 1]}, 2),
        ({"input_ids": [1, 2, 3], "label": 1}, 1),
        ({"text": "abc", "ids": [1]}, 1),
        ({}, 1),
        (([[1], [2], [3]], [0, 1, 2]), 2),
        ([], 0),
        (7, 1),
    ],
)
def test_samples_of_what_is_held(value: Any, expected: int) -> None:
    assert samples_of(value) == expected


def test_samples_of_what_says_so() -> None:
    class Rows(dict[str, Any]):
        n_rows = 5

    assert samples_of(Rows(x=[1])) == 5


def test_tokens_of_buffers_without_numpy() -> None:
    code = (
        "import array, sys\n"
        "from leat.measure.counting import TokenCount\n"
        "count = TokenCount()\n"
        "for kind in 'bhilqfd':\n"
        "    count.add({'m': memoryview(array.array(kind, [1, 1, 0, 1]))}, 'm', 'ids')\n"
        "count.add({'ids': [[1, 2], [3]]}, 'm', 'ids')\n"
        "count.add(object(), 'm', 'ids')\n"
        "assert 'numpy' not in sys.modules\n"
        "print(count.total())\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "24\n"


@pytest.mark.parametrize("module", ["numpy", "torch", "jax.numpy", "mlx.core"])
def test_tokens_and_samples_of_frameworks(module: str) -> None:
    framework = pytest.importorskip(module)
    make = framework.tensor if module == "torch" else framework.array
    count = TokenCount()
    for n in (3, 8):
        made = {"input_ids": make([[7] * LENGTH] * 2), "attention_mask": make([[1] * n + [0] * (LENGTH - n)] * 2)}
        assert samples_of(made) == samples_of(made["input_ids"]) == samples_of((made["input_ids"], 1)) == 2
        count.add(made, "attention_mask", "input_ids")
    count.add({"input_ids": make([[7] * LENGTH] * 2)}, "attention_mask", "input_ids")
    assert count.total() == 2 * 3 + 2 * 8 + 2 * 8
    assert count.total() == 38

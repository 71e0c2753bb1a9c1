"""Streams: epochs, positions, options, what is built in code; threads, fork, signals, asyncio; the daemon's ends."""

from __future__ import annotations

import contextlib
import asyncio
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from conftest import BATCH, N_ROWS, Leatd, expected, numbers_yaml, take, wait_until

import leat
from leat import _leat
from leat.batch import Batch
from leat.stream import Stream

N_STEPS = -(-N_ROWS // BATCH)
HANG_S = 120


def steps(stream: Stream) -> list[tuple[int, int]]:
    return [(batch.epoch, batch.step) for batch in stream]


def rest(stream: Stream) -> list[tuple[int, int]]:
    """What next() gives up to the end of the epoch."""
    return [(batch.epoch, batch.step) for batch in iter(stream.next, None)]


def in_child(function: Callable[[], None]) -> None:
    """Runs it in a forked child, which must find everything as it asserts."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


class TestChangedData:
    """A file that changes while a trainer reads it, at no position and as the only rank."""

    def open(self, leatd: Callable[[str], Leatd], folder: pathlib.Path) -> tuple[Stream, pathlib.Path]:
        file = folder / "in.csv"
        file.write_text("id\n1\n2\n")
        stages = "[{cast: {input: id, dtype: int64}}, {batch: {batch_size: 2}}]"
        daemon = leatd(f"streams: {{s: {{source: {{csv: {{paths: [{file}]}}}}, stages: {stages}}}}}\n")
        return daemon.open("s"), file

    def append(self, file: pathlib.Path) -> None:
        with file.open("a") as end:
            end.write("3\n")

    def test_it_is_a_warning(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path) -> None:
        stream, file = self.open(leatd, tmp_path)
        with stream, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            assert stream.next(HANG_S) is not None and not told
            self.append(file)
            while not told:
                stream.next(HANG_S)
            for _ in range(1000):
                stream.next(HANG_S)
        assert len(told) == 1 and told[0].category is RuntimeWarning and told[0].filename == __file__, told
        assert "streams.s: the data changed" in str(told[0].message) and f"{file}: was appended to" in str(told[0].message)

    def test_which_a_filter_raises(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path) -> None:
        stream, file = self.open(leatd, tmp_path)
        with stream, warnings.catch_warnings():
            warnings.simplefilter("error")
            assert stream.next(HANG_S) is not None
            self.append(file)
            with pytest.raises(RuntimeWarning, match="in.csv: was appended to"):
                while True:
                    stream.next(HANG_S)


class TestEpochs:
    def test_each_loop_is_one(self, numbers: Leatd) -> None:
        with numbers.open("rows", n_epochs=3) as stream:
            assert len(stream) == N_STEPS and stream.n_steps == N_STEPS and stream.batch_size == BATCH
            assert steps(stream) == [(0, i) for i in range(N_STEPS)]
            assert (stream.epoch, stream.step) == (1, 0)
            assert [batch.epoch for batch in stream.epochs(5)] == [1] * N_STEPS + [2] * N_STEPS
            assert steps(stream) == [] and stream.next() is None and stream.native.next() == _leat.END

    def test_next_goes_on_where_a_loop_was_left(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            for batch in stream:
                if batch.step == 4:
                    break
            assert stream.position.split(":step=")[1].startswith("5")
            assert rest(stream) == [(0, i) for i in range(5, N_STEPS)]
            assert rest(stream) == [(1, i) for i in range(N_STEPS)]
            assert take(stream).epoch == 2 and steps(stream)[0] == (3, 0)

    def test_a_loop_that_goes_on_in_another_session_has_what_is_left(self, numbers: Leatd) -> None:
        """The loop is left while batches of two sessions are held, so the stream opens a third session."""
        with numbers.open("rows", n_steps=6) as stream:
            loop = iter(stream)
            held = [next(loop)]
            stream.native.pause()
            held.append(next(loop))
            del loop
            assert rest(stream) == [(0, i) for i in range(2, 6)]
            assert [batch.step for batch in held] == [0, 1]

    def test_iterators_that_were_not_used_have_epochs_of_their_own(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            loops = [iter(stream) for _ in range(3)]
            assert [next(loop).epoch for loop in loops] == [0, 1, 2]
            assert [next(loop).step for loop in reversed(loops)] == [1, 1, 1]

    def test_limits_hold_where_loops_are_left(self, numbers: Leatd) -> None:
        with numbers.open("rows", n_epochs=3) as stream:
            assert [next(iter(stream)).epoch for _ in range(2)] == [0, 1]
            assert [steps(stream)[0], steps(stream)] == [(2, 0), []]
        with numbers.open("rows", n_steps=N_STEPS + 2) as stream:
            assert [next(iter(stream)).epoch for _ in range(2)] == [0, 1]
            kept = iter(stream)
            assert next(kept).epoch == 2
            assert steps(stream) == [(3, i) for i in range(N_STEPS - 1)] and steps(stream) == []

    def test_outcomes(self, numbers: Leatd) -> None:
        with numbers.open("rows", n_epochs=2, first_epoch=1) as stream:
            outcomes = [got for got in (stream.native.next() for _ in range(2 * N_STEPS + 3)) if isinstance(got, int)]
            assert outcomes == [_leat.END_EPOCH, _leat.END, _leat.END]

    def test_ranks(self, numbers: Leatd) -> None:
        seen = []
        for rank in range(3):
            with numbers.open("rows", rank=rank, world_size=3, n_epochs=1) as stream:
                assert (stream.rank, stream.world_size, stream.native.rank_source) == (rank, 3, "arguments")
                mine = [step for _, step in steps(stream)]
                assert len(mine) == len(stream)
                seen += mine
        assert sorted(seen) == list(range(N_STEPS // 3 * 3))

    def test_the_step_is_that_of_the_rank(self, numbers: Leatd) -> None:
        with numbers.open("rows", rank=1, world_size=3, n_epochs=2) as stream:
            assert (stream.epoch, stream.step) == (0, 1) and "at (0, 1)" in repr(stream)
            assert (take(stream).step, stream.step) == (1, 4)
            for sought, step in ((5, 7), (7, 7), (8, 10)):
                stream.seek(0, sought)
                assert (stream.step, take(stream).step, stream.step) == (step, step, step + 3)
            assert (steps(stream)[0], stream.epoch, stream.step) == ((1, 1), 2, 1)

    def test_what_it_is(self, numbers: Leatd) -> None:
        with numbers.open("wide") as stream:
            assert stream.name == "wide" and stream.window > 0 and len(stream.native.digest) == 32
            assert stream.schema == {"m": ("float32", (-1,)), "wide": ("float32", (-1, 1024))}
            assert "wide" in repr(stream) and stream.native.n_batches == 0
            steps(stream)
            assert stream.native.n_batches == 10 and stream.native.waited_ns > 0 and not stream.native.is_closed

    def test_a_length_that_is_not_known(self, numbers: Leatd) -> None:
        with numbers.open("some") as stream, pytest.raises(TypeError, match="does not know the number of steps of some: .+"):
            len(stream)

    def test_progress(self, numbers: Leatd, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("tqdm")
        with numbers.open("rows") as stream:
            stream.progress = True
            steps(stream)
            assert "rows epoch 0" in capsys.readouterr().err
            for number, go in enumerate((stream.set_epoch, stream.seek, lambda _: stream.load_state_dict(state)), 5):
                next(iter(stream)).release()
                state = stream.state_dict()
                go(number)
                steps(stream)
        assert "rows epoch 6" in capsys.readouterr().err


class TestPositions:
    def test_state_of_another_stream(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            for batch in stream:
                if batch.step == 6:
                    break
            del batch
            state = stream.state_dict()
            assert state == {"position": stream.position, "version": 1}
            assert _leat.position_parse(stream.position) == (0, 7, 0, 1)
        assert stream.state_dict() == state  # closed
        with numbers.open("rows") as other:
            other.load_state_dict(state)
            assert steps(other)[0] == (0, 7)
            other.set_epoch(5)
            assert steps(other) == [(5, i) for i in range(N_STEPS)]
            other.seek(1, 3)
            assert steps(other)[0] == (1, 3)
        with numbers.open("rows", rank=1, world_size=2) as second:
            second.load_state_dict(state)
            assert steps(second)[0] == (0, 7)

    def test_set_epoch_keeps_a_place_that_was_loaded(self, numbers: Leatd) -> None:
        """Programs call it before each loop, also before the first one after a resume."""
        with numbers.open("rows") as stream:
            stream.seek(2, 7)
            state = stream.state_dict()
            stream.load_state_dict(state)
            stream.set_epoch(2)
            assert steps(stream) == [(2, i) for i in range(7, N_STEPS)]
            stream.set_epoch(2)
            assert steps(stream)[0] == (2, 0)
            for go, place in ((stream.set_epoch, (3, 0)), (stream.seek, (3, 0))):
                stream.load_state_dict(state)
                go(3)
                assert steps(stream)[0] == place
            stream.load_state_dict(state)
            stream.seek(2)
            assert steps(stream)[0] == (2, 0)

    def test_numbers_outside(self, numbers: Leatd) -> None:
        """They do not wrap around."""
        with numbers.open("rows") as stream:
            for go in (lambda: stream.set_epoch(-1), lambda: stream.seek(2**64), lambda: stream.seek(0, -1)):
                with pytest.raises(leat.SpecError, match=r"must be in 0\.\.18446744073709551615|is outside 0\.\."):
                    go()
            with pytest.raises(TypeError):
                stream.seek(1.5)  # type: ignore[arg-type]
            for state in (None, "leat1:", {}, {"version": 1, "position": 3}):
                with pytest.raises(leat.PositionError, match="a state must be"):
                    stream.load_state_dict(state)  # type: ignore[arg-type]
            assert steps(stream)[0] == (0, 0)

    def test_of_other_streams(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream, numbers.open("wide") as other, numbers.open("rows", seed=9) as seeded:
            with pytest.raises(leat.PositionError, match="has changed since the position was saved"):
                other.load_state_dict(stream.state_dict())
            with pytest.raises(leat.PositionError, match="seed"):
                seeded.load_state_dict(stream.state_dict())
            for state in ({}, {"version": 2, "position": stream.position}, {"version": 1, "position": 3}):
                with pytest.raises(leat.PositionError, match="a state must be"):
                    stream.load_state_dict(state)
            with pytest.raises(leat.SpecError, match="is not a position"):
                stream.load_state_dict({"version": 1, "position": "leat1:x"})

    def test_what_was_held_stays_behind_a_load(self, numbers: Leatd) -> None:
        with numbers.open("rows", n_epochs=1) as stream:
            held = take(stream)
            stream.load_state_dict(stream.state_dict())
            assert held["int32"].tolist() == expected("int32", 0)
            assert steps(stream) == [(0, i) for i in range(1, N_STEPS)]

    def test_held_batches_stay_where_they_are(self, numbers: Leatd) -> None:
        """Also those of several epochs that were left, of which each keeps its slot in the daemon's memory."""
        with numbers.open("rows") as stream:
            held = []
            for epoch in range(4):
                stream.set_epoch(epoch)
                held.append(take(stream))
                assert (stream.epoch, stream.step) == (epoch, 1)
            for _ in range(4):
                steps(stream)
            assert [batch.epoch for batch in held] == [0, 1, 2, 3]
            assert [batch["int32"].tolist() for batch in held] == [expected("int32", 0)] * 4
        held.clear()
        gc.collect()

    def test_batches_of_two_sessions_are_held(self, numbers: Leatd) -> None:
        with numbers.open("rows", client_name="two") as stream:
            native: Any = stream.native
            first = native.next()
            native.seek(4)
            second = native.next()
            for go in (lambda: native.seek(5), native.pause, native.skip_epoch):
                with pytest.raises(leat.HeldError, match="you still hold 2 batches from before your last two seeks"):
                    go()
            assert [s["client_name"] for s in numbers.sessions()].count("two") == 2
            first.release()
            wait_until(lambda: [s["client_name"] for s in numbers.sessions()].count("two") == 1, "the end of the first")
            native.pause()
            assert (native.next().step, second["int32"].tolist()) == (1, expected("int32", 0))
            second.release()
            native.skip_epoch()
            assert native.next().epoch == 5

    @pytest.mark.parametrize("epochs", [0, 3])
    def test_the_usual_loop_over_epochs(self, numbers: Leatd, epochs: int) -> None:
        """The last batch of a loop is held by its variable when the next epoch is set."""
        with numbers.open("rows", n_epochs=epochs) as stream:
            for epoch in (0, 1, 5, 2):
                stream.set_epoch(epoch)
                seen = []
                for batch in stream:
                    seen.append((batch.epoch, batch.step))
                assert seen == [(epoch, i) for i in range(N_STEPS)]
                assert batch["int32"].tolist() == expected("int32", N_STEPS - 1)
            stream.seek(1, 3)
            assert steps(stream)[0] == (1, 3)


class TestOptions:
    def test_refusals(self, numbers: Leatd) -> None:
        client: Any = _leat.Client(numbers.address)
        for options, text in (
            ({"windows": 1}, "one of delivery"), ({3: 1}, "one of delivery"), ({"window": -1}, "window is -1"),
            ({"window": True}, "window is True"), ({"window": 1 << 32}, "integer"), ({"n_steps": 1 << 64}, "integer"),
            ({"delivery": "post"}, '"shared" or "copy"'), ({"delivery": 1}, "text"), ({"client_name": "a\0b"}, "NUL"),
            ({"client_name": "\ud800"}, "NUL"), ({"expect_digest": b"x"}, "32 bytes"), ({"accept_changes": 1}, "True or False"),
            ({"open_timeout_ms": 1 << 31}, "32 bits"), ({"rank": "first"}, "integer"), ({"reconnect": 1}, "callable"),
            ({"position": "x"}, "position"), ({"rank": 3, "world_size": 2}, "rank"), ({"seed": 1.5}, "integer"),
        ):  # fmt: skip
            with pytest.raises(leat.SpecError, match=text):
                client.open("rows", options)
        wrong: list[tuple[Any, ...]] = [("rows", 3), (3,), (), ("rows", {}, int), ("rows", {}, 3), ("a\0b",)]
        for arguments in wrong:
            with pytest.raises((TypeError, ValueError)):
                client.open(*arguments)
        gc.collect()
        wait_until(lambda: not numbers.sessions(), "the end of all sessions")

    def test_all_at_once(self, numbers: Leatd) -> None:
        digest = numbers.open("rows").native.digest
        with numbers.open(
            "rows", rank=1, world_size=2, window=5, first_epoch=1, first_step=4, n_epochs=1, n_steps=2, seed=3,
            client_name="tests", expect_digest=digest, open_timeout_ms=30000, reconnect_timeout_ms=_leat.NO_RECONNECT,
            accept_changes=None, private_writes=True, reconnect=None, position=None,
        ) as stream:  # fmt: skip
            assert stream.window == 5 and [session["client_name"] for session in numbers.sessions()].count("tests") == 1
            assert steps(stream) == [(1, 5), (1, 7)]
        with pytest.raises(leat.PositionError, match="digest"):
            numbers.open("rows", expect_digest=bytes(32))

    def test_no_such(self, numbers: Leatd, tmp_path: pathlib.Path) -> None:
        with pytest.raises(leat.NotFoundError, match='"row"; did you mean "rows"') as caught:
            numbers.open("row")
        assert isinstance(caught.value, LookupError) and caught.value.code < 0
        with pytest.raises(leat.DaemonError, match="no leatd answers at"):
            _leat.Client(str(tmp_path)).open("rows")
        with pytest.raises(leat.Error):
            _leat.Client("x" * 5000).open("rows")


    def test_cycles_are_collected(self, numbers: Leatd) -> None:
        """A callable that leads back to its stream does not keep the session."""
        cycle: list[Any] = []
        cycle.append(numbers.open("rows", client_name="cycle", reconnect=lambda *event: cycle))
        batch = take(cycle[0])
        reference = weakref.ref(cycle[0])
        del cycle
        gc.collect()
        assert reference() is None and batch.stream is None and batch["int64"].tolist() == expected("int64", 0)
        batch.release()
        wait_until(lambda: not any(s["client_name"] == "cycle" for s in numbers.sessions()), "the end of the session")


class TestBuilt:
    def spec(self, numbers: Leatd) -> dict[str, Any]:
        return {
            "name": "built",
            "source": ["jsonl", {"paths": [str(numbers.folder / "numbers.jsonl")]}],
            "stages": [
                ["cast", {"input": "n", "output": "n", "dtype": "int32", "default": None}],
                ("select", {"fields": ("n",)}),
                ["batch", {"batch_size": 10, "drop_last": True}],
            ],
            "options": {"seed": 7},
        }

    def test_values_of_all_kinds(self, numbers: Leatd) -> None:
        numpy = pytest.importorskip("numpy")
        source = leat.jsonl(numbers.folder / "numbers.jsonl").named("built").stage("select", {"fields": (numpy.str_("n"),)})
        spec = source.stage("sample", {"fraction": numpy.float32(0.5), "seed": numpy.int64(3)}).batch(numpy.uint8(10)).spec
        with Stream(_leat.Client(numbers.address).open_built(spec, {"n_epochs": 1}, Batch)) as stream:
            assert stream.name == "built" and 0 < sum(batch.n_rows for batch in stream) < N_ROWS

    def test_rows(self, numbers: Leatd) -> None:
        with Stream(_leat.Client(numbers.address).open_built(self.spec(numbers), batch_type=Batch)) as stream:
            assert [n for batch in stream for n in batch["n"].tolist()] == list(range(N_ROWS))

    def test_refusals(self, numbers: Leatd) -> None:
        client = _leat.Client(numbers.address)
        deep: list[Any] = []
        deep.append(deep)
        for name, value, path in (
            ("source", None, "source"), ("source", "csv", "source"), ("source", ["csv"], "source"),
            ("source", [1, {}], "source"), ("source", ["csv", []], "source"), ("stages", {}, "stages"),
            ("stages", [["pad"]], "stages[0]"), ("stages", [["pad", {"length": object()}]], "stages[0].pad"),
            ("stages", [["take", {"count": 1}], ["pad", {1: 2}]], "stages[1].pad"), ("options", [], "options"),
            ("stages", [["pad", {"length": 1 << 64}]], "stages[0].pad"), ("options", {"x\0": 1}, "options"),
            ("stages", [["pad", {"length": "a\0"}]], "stages[0].pad"), ("options", {"x": b"x\0"}, "options"),
            ("stages", [["pad", {"length": "\ud800"}]], "stages[0].pad"), ("stages", [["pad", {"length": deep}]], None),
            ("stages", [["take", {"count": 1}]] * 300, None), ("stages", [["nothing", {}]], "stages[0]"),
            ("name", 3, None), ("name", "a\0", None), ("options", {"x": [float("nan")] * 100_000}, None),
        ):  # fmt: skip
            with pytest.raises(leat.SpecError) as caught:
                client.open_built({**self.spec(numbers), name: value})
            assert path is None or path in (caught.value.path or ""), str(caught.value)
        with pytest.raises(TypeError):
            client.open_built([])  # type: ignore[arg-type]

    def test_an_argument_that_raises(self, numbers: Leatd) -> None:
        class Paths(list[Any]):
            def __getitem__(self, at: Any) -> Any:
                raise KeyboardInterrupt

        spec = self.spec(numbers)
        spec["source"][1]["paths"] = Paths(["x"])
        with pytest.raises(KeyboardInterrupt):
            _leat.Client(numbers.address).open_built(spec)

    def test_an_argument_that_changes_the_dict(self, numbers: Leatd) -> None:
        arguments: dict[str, Any] = {}

        class Paths(list[Any]):
            def __getitem__(self, at: Any) -> Any:
                arguments.clear()
                gc.collect()
                return "/nowhere"

        arguments.update({"suffix": ".x", "paths": Paths(["x"]), "field_" * 20: 1})
        with pytest.raises(leat.Error):
            _leat.Client(numbers.address).open_built({"source": ["csv", arguments], "stages": []})


class TestErrors:
    def test_data(self, numbers: Leatd) -> None:
        with numbers.open("bad") as stream:
            with pytest.raises(leat.DataError) as caught:
                steps(stream)
            error = caught.value
            assert isinstance(error, ValueError) and str(error.file).endswith("bad.csv") and error.line == N_ROWS + 2
            assert str(error).startswith(f"{error.file}:{error.line}:") and error.message in str(error)
            with pytest.raises(leat.DataError):
                take(stream)

    def test_closed(self, numbers: Leatd) -> None:
        stream = numbers.open("rows")
        stream.close()
        stream.close()
        for use in (stream.next, stream.native.fileno, lambda: stream.seek(0)):
            with pytest.raises(leat.Error, match="closed"):
                use()
        assert (stream.epoch, stream.step) == (0, 0) and stream.native.is_closed

    def test_timeouts(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            for wrong in (-1, float("nan"), 1e10):
                with pytest.raises(leat.SpecError, match="timeout is"):
                    stream.next(wrong)
            with pytest.raises(TypeError):
                stream.next("1")  # type: ignore[arg-type]
            wait_until(lambda: self.try_next(stream), "a batch")
            numbers.pause()
            try:
                with pytest.raises(leat.TimedOutError):
                    while True:
                        stream.next(0)
                start = time.monotonic()
                with pytest.raises(leat.TimedOutError, match="within 0.7 s") as caught:
                    stream.next(0.7)
                assert isinstance(caught.value, TimeoutError) and 0.69 <= time.monotonic() - start < HANG_S
            finally:
                numbers.process.send_signal(signal.SIGCONT)
            assert stream.next() is not None or stream.next() is not None

    @staticmethod
    def try_next(stream: Stream) -> bool:
        try:
            return stream.next(0) is not None
        except leat.TimedOutError:
            return False

    def test_another_one_by_a_reload(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path) -> None:
        config = numbers_yaml(tmp_path)
        daemon = leatd(config)
        with daemon.open("wide", window=2) as stream:
            digest, n_rows = stream.native.digest, [batch.n_rows for batch in stream]
            assert (set(n_rows), stream.batch_size) == ({10}, 10)
            (tmp_path / "leatd.yaml").write_text(config.replace("batch_size: 10 }", "batch_size: 20 }"))
            assert daemon.ctl("reload").returncode == 0
            while 20 not in n_rows:
                n_rows = [batch.n_rows for batch in stream]
            assert (stream.batch_size, stream.schema["m"]) == (20, ("float32", (-1,)))
            assert stream.native.digest != digest

    def test_a_daemon_that_comes_back(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path) -> None:
        daemon = leatd(numbers_yaml(tmp_path))
        told: list[tuple[str, int, float, str]] = []

        def reconnect(*event: Any) -> None:
            told.append(event)
            if event[0] == "lost":
                with pytest.raises(RuntimeError, match="is still running"):
                    take(stream)

        with daemon.open("rows", n_epochs=20, window=8, reconnect=reconnect) as stream:
            found = [(batch.epoch, batch.step) for batch in [take(stream)]]
            daemon.process.kill()
            daemon.process.wait()
            thread = threading.Timer(0.3, daemon.start)
            thread.start()
            found += rest(stream) + [(batch.epoch, batch.step) for batch in stream.epochs(20)]
            thread.join()
            assert found == [(epoch, step) for epoch in range(20) for step in range(N_STEPS)]
        assert told[0][0] == "lost" and told[1][:2] == ("trying", 1) and told[-1][0] == "back"
        assert all(isinstance(waited, float) and reason for _, _, waited, reason in told)

    @pytest.mark.parametrize("kind", ["lost", "back"])
    def test_an_interrupt_meanwhile(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path, kind: str) -> None:
        """What a handler raises while `reconnect` runs comes out of next(), and no batch is lost by it."""
        daemon = leatd(numbers_yaml(tmp_path))

        def reconnect(*event: Any) -> None:
            if event[0] == kind:
                raise SystemExit(7)

        with daemon.open("rows", n_epochs=20, window=8, reconnect=reconnect) as stream:
            found = [take(stream).step]
            daemon.process.kill()
            daemon.process.wait()
            daemon.start()
            with pytest.raises(SystemExit) as raised:
                found += (batch.step for batch in iter(stream.next, None))
            assert raised.value.code == 7
            found += [step for _, step in rest(stream)] + [batch.step for batch in stream.epochs(20)]
            assert found == list(range(N_STEPS)) * 20

    def test_a_daemon_that_does_not(self, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path) -> None:
        daemon = leatd(numbers_yaml(tmp_path))
        with daemon.open("rows", reconnect_timeout_ms=_leat.NO_RECONNECT) as stream:
            batch = take(stream)
            daemon.process.kill()
            daemon.process.wait()
            for _ in range(2):
                with pytest.raises(leat.DaemonError, match="closed the connection"):
                    while True:
                        rest(stream)
            assert batch["int64"].tolist() == expected("int64", 0)


class TestThreads:
    def test_many_take_and_drop(self, numbers: Leatd) -> None:
        seen: list[tuple[int, int]] = []

        def take(stream: Stream) -> None:
            while (batch := stream.native.next()) != _leat.END:
                if isinstance(batch, int):
                    continue
                assert batch["int64"].tolist() == expected("int64", batch.step)
                views = [memoryview(batch["int32"]), batch["int64"].__dlpack__()]
                seen.append((batch.epoch, batch.step))
                del batch, views

        with numbers.open("rows", n_epochs=20, window=16) as stream:
            threads = [threading.Thread(target=take, args=(stream,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                assert stream.position and stream.native.position_numbers and stream.native.n_held <= 16
            for thread in threads:
                thread.join()
            assert sorted(seen) == [(epoch, step) for epoch in range(20) for step in range(N_STEPS)]
            assert stream.native.n_held == 0

    def test_several_loops_over_one_epoch(self, numbers: Leatd) -> None:
        """Each batch of the epoch comes to one of them, none of the next, and all of them end."""
        n_rounds, n_threads = 30, 4
        with numbers.open("rows", n_epochs=n_rounds, window=16) as stream:
            begun, ended = threading.Barrier(n_threads), threading.Barrier(n_threads)
            seen: list[list[tuple[int, int]]] = [[] for _ in range(n_rounds)]

            loops = [iter(stream)]

            def take() -> None:
                for round in range(n_rounds):
                    loop = loops[-1]
                    begun.wait(HANG_S)
                    while (batch := next(loop, None)) is not None:  # as `for` does, which began before the others ended
                        seen[round].append((batch.epoch, batch.step))
                        del batch
                    if ended.wait(HANG_S) == 0:
                        loops.append(iter(stream))
                    begun.wait(HANG_S)

            threads = [threading.Thread(target=take) for _ in range(n_threads)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(HANG_S)
            assert [sorted(found) for found in seen] == [
                [(round, step) for step in range(N_STEPS)] for round in range(n_rounds)
            ]

    def test_several_close_it_while_one_waits(self, numbers: Leatd) -> None:
        """None of them is told that it is closed, and it can still be asked where it stood."""
        stream = numbers.open("rows", window=64)
        take(stream).release()
        failed: list[BaseException] = []

        def wait() -> None:
            with contextlib.suppress(leat.Error):
                while True:
                    stream.next()

        def close() -> None:
            try:
                stream.close()
            except BaseException as error:
                failed.append(error)

        numbers.pause()
        try:
            threads = [threading.Thread(target=target) for target in (wait, *[close] * 8)]
            for thread in threads:
                thread.start()
                time.sleep(0.1 if thread is threads[0] else 0)
            for thread in threads:
                thread.join(HANG_S)
            assert not failed and stream.native.is_closed and stream.position
        finally:
            numbers.process.send_signal(signal.SIGCONT)

    def test_another_place_while_one_waits(
        self, numbers: Leatd, leatd: Callable[[str], Leatd], tmp_path: pathlib.Path
    ) -> None:
        """Where that takes another session, too, next() of all threads goes on there."""
        second = leatd(numbers_yaml(tmp_path))
        native = _leat.Client(numbers.address).open("rows", {"n_epochs": 1000, "window": 4}, Batch)
        elsewhere = {"first_epoch": 7, "first_step": 2}
        seen: list[tuple[int, int]] = []
        with Stream(native, opener=lambda *_: _leat.Client(second.address).open("rows", elsewhere, Batch)) as stream:

            def take() -> None:
                while seen[-1:] != [(7, N_STEPS - 1)]:
                    seen.extend(rest(stream))

            numbers.pause()
            try:
                thread = threading.Thread(target=take)
                thread.start()
                time.sleep(0.2)
                stream.load_state_dict(stream.state_dict())
                thread.join(HANG_S)
                assert seen[-N_STEPS + 2 :] == [(7, step) for step in range(2, N_STEPS)]
            finally:
                numbers.process.send_signal(signal.SIGCONT)

    def test_others_get_through_while_one_waits(self, numbers: Leatd) -> None:
        results: list[Any] = []

        def wait(stream: Stream) -> None:
            try:
                while True:
                    stream.native.next()
            except leat.Error as error:
                results.append(error)

        with numbers.open("rows", window=64) as stream:
            held = [take(stream) for _ in range(3)]
            numbers.pause()
            try:
                thread = threading.Thread(target=wait, args=(stream,))
                thread.start()
                time.sleep(0.2)  # most likely it waits by now; what follows holds in any case
                for batch in held:
                    assert batch.release()
                assert stream.position and stream.native.fileno() >= 0
                stream.close()  # would the waiting keep others out, these would wait for as long as the daemon is stopped
                thread.join(HANG_S)
                assert not thread.is_alive() and "closed" in str(results[-1])
            finally:
                numbers.process.send_signal(signal.SIGCONT)


class TestFork:
    def test_a_child_gets_errors(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            batch = take(stream)
            tensor = batch["int32"]

            def child() -> None:
                for use in (
                    stream.next, stream.native.fileno, lambda: stream.seek(0), lambda: stream.position,
                    lambda: memoryview(tensor), tensor.tolist, tensor.__dlpack__,
                ):  # fmt: skip
                    with pytest.raises(leat.ForkedError, match=f"process {os.getppid()}"):
                        use()
                batch.release()
                stream.close()
                with numbers.open("rows") as own:
                    assert steps(own) == [(0, i) for i in range(N_STEPS)]

            in_child(child)
            assert tensor.tolist() == expected("int32", 0)
            del batch, tensor
            assert rest(stream) == [(0, i) for i in range(1, N_STEPS)]

    def test_a_session_ends_with_its_process(self, numbers: Leatd) -> None:
        """Also where a child of it lives on."""
        code = f"""
import os, sys, time
from leat import _leat
stream = _leat.Client({numbers.address!r}).open("rows", {{"client_name": "parent"}})
batch = stream.next()
if os.fork() == 0:
    time.sleep({HANG_S})
    os._exit(0)
print("ready", flush=True)
time.sleep({HANG_S})
"""

        def is_there() -> bool:
            return any(session["client_name"] == "parent" for session in numbers.sessions())

        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n" and is_there()
            process.kill()
            process.wait()
            wait_until(lambda: not is_there(), "the end of the session")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class TestSignals:
    def test_ctrl_c(self, numbers: Leatd) -> None:
        with numbers.open("rows") as stream:
            numbers.pause()
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            try:
                with pytest.raises(KeyboardInterrupt):
                    timer.start()
                    while True:
                        take(stream)
            finally:
                numbers.process.send_signal(signal.SIGCONT)
                timer.join()
            assert stream.next() is not None or stream.next() is not None

    def test_a_handler_that_returns(self, numbers: Leatd) -> None:
        n_signals = 0

        def count(*_: Any) -> None:
            nonlocal n_signals
            n_signals += 1

        before = signal.signal(signal.SIGALRM, count)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        try:
            with numbers.open("rows", n_epochs=30) as stream:
                found = [pair for _ in range(30) for pair in steps(stream)]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert found == [(epoch, step) for epoch in range(30) for step in range(N_STEPS)] and n_signals > 0


class TestAsyncio:
    def test_costs_nothing_where_it_is_not_used(self, numbers: Leatd) -> None:
        code = "import sys, leat; next(iter(leat.open('rows'))); sys.exit('asyncio' in sys.modules)"
        environment = {**os.environ, "LEAT_SOCKET": numbers.address}
        assert subprocess.run([sys.executable, "-c", code], env=environment, timeout=HANG_S).returncode == 0

    def test_epochs_beside_each_other(self, numbers: Leatd) -> None:
        async def run(stream: Stream) -> list[int]:
            found = [batch.step async for batch in stream]
            return found + [batch.step async for batch in stream]

        async def both() -> tuple[list[int], list[int]]:
            with numbers.open("rows") as first, numbers.open("rows", n_epochs=1) as second:
                return await asyncio.gather(run(first), run(second))

        first, second = asyncio.run(both())
        assert first == [*range(N_STEPS), *range(N_STEPS)] and second == [*range(N_STEPS)]

    def test_waiting_is_cancelled(self, numbers: Leatd) -> None:
        async def run() -> None:
            with numbers.open("rows") as stream:
                numbers.pause()
                try:
                    with pytest.raises(asyncio.TimeoutError):
                        while True:
                            await asyncio.wait_for(stream.next_async(), 0.2)
                finally:
                    numbers.process.send_signal(signal.SIGCONT)
                batch = await stream.next_async() or await stream.next_async()
                assert batch is not None

        asyncio.run(run())


def test_no_threads_and_nothing_printed(numbers: Leatd) -> None:
    """A session in a process of its own, at whose end nothing is closed by hand."""
    code = f"""
import threading
from leat import _leat
from leat.batch import Batch
from leat.stream import Stream
stream = Stream(_leat.Client({numbers.address!r}).open("rows", None, Batch))
kept = [memoryview(batch["int32"]) for batch in stream][-1]
batch = stream.next()
assert threading.active_count() == 1
"""
    done = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, timeout=HANG_S)
    assert done.returncode == 0 and not done.stdout and not done.stderr, done.stderr.decode()


class TestClosing:
    def test_a_failed_stream_leaves_nothing(self, numbers: Leatd) -> None:
        """What was released, but not yet told, goes with the session, also where the daemon has ended the stream."""
        stream = numbers.open("bad")
        with pytest.raises(leat.DataError):
            for _ in range(2):
                steps(stream)
        stream.close()
        wait_until(lambda: not numbers.sessions(), "the session of a failed stream ends")

    def test_what_is_held_outlives_the_close(self, numbers: Leatd) -> None:
        """The daemon fills no slot that is looked into, though another trainer of the run goes on."""
        with numbers.open("rows") as first, numbers.open("rows") as second:
            batch = take(first)
            view = memoryview(batch["int32"])
            before = bytes(view)
            first.close()
            for _ in range(20):
                steps(second)
            assert bytes(view) == before
            assert len(numbers.sessions()) == 2
            del view
            batch.release()
            wait_until(lambda: len(numbers.sessions()) == 1, "the session ends with what it held")

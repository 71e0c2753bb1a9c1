"""The embedded daemon: it is there when it is needed, is one for a process, and leaves nothing behind, however the process
ends.
"""

from __future__ import annotations

import itertools
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import leat
from leat import daemon, errors, programs
from shared_pipelines import lay_out

HANG_S = 120


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    leat.shutdown()
    yield
    leat.shutdown()


def numbers() -> leat.Pipeline:
    return leat.csv("train.csv").cast("PassengerId", "id", dtype="int64").batch(10)


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + HANG_S
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def is_process(pid: int) -> bool:
    """A zombie is none: whoever began it has not looked yet."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_for_a_process() -> None:
    first = daemon.embedded()
    assert daemon.embedded() is first and daemon.for_built().address == first.folder
    streams = [numbers().open() for _ in range(3)]
    assert [memoryview(next(iter(stream))["id"])[0] for stream in streams] == [1, 1, 1]
    assert sorted(os.listdir(first.folder)) == ["control.sock", "copy.sock", "trainer.sock"]
    assert os.stat(first.folder).st_mode & 0o777 == 0o700
    leat.shutdown()
    assert not os.path.exists(first.folder) and first.process.poll() == 0
    assert memoryview(next(iter(numbers()))["id"])[0] == 1  # another one
    assert daemon.embedded() is not first


def test_threads_start_one() -> None:
    found: list[daemon.Embedded] = []
    threads = [threading.Thread(target=lambda: found.append(daemon.embedded())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


SCRIPT = """
import os, signal, sys, time
import leat
from leat import daemon
pipeline = leat.csv("train.csv").cast("PassengerId", "id", dtype="int64").batch(10)
held = [next(iter(pipeline)) for _ in range(2)]
print(os.getpid(), daemon.embedded().process.pid, daemon.embedded().folder, flush=True)
"""

ENDS = {
    "kill": (SCRIPT + "time.sleep(1000)", signal.SIGKILL),
    "term": (SCRIPT + "time.sleep(1000)", signal.SIGTERM),
    "interrupt": (SCRIPT + "time.sleep(1000)", signal.SIGINT),
    "returns": (SCRIPT, None),
    "raises": (SCRIPT + "raise SystemExit(3)", None),
    "exits at once": (SCRIPT + "os._exit(0)", None),
    "aborts": (SCRIPT + "os.abort()", None),
}


def shared_memory() -> set[str]:
    """What has a name; other programs put their own there meanwhile."""
    return {name for name in os.listdir("/dev/shm") if "leat" in name}


@pytest.mark.parametrize("how", ENDS)
def test_nothing_is_left(how: str) -> None:
    """No process, no socket, no folder, no shared memory."""
    script, number = ENDS[how]
    shared = shared_memory()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which a shell's background job ignores
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline().split()
    assert len(line) == 3
    child, folder = int(line[1]), line[2]
    if number is not None:
        assert is_process(child) and os.path.exists(folder)
        process.send_signal(number)
    process.wait(HANG_S)
    until(lambda: not is_process(child), "the daemon outlives its process")
    until(lambda: not os.path.exists(folder), "the folder of its sockets is left")
    assert shared_memory() <= shared
    process.stdout.close()


def test_ctrl_c_is_not_the_daemons() -> None:
    """An interrupt of the whole process group does not end the daemon below the trainer, which may want to write a
    checkpoint.
    """
    assert os.getsid(daemon.embedded().process.pid) == daemon.embedded().process.pid != os.getsid(0)


def test_a_forked_child_uses_its_parents() -> None:
    owner = daemon.embedded()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            same = daemon.embedded() is owner
            status = 0 if same and memoryview(next(iter(numbers()))["id"])[0] == 1 else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert owner.is_alive() and memoryview(next(iter(numbers()))["id"])[0] == 1


def test_a_forked_child_does_not_end_it() -> None:
    owner = daemon.embedded()
    child = os.fork()
    if child == 0:
        try:
            leat.shutdown()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert owner.is_alive()


def test_a_forked_child_without_parents_starts_its_own() -> None:
    owner = daemon.embedded()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(read_end, 1)
            own = daemon.embedded()
            fine = own is not owner and memoryview(next(iter(numbers()))["id"])[0] == 1
            own.stop()
            os._exit(0 if fine else 2)
        finally:
            os._exit(1)
    leat.shutdown()
    os.write(write_end, b"x")
    assert os.waitpid(child, 0)[1] == 0
    os.close(read_end)
    os.close(write_end)


def test_it_is_started_again() -> None:
    """A daemon that is killed is begun anew where it was, and the stream goes on behind what it gave."""
    stream = numbers().open(epochs=1)
    batches = iter(stream)
    seen = [memoryview(batch["id"]).tolist() for batch in itertools.islice(batches, 5)]
    daemon.embedded().process.kill()
    seen += [memoryview(batch["id"]).tolist() for batch in batches]
    assert [number for batch in seen for number in batch] == list(range(1, 892))


def test_it_is_started_again_for_the_next() -> None:
    first = daemon.embedded()
    first.process.kill()
    first.process.wait()
    assert memoryview(next(iter(numbers()))["id"])[0] == 1
    assert daemon.embedded() is first


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "leat.daemon"):
        daemon.embedded()
        leat.shutdown()
        # The daemon of the test before may log its end only now.
        until(lambda: {"started", "stopped"} <= {record.message.split()[0] for record in caplog.records}, "its log did not come")
    assert all(record.levelno == logging.INFO for record in caplog.records if record.message.startswith("started "))


def test_what_is_raised_is_not_printed_besides(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "leat.daemon"):
        with pytest.raises(leat.SpecError):
            numbers().cast("no", dtype="int32").open()
        leat.shutdown()
        until(lambda: {"refused", "stopped"} <= {record.message.split()[0] for record in caplog.records}, "its log did not come")
    assert [record.levelno for record in caplog.records if record.message.startswith("refused ")] == [logging.DEBUG]
    assert all(record.levelno < logging.WARNING for record in caplog.records)


def test_nothing_is_printed() -> None:
    """What was wrong is raised; where the program has no handlers the log is not on stderr, too."""
    script = """
import leat
try:
    leat.csv("train.csv").cast("Agee", dtype="int32").batch(2).open()
except leat.SpecError:
    leat.shutdown()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=HANG_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_it_cannot_start(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs_folder = tmp_path / "bin"
    programs_folder.mkdir()
    (programs_folder / "leatd").write_text("#!/bin/sh\necho not today >&2\nexit 3\n")
    (programs_folder / "leatd").chmod(0o755)
    monkeypatch.setenv("LEAT_BIN", str(programs_folder))
    made: list[str] = []
    make = daemon._make_folder
    monkeypatch.setattr(daemon, "_make_folder", lambda: made.append(make()) or made[-1])
    with pytest.raises(errors.DaemonError, match="not today"):
        numbers().open()
    assert made and not os.path.exists(made[0])


def test_a_long_name_of_few_letters(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets have room for bytes, not for letters: such a $TMPDIR is passed over."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with tempfile.TemporaryDirectory(prefix="\u6f22" * 17, dir="/tmp") as folder:
        assert len(folder) < 60 < len(os.fsencode(folder))
        monkeypatch.setattr(tempfile, "tempdir", folder)
        made = daemon._make_folder()
        os.rmdir(made)
        assert os.path.dirname(made) == "/tmp"


def test_programs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs.find("leatd") == os.path.join(os.environ["LEAT_BIN"], "leatd")
    monkeypatch.setattr(programs, "_PACKAGE", str(tmp_path))
    monkeypatch.setenv("LEAT_BIN", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(errors.NotFoundError, match="leat did not find leatd in /nowhere, .*LEAT_BIN"):
        programs.find("leatd")
    with pytest.raises(LookupError):
        programs.leatctl("stages")


def test_who_answers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no daemon of this user is not taken for one."""
    monkeypatch.setenv("LEAT_SOCKET", str(tmp_path / "nobody"))
    assert daemon._user_daemon() is None
    monkeypatch.setenv("LEAT_SOCKET", "/" + "x" * 200)
    assert daemon._user_daemon() is None
    (tmp_path / "trainer.sock").write_text("")
    monkeypatch.setenv("LEAT_SOCKET", str(tmp_path))
    assert daemon._user_daemon() is None
    other = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # not of the kind that trainers connect to
    (tmp_path / "s").mkdir()
    other.bind(str(tmp_path / "s" / "trainer.sock"))
    other.listen()
    monkeypatch.setenv("LEAT_SOCKET", str(tmp_path / "s"))
    assert daemon._user_daemon() is None
    other.close()
    monkeypatch.setenv("LEAT_SOCKET", daemon.embedded().folder)
    assert daemon._user_daemon() == daemon.embedded().folder
    assert daemon.for_built(needs_own=True).address == daemon.embedded().folder
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert daemon._user_daemon() is None


def test_connect(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.SpecError, match="is empty"):
        leat.connect("")
    leat.connect(tmp_path / "nobody")
    try:
        with pytest.raises(errors.DaemonError):
            numbers().open(open_timeout=1)
    finally:
        assert leat.connect() == str(tmp_path / "nobody")

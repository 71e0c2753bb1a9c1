"""What the tests of the Python package share: a folder for all that they leave behind, daemons with streams of known numbers.

Caches, states, sockets and temporary files of all tests lie in one folder below $TMPDIR, which goes with them. Who wants to
look into it gives --basetemp=FOLDER, where the files of each test then stay.

`leatd(text)` starts a daemon with that configuration, in a folder of its own, and ends it with the test. `numbers` is one for
all tests of a file: its stream `rows` has the tensors of DTYPES, made of the row's number as `expected()` says.
"""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import leat
from leat import _leat, programs
from leat.batch import Batch
from leat.cursor import Limits
from leat.stream import Stream

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_S = 120
N_ROWS = 100
BATCH = 8
DTYPES = ["bool", "uint8", "uint16", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]

# Where leat, and what it is tested against, keep something for later.
KEPT_IN = {
    "TMPDIR": "", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state", "HF_HOME": "huggingface",
    "TORCHINDUCTOR_CACHE_DIR": "torch",
}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Before any test is imported: some libraries read where to keep things when they are imported."""
    config.addinivalue_line("markers", "long: what the test python.long runs, with the label long")
    folder = tempfile.TemporaryDirectory(prefix="leat-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    config.add_cleanup(leat.shutdown)
    os.environ.update({variable: os.path.join(folder.name, name) for variable, name in KEPT_IN.items()})
    tempfile.tempdir = None
    config.option.basetemp = config.option.basetemp or os.path.join(folder.name, "t")


_skipped_parts: list[tuple[str, str]] = []


def note_skipped(part: str, reason: str) -> None:
    """Says that a part of a test is left out. The rest of the test goes on."""
    _skipped_parts.append((part, reason))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, as tests/suite.py reads it."""
    skipped = list(_skipped_parts)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        skipped.append((report.nodeid.partition("::")[2] or "all", reason.replace("\n", " ")))
    for case, reason in skipped:
        terminalreporter.write_line(f"skipped: {case}: {reason}")


def _state(task: pathlib.Path) -> str:
    """As ps shows it: "R", "S", "T", .."""
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


class Leatd:
    """A daemon with its sockets in `folder`."""

    def __init__(self, folder: pathlib.Path, config: str) -> None:
        self.address = str(folder / "sockets")
        self.folder = folder
        os.mkdir(self.address)
        (folder / "leatd.yaml").write_text(config)
        self.start()

    def start(self) -> None:
        command = [programs.find("leatd"), "--config", str(self.folder / "leatd.yaml"), "--socket-dir", self.address]
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        with open(self.folder / "leatd.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_S
        while self.ctl("status", "--json").returncode != 0:
            assert self.process.poll() is None and time.monotonic() < deadline, (self.folder / "leatd.log").read_text()
            time.sleep(0.02)

    def ctl(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "LEAT_SOCKET": self.address}
        return subprocess.run([programs.find("leatctl"), *args], capture_output=True, env=environment, timeout=START_S)

    def sessions(self) -> list[Any]:
        """Of all streams."""
        streams = json.loads(self.ctl("streams", "--json").stdout)
        return [session for stream in streams for session in stream["sessions"]]

    def open(self, name: str, **options: Any) -> Stream:
        """A declared stream; options are those of the extension."""
        return stream_of(lambda changes: _leat.Client(self.address).open(name, {**options, **changes}, Batch), **options)

    def pause(self) -> None:
        """Until SIGCONT; when this returns none of its threads runs any more, so nothing comes from it."""
        self.process.send_signal(signal.SIGSTOP)
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        wait_until(lambda: all(_state(task) == "T" for task in tasks.iterdir()), "all threads stopped")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(START_S) == 0, (self.folder / "leatd.log").read_text()


def stream_of(open_native: Callable[[dict[str, Any]], Any], n_epochs: int = 0, n_steps: int = 0, **_: Any) -> Stream:
    """A Stream whose sessions that function opens."""

    def again(position: str, limits: Limits, is_start: bool) -> Any:
        left = {f"n_{name}": n for name, n in limits._asdict().items() if n is not None}
        return open_native({"position": position, "first_epoch": 0, "first_step": 0, **left})

    return Stream(open_native({}), opener=again, limits=Limits(n_epochs or None, n_steps or None))


def take(stream: Stream) -> Batch:
    """The next batch, of the next epoch if this one ends."""
    batch = stream.next() or stream.next()
    assert batch is not None
    return batch


def wait_until(condition: Callable[[], Any], what: str) -> None:
    """Until condition() holds."""
    deadline = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {START_S} s: {what}"
        time.sleep(0.01)


def numbers_yaml(folder: pathlib.Path) -> str:
    """Streams over a file of the numbers 0 .. N_ROWS - 1: `rows`, whose tensors expected() tells; `wide`, of one tensor of
    several pages; `some`, whose length nobody knows; `bad`, which ends with an error at the last row."""
    records = [{"n": n, "low": n % 2, "float64": float(n)} for n in range(N_ROWS)]
    (folder / "numbers.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "bad.csv").write_text("n\n" + "".join(f"{i}\n" for i in range(N_ROWS)) + "x\n")
    casts = "".join(
        f"      - cast: {{ input: {'low' if dtype == 'bool' else 'n'}, output: {dtype}, dtype: {dtype} }}\n"
        for dtype in DTYPES
        if dtype != "float64"
    )
    source = "source: { jsonl: { paths: [numbers.jsonl] } }"
    return f"""streams:
  rows:
    {source}
    cache: {{ path: cache }}
    stages:
{casts}      - select: {{ fields: [{", ".join(DTYPES)}] }}
      - batch: {{ batch_size: {BATCH} }}
  wide:
    {source}
    cache: {{ path: cache }}
    stages:
      - cast: {{ input: n, output: m, dtype: float32 }}
      - one_hot: {{ input: n, output: wide, classes: 1024 }}
      - select: {{ fields: [m, wide] }}
      - batch: {{ batch_size: 10 }}
      - prefetch: {{ prefetch_size: 2 }}
  some:
    {source}
    stages:
      - sample: {{ fraction: 0.5 }}
      - select: {{ fields: [n] }}
      - batch: {{ batch_size: {BATCH} }}
  bad:
    source: {{ csv: {{ paths: [bad.csv] }} }}
    stages:
      - cast: {{ input: n, output: n, dtype: int32 }}
      - batch: {{ batch_size: {BATCH} }}
"""


def expected(dtype: str, step: int) -> list[float]:
    """The elements of that tensor in batch `step` of `rows`."""
    rows = range(step * BATCH, min(N_ROWS, (step + 1) * BATCH))
    return [bool(n % 2) if dtype == "bool" else n for n in rows]


@pytest.fixture
def leatd(tmp_path: pathlib.Path) -> Iterator[Callable[[str], Leatd]]:
    started: list[Leatd] = []

    def start(config: str) -> Leatd:
        started.append(Leatd(tmp_path, config))
        return started[-1]

    yield start
    for daemon in started:
        daemon.stop()


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leatd]:
    folder = tmp_path_factory.mktemp("numbers")
    daemon = Leatd(folder, numbers_yaml(folder))
    for name in ("rows", "wide"):  # behind a whole pass the number of steps is known
        with daemon.open(name, n_epochs=1) as stream:
            assert sum(1 for _ in stream) > 0
    yield daemon
    daemon.stop()

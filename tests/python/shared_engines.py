"""A stream for the tests of cluster and ray, with a gate: a program that stops at one record until it is told to go on."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket
import sys
from typing import Any

from conftest import wait_until
from leat import programs

N_ROWS = 6000
N_SHARDS = 4
HOST = socket.gethostname()

GATE = """
import json, os, sys, time
at, folder = int(sys.argv[1]), sys.argv[2]
for line in sys.stdin:
    record = json.loads(line)
    if record["n"] == at and not os.path.exists(folder + "/go"):
        open(f"{folder}/waiting-{os.getpid()}", "w").close()
        while not os.path.exists(folder + "/go"):
            time.sleep(0.02)
    print(json.dumps({"_leat": record["_leat"], "twice": 2 * record["n"]}), flush=True)
"""


class Data:
    """A file of the numbers 0 .. N_ROWS - 1 in `folder`, and a stream of it: from its source in `plain`, from a prepared set in
    `prepared`. gate: the number at which a program waits."""

    def __init__(self, folder: pathlib.Path, gate: int | None = None) -> None:
        self.folder = folder
        self.csv, self.set = folder / "numbers.csv", folder / "set"
        self.plain, self.prepared = folder / "plain.yaml", folder / "prepared.yaml"
        self.csv.write_text("n,x\n" + "".join(f"{n},{n * 7 % 101}\n" for n in range(N_ROWS)))
        stages: list[dict[str, Any]] = [{"cast": {"input": "n", "output": "n", "dtype": "int64"}}]
        if gate is not None:
            (folder / "gate.py").write_text(GATE)
            command = [sys.executable, "gate.py", str(gate), str(folder)]
            stages += [{"exec": {"command": command, "inputs": ["n"], "schema": {"twice": "int64"}}}]
        stages += [{"cast": {"input": "x", "output": "x", "dtype": "float32"}}]
        stages += [{"select": {"fields": ["n", "x", *(["twice"] if gate is not None else [])]}}]
        stages += [{"shuffle": {"buffer_size": 500, "seed": 42}}, {"batch": {"batch_size": 16}}]
        stream = {"source": {"csv": {"paths": [self.csv.name]}}, "block_bytes": 4096, "stages": stages}
        for file, options in ((self.plain, {}), (self.prepared, {"cache": {"prepared": str(self.set)}})):
            file.write_text(json.dumps({"streams": {"train": {**stream, **options}}}))

    def dump(self, file: pathlib.Path, *options: str) -> list[dict[str, Any]]:
        """The rows of an epoch, by `leatctl dump`."""
        return [json.loads(line) for line in programs.leatctl("dump", str(file), *options).splitlines()]

    def job(self, kind: str) -> pathlib.Path:
        """What `leatctl prepare --job` prints, with other numbers of shards and of processors."""
        text = programs.leatctl("prepare", str(self.plain), "--job", kind, "-o", str(self.set))
        assert "shards=64" in text, text
        file = self.folder / f"{kind}_job.py"
        file.write_text(text.replace("shards=64", f"shards={N_SHARDS}").replace("workers=8", "workers=1"))
        return file

    def check_set(self) -> None:
        """The set is whole, and gives the same without its source."""
        expected = self.dump(self.plain)
        assert len(expected) == N_ROWS
        names = sorted(path.name.partition("-")[2] for path in self.set.iterdir())
        assert names == ["", *(f"{i}-of-{N_SHARDS}.leat" for i in range(N_SHARDS))], names
        aside = self.csv.rename(self.folder / "aside")
        assert self.dump(self.prepared) == expected
        aside.rename(self.csv)

    def check_unsealed(self) -> None:
        """There is no set, and nothing in its folder is half-made once the attempts have ended whose processes have."""
        wait_until(lambda: not [*self.set.glob("*.tmp")], "nothing is half-made")
        names = [path.name for path in self.set.iterdir()] if self.set.exists() else []
        assert all(name.endswith(f"-of-{N_SHARDS}.leat") for name in names), names

    def waiting(self) -> int:
        """The process that waits at the gate."""
        wait_until(lambda: [*self.folder.glob("waiting-*")], "a shard is being made")
        return int(next(self.folder.glob("waiting-*")).name.partition("-")[2])

    def open_gate(self) -> None:
        (self.folder / "go").touch()


def ancestors(pid: int) -> list[int]:
    """Parent, grandparent, .. of a process."""
    found = []
    while pid > 1:
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def kill_worker(data: Data) -> int:
    """Kills the process of the executor that makes the shard at the gate. Returns leatctl's, for wait_until_ended()."""
    leatctl, worker = ancestors(data.waiting())[:2]
    os.kill(worker, signal.SIGKILL)
    return leatctl


def wait_until_ended(pid: int) -> None:
    """A process that nobody reaps has ended as well."""
    wait_until(lambda: _state(pid) in ("", "Z"), f"process {pid} has ended")


def _state(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""

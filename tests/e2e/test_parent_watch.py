#!/usr/bin/env python3
"""A daemon that belongs to a process (`leatd --end-with PID`): it ends with it, and takes its sockets and their folder along.

    test_parent_watch.py BIN [PATTERN]
"""
import json
import os
import signal
import subprocess

import leat_harness
from leat_harness import BIN, HANG_S, ctl, wait_until


def expect(holds, what):
    assert holds, what


class Owner:
    """A process that does nothing, and whose daemon it is."""

    def __init__(self, folder, *arguments):
        self.sockets = folder / "sockets"
        self.sockets.mkdir()
        self.process = subprocess.Popen(["sleep", "1000"])
        command = [BIN / "leatd", "--end-with", str(self.process.pid), "--socket-dir", self.sockets, *arguments]
        self.log = open(folder / "log", "w+b")
        self.daemon = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def ready(self):
        wait_until(lambda: ctl("status", check=False, env=self.env).returncode == 0, "leatd does not answer")
        return self

    @property
    def env(self):
        return {"LEAT_SOCKET": str(self.sockets)}

    def end(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()


def test_it_ends_with_its_process(folder):
    owner = Owner(folder).ready()
    expect(owner.daemon.poll() is None, "it is there")
    owner.end()
    expect(owner.daemon.wait(HANG_S) == 0, "it stops well")
    expect(not owner.sockets.exists(), "sockets and folder are gone")


def test_writable(folder):
    """The folder goes also if the daemon may write only elsewhere."""
    may = folder / "may"
    may.mkdir()
    owner = Owner(folder, "--set", f"writable=[{may}]").ready()
    owner.end()
    expect(owner.daemon.wait(HANG_S) == 0, "it stops well")
    expect(not owner.sockets.exists(), "sockets and folder are gone")


def test_what_is_not_its_own_stays(folder):
    owner = Owner(folder).ready()
    (owner.sockets / "mine").write_text("x")
    owner.end(signal.SIGTERM)
    expect(owner.daemon.wait(HANG_S) == 0, "it stops well")
    expect(os.listdir(owner.sockets) == ["mine"], "only its own sockets are gone")


def test_it_may_be_stopped_before(folder):
    owner = Owner(folder).ready()
    owner.daemon.terminate()
    expect(owner.daemon.wait(HANG_S) == 0, "it stops well")
    expect(not owner.sockets.exists() and owner.process.poll() is None, "the folder goes, the process stays")
    owner.end()


def test_a_trainer_does_not_keep_it(folder):
    """With batches that are held, and more wanted."""
    data = folder / "a.csv"
    data.write_text("id\n" + "".join(f"{i}\n" for i in range(100000)))
    config = folder / "leatd.yaml"
    config.write_text(f"streams:\n  s:\n    source: {{ csv: {{ paths: ['{data}'] }} }}\n    stages:\n"
                      "      - cast: { input: id, dtype: int64 }\n      - batch: { batch_size: 4 }\n")
    owner = Owner(folder, "--config", config).ready()
    puller = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0", "--reconnect", "0"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**os.environ, **owner.env})
    wait_until(lambda: json.loads(ctl("status", "--json", env=owner.env).stdout)["n_batches"] > 0, "it gets batches")
    owner.end()
    expect(owner.daemon.wait(HANG_S) == 0, "it stops well")
    expect(puller.wait(HANG_S) != 0 and not owner.sockets.exists(), "the trainer is told, nothing is left")


def refusal(*arguments):
    done = subprocess.run([BIN / "leatd", *map(str, arguments)], capture_output=True, text=True, timeout=HANG_S)
    expect(done.returncode == 1, f"status {done.returncode}")
    return done.stderr


def test_refused(folder):
    """Wrong command lines, and a process that is gone."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    sockets = folder / "s"
    sockets.mkdir()
    expect("there is no such process" in refusal("--end-with", gone.pid, "--socket-dir", sockets), "a process that is gone")
    expect(not sockets.exists(), "its folder goes, too")
    expect("needs --socket-dir" in refusal("--end-with", os.getpid()), "sockets where others may be")
    for number in ("0", "-1", "x", "", "99999999999"):
        expect("is not a process id" in refusal("--end-with", number, "--socket-dir", folder), number)
    expect("--config FILE is missing" in refusal("--socket-dir", folder), "without a process there must be settings")


if __name__ == "__main__":
    leat_harness.main(globals())

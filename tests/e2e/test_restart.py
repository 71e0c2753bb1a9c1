#!/usr/bin/env python3
"""Trainers that outlive their daemon: killed over and over, drained, stopped, with sockets that are passed on. What
they see is what they see of a daemon that nobody disturbs.

    test_restart.py BIN [PATTERN]

LEAT_TEST_RESTART_S: for how many seconds the daemon is killed (default 4; from 30 on, every 2 s).
"""
import os
import signal
import subprocess
import threading
import time

import data
import leat_harness
from leat_harness import BIN, HANG_S, SLOW, Daemon, find_digest, wait_until

STEADY = BIN.parent / "tests" / "e2e" / "steady"
SECONDS = float(os.environ.get("LEAT_TEST_RESTART_S", "4"))
PERIOD_S = 2.0 if SECONDS >= 30 else 0.8
RESTART_S = 0.25  # RestartSec= of the service
# rank r: batches held, microseconds between two, delivery
PACES = [(0, 0, ()), (1, 300, ()), (3, 2000, ("copy",)), (4, 5000, ())]


def config(folder, n_rows=6000):
    csv = data.titanic(folder, n_rows)
    return data.yaml_text({"s": data.titanic_stream(csv, batch_size=16, shuffle=500)}, workers=2)


class Trainer:
    def __init__(self, daemon, rank, seconds=0, epochs=0, pace=None):
        hold, pause_us, more = PACES[rank] if pace is None else pace
        self.process = subprocess.Popen(
            [STEADY, "s", *map(str, [rank, len(PACES), hold, pause_us, int(seconds), epochs]), *more],
            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self):
        """Its epochs as (number, steps, digest), and what else it says."""
        out, err = self.process.communicate(timeout=HANG_S + SECONDS)
        assert self.process.returncode == 0, err.decode()
        *epochs, last = out.decode().splitlines()
        words = last.split()
        return [tuple(line.split()[1:]) for line in epochs], dict(zip(words[::2], map(int, words[1::2])))


class Supervisor:
    """Ends the daemon every period, and starts it again after a while, until it is told to stop."""

    def __init__(self, daemon, end):
        self.daemon, self.end, self.n_restarts, self.failure = daemon, end, 0, None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while not self.stopped.wait(PERIOD_S * SLOW):
                self.end(self.daemon)
                time.sleep(RESTART_S)
                self.daemon.start()
                self.n_restarts += 1
        except Exception as failure:  # noqa: told by stop()
            self.failure = failure

    def stop(self):
        self.stopped.set()
        self.thread.join()
        if self.failure:
            raise self.failure


def kill(daemon):
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()


def drain(daemon):
    """No trainer keeps it from ending, whatever it holds."""
    daemon.ctl("drain", "--timeout", 600)
    assert daemon.process.wait(HANG_S) == 0


def disturb(folder, end, seconds):
    """Each rank sees of a daemon that is ended over and over what it sees of one that is not."""
    with Daemon(folder, config(folder)) as daemon:
        trainers = [Trainer(daemon, rank, seconds * SLOW) for rank in range(len(PACES))]
        supervisor = Supervisor(daemon, end)
        try:
            disturbed = [trainer.finish() for trainer in trainers]
        finally:
            supervisor.stop()
            for trainer in trainers:
                trainer.process.kill()
        others = [Trainer(daemon, rank, epochs=len(epochs), pace=(1, 0, ())) for rank, (epochs, _) in enumerate(disturbed)]
        for rank, (epochs, said) in enumerate(disturbed):
            expected, _ = others[rank].finish()
            assert epochs == expected, f"rank {rank}: {epochs} is not {expected}"
            assert said["lost"] == said["back"] and said["lost"] > 0, said
    longest_ms = max(said["longest_ms"] for _, said in disturbed)
    print(f"{supervisor.n_restarts} restarts, {sum(len(epochs) for epochs, _ in disturbed)} epochs, "
          f"longest pause {longest_ms} ms with {RESTART_S * 1000:g} ms to restart")


def test_killed_over_and_over(folder):
    disturb(folder, kill, SECONDS)


def test_drained_over_and_over(folder):
    disturb(folder, drain, SECONDS / 2)


def test_leatctl_goes_on(folder):
    """It says that it lost the connection, and prints the same digest."""
    with Daemon(folder, config(folder)) as daemon:
        expected = daemon.digest("s", "--epochs", 30)
        client = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "30", "--digest"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: any(session["n_batches"] for session in daemon.sessions()), "it has got batches")
        daemon.stop()
        daemon.start()
        out, err = client.communicate(timeout=HANG_S)
        assert client.returncode == 0 and b"connected again" in err, err
        assert find_digest(out) == expected


def test_changed_meanwhile(folder):
    """Another spec is not gone on with, and told at once."""
    with Daemon(folder, config(folder)) as daemon:
        client = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: any(session["n_batches"] for session in daemon.sessions()), "it has got batches")
        daemon.stop(signal.SIGKILL)
        text = daemon.config.read_text()
        assert '"buffer_size": 500' in text
        daemon.config.write_text(text.replace('"buffer_size": 500', '"buffer_size": 400'))
        daemon.start()
        said = client.communicate(timeout=HANG_S)[1].decode()
        assert client.returncode != 0 and "streams.s" in said and "connected again" not in said, said


if __name__ == "__main__":
    leat_harness.main(globals())

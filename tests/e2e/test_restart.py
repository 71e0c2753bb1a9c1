#!/usr/bin/env python3
"""Trainers that outlive their daemon: killed over and over, drained, stopped, with sockets that are passed on. What
they see is what they see of a daemon that nobody disturbs.

    test_restart.py BIN [PATTERN]

LEAT_TEST_RESTARTS: how many times the daemon is ended (default 6).
"""
import json
import os
import random
import signal
import socket
import subprocess
import time

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, ctl, find_digest, wait_until
from test_systemd import LAUNCHER, TYPES

STEADY = BIN.parent / "tests" / "e2e" / "steady"
N_RESTARTS = int(os.environ.get("LEAT_TEST_RESTARTS", "6"))
# rank r: batches held, microseconds between two, delivery
PACES = [(0, 0, ()), (1, 300, ()), (3, 2000, ("copy",)), (4, 5000, ())]


def config(folder, n_rows=6000):
    csv = data.titanic(folder, n_rows)
    return data.yaml_text({"s": data.titanic_stream(csv, batch_size=16, shuffle=500)}, workers=2)


class Trainer:
    def __init__(self, daemon, rank, epochs=0, pace=None, world_size=len(PACES)):
        hold, pause_us, more = PACES[rank] if pace is None else pace
        self.is_endless = epochs == 0
        self.process = subprocess.Popen(
            [STEADY, "s", *map(str, [rank, world_size, hold, pause_us, epochs]), *more],
            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def finish(self):
        """Its epochs as (number, steps, digest), and what else it says; without an end of its own, when the
        epoch ends that it is in."""
        if self.is_endless:
            self.process.terminate()
        out, err = self.process.communicate(timeout=HANG_S)
        assert self.process.returncode == 0, err.decode()
        *epochs, last = out.decode().splitlines()
        words = last.split()
        return [tuple(line.split()[1:]) for line in epochs], dict(zip(words[::2], map(int, words[1::2])))


def kill(daemon):
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()


def drain(daemon):
    """No trainer keeps it from ending, whatever it holds."""
    daemon.ctl("drain", "--timeout", 600)
    assert daemon.process.wait(HANG_S) == 0


def all_go_on(daemon):
    """Whether each of the trainers got something of this daemon."""
    return sum(session["n_batches"] > 0 for session in daemon.sessions()) == len(PACES)


def disturb(folder, end, n_restarts):
    """Each rank sees of a daemon that is ended over and over what it sees of one that is not. It is ended when all
    have got something of it, at some moment; now and then once more, whatever they are at then."""
    rng = random.Random(5)
    with Daemon(folder, config(folder)) as daemon:
        trainers = [Trainer(daemon, rank) for rank in range(len(PACES))]
        try:
            for i in range(n_restarts):
                wait_until(lambda: all_go_on(daemon), "all trainers get batches")
                for _ in range(1 + i % 2):
                    time.sleep(rng.uniform(0, 0.3))
                    end(daemon)
                    daemon.start()
            wait_until(lambda: all_go_on(daemon), "all trainers get batches")
            disturbed = [trainer.finish() for trainer in trainers]
        finally:
            for trainer in trainers:
                trainer.process.kill()
        others = [Trainer(daemon, rank, epochs=len(epochs), pace=(1, 0, ())) for rank, (epochs, _) in enumerate(disturbed)]
        for rank, (epochs, said) in enumerate(disturbed):
            expected, _ = others[rank].finish()
            assert epochs == expected, f"rank {rank}: {epochs} is not {expected}"
            assert said["lost"] == said["back"] >= n_restarts, said
    longest_ms = max(said["longest_ms"] for _, said in disturbed)
    print(f"{n_restarts} restarts, {sum(len(epochs) for epochs, _ in disturbed)} epochs, longest pause {longest_ms} ms")


def test_killed_over_and_over(folder):
    disturb(folder, kill, N_RESTARTS)


def test_drained_over_and_over(folder):
    disturb(folder, drain, N_RESTARTS // 2)


def test_second_on_a_socket(folder):
    """One daemon has a socket. A second is refused, and the first goes on; after its end the next takes its place."""
    with Daemon(folder, config(folder, n_rows=200)) as daemon:
        second = subprocess.run(list(map(str, daemon.command)), capture_output=True, timeout=HANG_S, check=False)
        assert second.returncode == 1 and b"another leatd is running on" in second.stderr, second
        expected = daemon.digest("s")
        kill(daemon)
        daemon.start()
        assert daemon.digest("s") == expected


def test_leatctl_goes_on(folder):
    """It says that it lost the connection, and prints the same digest."""
    with Daemon(folder, config(folder)) as daemon:
        client = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0", "--digest", "--json"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: any(session["n_batches"] for session in daemon.sessions()), "it has got batches")
        daemon.stop()
        daemon.start()
        wait_until(lambda: any(session["n_batches"] for session in daemon.sessions()), "it gets more")
        client.send_signal(signal.SIGINT)
        out, err = client.communicate(timeout=HANG_S)
        assert client.returncode == 130 and b"connected again" in err, err
        report = json.loads(out)
        assert report["digest"] == daemon.digest("s", "--epochs", 0, "--batches", report["batches"])


def launch(folder, listeners, log):
    """leatd with sockets that it is passed, which outlive it."""
    env = {**os.environ, "FDS": " ".join(str(end.fileno()) for end in listeners), "LISTEN_FDS": str(len(listeners)),
           "LISTEN_FDNAMES": ":".join(TYPES)}
    return subprocess.Popen(["bash", "-c", LAUNCHER, "bash", str(BIN / "leatd"), "--config", str(folder / "leatd.yaml")],
                            env=env, pass_fds=[end.fileno() for end in listeners], stdout=log, stderr=log)


def test_who_comes_between_two_waits(folder):
    """With sockets that a service manager keeps, whoever connects while there is no daemon, or one that drains, waits
    for the next."""
    (folder / "leatd.yaml").write_text(config(folder, n_rows=2000))
    listeners = []
    for name, kind in TYPES.items():
        listeners.append(socket.socket(socket.AF_UNIX, kind))
        listeners[-1].bind(str(folder / f"{name}.sock"))
        listeners[-1].listen(16)
    env = {"LEAT_SOCKET": str(folder)}
    with open(folder / "leatd.log", "wb") as log:
        daemon = launch(folder, listeners, log)
        expected = find_digest(ctl("pull", "s", "--digest", env=env).stdout)
        trainer = subprocess.Popen([STEADY, "s", "0", "1", "4", "0", "0"], stdout=subprocess.PIPE,
                                   env={**os.environ, **env})

        def goes_on():
            streams = json.loads(ctl("streams", "--json", env=env).stdout)
            return any(session["pid"] == trainer.pid and session["n_batches"] for session in streams[0]["sessions"])
        wait_until(goes_on, "it gets batches")
        ctl("drain", "--timeout", 600, env=env)
        assert daemon.wait(HANG_S) == 0
        fresh = subprocess.Popen([BIN / "leatctl", "pull", "s", "--digest"], stdout=subprocess.PIPE,
                                 env={**os.environ, **env})
        assert trainer.poll() is None and fresh.poll() is None
        daemon = launch(folder, listeners, log)
        try:
            assert find_digest(fresh.communicate(timeout=HANG_S)[0]) == expected
            wait_until(goes_on, "it gets batches again")
            trainer.terminate()
            out = trainer.communicate(timeout=HANG_S)[0].decode()
            assert trainer.returncode == 0 and out.endswith(" lost 1 back 1\n"), out
        finally:
            daemon.terminate()
            assert daemon.wait(HANG_S) == 0
            for end in listeners:
                end.close()


def test_ranks_of_launchers(folder):
    """Found in the environment, and the log says where."""
    with Daemon(folder, config(folder, n_rows=500), "--set", "log_level=info") as daemon:
        for words, source in [({"RANK": "1", "WORLD_SIZE": "3"}, "torchrun"),
                              ({"SLURM_PROCID": "1", "SLURM_NTASKS": "3"}, "slurm")]:
            env = {"LEAT_SOCKET": str(daemon.sockets), **words}
            digests = {find_digest(ctl("pull", "s", "--digest", env=env).stdout),
                       find_digest(ctl("run", daemon.config, "--no-daemon", "--digest", env=env).stdout),
                       daemon.digest("s", "--rank", 1, "--world-size", 3)}
            assert len(digests) == 1, digests
            assert f'rank=1 world_size=3 source={source}' in daemon.log, daemon.log
        assert "rank=1 world_size=3 source=arguments" in daemon.log
        for args in (["--rank", 1], ["--world-size", 3]):
            assert daemon.pull("s", *args, check=False).returncode == 2


def test_epochs_do_not_mix(folder):
    """Some epochs fit into the ring at once; each is the same as if it were the only one, in whatever order."""
    csv = data.titanic(folder, 100)
    text = data.yaml_text({"s": data.titanic_stream(csv, batch_size=32, shuffle=50)}, workers=2)
    with Daemon(folder, text) as daemon:
        forwards, _ = Trainer(daemon, 0, epochs=30, pace=(0, 0, ()), world_size=1).finish()
        backwards, _ = Trainer(daemon, 0, epochs=30, pace=(2, 0, ("backwards",)), world_size=1).finish()
        assert len(set(digest for _, _, digest in forwards)) == 30
        assert forwards == backwards[::-1]
        assert {n_steps for _, n_steps, _ in forwards} == {"4"}


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
        assert client.returncode != 0 and "buffer_size was 500, is 400" in said, said


if __name__ == "__main__":
    leat_harness.main(globals())

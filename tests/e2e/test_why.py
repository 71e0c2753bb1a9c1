#!/usr/bin/env python3
"""`leatctl why`: what it says of a stream that nobody reads, of one whose trainer is slow, of one whose source
is; that what it predicts is there; and that asking changes no batch.

    test_why.py BIN [PATTERN]
"""
import json
import os
import pathlib
import subprocess
import threading

import data
import leat_harness
from leat_harness import Daemon, run_digest, wait_until

VERDICTS = {"trainer", "stage", "disk", "memory", "workers", "blocks", "order", "idle", "other_users"}


def config(folder, n_rows=20000, **settings):
    return data.yaml_text({"t": data.titanic_stream(data.titanic(folder, n_rows))}, workers=1, **settings)


def why(daemon, *args):
    return json.loads(daemon.ctl("why", "t", "--json", *args).stdout)


def puller(daemon):
    return subprocess.Popen([leat_harness.BIN / "leatctl", "pull", "t", "--epochs", "0"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})


def end(process):
    process.kill()
    process.wait()


def test_idle(folder):
    with Daemon(folder, config(folder, 2000)) as daemon:
        assert why(daemon)["verdict"] == "idle"
        daemon.pull("t")
        answer = why(daemon)
        assert answer["verdict"] == "idle" and answer["gains"]["worker"] is None
        assert "nobody reads it" in daemon.ctl("why", "t").stdout.decode()


def test_refusals(folder):
    with Daemon(folder, config(folder, 100)) as daemon:
        done = daemon.ctl("why", "nothing", check=False)
        assert done.returncode == 1 and b'there is no stream "nothing"' in done.stderr, done.stderr
        assert daemon.ctl("why", check=False).returncode == 2
        assert daemon.ctl("why", "t", "--seconds", "31", check=False).returncode == 2
    assert leat_harness.ctl("why", "t", env={"LEAT_SOCKET": str(folder / "none")}, check=False).returncode == 4


def test_gains(folder):
    """Numbers are there while it runs, and a cache is not promised to who has one."""
    with Daemon(folder, config(folder)) as daemon:
        process = puller(daemon)
        answer = wait_until(lambda: why(daemon)["n_batches"] > 100 and why(daemon), "batches")
        text = daemon.ctl("why", "t").stdout.decode()
        end(process)
    assert answer["verdict"] in VERDICTS and answer["seconds"] > 0 and answer["n_sessions"] == 1
    for gain in ("worker", "cpu", "cache", "disk", "trainer"):
        assert answer["gains"][gain]["ratio"] > 0 and answer["gains"][gain]["next"] in VERDICTS
    assert 0 <= answer["trainer"] <= 1 and 0 <= answer["workers"] <= 1 and answer["stage"]
    assert "bounded by" in text and "one more worker" in text and "reading from a cache" in text


def test_cached(folder):
    stream = data.titanic_stream(data.titanic(folder, 5000), cache={"path": str(folder / "cache")})
    with Daemon(folder, data.yaml_text({"t": stream})) as daemon:
        process = puller(daemon)
        answer = wait_until(lambda: why(daemon)["n_batches"] > 0 and why(daemon), "batches")
        end(process)
    assert answer["gains"]["cache"] is None


def test_slow_trainer(folder):
    with Daemon(folder, config(folder)) as daemon:
        process = subprocess.Popen([leat_harness.BIN.parent / "tests" / "e2e" / "steady", "t", "0", "1", "0", "200000", "0"],
                                   stdout=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: why(daemon, "--seconds", "1")["verdict"] == "trainer", "its verdict")
        end(process)


def test_slow_source(folder):
    """A pipe into which there comes a line now and then, of which there are blocks when it has rested."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    stream = {**data.titanic_stream(data.titanic(folder, 10), batch_size=1, shuffle=1),
              "source": {"csv": {"paths": [str(pipe)], "header": True}}}
    is_over = threading.Event()
    lines = pathlib.Path(data.titanic(folder, 100)).read_text().splitlines(keepends=True)

    def write():
        with open(pipe, "w") as file:
            file.writelines(lines[:20])
            while not is_over.is_set():
                file.writelines(lines[20:22])
                file.flush()
                is_over.wait(0.05)

    thread = threading.Thread(target=write)
    thread.start()
    with Daemon(folder, data.yaml_text({"t": stream})) as daemon:
        process = puller(daemon)
        wait_until(lambda: why(daemon, "--seconds", "1")["verdict"] == "disk", "its verdict")
        is_over.set()
        thread.join()
        end(process)


def test_same_batches(folder):
    """Asked all the time, which tries a cache each time."""
    text = config(folder, 5000)
    file = folder / "alone.yaml"
    file.write_text(text)
    want = run_digest(file, "--epochs", "4", "--no-daemon")
    with Daemon(folder, text) as daemon:
        is_over = threading.Event()

        def ask():
            while not is_over.is_set():
                why(daemon)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            assert daemon.digest("t", "--epochs", "4") == want
        finally:
            is_over.set()
            thread.join()


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""`leatctl why`: what it says where it is certain what a stream waits for, however fast the machine is: no trainer reads it;
a trainer is stopped; a program waits until it is told; nothing is written into a FIFO. And that asking changes no batch.

    test_why.py BIN [PATTERN]
"""
import json
import os
import re
import signal
import socket
import subprocess
import threading

import data
import leat_harness
from leat_harness import Daemon, run_digest, wait_until
from test_http import get

def config(folder, n_rows=20000, **settings):
    return data.yaml_text({"t": data.titanic_stream(data.titanic(folder, n_rows))}, workers=1, **settings)


def why(daemon, *args):
    return json.loads(daemon.ctl("why", "t", "--json", *args).stdout)


def trainer(daemon, rank=0, world_size=1):
    return subprocess.Popen([leat_harness.BIN.parent / "tests" / "e2e" / "steady", "t", str(rank), str(world_size), "0", "0", "0"],
                            stdout=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})


def end(*processes):
    for process in processes:
        process.kill()
        process.wait()


def wait_for(daemon, what, *facts):
    """The verdict of the last second, not of less, once all of that holds."""
    def ask():
        answer = why(daemon, "--seconds", "1")
        return answer if answer["seconds"] >= 1 and all(fact(answer) for fact in facts) else None
    return wait_until(ask, what)


def rank_of(answer, rank):
    return next((it for it in answer["trainers"] if it["rank"] == rank), None)


def is_bound_by(verdict):
    return lambda answer: answer["verdict"] == verdict


def test_idle(folder):
    with Daemon(folder, config(folder, 2000)) as daemon:
        assert why(daemon)["verdict"] == "idle"
        daemon.pull("t")
        answer = why(daemon)
        assert answer["verdict"] == "idle" and answer["gains"]["worker"] is None
        assert "no trainer reads it" in daemon.ctl("why", "t").stdout.decode()


def test_refusals(folder):
    with Daemon(folder, config(folder, 100)) as daemon:
        done = daemon.ctl("why", "nothing", check=False)
        assert done.returncode == 1 and b'there is no stream "nothing"' in done.stderr, done.stderr
        assert daemon.ctl("why", check=False).returncode == 2
        assert daemon.ctl("why", "t", "--seconds", "31", check=False).returncode == 2
    assert leat_harness.ctl("why", "t", env={"LEAT_SOCKET": str(folder / "none")}, check=False).returncode == 4


def test_stopped_trainer(folder):
    """All that it may hold it holds, and it wants no more."""
    with Daemon(folder, config(folder)) as daemon:
        process = trainer(daemon)
        wait_until(lambda: why(daemon)["n_batches"] > 0, "batches")
        process.send_signal(signal.SIGSTOP)
        answer = wait_for(daemon, "it is stopped", is_bound_by("trainer"), lambda answer: answer["n_batches"] == 0)
        [told] = answer["trainers"]
        assert told["is_slow"] and told["pid"] == process.pid and told["waited"] == 0 and told["waits_for"] is None, told
        assert answer["host"] == socket.gethostname() and set(answer["gains"].values()) == {None}, answer
        text = daemon.ctl("why", "t", "--seconds", "1").stdout.decode()
        assert f"t: bounded by the trainer (steady, pid {process.pid}" in text and "estimated gains" not in text, text
        end(process)


def says(daemon, *parts):
    """Its text of the last second comes to hold them, in that order."""
    def text():
        return daemon.ctl("why", "t", "--seconds", "1").stdout.decode()
    wait_until(lambda: re.search(".*".join(map(re.escape, parts)), text(), re.DOTALL), parts)


def test_closed_program(folder):
    gate = data.Gate(folder)
    with Daemon(folder, data.yaml_text({"t": gate.stream}, workers=1)) as daemon:
        gate.close()
        process = trainer(daemon)
        answer = wait_for(daemon, "it waits for its program", is_bound_by("stage"), lambda answer: answer["stage"] == "exec",
                          lambda answer: answer["trainers"][0]["waited"] > 0.9)
        assert answer["trainers"][0]["waits_for"] == "stage" and not answer["trainers"][0]["is_slow"], answer
        assert answer["n_batches"] == 0 and set(answer["gains"].values()) == {None}, answer
        says(daemon, "t: bounded by exec.\n")
        gate.open()
        wait_until(lambda: why(daemon)["n_batches"] > 0, "it goes on")
        end(process)


def test_slow_rank(folder):
    """Rank 1 of two is stopped; then rank 0 waits for the program all of its time."""
    gate = data.Gate(folder)
    listen = {"http_listen": f"unix:{folder / 'http.sock'}"}
    with Daemon(folder, data.yaml_text({"t": gate.stream}, workers=1, **listen)) as daemon:
        ranks = [trainer(daemon, rank, 2) for rank in range(2)]
        wait_until(lambda: [session["n_batches"] > 0 for session in daemon.sessions()] == [True] * 2, "batches")
        ranks[1].send_signal(signal.SIGSTOP)
        wait_for(daemon, "rank 1 is stopped", is_bound_by("trainer"), lambda answer: rank_of(answer, 1)["is_slow"],
                 lambda answer: rank_of(answer, 1)["waited"] == 0 and rank_of(answer, 1)["n_batches"] == 0)
        gate.close()
        answer = wait_for(daemon, "rank 0 waits", is_bound_by("trainer"), lambda answer: rank_of(answer, 1)["is_slow"],
                          lambda answer: rank_of(answer, 0)["waited"] > 0.9 and rank_of(answer, 0)["waits_for"] == "stage",
                          lambda answer: answer["stage"] == "exec")
        assert [rank_of(answer, rank)["pid"] for rank in range(2)] == [process.pid for process in ranks], answer
        says(daemon, f"t: bounded by rank 1 of 2 (steady, pid {ranks[1].pid}", f"\n  rank 0 of 2 (steady, pid {ranks[0].pid}",
             "of its time, for exec.\n")

        def page_line():
            return next((it["verdict"] for it in json.loads(get(folder / "http.sock", "/history.json")[2])["streams"]), "")
        wait_until(lambda: page_line().startswith(f"bounded by rank 1 of 2 (steady, pid {ranks[1].pid}")
                   and f"; rank 0 of 2 (steady, pid {ranks[0].pid}" in page_line() and page_line().endswith("for exec"),
                   "the status page says so too")
        gate.open()
        end(*ranks)


def test_silent_pipe(folder):
    """A FIFO that nothing is written into: no file in memory would help."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    stream = {**data.numbers_stream([str(pipe)]), "source": {"csv": {"paths": [str(pipe)], "header": True}}}
    with Daemon(folder, data.yaml_text({"t": stream}, workers=1)) as daemon:
        with open(os.open(pipe, os.O_RDWR), "wb", buffering=0) as writer:
            writer.write(b"id\n" + b"".join(b"%d\n" % i for i in range(8)))
            process = trainer(daemon)
            answer = wait_for(daemon, "it waits for the pipe", is_bound_by("disk"), lambda answer: answer["n_batches"] == 0,
                              lambda answer: answer["trainers"] and answer["trainers"][0]["waited"] > 0.9)
            assert answer["trainers"][0]["waits_for"] == "disk" and answer["gains"]["disk"] is None, answer
            says(daemon, "t: bounded by the program that writes the data.\n")
            assert b"in memory" not in daemon.ctl("why", "t").stdout
            end(process)


def test_gains(folder):
    """They are ranges, there while batches flow; a cache is tried, and not promised to who has one."""
    with Daemon(folder, config(folder)) as daemon:
        process = trainer(daemon)
        answer = wait_until(lambda: (lambda it: it["gains"]["cache"] and it)(why(daemon)), "batches")
        text = daemon.ctl("why", "t").stdout.decode()
        end(process)
    assert answer["seconds"] > 0 and answer["n_sessions"] == 1 and answer["n_batches"] >= 8 and answer["stage"]
    for gain in ("worker", "cpu", "cache", "disk", "trainer"):
        it = answer["gains"][gain]
        assert 1 <= it["low"] <= it["high"] and max(it["batch_us"].values()) > 0, (gain, it)
    assert "bounded by" in text and "one more worker" in text and "reading from a cache" in text


def test_cached(folder):
    stream = data.titanic_stream(data.titanic(folder, 5000), cache={"path": str(folder / "cache")})
    with Daemon(folder, data.yaml_text({"t": stream})) as daemon:
        process = trainer(daemon)
        answer = wait_until(lambda: (lambda it: it["gains"]["worker"] and it)(why(daemon)), "batches")
        end(process)
    assert answer["gains"]["cache"] is None


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

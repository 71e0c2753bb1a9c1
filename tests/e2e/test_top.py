#!/usr/bin/env python3
"""leatctl top on a terminal: what is on the screen at several sizes, keys, signals, a daemon that goes and comes.

    test_top.py BIN [PATTERN]
"""
import json
import os
import signal
import subprocess
import time

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, wait_until
from terminal import Terminal


def config(folder):
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(1000)))
    names = ["alpha", "beta", "gamma"]
    return data.yaml_text({name: data.numbers_stream([str(folder / "numbers.csv")]) for name in names}, workers=1)


def puller(daemon, stream="beta"):
    """A trainer without end that has got a batch."""
    process = subprocess.Popen([BIN / "leatctl", "pull", stream, "--epochs", "100000000"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    wait_until(lambda: any(session["n_batches"] > 0 for session in daemon.sessions()), "the trainer is seen")
    return process


def top(daemon, *args, **keywords):
    return Terminal([BIN / "leatctl", "top", *args], env={"LEAT_SOCKET": str(daemon.sockets)}, **keywords)


def has_all(*words):
    return lambda text: all(word in text for word in words)


def test_sizes(folder):
    """All tables at 80x24, one of them at 40x10; after each resize it fits again."""
    with Daemon(folder, config(folder)) as daemon:
        process = puller(daemon)
        with top(daemon) as screen:
            text = screen.wait_for(has_all("alpha", "beta", "gamma", "trainers wait", "stage", "trainer of",
                                           str(process.pid), "q quit"), "all tables")
            assert text.startswith("leatd ") and "workers [" in text and "memory" in text, text
            screen.resize(10, 40)
            text = screen.wait_for(has_all("batches/s", "alpha", "q quit"), "the first table")
            assert "trainer of" not in text, text
            screen.type(b"\t\t")
            screen.wait_for(has_all("trainer of", str(process.pid)), "the third table")
            screen.resize(3, 10)
            screen.wait_for(has_all("leatd", "q quit"), "hardly anything")
            screen.resize(50, 200)
            screen.wait_for(has_all("alpha", "no slot free", "trainer of", "leatctl"), "wide columns")
            screen.type(b"q")
            assert screen.wait() == 0 and screen.is_as_before()
        process.kill()
        process.wait()


def test_keys(folder):
    """A stream is chosen, tables are sorted, the help comes and goes."""
    with Daemon(folder, config(folder)) as daemon:
        process = puller(daemon)
        with top(daemon) as screen:
            screen.wait_for(has_all("of alpha"), "the first stream is chosen")
            screen.type(b"\x1b[B")
            text = screen.wait_for(has_all("stages of beta", "order"), "the second one is, and its stages are seen")
            assert text.index("alpha") < text.index("beta") < text.index("gamma"), text
            screen.type(b"s")
            screen.wait_for(lambda text: "by batches/s" in text and text.index("beta") < text.index("alpha"),
                            "the fastest is first")
            screen.type(b"\x1bOA\x1bOA")
            screen.type(b"?")
            screen.wait_for(has_all("choose a stream"), "the help")
            screen.type(b"x?" b"\x1b[5~\x1b[6~\x1b[99;99u\xff\x00")
            screen.wait_for(lambda text: "trainer of" in text, "the tables again")
            screen.type(b"\x03")
            assert screen.wait() == 0 and screen.is_as_before()
        process.kill()
        process.wait()


def test_signals(folder):
    """However it is ended or stopped, the terminal is as it was."""
    with Daemon(folder, config(folder)) as daemon:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            with top(daemon) as screen:
                screen.wait_for(has_all("q quit"), "a picture")
                assert not screen.is_as_before()
                os.kill(screen.pid, number)
                assert screen.wait() == 130 and screen.is_as_before(), number
        with top(daemon) as screen:
            screen.wait_for(has_all("q quit"), "a picture")
            screen.type(b"\x1a")
            os.waitpid(screen.pid, os.WUNTRACED)
            wait_until(lambda: (screen.read(), screen.is_as_before())[1], "the terminal is as it was")
            os.kill(screen.pid, signal.SIGCONT)
            screen.wait_for(has_all("q quit"), "a picture again")
            wait_until(lambda: screen.read() and not screen.is_as_before(), "the screen is taken again")
            screen.type(b"q")
            assert screen.wait() == 0 and screen.is_as_before()


def test_slow_daemon(folder):
    """One that takes its time for the first answer is waited for, as by all commands."""
    with Daemon(folder, config(folder)) as daemon:
        daemon.process.send_signal(signal.SIGSTOP)
        with top(daemon) as screen:
            time.sleep(4)  # longer than a screen that is drawn already waits
            daemon.process.send_signal(signal.SIGCONT)
            screen.wait_for(has_all("alpha", "q quit"), "a picture")
            screen.type(b"q")
            assert screen.wait() == 0 and screen.is_as_before()


def test_restart(folder):
    """A daemon that goes away is looked for, and found again."""
    with Daemon(folder, config(folder)) as daemon:
        with top(daemon) as screen:
            screen.wait_for(has_all("alpha"), "a picture")
            daemon.stop()
            screen.wait_for(has_all("waiting for a daemon", "alpha"), "that it is away")
            daemon.start()
            screen.wait_for(has_all("alpha", "q quit"), "the next daemon")
            screen.type(b"q")
            assert screen.wait() == 0 and screen.is_as_before()


def in_motion(sockets):
    """What `top --once --json` tells, if its second is one in which the trainer of beta gets batches; else None."""
    told = json.loads(leat_harness.ctl("top", "--once", "--json", env={"LEAT_SOCKET": str(sockets)}).stdout)
    beta = next(stream for stream in told["streams"] if stream["name"] == "beta")
    moves = beta["batches_per_s"] > 0 and all(trainer["batches_per_s"] > 0 for trainer in told["trainers"])
    return told if moves and sum(stage["threads"] for stage in beta["stages"]) > 0 else None


def test_once(folder):
    """For scripts: text without any sequence, and JSON."""
    with Daemon(folder, config(folder)) as daemon:
        process = puller(daemon)
        text = daemon.ctl("top").stdout.decode()
        assert "\033" not in text and has_all("alpha", "of beta", "of gamma", str(process.pid))(text), text
        told = wait_until(lambda: in_motion(daemon.sockets), "a second in which the trainer gets batches")
        beta, (trainer,) = told["streams"][1], told["trainers"]
        assert beta["name"] == "beta" and trainer["pid"] == process.pid, told
        assert all(0 <= share <= 1 for share in (beta["waits"], trainer["waits"], told["loop"])), told
        lines = subprocess.Popen([BIN / "leatctl", "top", "--json"], stdout=subprocess.PIPE,
                                 env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        assert json.loads(lines.stdout.readline())["streams"] and json.loads(lines.stdout.readline())["streams"]
        lines.send_signal(signal.SIGINT)
        assert lines.wait(HANG_S) == 130
        process.kill()
        process.wait()
    assert leat_harness.ctl("top", env={"LEAT_SOCKET": str(folder / "none")}, check=False).returncode == 4


if __name__ == "__main__":
    leat_harness.main(globals())

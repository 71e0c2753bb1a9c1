#!/usr/bin/env python3
"""The daemon as a process: how it starts and ends, who finds it, what is left of trainers that are killed.

    test_daemon.py BIN [PATTERN]
"""
import json
import os
import re
import random
import shutil
import signal
import socket
import struct
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, ctl, find_digest, require, wait_until
from raw_client import RawClient

TRAINER = BIN.parent / "tests" / "e2e" / "trainer"


def config(folder, n_records=5000, **settings):
    path = folder / "numbers.csv"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(n_records)))
    return data.yaml_text({"s": data.numbers_stream([str(path)])}, **{"workers": 2, **settings})


def trainer(daemon, *words, stream="s"):
    env = {**os.environ, "LEAT_SOCKET": str(daemon.sockets)}
    process = subprocess.Popen([TRAINER, stream, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=env)
    lines = []
    while not (lines and lines[-1].startswith("held")):
        line = process.stdout.readline().decode()
        if not line:
            raise AssertionError(f"trainer ended: {process.stderr.read().decode()}")
        lines.append(line.strip())
    process.lines = lines
    return process


def is_idle(daemon):
    status = daemon.status()
    return status["n_sessions"] == 0 and status["n_slots"] == status["n_slots_free"] and status["ring_bytes"] == 0 or None


def puller(daemon):
    """leatctl, which has got batches, wants more without end, and waits for no other daemon."""
    process = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0", "--reconnect", "0"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    wait_until(lambda: any(session["pid"] == process.pid and session["n_batches"] for session in daemon.sessions()),
               "it has got batches")
    return process


def test_start_and_stop(folder):
    for how in (signal.SIGTERM, signal.SIGINT):
        with Daemon(folder, config(folder)) as daemon:
            assert daemon.status()["pid"] == daemon.pid
            daemon.stop(how)
            assert "event=stopped" in daemon.log.splitlines()[-1], f"{how}: {daemon.log}"
        assert not list(daemon.sockets.glob("*.sock")), "sockets are left behind"


def test_stop_under_load(folder):
    with Daemon(folder, config(folder)) as daemon:
        trainers = [trainer(daemon, 4, n) for n in (0, 2, 4)]
        client = puller(daemon)
        daemon.stop()
        message = client.communicate(timeout=HANG_S)[1].decode()
        assert client.returncode != 0 and message, "a trainer must learn that the daemon went away"
        for process in trainers:
            process.kill()
            process.wait()


def test_stop_while_a_job_hangs(folder):
    """On a FIFO that nobody writes to: told, and left to the system."""
    os.mkfifo(folder / "fifo.csv")
    with Daemon(folder, data.yaml_text({"s": data.numbers_stream([str(folder / "fifo.csv")])}, workers=2)) as daemon:
        client = subprocess.Popen([BIN / "leatctl", "pull", "s", "--reconnect", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: any(session["pid"] == client.pid for session in daemon.sessions()), "it is asked for")
        daemon.stop()
        assert client.wait(HANG_S) != 0
        last = daemon.log.splitlines()[-1]
        assert "event=stopped" in last and " tasks=" in last, daemon.log
    assert not list(daemon.sockets.glob("*.sock")), "sockets are left behind"


def test_killed_daemon_can_start_again(folder):
    with Daemon(folder, config(folder)) as daemon:
        daemon.stop(signal.SIGKILL)
        daemon.start()
        assert daemon.digest("s")


def test_second_daemon_is_refused(folder):
    with Daemon(folder, config(folder)) as daemon:
        done = subprocess.run([BIN / "leatd", "--config", daemon.config, "--socket-dir", daemon.sockets],
                              capture_output=True, timeout=HANG_S)
        assert done.returncode != 0 and b"another leatd is running" in done.stderr, done
        assert daemon.digest("s")


def test_wrong_configuration(folder):
    for text, place in [("workerz: 3\n", ":1:"), ("workers: none\n", ":1:"), ("workers: 2\nwindow: 100000\n", ":2:"),
                        ("streams:\n  s: {source: {csv: {paths: [a.csv]}}, stages: [{pad: {input: x, lenght: 3}}]}\n", ":2:")]:
        file = folder / "wrong.yaml"
        file.write_text(text)
        done = subprocess.run([BIN / "leatd", "--config", file, "--socket-dir", folder], capture_output=True,
                              timeout=HANG_S)
        assert done.returncode == 78 and f"wrong.yaml{place}".encode() in done.stderr, done


def test_limit_of_memory(folder):
    for limit, shown in (("", r"(none|[\d.]+ [MGT]iB)"), ("memory_limit: 1GiB\n", "1.0 GiB")):
        path = folder / "limit.yaml"
        path.write_text(f"workers: 1\n{limit}streams: {{}}\n")
        with Daemon(folder, path) as daemon:
            assert re.search(rf"memory limit +{shown}\n", daemon.ctl("status").stdout.decode())


def test_no_daemon_is_told(folder):
    done = ctl("status", check=False, env={"LEAT_SOCKET": str(folder)})
    assert done.returncode == 4 and str(folder).encode() in done.stderr, done


def test_interrupted_while_it_waits(folder):
    """Sockets that systemd made, and no daemon yet: one signal ends the client."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trainer, socket.socket(socket.AF_UNIX) as control:
        for name, end in [("trainer", trainer), ("control", control)]:
            end.bind(str(folder / f"{name}.sock"))
            end.listen(4)
        client = subprocess.Popen([BIN / "leatctl", "pull", "s"], stderr=subprocess.PIPE,
                                  env={**os.environ, "LEAT_SOCKET": str(folder)})
        end = control.accept()[0]
        end.recv(1)
        client.send_signal(signal.SIGTERM)
        said = client.communicate(timeout=HANG_S)[1]
        end.close()
    assert (client.returncode, said) == (130, b"interrupted\n"), (client.returncode, said)


def test_search_in_runtime_dir(folder):
    (folder / "leat").mkdir()
    daemon = Daemon(folder, config(folder))
    shutil.rmtree(daemon.sockets)
    daemon.sockets.symlink_to(folder / "leat")
    with daemon:
        environment = {key: value for key, value in os.environ.items() if key != "LEAT_SOCKET"}
        done = subprocess.run([BIN / "leatctl", "status", "--json"], capture_output=True,
                              env={**environment, "XDG_RUNTIME_DIR": str(folder)})
        assert json.loads(done.stdout)["pid"] == daemon.pid


def test_socket_activation(folder):
    """By systemd's own tool, which passes sockets of one type only: for operators, then for trainers."""
    activate = require("systemd-socket-activate")
    sockets = folder / "sockets"
    sockets.mkdir()
    (folder / "leatd.yaml").write_text(config(folder))
    for name, kind in (("control", []), ("trainer", ["--seqpacket"])):
        command = [activate, *kind, "--listen", sockets / f"{name}.sock", f"--fdname={name}", BIN / "leatd", "--config",
                   folder / "leatd.yaml"]
        with open(folder / "leatd.log", "ab") as log:
            process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
        try:
            listening = f"Listening on {sockets}/{name}.sock"  # before that, the socket refuses connections
            wait_until(lambda: listening in (folder / "leatd.log").read_text(), "systemd-socket-activate listens")
            env = {"LEAT_SOCKET": str(sockets)}
            if name == "control":
                assert json.loads(ctl("status", "--json", env=env).stdout)["pid"] == process.pid
            else:
                assert find_digest(ctl("pull", "s", "--digest", env=env).stdout)
        finally:
            process.terminate()
            status = process.wait(HANG_S)
        assert status == 0, f"leatd ended with {status}"
        assert (sockets / f"{name}.sock").exists(), "a socket that was passed belongs to the service manager"


def test_passed_sockets_go_by_name(folder):
    """Names tell sockets apart, whatever their order; systemd gives them in either."""
    kinds = {"trainer": socket.SOCK_SEQPACKET, "copy": socket.SOCK_STREAM, "control": socket.SOCK_STREAM}
    (folder / "leatd.yaml").write_text(config(folder))
    for order in (["trainer", "copy", "control"], ["control", "trainer", "copy"]):
        listeners = []
        for name in order:
            listeners.append(socket.socket(socket.AF_UNIX, kinds[name]))
            (folder / f"{name}.sock").unlink(missing_ok=True)
            listeners[-1].bind(str(folder / f"{name}.sock"))
            listeners[-1].listen(8)

        def pass_sockets():
            saved = [os.dup2(listener.fileno(), 100 + i) for i, listener in enumerate(listeners)]
            for i, fd in enumerate(saved):
                os.dup2(fd, 3 + i, inheritable=True)
        script = 'LISTEN_PID=$$ exec "$@"'
        with open(folder / "leatd.log", "ab") as log:
            process = subprocess.Popen(["sh", "-c", script, "sh", BIN / "leatd", "--config", folder / "leatd.yaml"], stdout=log,
                                       stderr=log, preexec_fn=pass_sockets, close_fds=False,
                                       env={**os.environ, "LISTEN_FDS": "3", "LISTEN_FDNAMES": ":".join(order)})
        try:
            env = {"LEAT_SOCKET": str(folder)}
            assert json.loads(ctl("status", "--json", env=env).stdout)["pid"] == process.pid
            digests = {find_digest(ctl("pull", "s", "--digest", "--delivery", delivery, env=env).stdout)
                       for delivery in ("shared", "copy")}
            assert len(digests) == 1, digests
        finally:
            process.terminate()
            assert process.wait(HANG_S) == 0
            for listener in listeners:
                listener.close()


def test_drain(folder):
    with Daemon(folder, config(folder)) as daemon:
        held = trainer(daemon, 4, 2)
        client = puller(daemon)
        ctl("drain", "--timeout", 1, env={"LEAT_SOCKET": str(daemon.sockets)}, check=False)
        assert daemon.process.wait(HANG_S) == 0
        message = client.communicate(timeout=HANG_S)[1].decode()
        assert client.returncode != 0 and message, message
        held.kill()
        held.wait()
        daemon.start()


def test_drain_of_one_who_has_gone(folder):
    """What lay in the socket's line is no reason to end: whoever asked has gone, and asked another daemon perhaps."""
    drain = b"\x08\x01\x3a\x00"  # ControlRequest: version 1, drain {}
    with Daemon(folder, config(folder)) as daemon:
        os.kill(daemon.pid, signal.SIGSTOP)
        try:
            client = RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
            client.send(struct.pack("<I", len(drain)) + drain)
            client.close()
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        assert not daemon.status()["is_draining"]
        assert daemon.digest("s")
        client = RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
        client.send(struct.pack("<I", len(drain)) + drain)  # and this is what such a frame does else
        assert daemon.process.wait(HANG_S) == 0
        client.close()
        daemon.start()


def test_kill_200_trainers(folder):
    rng = random.Random(5)
    window = 4
    with Daemon(folder, config(folder)) as daemon:
        wait_until(lambda: is_idle(daemon), "idle at first")
        daemon.digest("s")  # whatever is made once is there now
        wait_until(lambda: is_idle(daemon), "idle")
        n_fds = daemon.n_fds()
        n_killed = 0
        while n_killed < 200:
            some = [trainer(daemon, window, rng.randrange(0, window + 1)) for _ in range(8)]
            rng.shuffle(some)
            for process in some:
                process.send_signal(signal.SIGKILL)
                process.wait()
                n_killed += 1
        wait_until(lambda: is_idle(daemon), f"every slot free: {daemon.status()}")
        wait_until(lambda: daemon.n_fds() <= n_fds, f"{n_fds} descriptors as at first")
        assert daemon.digest("s")


def test_trainer_dies_but_its_child_lives(folder):
    """A forked child keeps socket and mappings; it must not keep the slots from others for ever, nor
    see them change while it lives."""
    with Daemon(folder, config(folder)) as daemon:
        process = trainer(daemon, 4, 3, "fork")
        child = int(process.lines[0].split()[1])
        process.kill()
        process.wait()
        try:
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "the session is gone")
            assert daemon.digest("s")
        finally:
            os.kill(child, signal.SIGKILL)
        wait_until(lambda: is_idle(daemon), "every slot free")


def test_trainer_opens_and_closes(folder):
    """What a trainer closed and released is free, though its process lives on."""
    with Daemon(folder, config(folder)) as daemon:
        n_fds = None
        for n_held in (0, 2, 4):
            process = trainer(daemon, 4, n_held, "close")
            wait_until(lambda: is_idle(daemon), f"every slot free: {daemon.status()}")
            n_fds = n_fds or daemon.n_fds()
            wait_until(lambda: daemon.n_fds() <= n_fds, f"{n_fds} descriptors")
            process.kill()
            process.wait()


def test_stopped_trainer_stalls_only_itself(folder):
    with Daemon(folder, config(folder)) as daemon:
        expected = daemon.digest("s")
        process = trainer(daemon, 4, 4)
        process.send_signal(signal.SIGSTOP)
        assert daemon.digest("s") == expected
        process.kill()
        process.wait()


def test_answers(folder):
    """What is told of an epoch of 625 batches of 8 rows, and of a trainer that holds 4 more."""
    with Daemon(folder, config(folder)) as daemon:
        daemon.digest("s")
        wait_until(lambda: is_idle(daemon), "the puller has gone")
        stats, = json.loads(daemon.ctl("stats", "--json").stdout)
        assert [stats[key] for key in ("name", "n_batches", "n_rows", "n_bad_records")] == ["s", 625, 5000, 0], stats
        busy = {stage["name"]: stage["n_records"] for stage in stats["stages"] if stage["busy_ns"]}
        assert busy["csv"] == busy["cast"] == stats["n_source_records"] >= 5000 and busy["collate"] == 5000, stats
        file_bytes = (folder / "numbers.csv").stat().st_size
        assert stats["n_source_bytes"] * 5000 == file_bytes * stats["n_source_records"], (stats, file_bytes)
        held = trainer(daemon, 4, 2)
        wait_until(lambda: [session["n_held"] for session in daemon.sessions() if session["pid"] == held.pid] == [4],
                   f"what is announced is held: {daemon.sessions()}")
        status = daemon.status()
        assert [status[key] for key in ("n_sessions", "n_streams", "n_workers", "n_batches", "n_rows", "n_refused", "n_failures")] \
            == [1, 1, 2, 629, 5032, 0, 0], status
        assert status["n_slots"] - status["n_slots_free"] == 4, status
        explained = json.loads(daemon.ctl("explain", "s", "--json").stdout)
        assert [explained[key] for key in ("stream", "n_steps", "batch_size", "map")] == ["s", 625, 8, ["csv", "cast"]], explained
        assert [(tensor["name"], tensor["dtype"]) for tensor in explained["tensors"]] == [("id", "int64")], explained
        for words, shown in ((["status"], r"rows +5,032\n"), (["streams"], rf" {held.pid} .* serving +shared .* 4 +4 +4 "),
                             (["stats"], r"^s\n +batches +6[23]\d\n"), (["stats", "s"], r"bad records +0\n"),
                             (["explain", "s"], r"steps of an epoch: +625 steps from 5000 rows")):
            said = daemon.ctl(*words).stdout.decode()
            assert re.search(shown, said), (words, said)
        for words in (["stats", "nosuch"], ["pull", "nosuch"]):
            assert b"no stream" in (done := daemon.ctl(*words, check=False)).stderr and done.returncode == 1, done
        held.kill()
        held.wait()


def test_answer_larger_than_a_socket_takes(folder):
    """A client that is slow to read gets the whole answer, which the daemon sends in parts."""
    streams = b"\x08\x01\x1a\x00"  # ControlRequest: version 1, streams {}
    names = [f"stream-{i:03}" for i in range(1000)]
    settings = folder / ("long" * 50) / ("name" * 50) / "leatd.yaml"  # which the answer has for each stream
    settings.parent.mkdir(parents=True)
    settings.write_text(data.yaml_text({name: data.numbers_stream(["n.csv"]) for name in names}))
    with Daemon(folder, settings) as daemon:
        client = RawClient(daemon, endpoint="control.sock", kind=socket.SOCK_STREAM)
        client.send(struct.pack("<I", len(streams)) + streams)
        file = client.socket.makefile("rb", buffering=4)
        n_bytes, = struct.unpack("<I", file.read(4))
        daemon.status()  # meanwhile, the daemon sends as much as fits
        answer = file.read(n_bytes)
        assert sorted(name.decode() for name in re.findall(rb"stream-\d{3}", answer)) == names, n_bytes
        client.close()


def test_times_of_trainers(folder):
    """How long a trainer waited and was served counts after it has gone."""
    gate = data.Gate(folder)
    gate.close()
    with Daemon(folder, data.yaml_text({"s": gate.stream}, workers=2)) as daemon:
        client = RawClient(daemon).opened(window=1)
        wait_until(gate.waiting.exists, "the program is at work")
        gate.path.touch()
        client.batch()
        client.close()
        wait_until(lambda: all(session["state"] != "serving" for session in daemon.sessions()), "the trainer has gone")
        stats, = json.loads(daemon.ctl("stats", "--json").stdout)
        assert stats["n_waits"] == 1 and 0 < stats["wait_ns"] <= stats["trainer_ns"], stats


def test_trainers_of_streams(folder):
    """Each stream has its own trainers, whichever came first."""
    path = folder / "numbers.csv"
    path.write_text("id\n" + "1\n" * 100)
    with Daemon(folder, data.yaml_text({name: data.numbers_stream([str(path)]) for name in ("a", "b")})) as daemon:
        clients = [RawClient(daemon).opened(name, window) for name, window in (("a", 1), ("b", 2), ("b", 3), ("a", 4))]
        for client in clients:
            client.batch()
        found = {stream["name"]: sorted(session["window"] for session in stream["sessions"])
                 for stream in json.loads(daemon.ctl("streams", "--json").stdout)}
        assert found == {"a": [1, 4], "b": [2, 3]}, found


def test_failures(folder):
    """The status counts the streams that fail now, and tells the latest failure, in whatever order they fail."""
    files = {name: folder / f"{name}.csv" for name in ("a", "b")}
    with Daemon(folder, data.yaml_text({name: data.numbers_stream([str(path)]) for name, path in files.items()})) as daemon:
        for name, n_failing in (("a", 1), ("b", 2), ("a", 2)):
            assert daemon.pull(name, "--epochs", 1, check=False).returncode != 0
            status = daemon.status()
            assert (status["n_failing"], status["last_failure"]["stream"]) == (n_failing, name), status
        files["a"].write_text("id\n1\n")
        daemon.pull("a", "--epochs", 1)
        assert daemon.status()["n_failing"] == 1, daemon.status()


if __name__ == "__main__":
    leat_harness.main(globals())

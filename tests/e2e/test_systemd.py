#!/usr/bin/env python3
"""leatd as a service of systemd: sockets that are passed, sd_notify, and the units themselves.

    test_systemd.py BIN [PATTERN]
"""
import configparser
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import data
import leat_harness
from tracer import Tracer
from leat_harness import BIN, HANG_S, ROOT, Skip, ctl, find_digest, wait_until

UNITS = {"leatd.socket": "trainer", "leatd-copy.socket": "copy", "leatd-control.socket": "control"}
TYPES = {"trainer": socket.SOCK_SEQPACKET, "copy": socket.SOCK_STREAM, "control": socket.SOCK_STREAM}
FIRST_FD = 3  # SD_LISTEN_FDS_START
# Answers once there is a file `go`.
HELPER = """
import json, os, sys, time
for line in sys.stdin:
    while not os.path.exists("go"):
        time.sleep(0.05)
    record = json.loads(line)
    print(json.dumps({"_leat": record["_leat"], "id": int(record["id"])}), flush=True)
"""
# The service manager's part: the sockets' descriptors to 3.., LISTEN_PID is the process's own.
LAUNCHER = ('i=3; for fd in $FDS; do eval "exec $((i + 20))<&$fd"; i=$((i + 1)); done; '
            'i=3; for fd in $FDS; do eval "exec $i<&$((i + 20)) $((i + 20))<&-"; i=$((i + 1)); done; '
            'export LISTEN_PID=$$; exec "$@"')


class Service:
    """leatd with passed sockets (name, type) and a NOTIFY_SOCKET."""

    def __init__(self, folder, passed, watchdog_s=None, streams=(), **settings):
        self.folder, self.messages = folder, []
        (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(100)))
        config = folder / "leatd.yaml"
        config.write_text(data.yaml_text({"s": data.numbers_stream([str(folder / "numbers.csv")]), **dict(streams)},
                                         workers=2, **settings))
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        self.sockets = []
        for name, kind in passed:
            self.sockets.append(socket.socket(socket.AF_UNIX, kind))
            self.sockets[-1].bind(str(folder / f"{name}.sock"))
            self.sockets[-1].listen(16)
        fds = [end.fileno() for end in self.sockets]
        env = {**os.environ, "FDS": " ".join(map(str, fds)), "LISTEN_FDS": str(len(fds)),
               "LISTEN_FDNAMES": ":".join(name for name, _ in passed), "NOTIFY_SOCKET": str(folder / "notify")}
        if watchdog_s:
            env["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        self.log = open(folder / "leatd.log", "w+")
        self.process = subprocess.Popen(["bash", "-c", LAUNCHER, "bash", str(BIN / "leatd"), "--config", str(config)],
                                        env=env, pass_fds=fds, stdout=self.log, stderr=self.log)

    def hears(self, message):
        """When the message comes; None if the daemon has ended without it."""
        end = time.monotonic() + HANG_S
        while message not in self.messages and time.monotonic() < end:
            has_ended = self.process.poll() is not None
            if select.select([self.notify], [], [], 0 if has_ended else 0.1)[0]:
                self.messages += self.notify.recv(4096).decode().split("\n")
            elif has_ended:
                return None
        assert message in self.messages, f"no {message} within {HANG_S:g} s: {self.text()}"
        return time.monotonic()

    def hears_like(self, start, end=""):
        """The first message that begins and ends so, now or later."""
        latest = time.monotonic() + HANG_S
        while time.monotonic() < latest:
            found = [message for message in self.messages if message.startswith(start) and message.endswith(end)]
            if found:
                return found[0]
            if select.select([self.notify], [], [], 0.1)[0]:
                self.messages += self.notify.recv(4096).decode().split("\n")
        raise AssertionError(f"no {start} within {HANG_S:g} s: {self.messages} {self.text()}")

    def pull(self, *args):
        """A leatctl that pulls, until it is ended."""
        return subprocess.Popen([BIN / "leatctl", "pull", *args], env={**os.environ, "LEAT_SOCKET": str(self.folder)},
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def text(self):
        self.log.flush()
        return (self.folder / "leatd.log").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in [*self.sockets, self.notify]:
            end.close()
        self.log.close()


def test_passed_sockets(folder):
    """Known by their names, in whatever order they are passed; they stay when the daemon goes."""
    for turn in range(4):
        passed = list(TYPES.items())
        random.Random(turn).shuffle(passed)
        inner = folder / str(turn)
        inner.mkdir()
        with Service(inner, passed) as service:
            assert service.hears("READY=1"), service.text()
            env = {"LEAT_SOCKET": str(inner)}
            digests = {find_digest(ctl("pull", "s", "--digest", *more, env=env).stdout)
                       for more in ([], ["--delivery", "copy"])}
            assert len(digests) == 1
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(HANG_S) == 0, service.text()
            assert service.hears("STOPPING=1")
            assert all((inner / f"{name}.sock").exists() for name in TYPES)


def test_http_socket(folder):
    """Metrics on a socket that was passed."""
    with Service(folder, [("http", socket.SOCK_STREAM), ("control", socket.SOCK_STREAM)]) as service:
        assert service.hears("READY=1"), service.text()
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(HANG_S)
            end.connect(str(folder / "http.sock"))
            end.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            reply = b""
            while piece := end.recv(65536):
                reply += piece
        assert b" 200 OK\r\n" in reply and b"\nleat_sessions 0\n" in reply, reply[:1000]
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(HANG_S) == 0, service.text()


def test_one_socket(folder):
    """What was not passed and not asked for is not made."""
    with Service(folder, [("control", socket.SOCK_STREAM)]) as service:
        assert service.hears("READY=1"), service.text()
        assert sorted(path.name for path in folder.glob("*.sock")) == ["control.sock"]


def test_wrong_sockets(folder):
    """A name that is not known, twice the same, the wrong type: said, and the end."""
    cases = [([("traner", socket.SOCK_SEQPACKET)], "traner"),
             ([("trainer", socket.SOCK_STREAM)], "ListenSequentialPacket"),
             ([("control", socket.SOCK_SEQPACKET)], "ListenStream"),
             ([("http", socket.SOCK_SEQPACKET)], "not a stream socket")]
    for i, (passed, word) in enumerate(cases):
        inner = folder / str(i)
        inner.mkdir()
        with Service(inner, passed) as service:
            assert service.process.wait(HANG_S) == 1
            assert word in service.text(), service.text()
            assert not service.hears("READY=1")


def test_watchdog(folder):
    """It is heard in time, again and again; a machine that has no time for it now and then is no fault."""
    watchdog_s = 1.5
    with Service(folder, list(TYPES.items()), watchdog_s) as service:
        before, n_in_time = service.hears("READY=1"), 0
        end = time.monotonic() + HANG_S
        while n_in_time < 3:
            service.messages.clear()
            now = service.hears("WATCHDOG=1")
            n_in_time += now - before < watchdog_s
            before = now
            assert now < end, f"{n_in_time} times in time"


def test_ready_and_status(folder):
    """Ready only when a worker has answered; then what it does, every few seconds."""
    with Service(folder, list(TYPES.items())) as service:
        assert service.hears("READY=1")
        assert service.hears_like("STATUS=") == "STATUS=ready: 1 stream, no trainers"
        assert service.messages[0] == "READY=1" and "event=started" in service.text()
        client = service.pull("s", "--epochs", "0")
        try:
            assert service.hears_like("STATUS=1 stream, 1 in use; 1 trainer; ").endswith(" batches/s")
        finally:
            client.kill()
            client.wait()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(HANG_S) == 0, service.text()
        service.hears_like("STATUS=stopping")


def test_drain_takes_its_time(folder):
    """While a trainer holds batches, the service manager is asked for patience."""
    with Service(folder, list(TYPES.items())) as service:
        assert service.hears("READY=1")
        client = service.pull("s", "--epochs", "0")
        try:
            wait_until(lambda: b'"n_batches": 0' not in ctl("status", "--json", env={"LEAT_SOCKET": str(folder)}).stdout,
                       "batches")
            client.send_signal(signal.SIGSTOP)
            drain = subprocess.Popen([BIN / "leatctl", "drain", "--timeout", "60"], stdout=subprocess.DEVNULL,
                                     env={**os.environ, "LEAT_SOCKET": str(folder)})
            service.hears_like("STATUS=draining: 1 trainer, ")
            service.hears_like("EXTEND_TIMEOUT_USEC=")
        finally:
            client.kill()
            client.wait()
        assert drain.wait(HANG_S) == 0 and service.process.wait(HANG_S) == 0, service.text()


def test_stalled(folder):
    """A worker that waits for a program is no reason for a restart: its stream is stalled, which is told, and goes on."""
    (folder / "helper.py").write_text(HELPER)
    stream = data.numbers_stream(["numbers.csv"])
    stream["stages"].insert(0, {"exec": {"command": [sys.executable, "-S", "helper.py"], "schema": {"id": "int64"},
                                         "deadline": 1000}})
    with Service(folder, list(TYPES.items()), 3, {"slow": stream}, worker_timeout="5s") as service:
        assert service.hears("READY=1")
        client = service.pull("slow", "--epochs", "1")
        env = {"LEAT_SOCKET": str(folder)}
        wait_until(lambda: b"STALLED" in ctl("streams", env=env).stdout, "the stream is stalled")
        assert b'"n_stalled": 1' in ctl("status", "--json", env=env).stdout
        metrics = ctl("metrics", env=env).stdout
        assert b"\nleat_tasks_stalled 1\n" in metrics
        assert b'leat_stream_tasks_stalled{stream="slow",owner="settings"} 1\n' in metrics
        assert b'leat_stream_tasks_stalled{stream="s",owner="settings"} 0\n' in metrics
        assert b"The stream is stalled" in ctl("why", "slow", env=env).stdout
        assert b"stalls: one of its tasks" in ctl("doctor", env=env, check=False).stdout
        assert "event=stalled stream=slow" in service.text() and "a program" in service.text(), service.text()
        for _ in range(2):
            service.messages.clear()
            assert service.hears("WATCHDOG=1")
        service.hears_like("STATUS=", "1 task stalled")
        ctl("pull", "s", env=env)  # the others go on
        (folder / "go").touch()
        assert client.wait(HANG_S) == 0
        wait_until(lambda: b"STALLED" not in ctl("streams", env=env).stdout, "the stream is not stalled")
        assert b"\nleat_tasks_stalled 0\n" in ctl("metrics", env=env).stdout
        assert "event=stuck" not in service.text()


def test_stopped_workers(folder):
    """Workers that do not go on, with a loop that does: no ping any more, and a call for a restart."""
    env = {"LEAT_SOCKET": str(folder)}
    with Service(folder, list(TYPES.items()), 3, worker_timeout="1s") as service:
        assert service.hears("READY=1")
        pid = service.process.pid
        threads = [int(path.name) for path in pathlib.Path(f"/proc/{pid}/task").iterdir() if int(path.name) != pid]
        with Tracer(threads):  # before there is work: who is stopped with a lock in its hands hangs the loop, too
            client = service.pull("s")
            assert service.hears("WATCHDOG=trigger")
            assert service.hears_like("STATUS=stuck") == "STATUS=stuck: workers cannot continue"
            assert "event=stuck" in service.text()
            ctl("status", env=env)  # the loop turns
            service.messages.clear()
            service.hears("WATCHDOG=trigger")
            assert "WATCHDOG=1" not in service.messages
        assert client.wait(HANG_S) == 0


def test_catalog(folder):
    """journalctl takes it, and knows what to do."""
    if not shutil.which("journalctl"):
        raise Skip("journalctl is not installed")
    text = subprocess.run([BIN / "leatd", "--events=catalog"], check=True, stdout=subprocess.PIPE).stdout.decode()
    place = folder / "usr/lib/systemd/catalog"
    place.mkdir(parents=True)
    (folder / "var/lib/systemd/catalog").mkdir(parents=True)
    (place / "leatd.catalog").write_text(text)
    command = ["journalctl", f"--root={folder}"]
    done = subprocess.run([*command, "--update-catalog"], capture_output=True, timeout=HANG_S)
    assert done.returncode == 0 and not done.stderr, done.stderr
    ids = [line[3:] for line in text.splitlines() if line.startswith("-- ")]
    said = subprocess.run([*command, "--dump-catalog", *ids], check=True, capture_output=True, timeout=HANG_S).stdout.decode()
    assert said.count("Defined-By: leatd") == len(ids) and "Subject: workers cannot continue" in said, said
    assert subprocess.run([BIN / "leatd", "--events=poem"], capture_output=True).returncode == 1


def read_unit(path):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(path)
    return parser


def test_units(folder):
    """The units' sockets are where libleat looks, of the type and name that the daemon wants."""
    groups = (ROOT / "systemd/leatd.sysusers.conf").read_text()
    for unit, name in UNITS.items():
        section = read_unit(ROOT / "systemd" / unit)["Socket"]
        key = "ListenSequentialPacket" if TYPES[name] == socket.SOCK_SEQPACKET else "ListenStream"
        assert section[key] == f"/run/leat/{name}.sock"
        assert section["FileDescriptorName"] == name
        assert f"g {section['SocketGroup']} " in groups
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    for unit in UNITS:
        shutil.copy(ROOT / "systemd" / unit, folder)
    service = (ROOT / "systemd/leatd.service.in").read_text().replace("@CMAKE_INSTALL_FULL_BINDIR@", str(BIN))
    (folder / "leatd.service").write_text(service)
    units = [str(folder / name) for name in ["leatd.service", *UNITS]]
    done = subprocess.run(["systemd-analyze", "--man=no", "verify", *units], capture_output=True, timeout=HANG_S,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"})
    complaints = [line for line in done.stderr.decode().splitlines() if "leatd" in line]
    assert done.returncode == 0 and not complaints, complaints
    # of 100, with the more dangerous the higher
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=10", str(folder / "leatd.service")],
                          capture_output=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout.decode()


def test_user_units(folder):
    """Those of a user: the same sockets in the user's own place, with nothing in them that takes root."""
    for unit, name in UNITS.items():
        section = read_unit(ROOT / "systemd/user" / unit)["Socket"]
        key = "ListenSequentialPacket" if TYPES[name] == socket.SOCK_SEQPACKET else "ListenStream"
        assert section[key] == f"%t/leat/{name}.sock"
        assert section["FileDescriptorName"] == name and section["SocketMode"] == "0600"
        shutil.copy(ROOT / "systemd/user" / unit, folder)
    service = (ROOT / "systemd/user/leatd.service.in").read_text().replace("@CMAKE_INSTALL_FULL_BINDIR@", str(BIN))
    (folder / "leatd.service").write_text(service)
    if not shutil.which("systemd-analyze"):
        raise Skip("systemd-analyze is not installed")
    units = [str(folder / name) for name in ["leatd.service", *UNITS]]
    done = subprocess.run(["systemd-analyze", "--user", "--man=no", "verify", *units], capture_output=True, timeout=HANG_S,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:", "XDG_RUNTIME_DIR": str(folder)})
    complaints = [line for line in done.stderr.decode().splitlines() if "leatd" in line]
    assert done.returncode == 0 and not complaints, (done.returncode, done.stderr.decode())


def test_tunnel_units(folder):
    """What they run is there, and they may do little."""
    for program in ("systemd-analyze", "stunnel4", "ssh"):
        leat_harness.require(program)
    units = []
    for name in ("leat-stunnel.service", "leat-stunnel@.service", "leat-ssh@.service"):
        shutil.copy(ROOT / "systemd" / name, folder)
        units.append(str(folder / name.replace("@.", "@far.")))
    done = subprocess.run(["systemd-analyze", "--man=no", "verify", *units], capture_output=True, timeout=HANG_S,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:{ROOT / 'systemd'}:"})
    complaints = [line for line in done.stderr.decode().splitlines() if "leat-" in line]
    assert done.returncode == 0 and not complaints, complaints
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30", *units], capture_output=True, timeout=HANG_S)
    assert done.returncode == 0, done.stdout.decode()


if __name__ == "__main__":
    leat_harness.main(globals())

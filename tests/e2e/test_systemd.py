#!/usr/bin/env python3
"""leatd as a service of systemd: sockets that are passed, sd_notify, and the units themselves.

    test_systemd.py BIN [PATTERN]
"""
import configparser
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import time

import data
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Skip, ctl, find_digest

UNITS = {"leatd.socket": "trainer", "leatd-copy.socket": "copy", "leatd-control.socket": "control"}
TYPES = {"trainer": socket.SOCK_SEQPACKET, "copy": socket.SOCK_STREAM, "control": socket.SOCK_STREAM}
FIRST_FD = 3  # SD_LISTEN_FDS_START
# The service manager's part: the sockets' descriptors to 3.., LISTEN_PID is the process's own.
LAUNCHER = ('i=3; for fd in $FDS; do eval "exec $((i + 20))<&$fd"; i=$((i + 1)); done; '
            'i=3; for fd in $FDS; do eval "exec $i<&$((i + 20)) $((i + 20))<&-"; i=$((i + 1)); done; '
            'export LISTEN_PID=$$; exec "$@"')


class Service:
    """leatd with passed sockets (name, type) and a NOTIFY_SOCKET."""

    def __init__(self, folder, passed, watchdog_s=None):
        self.folder, self.messages = folder, []
        (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(100)))
        config = folder / "leatd.yaml"
        config.write_text(data.yaml_text({"s": data.numbers_stream([str(folder / "numbers.csv")])}, workers=2))
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


def test_one_socket(folder):
    """What was not passed and not asked for is not made."""
    with Service(folder, [("control", socket.SOCK_STREAM)]) as service:
        assert service.hears("READY=1"), service.text()
        assert sorted(path.name for path in folder.glob("*.sock")) == ["control.sock"]


def test_wrong_sockets(folder):
    """A name that is not known, twice the same, the wrong type: said, and the end."""
    cases = [([("traner", socket.SOCK_SEQPACKET)], "traner"),
             ([("trainer", socket.SOCK_STREAM)], "ListenSequentialPacket"),
             ([("control", socket.SOCK_SEQPACKET)], "ListenStream")]
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
    done = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, timeout=HANG_S,
                          env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"})
    complaints = [line for line in done.stderr.decode().splitlines() if "leatd" in line]
    assert done.returncode == 0 and not complaints, complaints


if __name__ == "__main__":
    leat_harness.main(globals())

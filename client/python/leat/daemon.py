"""The daemon that makes the batches of this process's pipelines.

leat looks for a daemon of this user at $LEAT_SOCKET or, if this variable is not set, in $XDG_RUNTIME_DIR/leat. If no daemon
answers there, the first use starts a daemon for this process and its forked children, with sockets in a private folder. This
daemon watches the process (`leatd --end-with`). So when the process ends, the daemon ends, too, and removes its sockets and
the folder.

Any thread may call these functions. A lock ensures that only one daemon starts.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable

from . import programs
from ._leat import Client, check_interpreter
from .errors import DaemonError, SpecError

_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 5.0
_SOCKET_PATH_MAX = 107  # sun_path, without the NUL
_LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "notice": logging.INFO,
    "info": logging.DEBUG,
    "debug": logging.DEBUG,
}

# These limits protect the users of a daemon from each other. A daemon of one process needs none.
_SHARED_LIMITS = ("max_streams", "max_user_streams", "max_sessions", "max_user_sessions")
_UNLIMITED = 16384  # the maximum of the settings

_RAISED = ("refused", "stream-failed")  # events that become exceptions

_log = logging.getLogger("leat.daemon")

check_interpreter()  # streams call Python, and the thread of the log outlives a subinterpreter


def _own_user_answers(folder: str) -> bool:
    """True if a daemon of this user answers at this folder of sockets, or at this socket."""
    path = folder if folder.endswith(".sock") else os.path.join(folder, "trainer.sock")
    if len(os.fsencode(path)) > _SOCKET_PATH_MAX:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        probe.settimeout(5)
        try:
            probe.connect(path)
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return False
    return bool(struct.unpack("3i", credentials)[1] == os.geteuid())


def _user_daemon() -> str | None:
    """Returns the address of a daemon of this user, or None if none answers."""
    given = os.environ.get("LEAT_SOCKET")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    place = given or (os.path.join(runtime, "leat") if runtime else None)
    if place and _own_user_answers(place):
        return place
    if given:
        _log.warning("no daemon of your user answers at LEAT_SOCKET=%s, so leat starts a daemon for this process", given)
    return None


def _make_folder() -> str:
    """Makes a private folder, with a path that is short enough for sockets."""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if parent and len(os.fsencode(parent)) < 60 and os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK):
            return tempfile.mkdtemp(prefix=f"leat-{os.getpid()}-", dir=parent)
    raise DaemonError(
        "cannot make a folder for sockets, because XDG_RUNTIME_DIR, TMPDIR and /tmp are not writable or too long: "
        "set TMPDIR to a writable folder with a short path"
    )


def _log_line(line: bytes) -> None:
    """Passes a line of the daemon's log to the logger leat.daemon."""
    try:
        fields = json.loads(line)
        level = _LEVELS.get(fields.pop("level"), logging.INFO)
        fields.pop("time", None)
        event = fields.pop("event")
    except (ValueError, KeyError, AttributeError):
        _log.warning("leatd: %s", line.decode(errors="replace").rstrip())
        return
    if event in _RAISED:
        level = logging.DEBUG
    _log.log(level, "%s %s", event, " ".join(f"{key}={value}" for key, value in fields.items()))


def _has_bytes(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return any(events & select.POLLIN for _, events in poll.poll(0))


def _follow_log(read_end: int) -> None:
    """Reads the daemon's log until the daemon closes it. Runs in its own thread."""
    with open(read_end, "rb") as lines:
        for line in lines:
            _log_line(line)


class Embedded:
    """A leatd that belongs to this process, with its sockets in `folder`."""

    def __init__(self) -> None:
        self.folder = _make_folder()
        self.owner = os.getpid()
        try:
            self.process = self._start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        notify_path = os.path.join(self.folder, "notify.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(notify_path)
            read_end, write_end = os.pipe()
            try:
                process = self._launch(notify_path, write_end)
            except BaseException:
                os.close(read_end)
                raise
            finally:
                os.close(write_end)
            try:
                self._await_ready(process, notify, read_end)
            except BaseException:
                process.kill()
                process.wait()
                os.close(read_end)
                raise
            finally:
                os.unlink(notify_path)  # before the daemon checks that its folder is empty
        threading.Thread(target=_follow_log, args=(read_end,), name="leat-log", daemon=True).start()
        return process

    def _launch(self, notify_path: str, log: int) -> subprocess.Popen[bytes]:
        hidden = ("LISTEN_FDS", "LISTEN_PID", "JOURNAL_STREAM", "WATCHDOG_USEC", "RUNTIME_DIRECTORY")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        command = [programs.find("leatd"), "--end-with", str(os.getpid()), "--socket-dir", self.folder]
        command += ["--set", "exec=trainers", "--set", "log=json"]
        for limit in _SHARED_LIMITS:
            command += ["--set", f"{limit}={_UNLIMITED}"]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**environment, "NOTIFY_SOCKET": notify_path},
            cwd="/",
            start_new_session=True,  # Ctrl-C goes to the trainer, and the daemon ends with it
        )

    @staticmethod
    def _await_ready(process: subprocess.Popen[bytes], notify: socket.socket, log: int) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        pidfd = os.pidfd_open(process.pid)
        poll = select.poll()
        poll.register(notify, select.POLLIN)
        poll.register(pidfd, select.POLLIN)
        try:
            while (left_s := deadline - time.monotonic()) > 0:
                ready = [fd for fd, _ in poll.poll(left_s * 1000)]
                if notify.fileno() in ready and b"READY=1" in notify.recv(4096).split(b"\n"):
                    return
                if pidfd in ready:
                    status = process.wait()
                    words = (os.read(log, 4096) if _has_bytes(log) else b"").decode(errors="replace").strip()
                    raise DaemonError(words or f"leatd ended before it was ready, with status {status}")
        finally:
            os.close(pidfd)
        raise DaemonError(f"leatd was not ready within {_START_TIMEOUT_S:.0f} s")

    def is_alive(self) -> bool:
        """True if the daemon runs. A forked child cannot wait for the daemon, so the child asks the daemon's socket."""
        return self.process.poll() is None if self.owner == os.getpid() else _own_user_answers(self.folder)

    def revive(self) -> None:
        """Starts the daemon again in the same folder if it has ended, so that streams continue."""
        if self.owner != os.getpid() or self.is_alive():
            return
        _log.warning("leatd ended with status %d, so leat starts it again", self.process.returncode)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.process = self._start()

    def stop(self) -> None:
        """Ends the daemon if this process started it."""
        if self.owner != os.getpid():
            return
        self.process.terminate()
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


_lock = threading.Lock()
_embedded: Embedded | None = None
_address: str | None = None  # of connect()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it


os.register_at_fork(after_in_child=_after_fork)


def embedded() -> Embedded:
    """Returns the daemon that leat starts for this process. It starts the daemon at the first call. A forked child uses the
    daemon of its parent while this daemon runs."""
    global _embedded
    with _lock:
        if _embedded is not None and not _embedded.is_alive():
            if _embedded.owner == os.getpid():
                _embedded.revive()
            else:
                _embedded = None
        if _embedded is None:
            _embedded = Embedded()
        return _embedded


class Place:
    """A daemon that opens streams. `address` is the folder of its sockets. If `address` is None, libleat searches for a daemon
    with declared streams."""

    def __init__(self, address: str | None, daemon: Embedded | None = None) -> None:
        self.address = address
        self.client = Client(address)
        self._daemon = daemon

    def reconnect(self, then: Callable[[str, int, float, str], object] | None) -> Callable[[str, int, float, str], None]:
        """Makes a callback for lost connections. The callback restarts an embedded daemon that has ended, writes to the log,
        and calls `then`."""

        def on_reconnect(kind: str, attempt: int, waited_s: float, reason: str) -> None:
            if kind == "trying" and self._daemon is not None:
                with _lock:
                    self._daemon.revive()
            level = logging.DEBUG if kind == "trying" else logging.WARNING
            _log.log(level, "connection %s after %.1f s (attempt %d): %s", kind, waited_s, attempt, reason)
            if then is not None:
                then(kind, attempt, waited_s, reason)

        return on_reconnect


def for_built(needs_own: bool = False) -> Place:
    """Returns the daemon for pipelines that Python code builds. needs_own: True if the pipelines start programs, because a
    shared daemon does not allow this."""
    if _address is not None:
        return Place(_address)
    address = None if needs_own else _user_daemon()
    if address is not None:
        return Place(address)
    daemon = embedded()
    return Place(daemon.folder, daemon)


def for_declared() -> Place:
    """Returns the daemon for streams that its operator declared in a file."""
    return Place(_address)


def connect(address: str | os.PathLike[str] | None = None) -> str | None:
    """Sets the daemon for all streams that this process opens from now on. `address` is the folder of its sockets, or one of
    these sockets. None restores the default. Streams that are already open do not change. leat connects when you open the next
    stream. Returns the address that was set before.
    """
    global _address
    new = None if address is None else os.fspath(address)
    if new is not None and not new:
        raise SpecError("the address of the daemon is empty: give the folder of its sockets")
    before, _address = _address, None if new is None else os.path.abspath(new)
    return before


def shutdown() -> None:
    """Ends the daemon that leat started for this process, if there is one. Its open streams then fail, and the next pipeline
    starts a new daemon. You need not call this at the end: the daemon ends with the process.
    """
    global _embedded
    with _lock:
        daemon, _embedded = _embedded, None
    if daemon is not None:
        daemon.stop()


atexit.register(shutdown)

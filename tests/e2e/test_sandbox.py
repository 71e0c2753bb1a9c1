#!/usr/bin/env python3
"""What leatd gives up at its start, for itself and its programs: system calls, and writing outside of `writable`.

    test_sandbox.py BIN [PATTERN]
"""
import json
import os
import pathlib
import subprocess
import sys

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, Skip, run_digest

# A build with the preset `coverage` writes its counters there.
COUNTERS = [str(BIN.parent)] if any(BIN.parent.glob("daemon/CMakeFiles/leatd.dir/**/*.gcno")) else []

# reads its own memory as a debugger would read another's, and writes a file beside itself
PROBE = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("n", ctypes.c_size_t)]
def read_memory():
    source, target = ctypes.create_string_buffer(b"x"), ctypes.create_string_buffer(1)
    pieces = [Piece(ctypes.addressof(buffer), 1) for buffer in (target, source)]
    n = libc.process_vm_readv(os.getpid(), ctypes.byref(pieces[0]), 1, ctypes.byref(pieces[1]), 1, 0)
    return 0 if n == 1 else ctypes.get_errno()
def write_file():
    try:
        open(sys.argv[1], "w").close()
    except OSError as error:
        return error.errno
    return 0
for line in sys.stdin:
    record = json.loads(line)
    print(json.dumps({"_leat": record["_leat"], "errors": [read_memory(), write_file()]}), flush=True)
"""
EPERM, EACCES = 1, 13
LANDLOCK_VERSION = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"


def landlock_version():
    return int(subprocess.run([sys.executable, "-c", LANDLOCK_VERSION], capture_output=True, check=True).stdout)


def need_landlock():
    if landlock_version() < 1:
        raise Skip("this kernel has no Landlock")


def probe(folder, out):
    """A stream whose program tells the errors of both."""
    (folder / "probe.py").write_text(PROBE)
    (folder / "n.csv").write_text("id\n1\n")
    return {"source": {"csv": {"paths": [str(folder / "n.csv")]}}, "stages": [
        {"cast": {"input": "id", "dtype": "int64"}},
        {"exec": {"command": [sys.executable, "-S", str(folder / "probe.py"), str(out)], "inputs": ["id"], "schema": {"errors": "int64[2]"},
                  "processes": 1}},
        {"select": {"fields": ["errors"]}}, {"batch": {"batch_size": 1}}]}


def errors_of(daemon):
    return json.loads(daemon.ctl("dump", "probe", "--format", "jsonl").stdout)["errors"]


def finding(daemon):
    found = json.loads(daemon.ctl("doctor", "--json", check=False).stdout)["findings"]
    (sandbox,) = [row for row in found if row["name"] == "sandbox"]
    return sandbox


def test_calls(folder):
    """By default the daemon and its programs cannot read the memory of processes; with `sandbox: off` they can."""
    out = folder / "out"
    with Daemon(folder, data.yaml_text({"probe": probe(folder, out)})) as daemon:
        sandbox = daemon.status()["sandbox"]
        if sandbox == "none":
            assert finding(daemon)["state"] == "warn" and "seccomp" in daemon.log, daemon.log
            raise Skip("this kernel has no seccomp filters")
        assert sandbox == "calls" and errors_of(daemon) == [EPERM, 0] and out.exists(), sandbox
        status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
        assert "NoNewPrivs:\t1\n" in status and "Seccomp:\t2\n" in status, status
        assert finding(daemon)["state"] == "ok" and finding(daemon)["text"].endswith("are restricted: calls"), finding(daemon)
        assert 'sandbox="calls"' in daemon.log, daemon.log
        threads = [entry.read_text() for entry in pathlib.Path(f"/proc/{daemon.pid}/task").glob("*/status")]
        assert len(threads) > 2 and all("Seccomp:\t2\n" in text for text in threads), threads
    with Daemon(folder, data.yaml_text({"probe": probe(folder, out)}, sandbox="off")) as daemon:
        assert daemon.status()["sandbox"] == "off" and errors_of(daemon) == [0, 0]
        assert "leatd.yaml contains `sandbox: off`" in finding(daemon)["text"], finding(daemon)


def test_writable(folder):
    """With `writable`, caches, bad records and files of programs are written there and nowhere else; batches are the same."""
    need_landlock()
    may, out = folder / "may", folder / "out"
    may.mkdir()
    (folder / "bad.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(200)) + "x\n")

    def numbers(place):
        return data.numbers_stream([str(folder / "bad.csv")], cache={"path": str(place / "cache")}, on_error="quarantine",
                                   quarantine=str(place / "bad.jsonl"))
    (folder / "leatd.yaml").write_text(data.yaml_text(
        {"probe": probe(folder, out), "inside": numbers(may), "cached_outside": {**numbers(may), "cache": {"path": str(folder / "cache")}},
         "outside": {**numbers(folder), "cache": {"path": str(may / "cache")}}}, writable=["may", *COUNTERS]))
    expected = run_digest(folder / "leatd.yaml", "inside", "--no-daemon")
    for made in (*may.iterdir(), folder / "state"):
        subprocess.run(["rm", "-rf", made], check=True)
    with Daemon(folder, folder / "leatd.yaml") as daemon:
        assert daemon.status()["sandbox"] == "calls, writes", daemon.log
        assert daemon.digest("inside") == expected and daemon.digest("inside", "--epochs", 1) == expected
        assert list((may / "cache").iterdir()) and (may / "bad.jsonl").exists()
        assert daemon.digest("cached_outside") == expected  # a cache is only speed
        assert "Permission denied" in daemon.log and not (folder / "cache").exists(), daemon.log
        done = daemon.pull("outside", check=False)
        assert done.returncode != 0 and b"cannot write bad records" in done.stderr and b"Permission denied" in done.stderr, done
        assert not (folder / "bad.jsonl").exists()
        assert errors_of(daemon) == [EPERM, EACCES] and not out.exists()
        kept = [path for path in (folder / "state").rglob("*") if path.is_file()]
        assert kept, "the state folder is the daemon's own"
        assert daemon.ctl("reload").returncode == 0 and daemon.digest("inside") == expected
    assert not list(daemon.sockets.iterdir()), "the daemon removes its sockets"


def test_writable_relative(folder):
    """The daemon's own folders stay writable, also if --socket-dir is a relative path."""
    need_landlock()
    may, sockets = folder / "may", folder / "sockets"
    may.mkdir()
    with Daemon(folder, data.yaml_text({}, writable=[str(may), *COUNTERS]), "--socket-dir", os.path.relpath(sockets)) as daemon:
        assert daemon.status()["sandbox"] == "calls, writes" and list(sockets.iterdir())
    assert not list(sockets.iterdir()), "the daemon removes its sockets"


def test_writable_missing(folder):
    """A folder that does not exist is an error with its place."""
    need_landlock()
    config = folder / "leatd.yaml"
    config.write_text("writable: [none]\nstreams: {}\n")
    done = subprocess.run([BIN / "leatd", "--config", config, "--socket-dir", folder / "s"], capture_output=True, timeout=HANG_S, check=False)
    assert done.returncode == 78 and f"{config}:1:".encode() in done.stderr and b"No such file or directory" in done.stderr, done


def test_restart_needed(folder):
    """Both settings wait for the next start."""
    with Daemon(folder, "streams: {}\n") as daemon:
        daemon.config.write_text(f"sandbox: off\nwritable: [{folder}]\nstreams: {{}}\n")
        told = json.loads(daemon.ctl("reload", "--json").stdout)
        assert sorted(told["at_start"]) == ["sandbox", "writable"], told


if __name__ == "__main__":
    leat_harness.main(globals())

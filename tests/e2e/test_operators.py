#!/usr/bin/env python3
"""What operators see and change with leatctl, and who may: streams --trainers, kick, log-level, stats --watch, cache ls.

    test_operators.py BIN [PATTERN]
"""
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Daemon, Skip, wait_until
from raw_client import RawClient, field, varint

NOBODY, OWNER, READERS, OPERATORS = 65534, 54320, 54321, 54322  # users, and groups of no name


def config(folder, **settings):
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(1000)))
    streams = {name: data.numbers_stream([str(folder / "numbers.csv")], **options)
               for name, options in {"plain": {}, "cached": {"cache": {"path": str(folder / "caches")}}}.items()}
    streams["helped"] = data.numbers_stream([str(folder / "numbers.csv")])
    streams["helped"]["stages"].insert(0, {"exec": {"command": ["/bin/cat"], "environment": {"KEY": "secret"},
                                                    "schema": {"id": "int64"}}})
    return data.yaml_text(streams, workers=1, **settings)


def puller(daemon, stream="plain"):
    """leatctl pull without end; it is there when its session is."""
    process = subprocess.Popen([BIN / "leatctl", "pull", stream, "--epochs", "100000000"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    wait_until(lambda: any(trainer["pid"] == process.pid and trainer["n_batches"] > 0 for trainer in trainers(daemon)),
               "the trainer is seen")
    return process


def trainers(daemon):
    return json.loads(daemon.ctl("streams", "--trainers", "--json").stdout)


def n_batches_of(daemon, pid):
    return next(trainer["n_batches"] for trainer in trainers(daemon) if trainer["pid"] == pid)


def test_kick(folder):
    """Who is kicked is told why, and does not come back; the other one does not notice."""
    with Daemon(folder, config(folder)) as daemon:
        kept, kicked = puller(daemon, "cached"), puller(daemon)
        table = daemon.ctl("streams", "--trainers").stdout.decode()
        assert str(kept.pid) in table and "waits" in table, table
        said = json.loads(daemon.ctl("kick", "--pid", kicked.pid, "--reason", "a 'test'", "--json").stdout)
        assert len(said["sessions"]) == 1
        _, error = kicked.communicate(timeout=HANG_S)
        assert kicked.returncode == 1 and b"an operator ended this session: a 'test'" in error, error
        assert [trainer["pid"] for trainer in trainers(daemon) if trainer["state"] == "serving"] == [kept.pid]
        n_batches = n_batches_of(daemon, kept.pid)
        wait_until(lambda: n_batches_of(daemon, kept.pid) > n_batches, "the other trainer goes on")
        assert daemon.ctl("kick", "--user", "nobody-at-all", check=False).returncode == 2
        assert daemon.ctl("kick", check=False).returncode == 2
        assert daemon.ctl("kick", "4711", check=False).returncode == 1
        kept.send_signal(signal.SIGTERM)
        kept.communicate(timeout=HANG_S)


def test_log_level(folder):
    """Of a room, while it runs."""
    with Daemon(folder, config(folder)) as daemon:
        daemon.pull("plain", "--epochs", 1)
        assert "event=opened" not in daemon.log
        levels = json.loads(daemon.ctl("log-level", "info", "--room", "session", "--json").stdout)
        assert levels.pop("session") == "info" and set(levels.values()) == {"notice"}, levels
        daemon.pull("plain", "--epochs", 1)
        assert "event=opened" in daemon.log and "event=asked" in daemon.log
        assert daemon.ctl("log-level", "loud", check=False).returncode == 1


def test_watch(folder):
    """As many as are wanted, a line of JSON each; an interrupt ends it."""
    with Daemon(folder, config(folder)) as daemon:
        lines = daemon.ctl("stats", "plain", "--watch", "--interval", 1, "--updates", 2, "--json").stdout.splitlines()
        assert [[stream["name"] for stream in json.loads(line)] for line in lines] == [["plain"]] * 2
        assert daemon.ctl("stats", "plane", "--watch", check=False).returncode == 1
        watch = subprocess.Popen([BIN / "leatctl", "stats", "--watch", "--interval", "1"], stdout=subprocess.PIPE,
                                 env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        assert watch.stdout.readline() == b"plain\n"
        watch.send_signal(signal.SIGINT)
        watch.stdout.read()
        assert watch.wait(HANG_S) == 130


def test_caches(folder):
    """What the daemon sees, as who may look into the folder sees it."""
    with Daemon(folder, config(folder)) as daemon:
        nothing = json.loads(daemon.ctl("cache", "ls", "--json").stdout)
        assert [(cache["stream"], cache["state"]) for cache in nothing] == [("cached", "none")], nothing
        daemon.pull("cached", "--epochs", 2)
        seen, = json.loads(daemon.ctl("cache", "ls", "--json").stdout)
        listed, = json.loads(daemon.ctl("cache", "ls", folder / "caches", "--json").stdout)
        assert (seen["file"], seen["n_bytes"], seen["n_records"]) == (listed["file"], listed["n_bytes"], 1000), seen
        assert seen["stream"] == "cached" and seen["state"] in ("complete", "in use"), seen
        (folder / "caches" / seen["file"]).write_bytes(b"nonsense")
        damaged, = json.loads(daemon.ctl("cache", "ls", "--json").stdout)
        assert damaged["state"] == "damaged", damaged


def as_user(folder, daemon, groups, *args):
    """leatctl as a user of those groups: its status and what it complained."""
    tool = folder / "leatctl"
    if not tool.exists():
        shutil.copy(BIN / "leatctl", tool)
    right = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", right, tool, *args], capture_output=True,
                          timeout=HANG_S, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    return done.returncode, done.stderr.decode()


def test_rights(folder):
    """By groups: some look, some do all, others are told which group it takes."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become somebody else")
    for path in (folder.parent, folder):
        os.chmod(path, 0o755)
    with Daemon(folder, config(folder, control_groups=[READERS], admin_groups=[OPERATORS])) as daemon:
        os.chmod(daemon.sockets, 0o755)
        status, said = as_user(folder, daemon, [], "status")
        assert status == 5 and f"in the group {READERS}" in said and str(OPERATORS) in said, (status, said)
        for args in (["status"], ["streams"], ["stats"], ["streams", "--trainers"], ["cache", "ls"], ["explain", "plain"]):
            for groups in ([READERS], [1, 2, 3, OPERATORS]):
                assert as_user(folder, daemon, groups, *args) == (0, ""), (args, groups)
        assert as_user(folder, daemon, [READERS], "where", "plain", "--step", "0")[0] != 5
        for args in (["where", "helped", "--step", "0"], ["drain"], ["kick", "1"], ["log-level", "debug"]):
            status, said = as_user(folder, daemon, [READERS], *args)
            assert status == 5 and f"usermod -aG {OPERATORS}" in said, (args, said)
        assert as_user(folder, daemon, [OPERATORS], "log-level", "debug") == (0, "")
        assert as_user(folder, daemon, [OPERATORS] + list(range(1000, 1300)), "status") == (0, "")


# Every verb of proto/control_verbs.def: its number in leat.proto's ControlRequest, and the right that it takes.
VERBS = {"status": (2, "read"), "streams": (3, "read"), "stats": (4, "read"), "explain": (5, "read"), "check": (6, "read"),
         "drain": (7, "operate"), "trace": (8, "operate"), "spec": (9, "read"), "reload": (10, "operate"),
         "kick": (11, "operate"), "log_level": (12, "operate"), "quota": (13, "read"), "history": (14, "read"),
         "metrics": (15, "read"), "why": (16, "read"), "subscribe": (17, "read"), "trainers": (18, "read"),
         "caches": (19, "read")}
WHO = {"nobody": (NOBODY, NOBODY, []), "reader": (NOBODY, NOBODY, [1, READERS]), "reader's gid": (NOBODY, READERS, []),
       "operator": (NOBODY, NOBODY, [OPERATORS, READERS]), "operator's gid": (NOBODY, OPERATORS, [1]),
       "owner": (OWNER, NOBODY, []), "root": (0, 0, [])}


def is_refused(daemon, verb, uid, gid, groups):
    """Whether the daemon has no answer for such a user but which group it would take."""
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        client = RawClient(daemon, "control.sock", socket.SOCK_STREAM)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])
    request = field(1, 1) + varint(VERBS[verb][0] << 3 | 2) + b"\0"
    client.send(struct.pack("<I", len(request)) + request)
    answer = b""
    while len(answer) < 4 or len(answer) < 4 + struct.unpack_from("<I", answer)[0]:
        got = client.socket.recv(65536)
        assert got, (verb, answer)
        answer += got
    client.close()
    return b"must be in the group" in answer


def test_right_of_every_verb(folder):
    """For each kind of user, in the daemon of a user that is not root."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become somebody else")
    table = re.findall(r"^LEAT_CONTROL_VERB\([A-Z_]+, ([a-z_]+),", (ROOT / "proto" / "control_verbs.def").read_text(), re.M)
    assert sorted(table) == sorted(VERBS), table
    folder.chmod(0o755)
    may = {"nobody": (), "reader": ("read",), "reader's gid": ("read",)}
    for who in WHO:  # each in a daemon of its own, as drain ends it
        own = folder / who.replace("'", "")
        (own / "sockets").mkdir(parents=True)
        daemon = Daemon(own, config(own, control_groups=[READERS], admin_groups=[OPERATORS]),
                        wrapper=["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups"])
        daemon.command[daemon.command.index(BIN / "leatd")] = shutil.copy(BIN / "leatd", own)
        for path in (own, *own.rglob("*")):
            os.chown(path, OWNER, OWNER)
            path.chmod(0o755)
        daemon.start()
        try:
            (daemon.sockets / "control.sock").chmod(0o666)
            for verb in sorted(VERBS, key=lambda verb: verb == "drain"):
                allowed = VERBS[verb][1] in may.get(who, ("read", "operate"))
                assert is_refused(daemon, verb, *WHO[who]) != allowed, (who, verb)
            if who in may:
                daemon.stop()
            else:
                assert daemon.process.wait(HANG_S) == 0
        finally:
            daemon.process.kill()
            daemon.process.wait()


def test_nobody_else(folder):
    """Without groups only the daemon's own user and root may."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become somebody else")
    for path in (folder.parent, folder):
        os.chmod(path, 0o755)
    with Daemon(folder, config(folder, control_groups=[], admin_groups=[])) as daemon:
        os.chmod(daemon.sockets, 0o755)
        status, said = as_user(folder, daemon, [READERS, OPERATORS], "status")
        assert status == 5 and "only root and the daemon's own user" in said, said


if __name__ == "__main__":
    leat_harness.main(globals())

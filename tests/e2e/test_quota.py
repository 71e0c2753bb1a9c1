#!/usr/bin/env python3
"""What users get of the daemon: shares of the workers by counts of work, openings beside work that
takes long, and trainers in containers.

    test_quota.py BIN [PATTERN]
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, Skip, require, run_digest, wait_until

MIB = 1 << 20
OTHER = 65534
AS_OTHER = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
N_SEEDS = 16  # more than fit into memory_limit
WORDS = "the quick brown fox jumps over the lazy dog and many others that take a while to look up "


def be_root():
    """Needs to act as two users."""
    if os.geteuid() != 0:
        raise Skip("needs root, to act as two users")
    require("setpriv")


@contextlib.contextmanager
def open_to_all(folder, text, *args):
    """A daemon to which every user may connect, and the programs where every user may run them."""
    tools = folder / "bin"
    tools.mkdir()
    shutil.copy(BIN / "leatctl", tools)
    shutil.copy(BIN.parent / "tests" / "e2e" / "trainer", tools)
    (folder / "sockets").mkdir(exist_ok=True)
    for path in (folder, tools, folder / "sockets"):
        path.chmod(0o755)
    with Daemon(folder, text, *args) as daemon:
        for path in daemon.sockets.iterdir():
            path.chmod(0o666)
        yield daemon, tools


@contextlib.contextmanager
def running(daemon, commands):
    """Programs that find the daemon, until the end of the block."""
    processes = [subprocess.Popen(list(map(str, command)), env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)},
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
                 for command in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()


def heavy_stream(path):
    """Much work for few bytes of batches: what bounds it is the workers."""
    return {"source": {"jsonl": {"paths": [str(path)]}}, "block_bytes": 16384, "stages": [
        {"tokenize": {"input": "text", "output": "ids", "mode": "shortest", "unknown": "skip",
                      "vocab": str(leat_harness.ROOT / "config" / "titanic.vocab.txt"), "max_length": 8}},
        {"pad": {"input": "ids", "length": 8, "value": 0}}, {"select": {"fields": ["ids"]}},
        {"repeat": {"count": 0}}, {"batch": {"batch_size": 8}}]}


def heavy_config(folder, n_streams, **settings):
    path = folder / "heavy.jsonl"
    path.write_text("".join(json.dumps({"text": f"{i} {WORDS * 40}"}) + "\n" for i in range(400)))
    return data.yaml_text({f"s{i}": heavy_stream(path) for i in range(n_streams)}, workers=2, tuner="off", **settings)


def quota(daemon):
    found = json.loads(daemon.ctl("streams", "--users", "--json").stdout)
    return {user["uid"]: user for user in found["users"]}


def test_a_flood_stops_nobody(folder):
    """The first user has five streams, the second one, and each stream goes on while all of them do. What share of the workers
    each gets is a matter of time, which test_scheduler.c and test_fair.c count."""
    be_root()
    text = heavy_config(folder, 6, user_weights={str(OTHER): 4})
    with open_to_all(folder, text) as (daemon, tools):
        commands = [[*(AS_OTHER if i == 0 else []), tools / "leatctl", "pull", f"s{i}"] for i in range(6)]
        with running(daemon, commands):
            for n in (5, 20):
                wait_until(lambda: min(n_batches(daemon, f"s{i}") for i in range(6)) > n, "all streams go on")
            users = quota(daemon)
    assert users[OTHER]["worker_ns"] > 0 and users[0]["worker_ns"] > 0, users
    assert users[0]["charges"]["sessions"]["used"] == 5 and users[OTHER]["charges"]["sessions"]["used"] == 1, users
    assert users[OTHER]["weight"] == 4 and users[0]["weight"] == 1, users


HELPER = """
import json, os, sys, time
for line in sys.stdin:
    open("asked", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.01)
    record = json.loads(line)
    print(json.dumps({"_leat": record["_leat"], "twice": 2 * record["id"]}), flush=True)
"""


def held_config(folder):
    """A stream whose programs answer when there is a file `go`, one of numbers, and one worker."""
    (folder / "helper.py").write_text(HELPER)
    (folder / "r.jsonl").write_text("".join(json.dumps({"id": i}) + "\n" for i in range(2000)))
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(5000)))
    held = {"source": {"jsonl": {"paths": ["r.jsonl"]}}, "block_bytes": 4096, "stages": [
        {"exec": {"command": [sys.executable, "-S", "helper.py"], "inputs": ["id"], "schema": {"twice": "int64"},
                  "deadline": HANG_S}},
        {"select": {"fields": ["twice"]}}, {"batch": {"batch_size": 10}}]}
    return data.yaml_text({"held": held, "numbers": data.numbers_stream([str(folder / "n.csv")])}, workers=1)


def n_batches(daemon, name):
    return json.loads(daemon.ctl("stats", name, "--json").stdout)[0]["n_batches"]


def test_programs_hold_nobody_up(folder):
    """While the programs of one stream hold the only worker another one opens, runs, and ends."""
    text = held_config(folder)
    with Daemon(folder, text) as daemon:
        with running(daemon, [[BIN / "leatctl", "pull", "held", "--digest"]]) as (held,):
            wait_until((folder / "asked").exists, "a worker waits for a program")
            for _ in range(3):
                digest = daemon.digest("numbers")
            assert held.poll() is None and n_batches(daemon, "held") == 0
            (folder / "go").touch()
            output = held.communicate(timeout=HANG_S)[0]
            assert held.returncode == 0
    assert digest == run_digest(folder / "leatd.yaml", "numbers", "--no-daemon")
    assert leat_harness.find_digest(output) == run_digest(folder / "leatd.yaml", "held", "--no-daemon")


def memory_of(daemon):
    return {uid: user["charges"]["memory"] for uid, user in quota(daemon).items()}


def memory_config(folder, **settings):
    """Runs of some MiB."""
    path = folder / "heavy.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": f"{i} {WORDS * 20}"}) + "\n" for i in range(2000)))
    stream = heavy_stream(path)
    stream["stages"].insert(-1, {"shuffle": {"buffer_size": 1000}})
    return data.yaml_text({"s": stream}, workers=2, tuner="off", memory_limit="120MiB", **settings)


def holders(tools):
    """Trainers of as many seeds, of which each is a run of its own. They hold what they get, so that the machine is idle."""
    return [[tools / "trainer", "s", 2, 2, "seed", i] for i in range(N_SEEDS)]


def served(daemon, uid):
    return sum(s["n_held"] == 2 for s in daemon.sessions() if s["uid"] == uid)


def test_memory_is_halved(folder):
    """Whatever one user asks for, the next has a half of the memory as well, and as much of it to itself."""
    be_root()
    with open_to_all(folder, memory_config(folder)) as (daemon, tools):
        own = daemon.status()["memory_claimed_bytes"]
        seeds = holders(tools)
        with running(daemon, seeds) as first:
            wait_until(lambda: sum(p.poll() is None for p in first) == served(daemon, 0), "refused, or has batches")
            one = memory_of(daemon)[0]
            assert 0.7 * one["limit"] < one["used"] <= one["limit"], one
            assert abs(one["limit"] - (120 * MIB - own) / 2) < MIB, (one, own)
            with running(daemon, [AS_OTHER + command for command in seeds]) as second:
                wait_until(lambda: sum(p.poll() is None for p in second) == served(daemon, OTHER),
                           "refused, or has batches")
                both = memory_of(daemon)
                # what runs have beyond the least is not the same
                assert {user["weight"] for user in quota(daemon).values()} == {1}, quota(daemon)  # however much each asks for
                assert 3 * served(daemon, OTHER) > 2 * served(daemon, 0) > 4, daemon.ctl("streams", "--users").stdout
                assert both[OTHER]["limit"] == both[0]["limit"] == one["limit"], both
                assert both[OTHER]["used"] <= one["limit"], both
                assert quota(daemon)[OTHER]["n_refused"] > 0
                assert b"in use" in daemon.ctl("streams", "--users").stdout
            wait_until(lambda: OTHER not in memory_of(daemon), "the second one is gone")


def test_one_user_may_have_all(folder):
    """If its limit is that of all."""
    be_root()
    with open_to_all(folder, memory_config(folder, max_user_memory="120MiB")) as (daemon, tools):
        with running(daemon, holders(tools)) as pulls:
            wait_until(lambda: sum(p.poll() is None for p in pulls) == served(daemon, 0), "refused, or has batches")
            assert memory_of(daemon)[0]["used"] > 70 * MIB, memory_of(daemon)
            refused = subprocess.run([*map(str, AS_OTHER), tools / "leatctl", "pull", "s", "--seed", "99"], timeout=HANG_S,
                                     capture_output=True, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
            # either its run, or already the files that it names
            assert refused.returncode != 0 and b"memory_limit (120.0 MiB)" in refused.stderr, refused


def is_served_late(daemon, tools):
    """True if a trainer that waits for memory is served once another one ends; not if that took longer than it waits."""
    with running(daemon, holders(tools)) as first:
        wait_until(lambda: sum(p.poll() is None for p in first) == served(daemon, 0), "refused, or has batches")
        with running(daemon, [[tools / "leatctl", "pull", "s", "--batches", 20, "--seed", 99]]) as (late,):
            wait_until(lambda: any(s["state"] == "opening" for s in daemon.sessions()), "it waits")
            next(p for p in first if p.poll() is None).terminate()
            is_served = late.wait(HANG_S) == 0
    wait_until(lambda: daemon.status()["n_sessions"] == 0, "all trainers are gone")
    return is_served


def test_waits_for_memory(folder):
    """A trainer that comes when there is no room is served if others end within five seconds. On a busy machine they take
    longer now and then: one time of five is enough."""
    be_root()
    with open_to_all(folder, memory_config(folder)) as (daemon, tools):
        assert any(is_served_late(daemon, tools) for _ in range(5))


# ---- containers ----

def container(folder, *more):
    """Namespaces of its own for users, processes and mounts, with the sockets at another place."""
    (folder / "run").mkdir()
    inside = f'mount --bind "{folder}/sockets" "{folder}/run" && mount -t proc proc /proc && exec "$@"'
    command = [*more, "unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c",
               f'export LEAT_SOCKET="{folder}/run"; {inside}', "sh"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        raise Skip("no namespaces can be made here")
    return command


def session_of(daemon):
    return wait_until(lambda: [s for s in daemon.sessions() if s["n_held"] == 3], "a trainer holds its batches")[0]


def test_container_of_another_user(folder):
    """Its root is not ours: it counts as the user who made it. When it is killed, what it held is
    free, though a process that has the socket may live on in it."""
    be_root()
    require("unshare")
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(5000)))
    streams = {"s": data.numbers_stream([str(folder / "n.csv")])}
    with open_to_all(folder, data.yaml_text(streams, workers=2, max_user_sessions=1)) as (daemon, tools):
        command = container(folder, *AS_OTHER)
        with running(daemon, [[*command, tools / "trainer", "s", 3, 3]]):
            session = session_of(daemon)
            assert session["uid"] == OTHER and session["pid"] > 1, session
            assert pathlib.Path(f"/proc/{session['pid']}/comm").read_text().strip() == "trainer"
            assert quota(daemon)[OTHER]["charges"]["sessions"] == {"used": 1, "limit": 1}
            refused = subprocess.run([*command, tools / "leatctl", "pull", "s"], capture_output=True, timeout=HANG_S)
            assert refused.returncode != 0 and b"max_user_sessions" in refused.stderr, refused
            daemon.digest("s")  # of another user
            os.kill(session["pid"], 9)
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "the session ends with the process")
        wait_until(lambda: daemon.status()["n_slots"] == daemon.status()["n_slots_free"], "every slot is free")
        assert OTHER not in quota(daemon)


def test_daemon_that_sees_no_pid(folder):
    """Trainers outside of the daemon's own namespaces: their pid reads 0, and nobody is mistaken for
    another; batches and ends are as ever."""
    be_root()
    require("unshare")
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(5000)))
    text = data.yaml_text({"s": data.numbers_stream([str(folder / "n.csv")])}, workers=2)
    wrapper = ["unshare", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        raise Skip("no namespaces can be made here")
    daemon = Daemon(folder, text, wrapper=wrapper).start()
    try:
        expected = run_digest(folder / "leatd.yaml", "--no-daemon")
        assert daemon.digest("s") == expected
        with running(daemon, [[BIN.parent / "tests" / "e2e" / "trainer", "s", 3, 3]]) as (trainer,):
            session = session_of(daemon)
            assert session["pid"] == 0 and session["uid"] == 0, session
            assert quota(daemon)[0]["charges"]["sessions"]["used"] == 1
            trainer.kill()
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "the session ends with the process")
        wait_until(lambda: daemon.status()["n_slots"] == daemon.status()["n_slots_free"], "every slot is free")
        assert daemon.digest("s", "--delivery", "copy") == expected
    finally:
        daemon.process.kill()  # and with it, by --kill-child, the daemon
        daemon.process.wait()


if __name__ == "__main__":
    leat_harness.main(globals())

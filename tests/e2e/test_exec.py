#!/usr/bin/env python3
"""Streams whose records go through helper programs: order, crashes, hangs, idleness, the end of the
daemon, limits of the log, and who may start programs at all.

    test_exec.py BIN [PATTERN]
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import data
import leat_harness
from leat_harness import HANG_S, Daemon, children, ctl, find_digest, run_digest, wait_until

HELPER = """
import json, os, sys, time
for line in sys.stdin:
    record = json.loads(line)
    if record.get("do") == "crash":
        os.abort()
    if record.get("do") == "hang":
        time.sleep(100000)
    if record.get("do") == "shout":
        sys.stderr.write("loud\\n" * 10000)
    print(json.dumps({"_leat": record["_leat"], "label": record["id"] * 3, "vector": [record["id"] / 2, 1]}))
"""


def write(folder, n, every=0, do=""):
    (folder / "helper.py").write_text(HELPER)
    with open(folder / "r.jsonl", "w") as file:
        for i in range(n):
            file.write(json.dumps({"id": i, "do": do if every and i % every == every - 1 else ""}) + "\n")


def stream(repeat=False, batch_size=10, **more):
    options = {"on_error": more.pop("on_error", "fail"), "block_bytes": 4096}
    options |= {"jobs_in_flight": more.pop("jobs_in_flight")} if "jobs_in_flight" in more else {}
    prefetch = [{"prefetch": {"prefetch_size": more.pop("prefetch")}}] if "prefetch" in more else []
    arguments = {"command": [sys.executable, "-S", "helper.py"], "inputs": ["id", "do"],
                 "schema": {"label": "int64", "vector": "float32[2]"}, **more}
    return {"source": {"jsonl": {"paths": ["r.jsonl"]}}, **options, "stages": [
        {"exec": arguments}, {"select": {"fields": ["label", "vector"]}},
        *([{"repeat": {"count": 0}}] if repeat else []), {"batch": {"batch_size": batch_size}}, *prefetch]}


def config(folder, streams, **settings):
    path = folder / "leatd.yaml"
    path.write_text(data.yaml_text(streams, **settings))
    return path


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def trainer(daemon, *args):
    return subprocess.Popen([leat_harness.BIN / "leatctl", "pull", "s", *args],
                            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_same_batches_everywhere(folder):
    write(folder, 2000)
    digests = set()
    for processes in (1, 2, 5):
        file = config(folder, {"s": stream(processes=processes)})
        digests.add(run_digest(file, "--workers", 1))
        digests.add(run_digest(file, "--workers", 4, "--delivery", "copy"))
        digests.add(run_digest(file, "--no-daemon"))
    assert len(digests) == 1, digests


def n_delivered(daemon):
    """Batches that went to the one trainer."""
    [stream] = json.loads(daemon.ctl("streams", "--json").stdout)
    return sum(session["n_batches"] for session in stream["sessions"])


def kill_one(daemon, rng):
    """Whether there was one, which was not killed before."""
    helpers = [pid for pid, state in children(daemon.pid).items() if state != "Z"]
    try:
        os.kill(rng.choice(helpers), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


def n_bad_records(daemon):
    return json.loads(daemon.ctl("stats", "--json").stdout)[0]["n_bad_records"]


def test_helpers_are_killed_at_random(folder):
    """Once in all that can be in flight: no record is struck twice, so none is bad, and the batches are
    those of a run in which nobody is killed."""
    write(folder, 3000)
    rng = random.Random(5)
    file = config(folder, {"s": stream(on_error="skip", processes=3, repeat=True, max_restarts=1000,
                                       jobs_in_flight=2, prefetch=2)})
    n_in_flight = (2 + 1) * 4096 // len('{"id": 0, "do": ""}\n') // 10 + 200
    with Daemon(folder, file, "--workers", "2") as daemon:
        n_fds = daemon.n_fds()
        process = trainer(daemon, "--epochs", "0", "--digest", "--json")
        wait_until(lambda: children(daemon.pid), "helpers are there")
        n_kills = 0
        while n_kills < 25 or "was killed by signal 9" not in daemon.log:  # who has nothing to do dies unheard
            wait_until(lambda: kill_one(daemon, rng), "there is a helper to kill")
            n_kills += 1
            n = n_delivered(daemon) + n_in_flight
            wait_until(lambda: n_delivered(daemon) >= n, "the trainer got all that was in flight")
        assert n_bad_records(daemon) == 0
        process.send_signal(signal.SIGINT)
        report = json.loads(process.communicate(timeout=HANG_S)[0])
        wait_until(lambda: not children(daemon.pid), "no helper is left")
        wait_until(lambda: daemon.n_fds() <= n_fds, "no descriptor is left")
    assert report["digest"] == run_digest(file, "--batches", report["batches"], "--no-daemon")


def test_helpers_are_killed_without_mercy(folder):
    """Each as soon as it is seen: a bad record has cost two of them, and the stream goes on after."""
    write(folder, 3000)
    rng = random.Random(6)
    n_kills = 15
    with Daemon(folder, config(folder, {"s": stream(on_error="skip", processes=3, repeat=True,
                                                    max_restarts=1000)}), "--workers", "2") as daemon:
        process = trainer(daemon, "--epochs", "0")
        for _ in range(n_kills):
            wait_until(lambda: kill_one(daemon, rng), "there is a helper to kill")
        n = wait_until(lambda: n_delivered(daemon), "the trainer gets batches")
        wait_until(lambda: n_delivered(daemon) > n + 1000, "the stream goes on")
        assert n_bad_records(daemon) <= n_kills // 2, n_bad_records(daemon)
        assert process.poll() is None
        process.kill()
        process.communicate()
        wait_until(lambda: not children(daemon.pid), "no helper is left")


def test_crashes_do_not_depend_on_timing(folder):
    write(folder, 1000, every=100, do="crash")
    digests = {run_digest(config(folder, {"s": stream(on_error="skip", processes=n, ahead=a)}), "--workers", n)
               for n, a in ((1, 1), (2, 64), (4, 7))}
    assert len(digests) == 1, digests


def test_hangs_end_at_their_deadline(folder):
    """Two helpers fail at the record; no other one is in reach of a deadline: first answers have the time
    to warm up besides, and later ones come at once."""
    write(folder, 20, every=20, do="hang")
    file = config(folder, {"s": stream(on_error="skip", deadline=1)})
    report = json.loads(ctl("run", file, "--digest", "--json").stdout)
    assert (report["rows"], report["bad_records"]) == (19, 1), report


def test_helpers_die_with_the_daemon(folder):
    write(folder, 3000)
    with Daemon(folder, config(folder, {"s": stream(processes=3, repeat=True)})) as daemon:
        process = trainer(daemon, "--epochs", "0")
        helpers = wait_until(lambda: children(daemon.pid), "helpers are there")
        daemon.stop(signal.SIGKILL)
        wait_until(lambda: not any(map(is_alive, helpers)), "they died with the daemon")
        process.kill()
        process.communicate()


def test_helpers_end_when_idle_and_with_the_stream(folder):
    write(folder, 3000)
    with Daemon(folder, config(folder, {"s": stream(processes=2, repeat=True, idle=0.5)}),
                "--workers", "2") as daemon:
        process = trainer(daemon, "--epochs", "0")
        wait_until(lambda: children(daemon.pid), "helpers are there")
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: not children(daemon.pid), "helpers ended while the trainer slept")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: children(daemon.pid), "and came again")
        process.kill()
        process.communicate()
        wait_until(lambda: not children(daemon.pid), "helpers ended with the stream")
        assert all(state != "Z" for state in children(daemon.pid).values())


BOMB = """
import json, os, sys, time
for line in sys.stdin:
    n = 0
    try:
        while n < 300:
            if os.fork() == 0:
                time.sleep(100000)
                os._exit(0)
            n += 1
    except OSError:
        pass
    answer = {"label": n, "vector": [0, 0]} if n < 150 else {"error": f"{n} processes"}
    print(json.dumps(json.loads(line) | answer))
"""
STRANGER = 20000 + os.getpid() % 40000  # a user of this run alone, as processes are counted by user


def test_a_fork_bomb_is_bounded(folder):
    """Root is not bound by RLIMIT_NPROC, so the daemon runs as somebody else."""
    if os.geteuid() != 0:
        raise leat_harness.Skip("needs root, to become somebody else")
    leat_harness.require("setpriv")
    write(folder, 1)
    (folder / "helper.py").write_text(BOMB)
    (folder / "sockets").mkdir()
    for path, mode in ((folder, 0o755), (folder / "sockets", 0o777)):
        path.chmod(mode)
    spec = stream(max_tasks=100)
    spec["stages"][0]["exec"]["command"][0] = leat_harness.require("/usr/bin/python3")
    wrapper = ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups"]
    if subprocess.run([*wrapper, leat_harness.BIN / "leatd", "--version"], capture_output=True).returncode != 0:
        raise leat_harness.Skip("somebody else cannot reach the programs")
    with Daemon(folder, config(folder, {"s": spec}), "--workers", "1", wrapper=wrapper) as daemon:
        report = json.loads(daemon.pull("s", "--json").stdout)
        assert report["rows"] == 1, report
        daemon.stop()
    wait_until(lambda: not [p for p in os.listdir("/proc") if p.isdigit() and is_alive(int(p)) and is_bomb(p)],
               "all of it is gone")


def is_bomb(pid):
    try:
        return b"helper.py" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() and \
            os.stat(f"/proc/{pid}").st_uid == STRANGER
    except OSError:
        return False


def test_what_helpers_say_is_limited(folder):
    """To ten lines in ten seconds."""
    write(folder, 200, every=1, do="shout")
    start = time.monotonic()
    with Daemon(folder, config(folder, {"s": stream()})) as daemon:
        daemon.pull("s", "--epochs", "1")
        lines = [line for line in daemon.log.splitlines() if "event=helper" in line]
        assert 1 <= len(lines) <= 10 * (1 + (time.monotonic() - start) // 10), len(lines)
        assert 'text="loud"' in lines[0], lines[0]


def test_who_may_start_programs(folder):
    write(folder, 20)
    with Daemon(folder, config(folder, {"s": stream()}, exec="never")) as daemon:
        refused = daemon.pull("s", "--epochs", "1", check=False)
        assert refused.returncode != 0 and b"the daemon's setting `exec`" in refused.stderr, refused.stderr
        assert not children(daemon.pid)
    bad = ctl("check", config(folder, {"s": stream()}, exec="perhaps"), check=False)
    assert bad.returncode == 3 and b"never, settings, trainers" in bad.stdout + bad.stderr


def test_secrets(folder):
    """What the environment of a program says is told to nobody who does not ask for it."""
    write(folder, 50)
    file = config(folder, {"s": stream(environment={"KEY": "hunter1", "NAME": "x"}),
                           "t": {"source": {"concat": {"sources": [{"jsonl": {"paths": ["r.jsonl"]}, "stages": stream(
                               environment={"KEY": "hunter1"})["stages"][:1]}]}}, "stages": [{"batch": {"batch_size": 2}}]}})
    for name in ("s", "t"):
        said = ctl("spec", file, name).stdout.decode()
        assert '"KEY": null' in said and "hunter" not in said, said
        assert '"KEY": "hunter1"' in ctl("spec", "--secrets", file, name).stdout.decode()
    ctl("run", file, "s", "--batches", 2, "--save-position", folder / "position")
    file = config(folder, {"s": stream(environment={"KEY": "hunter2", "NAME": "x"})})
    said = ctl("run", file, "s", "--position", f"@{folder / 'position'}", check=False).stderr.decode()
    assert "stages[0].exec.environment differs" in said and "hunter" not in said, said


def test_a_program_that_cannot_work(folder):
    write(folder, 50)
    (folder / "helper.py").write_text("import no_such_module\n")
    file = config(folder, {"s": stream(on_error="skip", max_restarts=3)})
    failed = ctl("run", file, "--digest", check=False)
    assert failed.returncode == 3, failed
    assert b"failed 4 times in a row" in failed.stderr and b"No module named" in failed.stderr, failed.stderr


if __name__ == "__main__":
    leat_harness.main(globals())

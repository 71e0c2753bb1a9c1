#!/usr/bin/env python3
"""Hostile clients of all kinds beside a good trainer: the daemon does not crash, hang or serve a wrong batch, and forgets them.

    sessions.py BIN [--seconds S | --turns N] [--seed N] [--kinds a,b] [--judge-pace] [--keep]

Each worker does each kind N times in an order of its own (kinds.py, files.py), or goes on for S seconds. As root the workers are
users of their own, as floods of connections are limited by user; else these are left out. The good trainer's batches must be those of
`leatctl run --no-daemon`. Its pace beside that without the others and the loop's longest turn are printed; with --judge-pace it is a failure
too if the daemon allows less than 80 % of the pace, or if a turn of the loop takes more than 10 ms of processor time. The clock also counts
the time in which hostile processes have the processor, as there are more of them than processors. AddressSanitizer keeps freed memory in
a quarantine of 256 MB; when that is full, one call of free() empties a tenth of it, which takes some 10 ms. So --judge-pace makes the
quarantine smaller.
"""
import argparse
import contextlib
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import data  # noqa: E402
import files  # noqa: E402
import kinds  # noqa: E402
from leat_harness import BIN, HANG_S, Daemon, note_skipped, run_digest, wait_until  # noqa: E402

HOSTILE_UIDS = (65534, 65533, 65532)
REST_US, N_ROWS, N_ALONE = 2000, 4000, 3  # of the good trainer; epochs without the others
PACE_LEAST, TURN_MOST_S = 0.8, 0.010
SMALL_QUARANTINE = "quarantine_size_mb=16:thread_local_quarantine_size_kb=64"


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=float, help="how long, in place of --turns")
    parser.add_argument("--turns", type=int, default=1, help="of each kind, for each worker")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="these alone")
    parser.add_argument("--judge-pace", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the folder with the daemon's log")
    return parser.parse_args()


# ---- the world ----

def make_world(folder):
    """A folder that all users see: programs, files that anybody may spoil, a daemon that anybody may connect to."""
    world = types.SimpleNamespace(folder=folder, tools=folder / "bin", files=folder / "files", sockets=folder / "sockets",
                                  is_other=os.geteuid() == 0, spec=None, cache=None, n_flood=2000)
    if not world.is_other:
        note_skipped("clients of other users and the flood", "only root can become other users")
    for path in (world.tools, world.files, world.sockets):
        path.mkdir()
    for program in (BIN / "leatctl", BIN / "leatd", BIN.parent / "tests/hostile/flood", BIN.parent / "tests/hostile/paced"):
        shutil.copy(program, world.tools)
    streams = {"good": data.titanic_stream(data.titanic(folder, N_ROWS)), "s": data.numbers_stream([str(world.files / "good.csv")], batch_size=4),
               **files.describe(world.files)}
    rng = random.Random(0)
    for spoil, name in ((files.arrow, "hostile.arrow"), (files.jsonl, "odd.jsonl"), (files.unreadable, "second.csv")):
        spoil(rng, world.files / name)
    groups = [HOSTILE_UIDS[0]] if world.is_other else []
    world.config = data.yaml_text(streams, workers=2, roots=[str(world.files)], control_groups=groups, admin_groups=[],
                                  http_listen=f"unix:{world.sockets}/http.sock")
    for path in (folder, world.tools):
        path.chmod(0o755)
    return world


def open_to_all(world):
    """Once the daemon has made what it makes."""
    for path in (world.sockets, world.files, world.files / "cache"):
        path.chmod(0o777)
    for path in world.sockets.iterdir():
        path.chmod(0o666)


def ask_spec(world):
    """As the daemon sends it: the bytes of a StreamSpec."""
    with kinds.Client(world, kinds.CONTROL) as client:
        client.socket.settimeout(HANG_S)
        client.say(kinds.request(9, kinds.text(1, b"s")))
        reply = client.hear()[4:]
        assert reply[0] == 0x42, reply[:50]  # field 8
        n = reply[1] & 0x7F | reply[2] << 7 if reply[1] & 0x80 else reply[1]
        return reply[3 if reply[1] & 0x80 else 2:][:n]


# ---- those in it ----

class Good:
    """The trainer that rests after each batch; a line an epoch."""

    def __init__(self, world):
        self.output = world.folder / "paced"
        with open(self.output, "w") as output:
            self.process = subprocess.Popen([world.tools / "paced", "good", str(REST_US)], stdout=output,
                                            env={**os.environ, "LEAT_SOCKET": str(world.sockets)})

    def epochs(self):
        """Of each: steps, digest of all so far, seconds, of these waited in all and for one batch."""
        assert not self.process.poll(), f"the good trainer ended with {self.process.returncode}"
        rows = [line.split() for line in self.output.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [(int(steps), digest, *(int(ns) / 1e9 for ns in times)) for _, steps, digest, *times in rows]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def finish(self):
        self.process.terminate()
        assert self.process.wait(HANG_S) == 0
        return self.epochs()


def act_and_die(act, world, rng):
    """In a child: what the daemon handed to a process stays as it is while that lives."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            with contextlib.suppress(kinds.Gone, *((OSError,) if act in kinds.OF_CLIENTS else ())):
                act(world, rng)
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, f"{act.__name__} failed; its message is above"


def run_worker(world, arguments, number, acts):
    """In a child, as its user."""
    rng = random.Random(arguments.seed * 1000 + number)
    turns = acts * arguments.turns
    rng.shuffle(turns)
    end = time.monotonic() + (arguments.seconds or 0)
    n = 0
    while time.monotonic() < end if arguments.seconds else n < len(turns):
        act_and_die(turns[n % len(turns)], world, random.Random(rng.random()))
        n += 1
    print(f"  worker {number}: {n} acts", flush=True)


def fork_worker(world, arguments, number, acts, uid=None):
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        if uid is not None:
            os.setgroups([HOSTILE_UIDS[0]])
            os.setgid(uid)
            os.setuid(uid)
        run_worker(world, arguments, number, acts)
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    finally:
        os._exit(status)


def chosen(arguments, acts):
    return [act for act in acts if not arguments.kinds or act.__name__ in arguments.kinds.split(",")]


def let_loose(world, arguments, daemon, good):
    """Until all workers are done, as long as the daemon and the good trainer are there."""
    workers = [fork_worker(world, arguments, i, chosen(arguments, kinds.OF_CLIENTS), uid if world.is_other else None)
               for i, uid in enumerate(HOSTILE_UIDS)]
    workers.append(fork_worker(world, arguments, len(workers), chosen(arguments, kinds.OF_OPERATORS) or [lambda *_: time.sleep(1)]))
    try:
        while workers:
            for pid in list(workers):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    workers.remove(pid)
                    assert status == 0, f"a worker ended with {os.waitstatus_to_exitcode(status)}; its message is above"
            assert daemon.process.poll() is None, f"leatd ended with {daemon.process.returncode}: {daemon.log[-5000:]}"
            good.epochs()
            time.sleep(0.1)
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


# ---- the judgement ----

def forgets_them(daemon, n_fds):
    wait_until(lambda: len(daemon.sessions()) <= 1, "only the good trainer is left")
    wait_until(lambda: daemon.n_fds() <= n_fds + 8, f"descriptors: {n_fds} before")  # files of streams in use, caches


def tell_pace(alone, among, status):
    """The pace that the daemon allows is what is left of it by waiting for batches: the clock also counts how late the trainer
    itself is woken from its rests, on a machine where there is not a processor for everybody."""
    own, *rates = (statistics.median(steps / seconds for steps, _, seconds, *_ in alone),
                   *(steps / seconds for steps, _, seconds, *_ in among))
    least = min((seconds - waited) / seconds for _, _, seconds, waited, _ in among)
    turn_s, cpu_s = status["loop_longest_ns"] / 1e9, status["loop_longest_cpu_ns"] / 1e9
    print(f"  the good trainer: {own:.0f} batches/s alone; of {len(rates)} epochs among the others the slowest had {100 * min(rates) / own:.0f} % "
          f"of that by the clock, and the daemon allowed {100 * least:.1f} %; longest wait {1e3 * max(e[4] for e in among):.1f} ms")
    print(f"  the loop's longest turn: {1e3 * turn_s:.1f} ms, {1e3 * cpu_s:.1f} ms of processor time; {status['n_refused']} refused")
    return least, cpu_s


def main():
    arguments = options()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-hostile-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    if arguments.judge_pace:
        os.environ["ASAN_OPTIONS"] = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), SMALL_QUARANTINE)))
    world = make_world(folder)
    with Daemon(folder, world.config) as daemon:
        daemon.digest("cached")
        world.cache = files.Cache(world.files / "cache")
        world.spec = ask_spec(world)
        open_to_all(world)
        with Good(world) as good:
            alone = wait_until(lambda: len(good.epochs()) > N_ALONE and good.epochs(), "epochs without the others")[1:]
            n_fds, n_alone = daemon.n_fds(), len(good.epochs())
            let_loose(world, arguments, daemon, good)
            wait_until(lambda: len(good.epochs()) > n_alone, "an epoch among the others")
            epochs = good.finish()
        status = daemon.status()
        forgets_them(daemon, n_fds)
        expected = run_digest(folder / "leatd.yaml", "good", "--no-daemon", "--epochs", len(epochs))
        assert expected == epochs[-1][1], "a wrong batch"
    assert not kinds.complaints(daemon.log), kinds.complaints(daemon.log)
    least, turn_cpu_s = tell_pace(alone, epochs[n_alone:], status)
    if arguments.judge_pace:
        assert least >= PACE_LEAST, f"the good trainer had {100 * least:.0f} % of its pace"
        assert turn_cpu_s <= TURN_MOST_S, f"a turn of the loop took {1e3 * turn_cpu_s:.1f} ms of processor time"
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print("sessions: ok")


if __name__ == "__main__":
    main()

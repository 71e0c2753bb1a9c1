#!/usr/bin/env python3
"""Chaos: trainers and daemons that are killed, stopped, drained, upgraded and reconfigured at random, and every digest must be right.

    chaos.py BIN [--seconds S] [--seed N] [--keep]

Two daemons share a folder of caches; as root each is in a network namespace of its own, as on two machines. Eight trainers of three
users pull four streams, as ranks and alone, shared and as copies, one run after the other. All the while a random event comes every
moment (EVENTS). A run that ends well has the digest of `leatctl run --no-daemon`; one that is refused says why; none hangs. At the end no
session is left, and each daemon has the descriptors and the memory that a fresh one has after the same work.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "e2e"), str(pathlib.Path(__file__).resolve().parents[1] / "e2e" / "cluster")]
import data  # noqa: E402
import hosts  # noqa: E402
import kinds  # noqa: E402
from leat_harness import BIN, HANG_S, SLOW, Daemon, Skip, find_digest, note_skipped, run_digest, wait_until  # noqa: E402

UIDS = (65534, 65533, 65532)
N_TRAINERS, WORLD = 8, 2
EPOCHS = (1, 2, 3)
STREAMS = ("numbers", "text", "cached", "helped")
RUN_S = 4 * HANG_S  # of a run, however often its daemon is killed: more is a hang
MEMORY_SLACK, FDS_SLACK = 48 << 20, 8
# What a run may be refused for while limits change and daemons come and go, whose sockets are opened to all a moment after.
ALLOWED = ("not in the group", "limit", "max_", "shutting down", "draining", "no daemon", "cannot connect", "connection", "kick", "operator ended", "did not answer", "no leatd answers",
           "memory", "too many", "closed")


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", action="store_true", help="leave the folder with the daemons' logs")
    return parser.parse_args()


# ---- daemons ----

class Site:
    """A daemon that comes back after each end, in one of two versions of its program."""

    def __init__(self, folder, name, text, wrapper, uid):
        self.place = folder / name
        self.place.mkdir()
        self.text, self.uid, self.version, self.n_ends = text, uid, 0, 0
        self.daemon = Daemon(self.place, text, wrapper=wrapper)
        self.programs = [BIN / "leatd", self.place / "leatd-next"]
        shutil.copy(BIN / "leatd", self.programs[1])
        self.at = len(wrapper)

    def start(self):
        self.daemon.command[self.at] = self.programs[self.version]
        self.daemon.start()
        self.open_to_all()

    def open_to_all(self):
        self.daemon.sockets.chmod(0o777)
        for path in self.daemon.sockets.iterdir():
            path.chmod(0o666)

    def ctl(self, *arguments):
        return self.daemon.ctl(*arguments, check=False)

    def end(self, how):
        """By a signal, or drained; its status must be that of a good end, unless it was killed."""
        self.n_ends += 1
        process = self.daemon.process
        if how == "drain":
            drained = self.ctl("drain", "--timeout", "2")
            if drained.returncode != 0:
                process.terminate()
        else:
            process.send_signal(how)
        try:
            status = process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"a daemon does not end ({how}): {self.daemon.log[-2000:]}") from None
        assert status == (-signal.SIGKILL if how == signal.SIGKILL else 0), f"leatd ended with {status} ({how}): {self.daemon.log[-3000:]}"
        self.start()

    def reload(self, text):
        """What is wrong with it, or nothing."""
        self.daemon.config.write_text(text)
        return self.ctl("reload").stderr.decode(errors="replace")

    def must_reload(self, text):
        said = self.reload(text)
        assert not said, said

    def check_alive(self):
        status = self.daemon.process.poll()
        assert status is None, f"leatd ended by itself with {status}: {self.daemon.log[-3000:]}"

    def held(self):
        """Bytes of memory and descriptors, once no trainer is left."""
        wait_until(lambda: not self.daemon.sessions(), "no session is left")
        status = pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10, self.daemon.n_fds()


def config_text(folder, is_cached=True, **settings):
    files = folder / "data"
    cache = {"cache": {"path": str(folder / "caches")}} if is_cached else {}
    text = data.titanic_stream(files / "titanic.csv", batch_size=16, length=32, shuffle=300, block_bytes=16384)
    numbers = data.numbers_stream([str(files / "n.csv")], batch_size=16)
    numbers["stages"].insert(1, {"shuffle": {"buffer_size": 500, "seed": 3}})
    helped = data.numbers_stream([str(files / "n.csv")], batch_size=64)
    helped["stages"].insert(1, {"exec": {"command": ["/bin/cat"], "inputs": ["id"], "schema": {"id": "int64"}}})
    return data.yaml_text({"numbers": numbers, "text": text, "cached": {**text, **cache}, "helped": helped},
                          workers=2, admin_groups=[], **settings)


# ---- trainers ----

class Trainer:
    """Pulls one run after the other, each of some stream, rank and number of epochs."""

    def __init__(self, world, number):
        self.world, self.rng = world, random.Random(world.seed * 100 + number)
        self.uid = UIDS[number % len(UIDS)] if world.is_root else None
        self.number, self.process, self.was_killed, self.is_stopped = number, None, False, False

    def begin(self):
        rng = self.rng
        self.site, self.stream, self.epochs = rng.choice(self.world.sites), rng.choice(STREAMS), rng.choice(EPOCHS)
        self.rank = rng.choice((None, 0, 1))
        command = [self.world.tools / "leatctl", "pull", self.stream, "--digest", "--epochs", self.epochs, "--reconnect", "600",
                   "--delivery", rng.choice(("shared", "shared", "copy")), "--window", rng.choice((1, 4, 16))]
        if self.rank is not None:
            command += ["--rank", self.rank, "--world-size", WORLD]
        self.was_killed = False
        self.end_at = time.monotonic() + RUN_S
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        env={**os.environ, "LEAT_SOCKET": str(self.site.daemon.sockets)}, user=self.uid, group=self.uid,
                                        extra_groups=[] if self.uid else None)

    def look(self):
        """Judges a run that has ended, and begins the next."""
        if self.process.poll() is None:
            if self.is_stopped:
                self.end_at = time.monotonic() + RUN_S
            assert time.monotonic() < self.end_at, f"a trainer hangs: {' '.join(self.process.args)}\n" + self.world.tell_state()
            return
        out, err = self.process.communicate()
        status, counts = self.process.returncode, self.world.counts
        if status == 0:
            expected = self.world.digests[self.stream, self.epochs, self.rank]
            assert find_digest(out) == expected, f"WRONG BATCHES: {' '.join(self.process.args)}"
            counts["right"] += 1
        elif self.was_killed:
            counts["killed"] += 1
        else:
            said = err.decode(errors="replace")
            assert status > 0 and any(word in said for word in ALLOWED), f"status {status}: {said[-1000:]}: {' '.join(self.process.args)}"
            counts["refused"] += 1
        self.begin()

    def kill(self):
        self.was_killed = True
        self.process.kill()
        self.is_stopped = False

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_stopped = False


class World:
    def __init__(self, folder, seed):
        self.folder, self.seed, self.is_root = folder, seed, os.geteuid() == 0
        self.tools, self.sites, self.digests = folder / "bin", [], {}
        self.counts = collections.Counter()
        for name in ("bin", "data", "caches"):
            (folder / name).mkdir()
        for name in ("leatctl",):
            shutil.copy(BIN / name, self.tools)
        data.titanic(folder / "data", 3000).rename(folder / "data" / "titanic.csv")
        (folder / "data" / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(20000)))
        for path in (folder, self.tools):
            path.chmod(0o755)
        self.text = config_text(folder)
        reference = folder / "reference.yaml"
        reference.write_text(config_text(folder, is_cached=False))
        for stream in STREAMS:
            for epochs in EPOCHS:
                for rank in (None, 0, 1):
                    of_rank = ("--rank", rank, "--world-size", WORLD) if rank is not None else ()
                    self.digests[stream, epochs, rank] = run_digest(reference, stream, "--no-daemon", "--epochs", epochs, *of_rank)

    def open_sites(self, stack):
        wrappers = [(), ()]
        try:
            wrappers = [host.command() for host in stack.enter_context(hosts.cluster(2))]
        except Skip as reason:
            note_skipped("two network namespaces", str(reason))
        for name, wrapper in zip("ab", wrappers):
            site = Site(self.folder, name, self.text, wrapper, None)
            site.start()
            stack.callback(lambda site=site: site.daemon.process.kill())
            self.sites.append(site)

    def tell_state(self):
        said = []
        for site in self.sites:
            said.append(site.ctl("streams", "--trainers").stdout.decode(errors="replace")[-2000:] + site.daemon.log[-1500:])
        return "\n".join(said)


# ---- events ----

def kill_trainer(world, rng):
    rng.choice(world.trainers).kill()


def stop_trainer(world, rng):
    trainer = rng.choice(world.trainers)
    trainer.go_on() if trainer.is_stopped else trainer.stop()


def go_on(world, _rng):
    for trainer in world.trainers:
        trainer.go_on()


def kill_daemon(world, rng):
    rng.choice(world.sites).end(signal.SIGKILL)


def restart_daemon(world, rng):
    rng.choice(world.sites).end(rng.choice((signal.SIGTERM, signal.SIGINT)))


def drain_daemon(world, rng):
    go_on(world, rng)
    rng.choice(world.sites).end("drain")


def upgrade_daemon(world, rng):
    """The next program takes the place of the one before."""
    site = rng.choice(world.sites)
    site.version = 1 - site.version
    site.end(rng.choice((signal.SIGTERM, "drain")))


def stop_daemon(world, rng):
    site = rng.choice(world.sites)
    site.daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(rng.uniform(0, 0.3))
    site.daemon.process.send_signal(signal.SIGCONT)


def change_limits(world, rng):
    settings = rng.choice(({}, {"max_user_sessions": 2}, {"max_user_ring_bytes": 1 << 20}, {"max_sessions": 4}, {"window": 2, "max_window": 2},
                           {"user_weights": {str(UIDS[0]): 100}}, {"tuner": "off"}))
    rng.choice(world.sites).must_reload(config_text(world.folder, **settings))


def change_cache(world, rng):
    """With the cache and without."""
    rng.choice(world.sites).must_reload(config_text(world.folder, is_cached=rng.random() < 0.5))


def remove_cache(world, _rng):
    world.sites[0].ctl("cache", "rm", world.folder / "caches", "--all")


def cut_cache(world, rng):
    """A cache loses its end, as after a loss of power."""
    caches = [path for path in (world.folder / "caches").iterdir() if path.is_file()]
    if caches:
        path = rng.choice(caches)
        with contextlib.suppress(OSError):
            os.truncate(path, rng.randrange(path.stat().st_size + 1))


def reload_wrong(world, rng):
    site = rng.choice(world.sites)
    good = site.daemon.config.read_text()
    assert "wrong" in site.reload(good + "  wrong: {source: 3}\n")
    site.daemon.config.write_text(good)


def kick(world, rng):
    rng.choice(world.sites).ctl("kick", "--stream", rng.choice(STREAMS), "--reason", "chaos")


def look_around(world, rng):
    site = rng.choice(world.sites)
    for words in (("status",), ("stats",), ("streams", "--users"), ("why", "text"), ("metrics",)):
        assert site.ctl(*words).returncode == 0, words


EVENTS = {kill_trainer: 10, stop_trainer: 8, go_on: 6, kill_daemon: 2, restart_daemon: 2, drain_daemon: 2, upgrade_daemon: 2, stop_daemon: 2,
          change_limits: 4, change_cache: 3, remove_cache: 2, cut_cache: 1, reload_wrong: 2, kick: 2, look_around: 3}


def disturb(world, seconds):
    rng = random.Random(world.seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        event = rng.choices(list(EVENTS), EVENTS.values())[0]
        event(world, rng)
        world.counts[event.__name__] += 1
        until = time.monotonic() + rng.uniform(0.01, 0.3)
        while time.monotonic() < until:
            for trainer in world.trainers:
                trainer.look()
            for site in world.sites:
                site.check_alive()
            time.sleep(0.01)


def work_evenly(world):
    """Each stream once at each daemon, with nobody else there."""
    for site in world.sites:
        site.must_reload(world.text)
        for stream in STREAMS:
            for delivery in ("shared", "copy"):
                assert site.daemon.digest(stream, "--delivery", delivery) == world.digests[stream, 1, None], "wrong batches"


def finish(world):
    """All trainers come to their end."""
    go_on(world, None)
    for site in world.sites:
        site.must_reload(world.text)
    for trainer in world.trainers:
        while trainer.process.poll() is None:
            trainer.look()
            time.sleep(0.01)
        trainer.begin = lambda: None
        trainer.look()
    for trainer in world.trainers:  # nobody disturbs this last run: it is not refused
        Trainer.begin(trainer)
    for trainer in world.trainers:
        while trainer.process.poll() is None:
            trainer.look()
            time.sleep(0.01)
        assert trainer.process.returncode == 0, trainer.process.stderr.read()[-1000:]
        trainer.look()


def main():
    arguments = options()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-chaos-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    print(f"  seed {arguments.seed}", flush=True)
    world = World(folder, arguments.seed)
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        world.open_sites(stack)
        work_evenly(world)
        fresh = [site.held() for site in world.sites]
        world.trainers = [Trainer(world, number) for number in range(N_TRAINERS)]
        stack.callback(lambda: [trainer.process.kill() for trainer in world.trainers if trainer.process])
        for trainer in world.trainers:
            trainer.begin()
        disturb(world, arguments.seconds)
        finish(world)
        work_evenly(world)
        for site, (memory, fds) in zip(world.sites, fresh):
            now = site.held()
            assert now[0] <= memory + MEMORY_SLACK * max(1, SLOW), f"memory: {memory} B before, {now[0]} after"
            wait_until(lambda site=site, fds=fds: site.held()[1] <= fds + FDS_SLACK, f"descriptors: {fds} before, {site.held()[1]} after")
            print(f"  daemon {site.place.name}: {site.n_ends} ends, {memory >> 20} MiB and {fds} descriptors at first, {now[0] >> 20} MiB and "
                  f"{now[1]} at the end", flush=True)
            site.daemon.stop()
            assert not kinds.complaints(site.daemon.log), kinds.complaints(site.daemon.log)
    events = sum(world.counts[event.__name__] for event in EVENTS)
    print(f"  {time.monotonic() - start:.0f} s: {events} events; runs: {world.counts['right']} with the right digest, "
          f"{world.counts['killed']} killed, {world.counts['refused']} refused; 0 wrong, 0 hang")
    print("  " + json.dumps({event.__name__: world.counts[event.__name__] for event in EVENTS}))
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print("chaos: ok")


if __name__ == "__main__":
    main()

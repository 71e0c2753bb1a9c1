#!/usr/bin/env python3
"""A node that is killed, restarted or slow changes nothing of what the ranks of a world see.

    test_nodes.py BIN [PATTERN]

Each trial draws the node and the batch at which it happens. $LEAT_TEST_TRIALS: how many (default 3).
"""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
from leat_harness import BIN, HANG_S, ctl

TRIALS = int(os.environ.get("LEAT_TEST_TRIALS", "3"))
WORLD_SIZE = 4
N_BATCHES = 120  # of each rank
CHECKPOINT = 10  # batches
PIPE_BYTES = 4096  # a trainer whose lines nobody reads stops: it cannot come to its end before the test wants it to


class Trainer:
    """leatctl that pulls a rank's batches on a host and prints their digests, which the test reads one by one."""

    def __init__(self, node, daemon, rank, *args):
        self.lines = []
        self.process = node.popen(BIN / "leatctl", "pull", "s", "--rank", rank, "--world-size", WORLD_SIZE, "--format", "jsonl", *args,
                                  stdout=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)},
                                  pipesize=PIPE_BYTES)

    def read(self, n_batches):
        while len(self.lines) < n_batches:
            line = self.process.stdout.readline()
            assert line, f"the trainer ended after {len(self.lines)} batches with {self.process.wait(HANG_S)}"
            self.lines.append(line)

    def finish(self):
        self.lines += self.process.stdout.readlines()
        assert self.process.wait(HANG_S) == 0, self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()


class World:
    """Hosts with a daemon each, and the steps of one machine."""

    def __init__(self, folder, stack):
        self.folder, self.stack = folder, stack
        csv = data.titanic(folder, 16 * WORLD_SIZE * N_BATCHES)
        self.text = data.yaml_text({"s": data.titanic_stream(csv, batch_size=16, shuffle=500)}, workers=1)
        file = folder / "s.yaml"
        file.write_text(self.text)
        self.nodes = stack.enter_context(hosts.cluster(WORLD_SIZE))
        self.daemons = [hosts.start_daemon(stack, folder, node, self.text) for node in self.nodes]
        self.alone = hosts.steps_of(ctl("run", file, "--no-daemon", "--format", "jsonl").stdout.splitlines())
        done = self.daemons[0].pull("s", "--rank", 0, "--world-size", WORLD_SIZE, "--batches", CHECKPOINT, "--save-position", folder / "position")
        assert done.returncode == 0

    def trainers(self, *args):
        return [Trainer(node, daemon, rank, *args) for rank, (node, daemon) in enumerate(zip(self.nodes, self.daemons))]

    def check(self, *parts):
        steps = {}
        for lines in parts:
            steps.update(hosts.steps_of(lines))
        assert steps == self.alone, (len(steps), len(self.alone))


def trials(trial):
    """A test of so many trials with one world."""
    def test(folder):
        rng = random.Random(7)
        with contextlib.ExitStack() as stack:
            world = World(folder, stack)
            for _ in range(TRIALS):
                victim, at = rng.randrange(WORLD_SIZE), rng.randrange(CHECKPOINT, N_BATCHES - 60)
                trial(world, victim, at)
    return test


def go_to(trainers, at):
    for trainer in trainers:
        trainer.read(at)


def restarted(world, victim, at):
    """The daemon of a node is killed, and started again: its trainer goes on by itself."""
    trainers = world.trainers()
    go_to(trainers, at)
    world.daemons[victim].stop(signal.SIGKILL)
    world.daemons[victim].start()
    for trainer in trainers:
        trainer.finish()
    world.check(*(trainer.lines for trainer in trainers))


def killed(world, victim, at):
    """A node dies with its trainer, the job ends with it, and all begin again at their checkpoint."""
    trainers = world.trainers()
    go_to(trainers, at)
    trainers[victim].kill()
    world.daemons[victim].stop(signal.SIGKILL)
    for trainer in trainers:
        if trainer is not trainers[victim]:
            trainer.kill()
    world.daemons[victim].start()
    again = world.trainers("--position", f"@{world.folder / 'position'}")
    for trainer in again:
        trainer.finish()
    world.check(*(trainer.lines[:CHECKPOINT] for trainer in trainers), *(trainer.lines for trainer in again))


def slow(world, victim, at):
    """The daemon of a node stands still until all other ranks are at their end."""
    trainers = world.trainers()
    go_to(trainers, at)
    os.kill(world.daemons[victim].pid, signal.SIGSTOP)
    for trainer in trainers:
        if trainer is not trainers[victim]:
            trainer.finish()
    assert trainers[victim].process.poll() is None
    os.kill(world.daemons[victim].pid, signal.SIGCONT)
    trainers[victim].finish()
    world.check(*(trainer.lines for trainer in trainers))


test_restarted, test_killed, test_slow = trials(restarted), trials(killed), trials(slow)


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""How far the daemon works ahead of trainers: the epoch that is read, and the first batches of the next.

    test_ahead.py BIN [PATTERN]
"""
import json
import sys

import data
from leat_harness import Daemon, ctl, main, run_digest, wait_until
from raw_client import SAYS_REACHED, RawClient, reached, release

N, N_STEPS = 900, 30
HELPER = """
import json, sys
for line in sys.stdin:
    with open("calls", "a") as calls:
        calls.write("x")
    print(json.dumps({"_leat": json.loads(line)["_leat"], "n": 1}))
"""


def write(folder, prefetch=None, **options):
    """A stream whose records go through a program that counts how often it is asked."""
    (folder / "helper.py").write_text(HELPER)
    (folder / "calls").write_text("")
    (folder / "ids.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(N)))
    stages = [{"exec": {"command": [sys.executable, "-S", "helper.py"], "inputs": ["id"], "schema": {"n": "int64"}}},
              {"select": {"fields": ["n"]}}, {"batch": {"batch_size": N // N_STEPS}}]
    if prefetch:
        stages.append({"prefetch": {"prefetch_size": prefetch}})
    return data.yaml_text({"s": {"source": {"csv": {"paths": ["ids.csv"]}}, **options, "stages": stages}})


def epochs_asked(folder):
    """Epochs' worth of records that the program was asked about, besides a few that it is asked about again."""
    return (folder / "calls").stat().st_size // N


def at_rest(folder, daemon, least):
    """That, when the daemon has nothing to do any more, which is not before so many."""
    def rests():
        stats = json.loads(daemon.ctl("stats", "s", "--json").stdout)[0]
        return epochs_asked(folder) >= least and stats["n_jobs"] == 0
    wait_until(rests, f"at rest, with {least} epochs made or more")
    return epochs_asked(folder)


def take(trainer, n_batches):
    """So many batches, given back at once."""
    for _ in range(n_batches):
        generation, epoch, step, slot = trainer.batch()
        trainer.send(release(generation, epoch, step, slot))
    return epoch, step


def test_calls(folder):
    """The function is called for the epoch that is read and, for the first batches of the next, for one block."""
    for prefetch in (None, 1, 4):
        with Daemon(folder, write(folder, prefetch)) as daemon:
            trainer = RawClient(daemon).opened(features=SAYS_REACHED)
            assert take(trainer, 1) == (0, 0)
            assert at_rest(folder, daemon, 2) == 2
            assert take(trainer, N_STEPS - 1) == (0, N_STEPS - 1)
            assert at_rest(folder, daemon, 2) == 2
            assert take(trainer, 1) == (1, 0)
            trainer.send(reached(7))  # of which it was sent nothing
            assert at_rest(folder, daemon, 2) == 2
            trainer.send(reached(1))
            assert at_rest(folder, daemon, 3) == 3
            assert take(trainer, N_STEPS - 1) == (1, N_STEPS - 1)


def test_large_batches(folder):
    """Of which one is an epoch."""
    with Daemon(folder, write(folder).replace(f"\"batch_size\": {N // N_STEPS}", f"\"batch_size\": {N}")) as daemon:
        trainer = RawClient(daemon).opened(features=SAYS_REACHED)
        for epoch in range(3):
            assert take(trainer, 1) == (epoch, 0)
            trainer.send(reached(epoch))
            assert at_rest(folder, daemon, epoch + 2) == epoch + 2


def test_prefetch(folder):
    """So many batches wait beyond those that the trainers were told of, for each rank."""
    for n_ranks in (1, 3):
        with Daemon(folder, write(folder, prefetch=2)) as daemon:
            ranks = [RawClient(daemon).opened(features=SAYS_REACHED, window=3, rank=rank, world_size=n_ranks,
                                              local_rank=rank, local_world_size=n_ranks) for rank in range(n_ranks)]
            held = [[trainer.batch() for _ in range(3)] for trainer in ranks]
            at_rest(folder, daemon, 1)
            made = json.loads(daemon.ctl("stats", "s", "--json").stdout)[0]["n_batches"]
            assert made == n_ranks * (3 + 2), (made, held)


def test_older_trainer(folder):
    """One that does not say where it is goes on all the same, and what it was sent it has."""
    with Daemon(folder, write(folder)) as daemon:
        trainer = RawClient(daemon).opened(window=4)
        for epoch in range(3):
            assert take(trainer, N_STEPS) == (epoch, N_STEPS - 1)
        assert at_rest(folder, daemon, 5) == 5  # it was sent some of epoch 3


def test_own_trainers(folder):
    """libleat says it, and without a daemon it is the same; what it gives is, too."""
    digests = set()
    for args in (["--epochs", 5], ["--epochs", 5, "--no-daemon"], ["--epochs", 5, "--window", 1, "--delivery", "copy"]):
        file = folder / "s.yaml"
        file.write_text(write(folder))
        digests.add(run_digest(file, *args))
        assert epochs_asked(folder) == 5, (args, epochs_asked(folder))
    assert len(digests) == 1, digests
    file.write_text(write(folder))
    ctl("run", file, "--epochs", 0, "--batches", 7, "--no-daemon")
    assert epochs_asked(folder) == 1, epochs_asked(folder)


if __name__ == "__main__":
    main(globals())

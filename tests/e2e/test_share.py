#!/usr/bin/env python3
"""Trainers of one stream: fed from one run, each at its own pace, each with its exact sequence.

    test_share.py BIN [PATTERN]
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess

import leat_harness
from leat_harness import Daemon, ctl, run_digest, wait_until
from raw_client import BATCH, END, GOAWAY, RING, RawClient, release

N_RECORDS, BATCH_SIZE = 4000, 20
OTHER = 65534  # a user
N_STEPS = N_RECORDS // BATCH_SIZE


def config(folder, n_records=N_RECORDS, source="", daemon="", options=""):
    """A stream of lists; batches of some 400 KB, so that a ring has few slots."""
    (folder / "n.jsonl").write_text("".join(f'{{"xs": [{i * 7919 % 100003}]}}\n' for i in range(n_records)))
    return f"""{daemon}
streams:
  s:
    source: {{ jsonl: {{ paths: [{folder}/n.jsonl], fields: {{ xs: list<int32> }}{source} }} }}
    block_bytes: 4096
    tuner: off
    {options}
    stages:
      - pad: {{ input: xs, length: 5000, value: 7 }}
      - shuffle: {{ buffer_size: 300, seed: 5 }}
      - batch: {{ batch_size: {BATCH_SIZE}, drop_last: true }}
      - prefetch: {{ prefetch_size: 4 }}
"""


def stream(daemon):
    return json.loads(daemon.ctl("streams", "--json").stdout)[0]


def runs(daemon):
    """Those that somebody is on."""
    return [run for run in stream(daemon)["runs"] if run["n_sessions"] > 0]


class Trainer(RawClient):
    """Takes batches by hand, and checks that they come in order."""

    def __init__(self, daemon, window=2, epoch=0, step=None, rank=0, world_size=1, **options):
        super().__init__(daemon)
        step = rank if step is None else step
        self.epoch, self.step, self.rank, self.world_size = epoch, step, rank, world_size
        self.held, self.is_done = [], False
        self.opened("s", window, epoch=epoch, step=step - step % world_size, rank=rank, world_size=world_size, **options)

    def next(self):
        """(generation, slot) of the next batch; None at the end of an epoch."""
        kind, body = self.receive_kind(BATCH, END)
        if kind == END:
            epoch, _n_steps, is_last = struct.unpack_from("<QQI", body)
            assert epoch == self.epoch, (epoch, self.epoch)
            self.epoch, self.step, self.is_done = epoch + 1, self.rank, is_last != 0
            return None
        generation, epoch, step, _used, slot = struct.unpack_from("<QQQQI", body)
        assert (epoch, step) == (self.epoch, self.step), (epoch, step, self.epoch, self.step)
        self.step += self.world_size
        self.held.append((generation, epoch, step, slot))
        return generation, slot

    def give_back(self):
        self.send(release(*self.held.pop(0)))

    def go(self, n_batches):
        for _ in range(n_batches):
            self.next()
            self.give_back()

    def finish(self):
        """Up to its last end."""
        while not self.is_done:
            if self.next():
                self.give_back()


class Puller:
    """leatctl pull --digest, which can be stopped."""

    def __init__(self, daemon, *args, tool=(leat_harness.BIN / "leatctl",)):
        self.process = subprocess.Popen([*tool, "pull", "s", "--digest", *map(str, args)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})

    def digest(self):
        out, err = self.process.communicate(timeout=leat_harness.HANG_S)
        assert self.process.returncode == 0, err
        return leat_harness.find_digest(out)


def test_one_slot_for_all(folder):
    """Whoever wants the same batch at about the same time gets the same slot, once made."""
    with Daemon(folder, config(folder)) as daemon:
        trainers = [Trainer(daemon, n_epochs=2) for _ in range(3)]
        for _ in range(2 * N_STEPS + 2):
            places = {trainer.next() for trainer in trainers}
            assert len(places) == 1, places
            for trainer in trainers:
                if trainer.held:
                    trainer.give_back()
            assert len(runs(daemon)) <= 1, stream(daemon)
        stats = json.loads(daemon.ctl("stats", "s", "--json").stdout)[0]
        assert stats["n_batches"] == 2 * N_STEPS, stats


def test_paces(folder):
    """At any paces, from any positions, everyone sees its own sequence."""
    rng = random.Random(3)
    with Daemon(folder, config(folder)) as daemon:
        trainers = [Trainer(daemon, window=rng.randint(1, 4), epoch=rng.randint(0, 1), step=rng.randrange(N_STEPS),
                            n_epochs=2) for _ in range(5)]
        while trainers:
            trainer = rng.choice(trainers)
            for _ in range(rng.choice([1, 3, 40])):
                if trainer.next():
                    trainer.give_back()
                if trainer.is_done:
                    trainers.remove(trainer)
                    break


def as_uid(uid, function):
    """What the function returns; sockets that it connects are those of that user."""
    os.seteuid(uid)
    try:
        return function()
    finally:
        os.seteuid(0)


def test_seeds_apart(folder):
    """Trainers of different seeds share nothing, though they stand at the same place at the same time."""
    text = config(folder)
    expected = {}
    with Daemon(folder, text) as daemon:
        for seed in (1, 2):
            expected[seed] = run_digest(daemon.config, "s", "--seed", seed, "--no-daemon")
        assert expected[1] != expected[2]
        holders = {seed: Trainer(daemon, seed=seed) for seed in (1, 2)}
        for holder in holders.values():
            holder.next()
        assert sorted(run["n_sessions"] for run in runs(daemon)) == [1, 1], stream(daemon)
        together = Trainer(daemon, seed=2)
        together.next()
        assert sorted(run["n_sessions"] for run in runs(daemon)) == [1, 2], stream(daemon)
        for seed in (1, 2):
            for args in ([], ["--delivery", "copy"]):
                assert Puller(daemon, "--epochs", 1, "--seed", seed, *args).digest() == expected[seed], (seed, args)


def check_apart(daemon, first, second):
    """Each is alone in its run."""
    second.next()
    assert [run["n_sessions"] for run in runs(daemon)] == [1, 1], stream(daemon)
    first.give_back()
    assert first.next()


def test_worlds_apart(folder):
    """Ranks of different world sizes share nothing, though both begin at step 0."""
    with Daemon(folder, config(folder)) as daemon:
        of_two, of_four = (Trainer(daemon, world_size=world_size) for world_size in (2, 4))
        of_two.next()
        check_apart(daemon, of_two, of_four)
        assert sorted(run["world_size"] for run in runs(daemon)) == [2, 4], stream(daemon)


def test_changed_options_apart(folder):
    """Trainers that came before a reload share nothing with those that came after it, if batches may differ."""
    for options in ("skip_steps: ['0:9']", "skip_records: ['9']"):
        changed = config(folder, options=options)
        with Daemon(folder, config(folder)) as daemon:
            before = Trainer(daemon)
            before.next()
            daemon.config.write_text(changed)
            daemon.ctl("reload")
            check_apart(daemon, before, Trainer(daemon))


def test_changed_data_apart(folder):
    """Trainers that came before the data changed share nothing with those that came after it."""
    with Daemon(folder, config(folder)) as daemon:
        before = Trainer(daemon)
        before.next()
        with open(folder / "n.jsonl", "a") as file:
            file.write('{"xs": [1]}\n' * BATCH_SIZE)
        after = Trainer(daemon, n_epochs=1)
        check_apart(daemon, before, after)
        after.give_back()
        after.go(N_STEPS)
        assert after.next() is None and after.is_done


def test_users_apart(folder):
    """Trainers of different users share no ring; each gets what is right."""
    if os.geteuid() != 0:
        raise leat_harness.Skip("needs root, to act as two users")
    text = config(folder)
    with Daemon(folder, text) as daemon:
        for path in (folder, daemon.sockets):
            path.chmod(0o755)
        (daemon.sockets / "trainer.sock").chmod(0o666)
        trainers = [as_uid(uid, lambda: Trainer(daemon)) for uid in (0, OTHER, OTHER)]
        for trainer in trainers:
            trainer.next()
        assert sorted((run["n_sessions"] for run in runs(daemon))) == [1, 2], stream(daemon)
        expected = run_digest(daemon.config, "s", "--no-daemon")
        tool = shutil.copy(leat_harness.BIN / "leatctl", folder)
        pullers = [Puller(daemon, "--epochs", 1, tool=[*who, tool])
                   for who in ([], ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"])]
        assert [puller.digest() for puller in pullers] == [expected] * 2
        users = {user["uid"]: user["charges"]["ring_bytes"]["used"]
                 for user in json.loads(daemon.ctl("streams", "--users", "--json").stdout)["users"]}
        assert users.keys() == {0, OTHER} and min(users.values()) > 0, users


def test_stopped(folder):
    """One that is stopped holds nobody up, and goes on where it was."""
    file = folder / "leatd.yaml"
    file.write_text(config(folder))
    expected = run_digest(file, "s", "--epochs", 2)
    with Daemon(folder, file) as daemon:
        slow = Puller(daemon, "--epochs", 2)
        wait_until(lambda: daemon.sessions(), "it opens the stream")
        os.kill(slow.process.pid, signal.SIGSTOP)
        assert Puller(daemon, "--epochs", 2).digest() == expected
        assert Puller(daemon, "--epochs", 2, "--delivery", "copy").digest() == expected
        os.kill(slow.process.pid, signal.SIGCONT)
        assert slow.digest() == expected


def test_apart_and_together(folder):
    """One falls behind and gets a run of its own; when it has caught up, there is one run again."""
    with Daemon(folder, config(folder)) as daemon:
        fast, slow = Trainer(daemon), Trainer(daemon)
        slow.next()
        fast.go(100)
        slow.give_back()
        slow.go(20)
        assert len(runs(daemon)) == 2, stream(daemon)
        slow.go(78)
        for _ in range(20):
            slow.go(1)
            fast.go(1)
        assert len(runs(daemon)) == 1, stream(daemon)
        assert slow.next() == fast.next() or slow.step != fast.step


def test_ranks(folder):
    """The ranks of a machine share a run, whenever they come."""
    with Daemon(folder, config(folder)) as daemon:
        ranks = [Trainer(daemon, rank=rank, world_size=4, local_rank=rank, local_world_size=4, n_epochs=2)
                 for rank in range(4)]
        for _ in range(N_STEPS // 4):
            for rank in ranks:
                rank.go(1)
        assert len(runs(daemon)) == 1, stream(daemon)
        assert (runs(daemon)[0]["first_rank"], runs(daemon)[0]["n_ranks"]) == (0, 4)
        for rank in ranks:
            rank.finish()


def test_place_of_a_rank(folder):
    """The daemon tells the next batch of a rank, which is neither its last one nor that of another rank."""
    with Daemon(folder, config(folder)) as daemon:
        rank = Trainer(daemon, rank=1, world_size=2, n_epochs=1)

        def place():
            session, = daemon.sessions()
            return session["epoch"], session["step"]
        rank.next()
        rank.next()
        assert place() == (0, 5), daemon.sessions()
        rank.give_back()
        rank.give_back()
        rank.finish()
        assert place() == (1, 1), daemon.sessions()


def test_limits(folder):
    """Each ends where it was told, others go on."""
    with Daemon(folder, config(folder)) as daemon:
        one, some, two = Trainer(daemon, n_epochs=1), Trainer(daemon, n_steps=7), Trainer(daemon, n_epochs=2)
        some.finish()
        assert (some.epoch, some.step) == (1, 0)
        one.finish()
        two.finish()
        assert two.epoch == 2


def test_quarantine(folder):
    """What a process holds that lost its connection is not filled again, though others share the ring."""
    with Daemon(folder, config(folder)) as daemon:
        lost, other = Trainer(daemon), Trainer(daemon)
        held = [lost.next(), lost.next()]
        lost.close()
        wait_until(lambda: len([s for s in daemon.sessions() if s["state"] == "closing"]) == 1, "it is closing")
        for step in range(N_STEPS):
            place = other.next()
            assert place not in held or step < 2, (place, held, step)
            other.give_back()


def test_failure(folder):
    """A stream that fails does so for each at its place, after all that was good."""
    text = config(folder)
    with open(folder / "n.jsonl", "r+b") as file:
        lines = file.read().split(b"\n")
        lines[N_RECORDS * 3 // 4] = b'{"xs": ["bad"]}'
        file.seek(0)
        file.write(b"\n".join(lines))
    with Daemon(folder, text) as daemon:
        ends = set()
        for pause in (0, 20, 60):
            trainer = Trainer(daemon)
            trainer.go(pause)
            while (got := trainer.receive()) and got[0] in (BATCH, RING, END):
                if got[0] == BATCH:
                    generation, epoch, step, _used, slot = struct.unpack_from("<QQQQI", got[1])
                    assert step == trainer.step
                    trainer.step += 1
                    trainer.send(release(generation, epoch, step, slot))
            assert got and got[0] == GOAWAY and b"n.jsonl" in got[1], got
            ends.add(trainer.step)
        assert len(ends) == 1 and N_STEPS // 2 < ends.pop() < N_STEPS * 3 // 4 + 1


def test_failure_comes_last(folder):
    """A trainer of copies receives all batches before the error, though they take longer to send."""
    text = config(folder)
    lines = [f'{{"xs": [{i}]}}' for i in range(N_RECORDS)]
    lines[-1] = '{"xs": ["bad"]}'
    (folder / "n.jsonl").write_text("\n".join(lines) + "\n")
    with Daemon(folder, text) as daemon:
        counts = set()
        for delivery in ["shared"] + ["copy"] * 10:
            done = ctl("pull", "s", "--epochs", 1, "--window", 16, "--delivery", delivery, "--format", "jsonl", check=False,
                       env={"LEAT_SOCKET": str(daemon.sockets)})
            assert done.returncode != 0 and b"n.jsonl" in done.stderr, done.stderr
            counts.add(done.stdout.count(b'"step"'))
        assert len(counts) == 1 and min(counts) > N_STEPS // 2, counts


def test_no_room(folder):
    """Where memory does not do for a second run, who fell behind waits for it, and nobody else."""
    text = config(folder, daemon="max_user_ring_bytes: 4500000")
    with Daemon(folder, text) as daemon:
        fast, slow = Trainer(daemon, n_epochs=1), Trainer(daemon, n_epochs=1)
        slow.next()
        fast.go(N_STEPS)
        fast.finish()
        fast.close()
        slow.give_back()
        slow.go(N_STEPS - 1)
        slow.finish()


def test_no_room_for_long(folder):
    """Who fell behind does not wait for ever: it is told why it gets nothing, and the other one goes on."""
    with Daemon(folder, config(folder, daemon="max_user_ring_bytes: 4500000")) as daemon:
        fast, slow = Trainer(daemon, n_epochs=1), Trainer(daemon, n_epochs=1)
        slow.next()
        fast.go(N_STEPS // 2)
        slow.give_back()
        slow.next()
        slow.give_back()
        _, body = slow.receive_kind(GOAWAY)
        assert b"the trainer fell too far behind the other trainers of its stream" in body and b"max_user_ring_bytes" in body, body
        fast.finish()


def test_slots_are_given_back(folder):
    """A ring that was made larger, so that one who is far behind comes to the run of another, becomes as small as before."""
    with Daemon(folder, config(folder)) as daemon:
        fast = Trainer(daemon)
        fast.go(N_STEPS // 2)
        before = daemon.status()["n_slots"]
        slow = Trainer(daemon)
        slow.go(10)
        wait_until(lambda: daemon.status()["n_slots"] > N_STEPS // 2, "a ring with room for what lies between them")
        slow.go(N_STEPS // 2 - 10)
        for _ in range(5):
            slow.go(1)
            fast.go(1)
        assert len(runs(daemon)) == 1, stream(daemon)

        def read_on():
            for trainer in (slow, fast):
                if trainer.next():  # else an epoch ended
                    trainer.give_back()
            return daemon.status()["n_slots"] <= 2 * before

        wait_until(read_on, "the slots are given back")


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""A trainer that stops at a random step and goes on from its position, elsewhere, gets what an undisturbed one gets.

    test_resume.py BIN [PATTERN]

Each trial draws a stream (random_specs.py), lets all ranks of a world stop behind some rounds, and goes on with their
position in another daemon: other worker counts, block sizes, cache on or off, another world size. $LEAT_TEST_TRIALS:
how many.
"""
import json
import os
import random

import data
import random_specs
from leat_harness import Daemon, ctl, main

TRIALS = int(os.environ.get("LEAT_TEST_TRIALS", "12"))
EPOCHS = 2


def batches_of(output):
    """(epoch, step): digest, of lines of JSON."""
    found = {}
    for line in output.splitlines():
        batch = json.loads(line)
        if "digest" in batch and "step" in batch:
            place = (batch["epoch"], batch["step"])
            assert place not in found, f"batch {place} came twice"
            found[place] = batch["digest"]
    return found


def undisturbed(folder, stream):
    """All batches; None: it is no stream for this test."""
    file = folder / "undisturbed.yaml"
    file.write_text(data.yaml_text({"s": stream}))
    if random_specs.has_lanes(stream):
        ctl("cache", "warm", file, check=False)
    done = ctl("run", file, "--no-daemon", "--epochs", EPOCHS, "--format", "jsonl", check=False)
    return batches_of(done.stdout) if done.returncode == 0 else None


def draw(rng, folder):
    while True:
        stream = random_specs.draw(rng, folder)
        if rng.random() < 0.3:
            stream = random_specs.with_lanes(rng, stream, folder) or stream
        batches = undisturbed(folder, stream)
        if batches:
            return stream, batches


def variant(rng, stream, folder):
    """The same stream with other settings, which must not show."""
    result = {**stream, "block_bytes": rng.choice([4096, 7000, 65536])}
    if "mix" not in stream["source"] and "random" not in json.dumps(stream) and rng.random() < 0.5:
        result["cache"] = {"path": str(folder / "cache")}
    return result


def pull(daemon, rank, world_size, *args):
    done = daemon.pull("s", "--rank", rank, "--world-size", world_size, "--format", "jsonl", *args)
    return batches_of(done.stdout)


def steps_of(batches, epoch):
    return 1 + max(step for at, step in batches if at == epoch)


def expected(batches, position, world_size):
    """What was before the position, and what ranks of that world get from there on: in its epoch, rounds begin there."""
    result = {}
    for (epoch, step), digest in batches.items():
        n = steps_of(batches, epoch)
        first = position[1] if epoch == position[0] else 0
        if (epoch, step) < position or step < n - (n - first) % world_size:
            result[epoch, step] = digest
    return result


def try_once(rng, folder):
    stream, batches = draw(rng, folder)
    first_world, next_world = rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2, 4])
    n_rounds = min(steps_of(batches, epoch) for epoch in range(EPOCHS)) // max(first_world, next_world)
    if n_rounds == 0:
        return False
    n_batches = rng.randint(1, EPOCHS * (steps_of(batches, 0) // first_world))
    seen, texts = {}, set()
    with Daemon(folder, data.yaml_text({"s": variant(rng, stream, folder)}), "--workers", str(rng.randint(1, 3))) as daemon:
        for rank in range(first_world):
            seen.update(pull(daemon, rank, first_world, "--epochs", EPOCHS, "--batches", n_batches, "--save-position",
                             folder / "position"))
            texts.add((folder / "position").read_text().strip())
    assert len(texts) == 1, f"ranks of one world stand at {texts}"
    text = texts.pop()
    fields = dict(field.split("=") for field in text.split(":")[1:])
    position = int(fields["epoch"]), int(fields["step"])
    if position[0] < EPOCHS:
        with Daemon(folder, data.yaml_text({"s": variant(rng, stream, folder)}), "--workers", str(rng.randint(1, 3))) as daemon:
            for rank in range(next_world):
                seen.update(pull(daemon, rank, next_world, "--epochs", EPOCHS - position[0], "--position", text))
    wanted = expected(batches, position, next_world)
    # of the first world's epochs, the round that was not whole
    wanted = {place: digest for place, digest in wanted.items() if place in seen or place >= position or not is_left_out(
        place, batches, position, first_world)}
    assert seen == wanted, (f"{json.dumps(stream)}: {first_world} ranks, {n_batches} batches, then {next_world} ranks from "
                            f"{text}: {sorted(wanted.items() ^ seen.items())[:6]}")
    return True


def is_left_out(place, batches, position, world_size):
    """Whether `uneven: drop` let go of it before the position."""
    n = steps_of(batches, place[0])
    return place[0] < position[0] and place[1] >= n - n % world_size


def test_goes_on_as_if_nothing_had_been(folder):
    random_specs.write(folder)
    rng, n = random.Random(int(os.environ.get("LEAT_TEST_SEED", "1"))), 0
    while n < TRIALS:
        n += try_once(rng, folder)


if __name__ == "__main__":
    main(globals())

#!/usr/bin/env python3
"""A daemon on each host and a rank at each daemon: the rows of all ranks, interleaved, are those of one machine.

    test_worlds.py BIN [PATTERN]
"""
import contextlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
from leat_harness import ctl

N_ROWS = 1501
WORLDS = [1, 2, 3, 4, 7, 8]
BATCH = [{"batch": {"batch_size": 7}}]
WORDS = [{"cast": {"input": "ids", "dtype": "int32"}}, {"select": {"fields": ["ids"]}}]
PADDED = [*WORDS, {"pad": {"input": "ids", "longest": True, "value": 0}}]
NUMBERS = [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": ["id"]}}]
ORDERS = {
    "none": [*NUMBERS, *BATCH],
    "window": [*NUMBERS, {"shuffle": {"buffer_size": 300}}, *BATCH],
    "blocks": [*NUMBERS, {"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 128}}, *BATCH],
    "global": [*NUMBERS, {"shuffle": {"global": True}}, *BATCH],
    "repeat": [*NUMBERS, {"take": {"count": 700}}, {"repeat": {"count": 2}}, {"shuffle": {"buffer_size": 99}}, *BATCH],
    "filter": [*NUMBERS, {"shuffle": {"buffer_size": 99}}, {"filter": {"input": "id", "min": 500}}, *BATCH],
    "dedup": [{"dedup": {"input": "key"}}, *NUMBERS, {"shuffle": {"buffer_size": 99}}, *BATCH],
    "pack": [*WORDS, {"shuffle": {"buffer_size": 99}}, {"pack": {"fields": ["ids"], "length": 16, "value": 0}}, *BATCH],
    "bucket": [*PADDED, {"bucket": {"input": "ids", "boundaries": [3, 6]}}, *BATCH],
    "max_tokens": [*PADDED, {"shuffle": {"buffer_size": 99}}, {"batch": {"max_tokens": 64}}],
}


def write_streams(folder):
    """All orders over one file in which every 97th record is bad, and the first over one without."""
    for name, is_bad in (("clean", False), ("bad", True)):
        with open(folder / f"{name}.jsonl", "w") as file:
            for i in range(N_ROWS):
                text = json.dumps({"id": i, "key": i % 600, "ids": [i] * (1 + i * 7 % 9)})
                file.write(("no JSON" if is_bad and i % 97 == 5 else text) + "\n")
    streams = {name: {"source": {"jsonl": {"paths": [str(folder / "bad.jsonl")]}}, "on_error": "skip", "block_bytes": 4096,
                      "stages": stages} for name, stages in ORDERS.items()}
    streams["clean"] = {**streams["window"], "source": {"jsonl": {"paths": [str(folder / "clean.jsonl")]}}, "on_error": "fail"}
    return streams


def rows_of(text):
    """(epoch, step): lines of its rows, of what dump printed."""
    found = {}
    for line in text.decode().splitlines():
        row = json.loads(line)
        found.setdefault((row["_epoch"], row["_step"]), []).append(line)
    return found


def dump(daemon, stream, rank, world_size, *args):
    return rows_of(daemon.ctl("dump", stream, "--rank", rank, "--world-size", world_size, *args).stdout)


def test_interleaved(folder):
    streams = write_streams(folder)
    file = folder / "streams.yaml"
    file.write_text(data.yaml_text(streams))
    with hosts.cluster(max(WORLDS)) as nodes, contextlib.ExitStack() as stack:
        daemons = [hosts.start_daemon(stack, folder, node, file.read_text()) for node in nodes]
        for stream in streams:
            alone = rows_of(ctl("dump", file, stream).stdout)
            assert len(alone) > 2 * max(WORLDS), (stream, len(alone))
            for world_size in WORLDS:
                rows = {}
                for rank in range(world_size):
                    own = dump(daemons[rank], stream, rank, world_size)
                    assert own and all(step % world_size == rank for _, step in own), (stream, world_size, rank)
                    rows.update(own)
                assert rows == hosts.whole_rounds(alone, world_size), (stream, world_size)


def part_of(folder, daemons, stream, args, n_batches=None):
    """The steps that a rank at each of these daemons gets between them, and the position that they all have then."""
    steps, positions = {}, set()
    (folder / "new").mkdir(exist_ok=True)
    for rank, daemon in enumerate(daemons):
        kept = folder / "new" / f"position-{rank}"
        until = [] if n_batches is None else ["--batches", n_batches]
        done = daemon.pull(stream, "--rank", rank, "--world-size", len(daemons), "--format", "jsonl", "--save-position", kept, *until, *args)
        steps.update(hosts.steps_of(done.stdout.splitlines()))
        positions.add(kept.read_text().replace(f"world={len(daemons)}", ""))
    assert len(positions) == 1, positions
    kept.rename(folder / "position")
    return steps, ["--position", f"@{folder / 'position'}"]


def test_another_world(folder):
    """4 hosts, then 3, which are others but for one, then 4 again."""
    streams = write_streams(folder)
    text = data.yaml_text(streams)
    with hosts.cluster(6) as nodes, contextlib.ExitStack() as stack:
        daemons = [hosts.start_daemon(stack, folder, node, text) for node in nodes]
        for stream in streams:
            alone, _ = part_of(folder, daemons[:1], stream, [])
            first, position = part_of(folder, daemons[:4], stream, [], 3)
            second, position = part_of(folder, daemons[3:], stream, position, 2)
            third, _ = part_of(folder, daemons[2:], stream, position)
            n_third = (len(alone) - 18) // 4 * 4
            assert {**first, **second, **third} == {(0, step): alone[0, step] for step in range(18 + n_third)}, stream
            assert len(first) == 12 and len(second) == 6 and len(third) == n_third > 4, stream


if __name__ == "__main__":
    leat_harness.main(globals())

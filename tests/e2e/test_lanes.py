#!/usr/bin/env python3
"""`shuffle: {lanes}`: the sequence of steps never depends on the world, and what cannot be dealt is refused.

    test_lanes.py BIN [PATTERN]
"""
import json
import os
import subprocess

import data
import leat_harness
from leat_harness import HANG_S, Daemon, Skip, ctl, find_digest, main
from test_memory import IS_SANITIZED

IDS = [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": ["id", "l"]}}]
LANES = {"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 60, "lanes": 12}}
PAD = {"pad": {"input": "l", "longest": True, "value": 0}}
BATCH = {"batch": {"batch_size": 7}}
STREAMS = {
    "batch": ({}, [*IDS, LANES, PAD, BATCH]),
    "pad": ({"uneven": "pad"}, [*IDS, LANES, PAD, BATCH]),
    "drop_last": ({}, [*IDS, LANES, PAD, {"batch": {"batch_size": 7, "drop_last": True}}]),
    "twice": ({}, [*IDS, LANES, {"shuffle": {"buffer_size": 20}}, {"repeat": {"count": 2}}, PAD, BATCH]),
    "filter": ({}, [*IDS, LANES, {"filter": {"input": "id", "min": 500}}, PAD, BATCH]),
    "bucket": ({}, [*IDS, LANES, {"bucket": {"input": "l", "window": 50}}, PAD, BATCH]),
    "boundaries": ({}, [*IDS, LANES, {"bucket": {"input": "l", "boundaries": [4, 8]}}, PAD, BATCH]),
    "tokens": ({}, [*IDS, LANES, PAD, {"batch": {"max_tokens": 90, "max_rows": 20}}]),
    "pack": ({}, [{"select": {"fields": ["l"]}}, LANES, {"pack": {"fields": ["l"], "length": 64, "value": 0}}, {"batch": {"batch_size": 3}}]),
}


def write(folder, name="batch", is_bad=False, n=2003, **changes):
    options, stages = STREAMS[name]
    with open(folder / "rows.jsonl", "w") as file:
        for i in range(n):
            values = "x" if is_bad and i % 97 == 5 else list(range(i * 7 % 13 + 1))
            file.write(json.dumps({"id": str(i), "l": values}) + "\n")
    file = folder / "s.yaml"
    stream = {"source": {"jsonl": {"paths": ["rows.jsonl"], "fields": {"id": "text", "l": "int32[]"}}}, "block_bytes": 4096,
              "on_error": "skip" if is_bad else "fail", "cache": {"path": "cache"}, **options, "stages": stages, **changes}
    file.write_text(data.yaml_text({"s": {key: value for key, value in stream.items() if value is not None}}))
    return file


def lines_of(output):
    lines = [json.loads(line) for line in output.splitlines()]
    return {(line["epoch"], line["step"]): line["digest"] for line in lines if "digest" in line and "step" in line}


def steps_run(file, rank, world_size):
    return lines_of(ctl("run", file, "--no-daemon", "--rank", rank, "--world-size", world_size, "--epochs", 2,
                        "--format", "jsonl").stdout)


def test_any_world(folder):
    """The ranks of any world have between them the steps of one machine."""
    for name in STREAMS:
        is_bad = name in ("pad", "bucket", "pack")
        file = write(folder, name, is_bad)
        ctl("cache", "warm", file)
        every = steps_run(file, 0, 1)
        n_steps = [1 + max(step for epoch, step in every if epoch == at) for at in range(2)]
        for world_size in [2, 3, 4, 7, 8]:
            steps = {}
            for rank in range(world_size):
                steps.update(steps_run(file, rank, world_size))
            if name == "pad":
                assert all(steps[place] == digest for place, digest in every.items()), world_size
                continue
            assert steps == {(epoch, step): digest for (epoch, step), digest in every.items()
                             if step < n_steps[epoch] // world_size * world_size}, (name, world_size)


def test_memory_of_own_lanes(folder):
    """A daemon claims memory for what the lanes of its ranks hold, and not for all of them."""
    if IS_SANITIZED:
        raise Skip("the sanitizer's own memory counts as the daemon's")
    file = write(folder, n=0, stages=[*IDS, {"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 2000, "lanes": 64}}, PAD, BATCH])
    (folder / "rows.jsonl").write_text("".join(json.dumps({"id": str(i), "l": list(range(i % 50, i % 50 + 200))}) + "\n" for i in range(20000)))
    ctl("cache", "warm", file)
    expected = find_digest(ctl("run", file, "--no-daemon", "--digest", "--epochs", 1, "--rank", 1, "--world-size", 64).stdout)
    limited = folder / "limited.yaml"
    # Each worker of a machine with many CPUs needs memory of its own.
    limited.write_text("workers: 2\nmemory_limit: 32MiB\nmax_user_memory: 32MiB\n" + file.read_text())
    with Daemon(folder, limited) as daemon:
        refused = daemon.pull("s", "--epochs", 1, check=False)
        assert refused.returncode != 0 and b"does not fit into memory_limit (32.0 MiB)" in refused.stderr, refused
        assert daemon.digest("s", "--epochs", 1, "--rank", 1, "--world-size", 64) == expected


def test_counts_of_an_index(folder):
    """An index in place of a cache: the same steps, made from the source, of which a rank reads its lanes only."""
    for name in STREAMS:
        is_bad = name in ("pad", "bucket", "pack")
        cached = write(folder, name, is_bad)
        ctl("cache", "warm", cached)
        expected = {world: [steps_run(cached, rank, world) for rank in range(world)] for world in (1, 3, 4)}
        file = write(folder, name, is_bad, cache=None, index=f"index {name}")
        told = ctl("run", file, "--no-daemon", check=False)
        assert told.returncode != 0 and b"has no complete index for this data and these stages: make it with `leatctl cache warm" in told.stderr, told
        ctl("cache", "warm", file)
        for world, steps in expected.items():
            assert [steps_run(file, rank, world) for rank in range(world)] == steps, (name, world)


def without_lanes(name):
    blocks = {"shuffle": {key: value for key, value in LANES["shuffle"].items() if key != "lanes"}}
    return [blocks if stage == LANES else stage for stage in STREAMS[name][1]]


def test_index_of_blocks(folder):
    """Without lanes an index says where the blocks are, and a rank of several does not read all to count them. The steps are the same."""
    for name in STREAMS:
        stages, is_bad = without_lanes(name), name in ("pad", "bucket", "pack")
        file = write(folder, name, is_bad, stages=stages, cache=None, index="off")
        expected = {world: [steps_run(file, rank, world) for rank in range(world)] for world in (1, 3, 8)}
        write(folder, name, is_bad, stages=stages, cache=None, index=f"index {name}")
        for is_made in (False, True):
            for world, steps in expected.items():
                assert [steps_run(file, rank, world) for rank in range(world)] == steps, (name, world, is_made)
            if not is_made:
                window = write(folder, name, is_bad, stages=[stage for stage in stages if "shuffle" not in stage], cache=None,
                               index=f"index {name}")
                ctl("cache", "warm", window)
                n_other = len(list((folder / f"index {name}").glob("*.leat")))
                write(folder, name, is_bad, stages=stages, cache=None, index=f"index {name}")
                ctl("cache", "warm", file)
                assert len(list((folder / f"index {name}").glob("*.leat"))) == n_other + 1, "its frames are blocks"
    file = write(folder, stages=without_lanes("batch"), cache=None, index="index of the set")
    for args in (["--shard", "0/2"], ["--shard", "1/2"], ["--seal"]):
        ctl("prepare", file, "-o", folder / "set", *args)
    assert list((folder / "index of the set").glob("*.leat"))
    told = steps_run(file, 1, 3)
    write(folder, stages=without_lanes("batch"), cache=None, index="off")
    assert told == steps_run(file, 1, 3), "a frame of this index has four blocks of 16 records"


def test_worlds_that_change(folder):
    """4 ranks stop in mid-epoch, 3 go on, then 4 again: together they see what one machine sees. With a cache, or an index."""
    for name, kept in (("batch", {}), ("bucket", {}), ("batch", {"cache": None, "index": "index"}), ("bucket", {"cache": None, "index": "index"})):
        file = write(folder, name, **kept)
        ctl("cache", "warm", file)
        every, seen, position = steps_run(file, 0, 1), {}, []
        with Daemon(folder, file) as daemon:
            for world_size, n in [(4, 17), (3, 20), (4, 10**6)]:
                texts = set()
                for rank in range(world_size):
                    args = ["--rank", rank, "--world-size", world_size, "--format", "jsonl", "--batches", n, "--epochs", 1]
                    done = daemon.pull("s", *args, *position, "--save-position", folder / "position")
                    seen.update(lines_of(done.stdout))
                    texts.add((folder / "position").read_text())
                assert len(texts) == 1, texts
                position = ["--position", texts.pop().strip()]
        n_steps = 1 + max(step for epoch, step in every if epoch == 0)
        expected = {place: digest for place, digest in every.items() if place[0] == 0}
        assert len(seen) > n_steps - 4 and all(expected[place] == digest for place, digest in seen.items()), name


def bytes_read(file, rank, world_size):
    """Of all files, by the system's count for the process; the cache is what is large."""
    with subprocess.Popen([leat_harness.BIN / "leatctl", "run", file, "--no-daemon", "--rank", str(rank), "--world-size",
                           str(world_size)], stdout=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        counts = dict(line.split(": ") for line in open(f"/proc/{process.pid}/io", encoding="ascii").read().splitlines())
        assert process.wait(HANG_S) == 0
    return int(counts["rchar"])


def test_reads_its_own_lanes(folder):
    """Rank 0 of 6 reads little more than a sixth of the cache, whose frames are blocks; or, with an index, of the source."""
    file = folder / "s.yaml"
    rows = "".join(json.dumps({"l": [(i * k) % 251 for k in range(400)]}) + "\n" for i in range(4000))
    (folder / "rows.jsonl").write_text(rows)
    stages = [LANES, {"pad": {"input": "l", "length": 400, "value": 0}}, {"batch": {"batch_size": 16}}]
    file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": ["rows.jsonl"], "fields": {"l": "int32[]"}}},
                                          "cache": {"path": "cache"}, "stages": stages}}))
    ctl("cache", "warm", file)
    n_own, n_all = bytes_read(file, 0, 6), bytes_read(file, 0, 1)
    n_base = n_all - sum(path.stat().st_size for path in (folder / "cache").iterdir())
    assert (n_own - n_base) / (n_all - n_base) < 0.25, (n_own, n_all, n_base)
    file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": ["rows.jsonl"], "fields": {"l": "int32[]"}}},
                                          "index": "index", "stages": stages}}))
    ctl("cache", "warm", file)
    n_own, n_all = bytes_read(file, 0, 6), bytes_read(file, 0, 1)
    n_base = n_all - len(rows)
    assert (n_own - n_base) / (n_all - n_base) < 0.4, (n_own, n_all, n_base)
    blocks = [{"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 60}}, *stages[1:]]
    read = []
    for index in ("off", "index"):
        file.write_text(data.yaml_text({"s": {"source": {"jsonl": {"paths": ["rows.jsonl"], "fields": {"l": "int32[]"}}}, "index": index,
                                              "stages": blocks}}))
        if index != "off":
            ctl("cache", "warm", file)
        read.append(bytes_read(file, 0, 6))
    assert read[0] - read[1] > 0.8 * len(rows), "the index says where the blocks are, so that they are not counted"


def test_explained(folder):
    """The share of a node, and the lanes that fit its world."""
    file = write(folder)
    ctl("cache", "warm", file)

    def share_of(*args):
        return json.loads(ctl("explain", file, "--no-measure", "--json", *args).stdout)["share"]

    share = share_of("--world-size", 12, "--ranks", "0-2")
    assert (share["n_lanes"], share["n_own_lanes"], share["cpu"], share["bytes"]) == (12, 3, 0.25, 0.25), share
    assert share["n_requests"] == 32 and share["fitting_lanes"] == [], share  # of 126 blocks
    assert 0 < share["held_bytes"] < share_of("--world-size", 1)["held_bytes"] / 3
    assert share_of("--world-size", 48, "--ranks", "7")["n_own_lanes"] == 1
    share = share_of("--world-size", 8, "--ranks", 1)
    assert (share["n_own_lanes"], share["fitting_lanes"]) == (3, [8, 16]), share
    text = ctl("explain", file, "--no-measure", "--world-size", 8).stdout.decode()
    assert "8 ranks cannot share 12 lanes evenly: use `lanes: 8` or `lanes: 16`" in text, text
    assert "share" not in json.loads(ctl("explain", file, "--no-measure", "--json").stdout)
    for args in (["--ranks", "0-7"], *(["--world-size", 8, "--ranks", ranks] for ranks in ("8", "3-1", "0-8", "-1", "x", "1-", "1-2-3"))):
        done = ctl("explain", file, *args, check=False)
        assert done.returncode == 2 and b"--ranks" in done.stderr, (args, done.stderr)


def test_refused(folder):
    """What is wrong, and the command that mends it."""
    def error_of(file, *args, **changes):
        done = ctl("run", file, "--no-daemon", *args, check=False)
        assert done.returncode != 0, changes
        return done.stderr.decode()

    file = write(folder)
    error = error_of(file)
    assert "has no complete cache for this data and these stages: make it with `leatctl cache warm " in error, error
    with Daemon(folder, file) as daemon:
        done = daemon.pull("s", "--rank", 1, "--world-size", 4, check=False)
        assert done.returncode != 0 and "`leatctl cache warm " in done.stderr.decode(), done.stderr
    ctl("cache", "warm", file)
    error = error_of(file, "--rank", 8, "--world-size", 8)
    assert "rank 8 is outside 0..7" in error, error
    with Daemon(folder, file) as daemon:
        done = daemon.pull("s", "--rank", 8, "--world-size", 8, check=False)
        assert done.returncode != 0 and b"8" in done.stderr, done.stderr
        done = daemon.pull("s", "--rank", 13, "--world-size", 24, "--epochs", 1)  # more ranks than lanes
    write(folder, n=100)
    ctl("cache", "warm", file)
    error = error_of(file)
    assert "shuffle.lanes (12) is more than the 7 blocks of the data (block_size is 16 records)" in error, error
    file = write(folder, cache=None)
    error = error_of(file)
    assert "shuffle.lanes: needs to know the number of records: give the stream a `cache`" in error, error
    file = write(folder, stages=[*IDS, {"shuffle": {**LANES["shuffle"], "lanes": 0}}, PAD, BATCH])
    assert "shuffle.lanes: 0 is outside 1..4096" in error_of(file), error_of(file)
    for stage in ({"take": {"count": 5}}, {"skip": {"count": 5}}, {"dedup": {"input": "id"}}, {"shuffle": {"global": True}}):
        error = error_of(write(folder, stages=[*IDS, LANES, stage, PAD, BATCH]))
        assert "comes after `shuffle: {lanes}`, so it would see the rows of only one lane" in error, error


if __name__ == "__main__":
    main(globals())

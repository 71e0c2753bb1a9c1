#!/usr/bin/env python3
"""Ranks of a world get as many steps each; what is to be skipped is; and where rows come from can be asked.

    test_ranks.py BIN [PATTERN]
"""
import itertools
import json
import os
import signal
import subprocess

import data
import leat_harness
from leat_harness import HANG_S, Daemon, ctl, find_digest, main, wait_until

N = 1003
STAGES = [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": ["id"]}},
          {"shuffle": {"buffer_size": 200}}, {"batch": {"batch_size": 10}}]


def write(folder):
    (folder / "ids.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(N)))


def text_of(**options):
    return data.yaml_text({"s": {"source": {"csv": {"paths": ["ids.csv"]}}, **options, "stages": STAGES}})


def steps_of(daemon, rank, world_size, *args):
    done = daemon.pull("s", "--rank", rank, "--world-size", world_size, "--format", "jsonl", *args)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["step"]: line["digest"] for line in lines if "digest" in line and "step" in line}


def test_all_ranks_get_as_many(folder):
    write(folder)
    every = {}
    for uneven, world_size, n in [("drop", 1, 101), ("drop", 8, 12), ("pad", 8, 13)]:
        with Daemon(folder, text_of(uneven=uneven)) as daemon:
            for rank in range(world_size):
                steps = steps_of(daemon, rank, world_size)
                assert sorted(steps) == list(range(rank, n * world_size, world_size)), (uneven, rank, steps)
                if world_size == 1:
                    every = steps
                else:
                    assert all(every[step] == digest for step, digest in steps.items() if step in every)
    with Daemon(folder, text_of(uneven="error")) as daemon:
        done = daemon.pull("s", "--rank", 3, "--world-size", 8, check=False)
        assert "epoch 0 has 101 steps, which 8 ranks cannot share evenly: 5 steps are too many" in done.stderr.decode(), done.stderr


ORDERS = {
    "none": [], "window": [{"shuffle": {"buffer_size": 300}}],
    "blocks": [{"shuffle": {"blocks": True, "block_size": 16, "buffer_size": 128}}], "global": [{"shuffle": {"global": True}}],
    "repeat": [{"take": {"count": 900}}, {"repeat": {"count": 3}}, {"shuffle": {"buffer_size": 99}}],
    "filter": [{"shuffle": {"buffer_size": 99}}, {"filter": {"input": "id", "min": 500}}]}


def steps_run(file, rank, world_size):
    done = ctl("run", file, "--no-daemon", "--rank", rank, "--world-size", world_size, "--epochs", 2, "--format", "jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(line["epoch"], line["step"]): line["digest"] for line in lines if "digest" in line and "step" in line}


def test_each_makes_its_own_rows(folder):
    """The ranks of any world have between them the steps of one machine, with and without bad records and an index."""
    for is_bad, order in itertools.product([False, True], ORDERS):
        (folder / "ids.csv").write_text("id\n" + "".join(f"{'x' if is_bad and i % 97 == 5 else i}\n" for i in range(3003)))
        file = folder / "s.yaml"
        file.write_text(data.yaml_text({"s": {
            "source": {"csv": {"paths": ["ids.csv"]}}, "on_error": "skip" if is_bad else "fail", "block_bytes": 4096,
            "index": "off" if order == "blocks" or not is_bad else str(folder), "uneven": "drop",
            "stages": [*STAGES[:2], *ORDERS[order], {"batch": {"batch_size": 7}}]}}))
        every = steps_run(file, 0, 1)
        n_steps = [1 + max(step for epoch, step in every if epoch == at) for at in range(2)]
        for world_size in [2, 3, 4, 7, 8]:
            steps = {}
            for rank in range(world_size):
                steps.update(steps_run(file, rank, world_size))
            assert steps == {(epoch, step): digest for (epoch, step), digest in every.items()
                             if step < n_steps[epoch] // world_size * world_size}, (is_bad, order, world_size)


def test_skipped(folder):
    write(folder)
    with Daemon(folder, text_of()) as daemon:
        every = steps_of(daemon, 0, 1)
        kept = daemon.pull("s", "--batches", 20, "--save-position", folder / "position")
        assert kept.returncode == 0
    with Daemon(folder, text_of(skip_steps=["4-7", "0:96-99"])) as daemon:
        steps = steps_of(daemon, 1, 4)
        assert steps == {step: every[step] for step in range(1, 100, 4) if step not in (5, 97)}, steps
        position = "@" + str(folder / "position")  # is none of the changed things
        assert min(steps_of(daemon, 0, 1, "--position", position)) == 20
        done = daemon.pull("s", "--rank", 0, "--world-size", 8, check=False)
        assert 'skip_steps: ["0:96-103", "0-7"]' in done.stderr.decode(), done.stderr


def test_absent_ranks(folder):
    """One rank of sixteen reads, from a ring of three slots, and stops again and again: batches kept for the absent ones
    never take all slots from it."""
    write(folder)
    stream = {"source": {"csv": {"paths": ["ids.csv"]}}, "stages": [
        {"cast": {"input": "id", "dtype": "int64"}}, {"one_hot": {"input": "id", "output": "row", "classes": 20000}},
        {"select": {"fields": ["row"]}}, {"batch": {"batch_size": 30}}, {"prefetch": {"prefetch_size": 1}}]}
    args, n_batches = ["pull", "s", "--epochs", "20", "--digest", "--window", "1", "--delivery", "copy"], 40
    with Daemon(folder, data.yaml_text({"s": stream})) as daemon:
        env = {"LEAT_SOCKET": str(daemon.sockets), "LEAT_RANK": "3", "LEAT_WORLD_SIZE": "16"}
        alone = find_digest(ctl(*args, env=env).stdout)
        env.update(LEAT_LOCAL_RANK="3", LEAT_LOCAL_WORLD_SIZE="16")
        with subprocess.Popen([leat_harness.BIN / "leatctl", *args], stdout=subprocess.PIPE,
                              env={**os.environ, **env}) as reader:
            wait_until(lambda: any(session["n_batches"] > 0 for session in daemon.sessions()), "it reads")
            for _ in range(5):
                reader.send_signal(signal.SIGSTOP)
                wait_until(lambda: all(session["n_held"] == 1 or session["n_batches"] == n_batches
                                       for session in daemon.sessions()), "it holds what it may, or has had all")
                reader.send_signal(signal.SIGCONT)
            assert find_digest(reader.communicate(timeout=HANG_S)[0]) == alone


def rows_of(*args):
    return json.loads(ctl("where", *args, "--json").stdout)


def test_where(folder):
    write(folder)
    text = (folder / "ids.csv").read_bytes()
    with Daemon(folder, text_of(), "--set", "streams.s.batch.batch_size=16") as daemon:
        found = json.loads(daemon.ctl("where", "s", "--epoch", 1, "--step", 5, "--json").stdout)
        assert b"step 63 does not exist" in daemon.ctl("where", "s", "--step", 63, check=False).stderr
        assert "there is no stream" in daemon.ctl("where", "other", "--step", 0, check=False).stderr.decode()
    assert found["n_rows"] == 16 and len(found["places"]) == 16, found
    for place in found["places"]:
        at = place["offset"]
        assert int(text[at:at + place["n_bytes"]]) == place["record"] == place["line"] - 2, place
    file = folder / "s.yaml"
    file.write_text(text_of().replace("batch_size: 10", "batch_size: 16").replace('"batch_size": 10', '"batch_size": 16'))
    assert rows_of(file, "--epoch", 1, "--step", 5)["places"] == found["places"]
    one = rows_of(file, "--epoch", 1, "--step", 5, "--row", 3)["places"]
    assert one == found["places"][3:4]
    bad = one[0]
    skipped = data.yaml_text({"s": {"source": {"csv": {"paths": ["ids.csv"]}}, "skip_records": [f"ids.csv:{bad['line']}"],
                                    "stages": STAGES[:3] + [{"batch": {"batch_size": 16}}]}})
    file.write_text(skipped)
    left = rows_of(file, "--epoch", 1, "--step", 5)
    assert [place["record"] for place in left["places"]] == [
        place["record"] for place in found["places"] if place["row"] != 3]
    assert "where: say which batch you mean" in ctl("where", file, check=False).stderr.decode()


if __name__ == "__main__":
    main(globals())

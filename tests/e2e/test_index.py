#!/usr/bin/env python3
"""Starts in mid-epoch with the real daemon: what they make again, what the log says of it, and that
it is the same batches; and steps that are known beforehand.

    test_index.py BIN [PATTERN]
"""
import json

import data
import leat_harness
from leat_harness import Daemon, ctl

N_ROWS = 20000


def write_config(folder, stages, **options):
    csv = data.titanic(folder, N_ROWS)
    stream = data.titanic_stream(csv, block_bytes=16384, **options)
    stream["stages"] = stages(stream["stages"])
    config = folder / "s.yaml"
    config.write_text(data.yaml_text({"s": stream}))
    return config


def with_filter(stages):
    """Behind the shuffle, so that the order looks at rows."""
    at = [i for i, stage in enumerate(stages) if "shuffle" in stage][0]
    return stages[:at + 1] + [{"filter": {"input": "labels", "equals": 1}}] + stages[at + 1:]


def rows_made(daemon):
    stats = json.loads(daemon.ctl("stats", "--json").stdout)
    return sum(stage["n_records"] for stream in stats for stage in stream["stages"] if stage["name"] == "csv")


def pull(daemon, *args):
    return [json.loads(line) for line in
            daemon.pull("s", "--format", "jsonl", "--epochs", 1, *args).stdout.splitlines()]


def starts(daemon):
    return json.loads(daemon.ctl("explain", "s", "--json").stdout)


def check(folder, config, may_replay):
    position = folder / "position"
    with Daemon(folder, config) as daemon:
        whole = pull(daemon)
    with Daemon(folder, config) as daemon:
        n = len(whole) // 10 * 9
        assert pull(daemon, "--batches", n, "--save-position", position) == whole[:n]
    with Daemon(folder, config) as daemon:
        assert pull(daemon, "--position", f"@{position}") == whole[n:]
        assert rows_made(daemon) < N_ROWS / 2 or may_replay
        assert (" replay " in daemon.log.replace("event=", " ")) == may_replay


def test_by_counting(folder):
    config = write_config(folder, lambda stages: stages)
    check(folder, config, False)
    with Daemon(folder, config) as daemon:
        explained = starts(daemon)
        assert explained["start"] == "fast: leat counts the earlier records without processing them"
        assert explained["n_steps"] == -(-N_ROWS // explained["batch_size"]), explained


def test_made_beforehand(folder):
    """`cache warm` makes the index that a run would make, and then a rank of several makes only its own rows."""
    config = write_config(folder, with_filter, index=str(folder / "index"))
    made = json.loads(ctl("cache", "warm", config, "--json").stdout)
    (file,) = (folder / "index").glob("*.leat")
    assert made["is_complete"] and made["file"] == file.name and made["n_records"] == N_ROWS, made
    before = file.read_bytes()
    with Daemon(folder, config) as daemon:
        for rank in range(2):
            pull(daemon, "--rank", rank, "--world-size", 8)
        assert rows_made(daemon) < N_ROWS / 2
    assert file.read_bytes() == before
    again = json.loads(ctl("cache", "warm", config, "--json").stdout)
    assert again["n_built_records"] == 0 and again["is_complete"], again
    done = ctl("cache", "warm", write_config(folder, with_filter), check=False)
    assert "has no `cache: {path: FOLDER}`, and no `index: FOLDER`" in done.stderr.decode(), done.stderr


def test_explain_of_a_file(folder):
    """What a run of a file has counted is known when that file is explained."""
    config = write_config(folder, lambda stages: stages)
    assert json.loads(ctl("explain", config, "--json", "--no-measure").stdout)["n_steps"] is None
    n = len(ctl("run", config, "--format", "jsonl").stdout.splitlines())
    explained = json.loads(ctl("explain", config, "--json", "--no-measure").stdout)
    assert explained["n_steps"] == -(-N_ROWS // explained["batch_size"]) <= n, explained
    config = write_config(folder, with_filter)
    assert "fast if an earlier epoch made an index" in json.loads(ctl("explain", config, "--json", "--no-measure").stdout)["start"]


def test_by_index(folder):
    config = write_config(folder, with_filter)
    check(folder, config, False)
    with Daemon(folder, config) as daemon:
        explained = starts(daemon)
        assert "fast if an earlier epoch made an index" in explained["start"]
        assert explained["n_steps"] is None and "`filter`" in explained["steps_reason"]


def test_without(folder):
    check(folder, write_config(folder, with_filter, index="off"), True)


if __name__ == "__main__":
    leat_harness.main(globals())

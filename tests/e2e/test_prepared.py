#!/usr/bin/env python3
"""Prepared sets with the real programs: shards in any order and any number of attempts, sealed, trained from without the source.

    test_prepared.py BIN [PATTERN]
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

import data
import leat_harness
from leat_harness import BIN, SLOW, Daemon, ctl

N_ROWS = 20000 if SLOW == 1 else 6000


def write_config(folder, name="train", **options):
    csv = data.titanic(folder, N_ROWS)
    config = folder / f"{name}.yaml"
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384, **options)}))
    return config


def prepare(config, folder, shard, env=None, check=True):
    return subprocess.run([BIN / "leatctl", "prepare", config, "--shard", shard, "-o", folder], capture_output=True,
                          env={**os.environ, **(env or {})}, check=check)


def shards_of(folder):
    return sorted(path.name.split("-", 1)[1] for path in folder.iterdir())


def test_array_jobs(folder):
    """Each scheduler tells the task its shard; what is not clear is refused."""
    config, shards = write_config(folder), folder / "shards"
    slurm = {"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "5"}
    for env in (slurm, {"AWS_BATCH_JOB_ARRAY_INDEX": "3", "AWS_BATCH_JOB_ARRAY_SIZE": "4"}, {"JOB_COMPLETION_INDEX": "0", "LEAT_SHARDS": "4"},
                {**slurm, "LEAT_SHARDS": "8"}):
        prepare(config, shards, "auto", env)
    assert shards_of(shards) == ["0-of-4.leat", "1-of-4.leat", "3-of-4.leat", "6-of-8.leat"]
    for env, what in (({}, b"this is not a task of a job array"), ({"JOB_COMPLETION_INDEX": "0"}, b"LEAT_SHARDS is not set"),
                      ({"JOB_COMPLETION_INDEX": "x", "LEAT_SHARDS": "4"}, b'JOB_COMPLETION_INDEX is "x", not a number'),
                      ({"JOB_COMPLETION_INDEX": "4", "LEAT_SHARDS": "4"}, b'"4/4" is not I/N'),
                      ({"AWS_BATCH_JOB_ARRAY_INDEX": "-1", "AWS_BATCH_JOB_ARRAY_SIZE": "4"}, b'"-1/4" is not I/N'),
                      ({**slurm, "SLURM_ARRAY_TASK_ID": "-1", "LEAT_SHARDS": "4"}, b'"-1/4" is not I/N'),
                      ({**slurm, "SLURM_ARRAY_TASK_MIN": "7"}, b"SLURM_ARRAY_TASK_MIN is not in 0..6"),
                      ({**slurm, "SLURM_ARRAY_TASK_ID": "9"}, b'"4/4" is not I/N')):
        refused = prepare(config, folder / "none", "auto", env, check=False)
        assert refused.returncode == 2 and what in refused.stderr, (env, refused.stderr)
    assert not (folder / "none").exists()


def bytes_read(config, rank, world_size):
    with subprocess.Popen([BIN / "leatctl", "run", config, "--no-daemon", "--rank", str(rank), "--world-size", str(world_size)],
                          stdout=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        counts = dict(line.split(": ") for line in open(f"/proc/{process.pid}/io", encoding="ascii").read().splitlines())
        assert process.wait(leat_harness.HANG_S) == 0
    return int(counts["rchar"])


def test_blocks_are_read_once(folder):
    """In any order of blocks, and for any part of the ranks, the set is read about once: its frames are blocks."""
    csv, shards = data.titanic(folder, 20000), folder / "set"
    stream = data.titanic_stream(csv)
    shuffle = {"shuffle": {"blocks": True, "block_size": 48, "buffer_size": 500}}
    stages = [shuffle, *(stage for stage in stream["stages"] if "shuffle" not in stage)]
    written = {}
    for name, cache in (("plain", {}), ("prepared", {"cache": {"prepared": str(shards)}})):
        written[name] = folder / f"{name}.yaml"
        written[name].write_text(data.yaml_text({"s": {**stream, "stages": stages, **cache}}))
    config = written["prepared"]
    for shard in ("0/2", "1/2"):
        prepare(config, shards, shard)
    ctl("prepare", config, "--seal", "-o", shards)
    assert leat_harness.run_digest(config) == leat_harness.run_digest(written["plain"])
    n_set = sum(path.stat().st_size for path in shards.iterdir())
    for world_size in (1, 5):
        n_read = bytes_read(config, 0, world_size)
        assert n_read < 2 * n_set + (2 << 20), (world_size, n_read, n_set)


def test_attempts(folder):
    """Attempts at once, after one that was killed, after one that is complete, at a damaged one, from touched data."""
    config, shards = write_config(folder), folder / "shards"
    command = [BIN / "leatctl", "prepare", config, "--shard", "1/2", "-o", shards]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    attempts = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(6)]
    assert [attempt.wait(leat_harness.HANG_S) for attempt in attempts] == [0] * 6
    shard, = shards.glob("*-1-of-2.leat")
    assert all(path == shard or path.suffix == ".tmp" for path in shards.iterdir())
    assert len(list(shards.iterdir())) <= 2, "only the killed attempt may have left something"
    inode, whole = shard.stat().st_ino, shard.read_bytes()
    os.utime(next(folder.glob("*.csv")))
    assert b"already complete" in prepare(config, shards, "1/2").stdout
    assert shard.stat().st_ino == inode
    shard.write_bytes(whole[:-100])
    prepare(config, shards, "1/2")
    assert shard.read_bytes() == whole
    ctl("cache", "prepare", config, "--shard", "0/2", "-o", shards)
    caches = write_config(folder, "cached", cache={"path": str(folder / "caches")})
    ctl("cache", "merge", caches, "--shards", shards)
    assert leat_harness.run_digest(caches) == leat_harness.run_digest(config)


SLOW = """
import json, sys, time
for line in sys.stdin:
    time.sleep(0.01)
    print(json.dumps({"_leat": json.loads(line)["_leat"], "slow": 1}), flush=True)
"""


def test_end_with(folder):
    """A shard is given up when the process ends that it is made for, also by SIGKILL; nothing of it stays."""
    csv, shards = data.titanic(folder, N_ROWS), folder / "shards"
    (folder / "slow.py").write_text(SLOW)
    program = {"command": [sys.executable, "slow.py"], "inputs": ["PassengerId"], "schema": {"slow": "int64"}}
    stages = [{"exec": program}, {"select": {"fields": ["slow"]}}, {"batch": {"batch_size": 32}}]
    config = folder / "slow.yaml"
    stream = {"source": {"csv": {"paths": [str(csv)]}}, "block_bytes": 4096, "stages": stages}
    config.write_text(data.yaml_text({"s": stream}))
    owner = subprocess.Popen(["sleep", "infinity"])
    command = [BIN / "leatctl", "prepare", config, "--shard", "0/2", "-o", shards, "--end-with", str(owner.pid)]
    attempt = subprocess.Popen(command, stderr=subprocess.PIPE)
    leat_harness.wait_until(lambda: shards.exists() and list(shards.iterdir()), "a shard is being made")
    owner.kill()
    owner.wait()
    _, told = attempt.communicate(timeout=leat_harness.HANG_S)
    assert attempt.returncode == 130 and b"interrupted; the next attempt starts from the beginning" in told, told
    assert not list(shards.iterdir())
    refused = subprocess.run(command, capture_output=True)
    assert refused.returncode == 1 and b"there is no such process" in refused.stderr, refused


def seal(config, folder, check=True):
    return ctl("prepare", config, "--seal", "-o", folder, check=check)


def write_set(folder, shuffle=None, n_shards=4, name="train", **options):
    """The stream from its source, and from a set beside it that is sealed. Returns both files, the source and the set."""
    csv = data.titanic(folder, N_ROWS)
    stream = data.titanic_stream(csv, block_bytes=16384, **options)
    if shuffle:
        stream["stages"] = [{"shuffle": shuffle} if "shuffle" in stage else stage for stage in stream["stages"]]
    plain, prepared, shards = folder / f"{name}.yaml", folder / f"{name}-set.yaml", folder / f"{name}-set"
    plain.write_text(data.yaml_text({"s": stream}))
    prepared.write_text(data.yaml_text({"s": {**stream, "cache": {"prepared": str(shards)}}}))
    order = list(range(n_shards)) * 2
    random.Random(1).shuffle(order)
    for i in order:  # the file that trains prepares as well
        prepare(random.choice((plain, prepared)), shards, f"{i}/{n_shards}")
    seal(prepared, shards)
    return plain, prepared, csv, shards


def test_without_the_source(folder):
    """The batches and positions of the source, in every order, from any step, for any world."""
    for name, shuffle in (("window", {"buffer_size": 500}), ("blocks", {"blocks": True, "buffer_size": 300}), ("global", {"global": True}),
                          ("spilled", {"global": True, "max_bytes": "1MiB"})):
        plain, prepared, csv, shards = write_set(folder, shuffle, name=name)
        worlds = [("--world-size", n, "--rank", rank) for n in (1, 3) for rank in range(n)]
        def digests(file):
            return [leat_harness.run_digest(file, "--epochs", 2, *world) for world in worlds]
        expected = digests(plain)
        ctl("run", plain, "--batches", 37, "--save-position", folder / "position")
        expected_rest = leat_harness.run_digest(plain, "--position", f"@{folder / 'position'}")
        assert digests(prepared) == expected, name
        aside = csv.rename(folder / "aside")
        assert digests(prepared) == expected, name
        for workers in (1, 4):
            assert leat_harness.run_digest(prepared, "--workers", workers, "--position", f"@{folder / 'position'}") == expected_rest, name
        ctl("run", prepared, "--batches", 37, "--save-position", folder / "position of the set")
        assert (folder / "position of the set").read_bytes() == (folder / "position").read_bytes()
        aside.rename(csv)
    text = (shards / "set.json").read_text()
    seal(prepared, shards)
    assert (shards / "set.json").read_text() == text, "it is the same when it is sealed again"
    assert not {"inode", "time", "mtime"} & set(json.loads(text))
    assert bytes.fromhex(json.loads(text)["sources"][0]["head"]) == csv.read_bytes().splitlines(True)[0], "the fields, no records"
    csv.unlink()
    for command in ("check", "explain"):
        ctl(command, prepared)
    with Daemon(folder, prepared) as daemon:
        assert daemon.digest("s", "--epochs", 2) == expected[0]


def test_seal_makes_the_index(folder):
    """A stream that names a folder for its index has it by sealing, as `cache warm` makes it, and reads no more of its source for it."""
    for name, stage in (("pack", {"pack": {"fields": ["input_ids"], "length": 128, "value": 0}}), ("window", None)):
        csv, index = data.titanic(folder, N_ROWS), folder / f"{name} index"
        stream = data.titanic_stream(csv, block_bytes=16384, index=str(index))
        if stage:
            stream["stages"] = [stage if "pad" in kept else {"select": {"fields": ["input_ids"]}} if "select" in kept else kept
                                for kept in stream["stages"] if "cast" not in kept]
        file = folder / f"{name}.yaml"
        file.write_text(data.yaml_text({"s": stream}))
        expected = [leat_harness.run_digest(file, "--epochs", 2, *world) for world in ((), ("--world-size", 3, "--rank", 1))]
        ctl("cache", "warm", file)
        (warm,) = index.glob("*.leat")
        bytes_of = warm.read_bytes()
        warm.unlink()
        for i in range(3):
            prepare(file, folder / f"{name} set", f"{i}/3")
        told = json.loads(ctl("prepare", file, "--seal", "-o", folder / f"{name} set", "--json").stdout)
        assert told["index"] == str(warm), told
        assert warm.read_bytes() == bytes_of
        assert [leat_harness.run_digest(file, "--epochs", 2, *world) for world in ((), ("--world-size", 3, "--rank", 1))] == expected
        ctl("prepare", file, "--seal", "-o", folder / f"{name} set")
        assert warm.read_bytes() == bytes_of


def refused(folder, *command):
    done = ctl(*command, check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr.decode()


def test_bad_sets(folder):
    """A set that is not sealed, not whole, or of something else is named, with the command to run."""
    plain, prepared, csv, shards = write_set(folder)
    sealed = shards / "set.json"
    text, shard = sealed.read_text(), next(shards.glob("*-2-of-4.leat"))
    sealed.unlink()
    told = refused(folder, "run", prepared, "--digest")
    assert "the set is not sealed" in told and "--seal" in told, told
    shard.rename(folder / "aside")
    told = refused(folder, "prepare", plain, "--seal", "-o", shards)
    assert "shard 2/4 is missing" in told and "--shard 2/4" in told, told
    sealed.write_text(text)
    told = refused(folder, "run", prepared, "--digest")
    assert "shard 2/4 is missing" in told and "--shard 2/4" in told, told
    shard.write_bytes(next(shards.glob("*-1-of-4.leat")).read_bytes())
    told = refused(folder, "run", prepared, "--digest")
    assert "is not the sealed shard" in told and shard.name in told, told
    told = refused(folder, "prepare", plain, "--seal", "-o", shards)
    assert "is the same shard as" in told, told
    (folder / "aside").rename(shard)
    before = csv.read_bytes()  # the same number twice: of other data
    csv.write_bytes(before + before.splitlines(True)[-1])
    first = set(shards.glob("*-1-of-4.leat"))
    prepare(plain, shards, "1/4")
    csv.write_bytes(before)
    (other,) = set(shards.glob("*-1-of-4.leat")) - first
    told = refused(folder, "prepare", plain, "--seal", "-o", shards)
    assert "was made from other data" in told and other.name in told and "--shard 1/4" in told, told
    other.unlink()
    prepare(plain, shards, "1/3")
    assert "belongs to a set of" in refused(folder, "prepare", plain, "--seal", "-o", shards)
    next(shards.glob("*-1-of-3.leat")).unlink()
    for bad in ("", "{}", text[:-9], text.replace('"n_rows"', '"n_row"'), text.replace('"blocks": "', '"blocks": "00'), "[" * 4000):
        assert bad != text
        sealed.write_text(bad)
        assert "set.json" in refused(folder, "run", prepared, "--digest"), bad[:50]
    sealed.write_text(text)
    other = folder / "other.yaml"
    other.write_text(data.yaml_text({"s": data.titanic_stream(csv, max_record_bytes=5000, cache={"prepared": str(shards)})}))
    told = refused(folder, "run", other, "--digest")
    assert "another source, per-record stage" in told and "--shard I/N" in told, told
    told = refused(folder, "prepare", other, "--seal", "-o", shards)
    assert "another source, per-record stage" in told and "--shard 0/4" in told, told
    csv.write_bytes(csv.read_bytes() + csv.read_bytes().splitlines(True)[-1])
    told = refused(folder, "run", prepared, "--digest")
    assert "other data" in told and "--shard I/N" in told, told
    assert "other data" in refused(folder, "prepare", prepared, "--seal", "-o", shards)


def test_flipped_byte(folder):
    """A damaged block is named; it is made again from the source, and without it the stream fails."""
    for name, shuffle in (("window", {"buffer_size": 500}), ("spilled", {"global": True, "max_bytes": "1MiB"})):
        plain, prepared, csv, shards = write_set(folder, shuffle, name=name)
        expected = leat_harness.run_digest(plain)
        shard = next(shards.glob("*-2-of-4.leat"))
        whole = shard.read_bytes()
        shard.write_bytes(whole[:9000] + bytes([whole[9000] ^ 4]) + whole[9001:])
        done = ctl("run", prepared, "--digest")
        assert leat_harness.find_digest(done.stdout) == expected
        assert shard.name.encode() in done.stderr and b"block at byte" in done.stderr, done.stderr
        assert shard.read_bytes() != whole, "a sealed set is not written"
        aside = csv.rename(folder / "aside")
        told = refused(folder, "run", prepared, "--digest")
        assert shard.name in told and "block at byte" in told and str(csv) in told, told
        bytes_of = aside.read_bytes()
        csv.write_bytes(bytes_of[:-3] + b"9" + bytes_of[-2:])
        assert "this is not the file from which the set was made" in refused(folder, "run", prepared, "--digest")
        csv.unlink()
        shard.unlink()
        aside.rename(csv)
        prepare(plain, shards, "2/4")
        assert leat_harness.run_digest(prepared) == expected, "no need to seal it again"


def test_jobs(folder):
    """Slurm's job makes a sealed set; `srun` is a stand-in, which runs the task here. Those of Ray and Dask are in tests/python."""
    config, shards, job = write_config(folder), folder / "it's a set", folder / "job.sh"
    srun = folder / "stubs/srun"
    srun.parent.mkdir()
    srun.write_text('#!/bin/sh\nexec "$@"\n')
    srun.chmod(0o755)
    env = {**os.environ, "PATH": f"{srun.parent}:{BIN}:{os.environ['PATH']}"}
    job.write_bytes(ctl("prepare", config, "s", "--job", "slurm", "-o", shards.name, cwd=folder).stdout)
    for i in range(64):
        subprocess.run(["bash", job], check=True, stdout=subprocess.DEVNULL, env={**env, "SLURM_ARRAY_TASK_ID": str(i)})
    subprocess.run(["bash", job, "--seal"], check=True, stdout=subprocess.DEVNULL, env=env)
    assert len(list(shards.glob("*-of-64.leat"))) == 64 and (shards / "set.json").exists()
    text = ctl("prepare", config, "--job", "kubernetes", "-o", "/data/set").stdout.decode()
    assert text.count("kind: Job") == 2 and '"-o", "/data/set"' in text and '"--seal"' in text
    assert b'"s3://b/k/"' in ctl("prepare", config, "--job", "ray", "-o", "s3://b/k/").stdout
    for words in (("--job", "slurm", "--seal"), ("--job", "pbs"), ()):
        assert ctl("prepare", config, *words, "-o", "x", check=False).returncode == 2, words


if __name__ == "__main__":
    leat_harness.main(globals())

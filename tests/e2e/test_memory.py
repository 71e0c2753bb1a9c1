#!/usr/bin/env python3
"""One budget for all memory: the daemon stays within it with many streams and trainers of different
paces, nobody waits for ever, the batches are the same, and what does not fit is refused with the sum.

    test_memory.py BIN [PATTERN]

The same with more of all: tests/bench/memory_bench.py.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import subprocess

import data
import leat_harness
import trainers
from leat_harness import HANG_S, Daemon, Skip, ctl, in_child, wait_until
from raw_client import RawClient

MIB = 1 << 20
NO_HUGE_PAGES = 41  # PR_SET_THP_DISABLE: else what is resident depends on how the machine is set
ctypes.CDLL(None).prctl(NO_HUGE_PAGES, 1, 0, 0, 0)
IS_SANITIZED = any(name in (leat_harness.BIN / "leatd").read_bytes() for name in (b"__asan_init", b"__tsan_init"))


def limited(limit):
    """All of it for whoever comes: these tests are those of one user."""
    return {"memory_limit": limit, "max_user_memory": limit}


def prose(folder, n, seed=3):
    rng = random.Random(seed)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(1, 9))) for _ in range(20000)]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(
        [*"abcdefghijklmnopqrstuvwxyz", *("##" + c for c in "abcdefghijklmnopqrstuvwxyz"), *words])]) + "\n")
    with open(folder / "prose.jsonl", "w") as file:
        for i in range(n):
            text = " ".join(rng.choices(words, k=rng.randint(20, 400)))
            file.write(json.dumps({"id": i, "text": text}) + "\n")


def prose_stream(length, batch_size, shuffle, block_bytes=262144, prefetch=4):
    return {"source": {"jsonl": {"paths": ["prose.jsonl"]}}, "block_bytes": block_bytes, "stages": [
        {"tokenize": {"input": "text", "output": "ids", "tokenizer": "vocab.txt", "max_length": length}},
        {"pad": {"input": "ids", "length": length, "value": 0, "mask": "mask"}},
        {"select": {"fields": ["id", "ids", "mask"]}},
        {"shuffle": {"buffer_size": shuffle}},
        {"batch": {"batch_size": batch_size}},
        {"prefetch": {"prefetch_size": prefetch}}]}


def four_streams(folder):
    """Whose memory is in different places: blocks that a window holds, a tokenizer's caches, packing,
    references of large batches."""
    csv = data.titanic(folder, 40000)
    prose(folder, 4000)
    packed = prose_stream(512, 8, 10)
    packed["stages"] = [packed["stages"][0], {"pack": {"fields": ["ids"], "length": 512, "how": "best_fit", "window": 256,
                                                       "value": 0, "split": True, "segment_ids": "segments"}},
                        {"select": {"fields": ["ids", "segments"]}}, {"batch": {"batch_size": 8}}]
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(300000)))
    return {"window": data.titanic_stream(csv, batch_size=32, length=64, shuffle=20000),
            "prose": prose_stream(256, 32, 500, 1 << 20), "packed": packed,
            "numbers": data.numbers_stream(["numbers.csv"], batch_size=100000)}


def n_refused(daemon):
    """How often a limit refused something to the only user."""
    return json.loads(daemon.ctl("streams", "--users", "--json").stdout)["users"][0]["n_refused"]


def check_pools(daemon):
    """What the statistics say of themselves, and against what is counted of the daemon."""
    names = {"source", "scratch", "blocks", "workspaces"}
    for stream in json.loads(daemon.ctl("stats", "--json").stdout):
        if stream["n_batches"] == 0:
            continue  # its trainers were refused, or ended before it had worked for them
        for pool in stream["pools"]:
            assert pool["n_hits"] + pool["n_misses"] == pool["n_allocations"], pool
            assert pool["current_bytes"] <= pool["peak_bytes"], pool
            assert pool["n_allocations"] > 0 or pool["name"] not in names, pool


def test_eight_trainers_of_four_streams(folder):
    streams = four_streams(folder)
    for limit, fits in ((128 * MIB, False), (640 * MIB, True)):
        with Daemon(folder, data.yaml_text(streams, **limited(limit)), "--workers", "2") as daemon:
            watch = trainers.Watch(daemon, limit)
            before = daemon.status()["memory_claimed_bytes"]
            pullers = [trainers.Trainer(daemon, list(streams)[i % 4], trainers.Trainer.PACES[i % 5], is_copy=i % 4 == 1,
                                        seed=i) for i in range(8)]
            try:
                trainers.run(daemon, pullers, watch, 2.5)
                trainers.run(daemon, pullers, watch, HANG_S, until=lambda: all(
                    t.n_batches > 0 if fits else t.has_an_answer() for t in pullers))
            finally:
                for puller in pullers:
                    puller.end()
            figures = watch.figures()
            print(" ", {key: figures[key] for key in ("limit", "hwm", "share", "counted_peak")}, flush=True)
            refused = [message for t in pullers for message in t.messages]
            # a trainer that comes while others grow into free memory waits five seconds for a part of it, and asks again
            assert all("memory_limit" in message for message in refused), refused
            assert all(t.n_batches > 0 if fits else t.has_an_answer() for t in pullers), \
                [(t.stream, t.pace, t.n_batches) for t in pullers]
            assert IS_SANITIZED or figures["share"] <= 1.1, figures  # its own memory is several times ours
            assert figures["counted_peak"] <= 1.1 * limit, figures
            check_pools(daemon)
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "all trainers are gone")
            wait_until(lambda: daemon.status()["memory_claimed_bytes"] < before + 32 * MIB, "their memory is given back")


def test_large_records(folder):
    """A record larger than a block is asked for, and is the same; or the stream fails, and says why."""
    with open(folder / "large.jsonl", "w") as file:
        for i in range(16):
            n = [1, 100, 70000, 400000][i % 4]
            file.write('{"id": %d, "list": [%s]}\n' % (i, ",".join("7" * (j % 3 + 1) for j in range(n))))
    stream = {"source": {"jsonl": {"paths": ["large.jsonl"], "fields": {"id": "int64", "list": "json"}}}, "stages": [
        {"select": {"fields": ["id"]}}, {"batch": {"batch_size": 4}}]}
    digests = set()
    for settings in ({}, limited("256MiB"), limited("128MiB")):
        with Daemon(folder, data.yaml_text({"large": stream}, **settings), "--workers", "2") as daemon:
            digests.add(daemon.digest("large", "--epochs", "2"))
    assert len(digests) == 1, digests
    limit = 48 if IS_SANITIZED else 40
    with Daemon(folder, data.yaml_text({"large": stream}, **limited(f"{limit}MiB")), "--workers", "2") as daemon:
        failed = daemon.pull("large", check=False)
        for part in (f"memory_limit ({limit}.0 MiB) is reached", "larger than block_bytes", "max_record_bytes"):
            assert failed.returncode != 0 and part in failed.stderr.decode(), failed
        assert IS_SANITIZED or trainers.status_of(daemon.pid)["VmHWM"] < 44 * MIB


def test_same_batches_within_little(folder):
    prose(folder, 2000)
    streams = {"p": prose_stream(128, 32, 300)}
    digests = set()
    for settings in ({}, limited("80MiB"), limited("1GiB")):
        with Daemon(folder, data.yaml_text(streams, **settings), "--workers", "3") as daemon:
            digests.add(daemon.digest("p", "--epochs", "2"))
            digests.add(daemon.digest("p", "--epochs", "2", "--delivery", "copy"))
    assert len(digests) == 1, digests


def shuffle_stream(max_bytes, cache=None):
    stream = {"source": {"jsonl": {"paths": ["lists.jsonl"]}}, "block_bytes": 65536, "stages": [
        {"shuffle": {"global": True, "max_bytes": max_bytes}},
        {"pad": {"input": "ids", "length": 1000, "value": 0}},
        {"batch": {"batch_size": 8}}, {"prefetch": {"prefetch_size": 2}}]}
    return stream | ({"cache": {"path": cache}} if cache else {})


def test_full_shuffle_of_more_than_memory(folder):
    """A set of 20 times max_bytes, and of more than memory_limit has left."""
    numbers = [str(1000000 + i) for i in range(6000)]
    with open(folder / "lists.jsonl", "w") as file:
        for i in range(5000):
            file.write('{"id": %d, "ids": [%s]}\n' % (i, ",".join(numbers[i:i + 1000])))
    streams = {"whole": shuffle_stream("1GiB"), "part": shuffle_stream("2MiB", "caches")}
    digests, hwm = set(), {}
    for stream in streams:
        with Daemon(folder, data.yaml_text(streams), "--workers", "2") as daemon:
            digests.add(daemon.digest(stream, "--epochs", "3"))
            hwm[stream] = trainers.status_of(daemon.pid)["VmHWM"]
    assert IS_SANITIZED or hwm["part"] < hwm["whole"] - 20 * MIB, hwm  # half of the set
    limit = "80MiB" if IS_SANITIZED else "42MiB"  # the sanitizer's own memory counts as the daemon's
    with Daemon(folder, data.yaml_text({"part": shuffle_stream("1GiB", "caches")}, **limited(limit)),
                "--workers", "2") as daemon:
        digests.add(daemon.digest("part", "--epochs", "3"))
        hwm["limited"] = trainers.status_of(daemon.pid)["VmHWM"]
        print(" ", hwm, flush=True)
        assert IS_SANITIZED or hwm["limited"] < 46 * MIB, hwm
    assert len(digests) == 1, digests


def test_what_does_not_fit_is_refused(folder):
    prose(folder, 1000)
    streams = {"small": prose_stream(64, 8, 10), "large": prose_stream(512, 4096, 10, prefetch=8)}
    with Daemon(folder, data.yaml_text(streams, **limited("96MiB")), "--workers", "2") as daemon:
        refused = daemon.pull("large", check=False)
        message = refused.stderr.decode()
        assert refused.returncode != 0, refused
        for part in ("does not fit into memory_limit (96.0 MiB)", "it needs at least", "ring", "blocks",
                     "tokenizers", "workspace", "MiB are free"):
            assert part in message, message
        told = re.search(r"at least ([0-9.]+) MiB .*order stages such as shuffle ([0-9.]+)", message)
        plan = json.loads(daemon.ctl("explain", folder / "leatd.yaml", "large", "--no-measure", "--json").stdout)["memory"]
        assert abs(plan["least_bytes"] / MIB - float(told[1])) < 0.5 and abs(plan["held_bytes"] / MIB - float(told[2])) < 0.1
        daemon.pull("small", "--epochs", "1")  # others are none the worse
        assert daemon.status()["memory_used_bytes"] < 96 * MIB


def test_a_refusal_keeps_its_advice(folder):
    """The error is cut where it is too long: then the names of other streams are lost, not what helps."""
    prose(folder, 1000)
    names = [letter * 40 for letter in "abc"]
    streams = {"large": prose_stream(512, 2048, 1 << 20, prefetch=8), **{name: prose_stream(64, 8, 10) for name in names}}
    streams["large"]["stages"][3:3] = [{"shuffle": {"buffer_size": 1 << 20}}] * 2
    with Daemon(folder, data.yaml_text(streams, **limited("192MiB")), "--workers", "2") as daemon, \
            contextlib.ExitStack() as stack:
        for name in names:
            stack.callback(RawClient(daemon).opened(name).close)
        message = daemon.pull("large", check=False).stderr.decode()
        assert "or raise memory_limit" in message and "for 3 runs of streams: " in message, message
        assert n_refused(daemon) == 1


def test_a_file_too_large_to_load(folder):
    """Named itself, or with its folder, of which only files of tokenizers count; also by a stage of one of several sources."""
    prose(folder, 100)
    with open(folder / "vocab.txt", "a") as file:
        for i in range(500000):
            file.write(f"word{i}\n")
    model = folder / "model"
    model.mkdir()
    os.link(folder / "vocab.txt", model / "vocab.txt")
    os.truncate(os.open(model / "model.safetensors", os.O_CREAT | os.O_WRONLY), 1 << 40)
    streams = {"file": prose_stream(64, 8, 10), "folder": prose_stream(64, 8, 10), "part": prose_stream(64, 8, 10)}
    streams["folder"]["stages"][0]["tokenize"]["tokenizer"] = "model"
    part = streams["part"]
    tokenize = {"tokenize": {**part["stages"].pop(0)["tokenize"], "tokenizer": "model"}}
    part["source"] = {"concat": {"sources": [{**part["source"], "stages": [tokenize]}]}}
    with Daemon(folder, data.yaml_text(streams, **limited("64MiB")), "--workers", "2") as daemon:
        told = {}
        for name in streams:
            refused = daemon.pull(name, check=False)
            found = re.search(r"the daemon needs ([0-9.]+) MiB while it loads", refused.stderr.decode())
            assert found, refused.stderr
            told[name] = float(found[1])
        assert 5 < told["file"] < 200 and len(set(told.values())) == 1, told
        assert IS_SANITIZED or trainers.status_of(daemon.pid)["VmHWM"] < 70 * MIB


def test_no_room_for_copies(folder):
    """Where a run fits, and the copies of its batches besides do not: that trainer is refused, at no cost for others."""
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(400)))
    stream = {"source": {"csv": {"paths": ["n.csv"]}}, "block_bytes": 4096, "stages": [
        {"cast": {"input": "id", "dtype": "int64"}}, {"one_hot": {"input": "id", "output": "row", "classes": 60000}},
        {"select": {"fields": ["row"]}}, {"batch": {"batch_size": 20}}, {"prefetch": {"prefetch_size": 1}}]}
    with Daemon(folder, data.yaml_text({"s": stream}, workers=1, tuner="off", window=4)) as daemon:
        own = daemon.status()["memory_claimed_bytes"]
        expected = daemon.digest("s", "--delivery", "copy")
    plan = json.loads(ctl("explain", folder / "leatd.yaml", "s", "--no-measure", "--json").stdout)["memory"]
    limit = own + plan["least_bytes"] + 8 * 60000 * 4 * 20 // 4
    with Daemon(folder, data.yaml_text({"s": stream}, workers=1, tuner="off", window=4, **limited(limit))) as daemon:

        def come_second():
            holder = RawClient(daemon).opened("s")
            holder.batch()
            refused = daemon.pull("s", "--delivery", "copy", check=False)
            assert refused.returncode != 0 and re.search(
                rb"copies of the stream's batches do not fit into memory_limit .* they may take 18\.4 MiB "
                rb"\(4 copies of 4\.58 MiB\)", refused.stderr), refused
            assert n_refused(daemon) == 1

        in_child(come_second)
        assert daemon.digest("s") == expected
        wait_until(lambda: daemon.status()["memory_claimed_bytes"] <= own + MIB, "what was claimed is given back")


def test_settings(folder):
    path = folder / "bad.yaml"
    path.write_text("memory_limit: 64MiB\nmax_user_memory: 65MiB\nstreams: {}\n")
    done = subprocess.run([leat_harness.BIN / "leatd", "--config", path, "--socket-dir", folder], capture_output=True,
                          timeout=HANG_S)
    assert done.returncode != 0 and b"bad.yaml:2:18: max_user_memory" in done.stderr, done.stderr
    for value, expected in (("lots", "expected a number of bytes, such as 4096, 500MB or 4GiB"),
                            ("1MiB", "is outside"), ("900TB", "iB of memory")):
        path = folder / "bad.yaml"
        path.write_text(f"memory_limit: {value}\nstreams: {{}}\n")
        done = subprocess.run([leat_harness.BIN / "leatd", "--config", path, "--socket-dir", folder],
                              capture_output=True, timeout=HANG_S)
        assert done.returncode == 78 and expected in done.stderr.decode(), done.stderr


# ---- several trainers, and memory for one run ----

TRAINER = leat_harness.BIN.parent / "tests" / "e2e" / "trainer"


@contextlib.contextmanager
def room_for_one_run(folder):
    """Batches of 5 MB, and a third more memory than a run takes at least whose two trainers hold four each."""
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(4000)))
    stream = {"source": {"csv": {"paths": ["n.csv"]}}, "block_bytes": 4096, "stages": [
        {"cast": {"input": "id", "dtype": "int64"}}, {"one_hot": {"input": "id", "output": "row", "classes": 60000}},
        {"select": {"fields": ["row"]}}, {"repeat": {"count": 0}}, {"batch": {"batch_size": 20}},
        {"prefetch": {"prefetch_size": 1}}]}
    with Daemon(folder, data.yaml_text({"s": stream}, workers=1, tuner="off")) as daemon:
        own = daemon.status()["memory_claimed_bytes"]
    plan = json.loads(ctl("explain", folder / "leatd.yaml", "s", "--no-measure", "--json").stdout)["memory"]
    limit = own + int(1.3 * (plan["least_bytes"] + 6 * 60000 * 4 * 20))
    with Daemon(folder, data.yaml_text({"s": stream}, workers=1, tuner="off", **limited(limit))) as daemon:
        yield daemon, {**os.environ, "LEAT_SOCKET": str(daemon.sockets)}


def test_late_rank(folder):
    """One of two local ranks holds all it may before the other comes: that one gets its batches, of the same run."""
    with room_for_one_run(folder) as (daemon, env):
        env |= {"LEAT_WORLD_SIZE": "2", "LEAT_LOCAL_WORLD_SIZE": "2"}
        first = subprocess.Popen([TRAINER, "s", "4", "4"], env={**env, "LEAT_RANK": "0", "LEAT_LOCAL_RANK": "0"},
                                 stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: any(s["n_held"] == 4 for s in daemon.sessions()), "the first one holds its batches")
            late = subprocess.run([leat_harness.BIN / "leatctl", "pull", "s", "--batches", "30", "--window", "4"],
                                  env={**env, "LEAT_RANK": "1", "LEAT_LOCAL_RANK": "1"}, capture_output=True, timeout=HANG_S)
            assert late.returncode == 0, late.stderr
            assert n_refused(daemon) == 0
        finally:
            first.kill()
            first.wait()


# ---- the limit where nobody gave one ----

def machine_bytes():
    return int(re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024


@contextlib.contextmanager
def control_group(limit):
    """A folder of control groups that may have so much, with one inside of it that says nothing itself."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        is_two = number == "0"
        if not is_two and "memory" not in controllers.split(","):
            continue
        parent = pathlib.Path("/sys/fs/cgroup", "" if is_two else "memory", path[1:])
        if is_two and not (parent / "memory.max").exists() and path != "/":
            continue
        outer = parent / f"leat-test-{os.getpid()}"
        inner = outer / "inner"
        try:
            outer.mkdir()
            (outer / ("memory.max" if is_two else "memory.limit_in_bytes")).write_text(str(limit))
            inner.mkdir()
        except OSError:
            with contextlib.suppress(OSError):
                outer.rmdir()
            continue
        try:
            yield inner
        finally:
            wait_until(lambda: not (inner / "cgroup.procs").read_text(), "the group is empty")
            inner.rmdir()
            outer.rmdir()
        return
    raise Skip("no control group that limits memory can be made here")


def within(group):
    return ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]


def test_limit_of_the_machine(folder):
    """Three quarters of it, of which a half is for one user."""
    with Daemon(folder, data.yaml_text({"s": prose_stream(64, 8, 10)})) as daemon:
        limit = daemon.status()["memory_limit_bytes"]
        if abs(limit - machine_bytes() * 3 / 4) > MIB:
            with open("/proc/self/cgroup") as groups:
                raise Skip(f"this machine's memory is limited: {groups.read()}")
        mine = json.loads(daemon.ctl("streams", "--users", "--json").stdout)["users"][0]["charges"]["memory"]
        assert mine["used"] == 0 and 0 < limit / 2 - mine["limit"] < 64 * MIB, (limit, mine)


def test_limit_of_a_control_group(folder):
    """Three quarters of what a group allows that it is in."""
    with control_group(400 * MIB) as group:
        with Daemon(folder, data.yaml_text({"s": prose_stream(64, 8, 10)}), wrapper=within(group)) as daemon:
            assert daemon.status()["memory_limit_bytes"] == 300 * MIB, daemon.status()


def pause_served(daemon):
    """Stops each trainer that has batches, so that it leaves the processors to others. Returns how many there are."""
    served = [session["pid"] for session in daemon.sessions() if session["n_batches"] > 10]
    for pid in served:
        os.kill(pid, signal.SIGSTOP)
    return len(served)


def seeds_of_one_user(daemon, n=40):
    """Sessions of one stream, with a seed each: each is a run of its own. Returns how many have batches."""
    pulls = [subprocess.Popen([leat_harness.BIN / "leatctl", "pull", "s", "--epochs", "0", "--seed", str(i)],
                              env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) for i in range(n)]
    try:
        wait_until(lambda: sum(p.poll() is None for p in pulls) == pause_served(daemon), "all have batches, or were refused")
        served = sum(p.poll() is None for p in pulls)
        assert daemon.process.poll() is None
        mine = json.loads(daemon.ctl("streams", "--users", "--json").stdout)["users"][0]["charges"]["memory"]
        assert 0 < mine["used"] <= mine["limit"] * 21 // 20, mine  # what cannot go on without may exceed it by so much
    finally:
        for pull in pulls:
            pull.terminate()
            pull.send_signal(signal.SIGCONT)
        texts = [pull.communicate()[1].decode() for pull in pulls]
    refused = [text for text in texts if "this user's share of memory_limit (" in text or
               "while it loads the files of this stream" in text and "MiB for this user" in text]
    others = [text for text in texts if text not in refused and text.strip() != "interrupted"]
    assert served + len(refused) == n and refused, (served, others)
    return served


def test_forty_seeds(folder):
    """One user's runs in a group of 400 MiB, which the kernel would end: refused beyond its part."""
    prose(folder, 2000)
    text = data.yaml_text({"s": prose_stream(512, 32, 500)}, workers=2)
    with control_group(400 * MIB) as group:
        with Daemon(folder, text, wrapper=within(group)) as daemon:
            assert seeds_of_one_user(daemon) >= 2
            wait_until(lambda: daemon.status()["n_sessions"] == 0, "all trainers are gone")


def test_forty_seeds_by_memory_limit(folder):
    prose(folder, 2000)
    limit = "600MiB" if IS_SANITIZED else "300MiB"
    with Daemon(folder, data.yaml_text({"s": prose_stream(512, 32, 500)}, workers=2, memory_limit=limit)) as daemon:
        assert seeds_of_one_user(daemon) >= 2


if __name__ == "__main__":
    leat_harness.main(globals())

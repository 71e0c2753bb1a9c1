#!/usr/bin/env python3
"""The token cache with the real programs: the same batches with it, without it and with half of it;
killed builders, daemons that share a folder, damage, full disks, sources that change.

    test_cache.py BIN [PATTERN]

LEAT_TEST_KILLS: how many builders are killed (default 20, and 10 where all is slow).
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

import data
import leat_harness
from leat_harness import BIN, SLOW, Daemon, Skip, ctl

N_ROWS = 60000 if SLOW == 1 else 20000 # of some tens of blocks
N_KILLS = int(os.environ.get("LEAT_TEST_KILLS", "20" if SLOW == 1 else "10"))


def write_configs(folder, name="s", n_rows=N_ROWS, **cache):
    """The stream without a cache, and with one: two files. Returns them and the folder of caches."""
    csv = data.titanic(folder, n_rows)
    plain, cached = folder / f"{name}-plain.yaml", folder / f"{name}.yaml"
    caches = pathlib.Path(cache.pop("path", folder / "caches"))
    options = {"block_bytes": 16384, **cache.pop("options", {})}
    plain.write_text(data.yaml_text({"s": data.titanic_stream(csv, **options)}))
    cached.write_text(data.yaml_text(
        {"s": data.titanic_stream(csv, **options, cache={"path": str(caches), **cache})}))
    return plain, cached, caches


def listed(what):
    return json.loads(ctl("cache", "ls", what, "--json").stdout)


def verify(what, check=True):
    return json.loads(ctl("cache", "verify", what, "--json", check=check).stdout)


def cached_rows(daemon):
    """Rows that streams got from their caches, by the daemon's own counters."""
    stats = json.loads(daemon.ctl("stats", "--json").stdout)
    return sum(stage["n_records"] for stream in stats for stage in stream["stages"] if stage["name"] == "cache")


def test_same_batches(folder):
    plain, cached, caches = write_configs(folder)
    expected = leat_harness.run_digest(plain, "--epochs", 3)
    assert leat_harness.run_digest(cached, "--epochs", 3) == expected
    assert [entry["state"] for entry in listed(cached)] == ["complete"]
    assert leat_harness.run_digest(cached, "--epochs", 3) == expected
    for workers in (1, 2, 5):
        assert leat_harness.run_digest(cached, "--epochs", 3, "--workers", workers) == expected
    assert leat_harness.run_digest(cached, "--epochs", 3, "--no-daemon") == expected
    rank = ("--epochs", 2, "--rank", 1, "--world-size", 3)
    assert leat_harness.run_digest(cached, *rank) == leat_harness.run_digest(plain, *rank)
    assert len(list(caches.iterdir())) == 1


def test_trainers_share(folder):
    plain, cached, _ = write_configs(folder)
    expected = leat_harness.run_digest(plain, "--epochs", 2)
    with Daemon(folder, cached) as daemon:
        digests = []
        threads = [threading.Thread(target=lambda: digests.append(daemon.digest("s", "--epochs", 2)))
                   for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert digests == [expected] * 6
        before = cached_rows(daemon)
        assert daemon.digest("s", "--epochs", 2) == expected
        assert cached_rows(daemon) - before == 2 * N_ROWS
    with Daemon(folder, cached) as daemon: # after a restart
        assert daemon.digest("s", "--epochs", 2) == expected
        assert cached_rows(daemon) == 2 * N_ROWS
        assert "event=cache" not in daemon.log, daemon.log


def kill_after(process, seconds):
    """True if it was killed, not ended by itself."""
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True


def kill_daemon(folder, cached, seconds):
    daemon = Daemon(folder, cached).start()
    trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "3"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    time.sleep(seconds)
    daemon.stop(signal.SIGKILL)
    trainer.kill()
    trainer.wait()


def test_killed_builders(folder):
    """Killed at any time, by whoever builds: never a wrong batch, never a cache that is in the way."""
    rng = random.Random(5)
    plain, cached, caches = write_configs(folder, n_rows=3 * N_ROWS)
    expected = leat_harness.run_digest(plain)
    start = time.monotonic()
    ctl("cache", "warm", cached)
    whole_s = time.monotonic() - start
    reference = [(entry["file"], (caches / entry["file"]).read_bytes()) for entry in listed(cached)]
    n_killed = n_seen = 0
    while n_killed < N_KILLS:
        if not any(caches.iterdir()) or n_killed % 7 == 6: # from the start, or on from what is there
            ctl("cache", "rm", cached, "--all")
        seconds = rng.random() * whole_s * rng.choice((0.1, 0.3, 1.1))
        if rng.random() < 0.3:
            kill_daemon(folder, cached, seconds)
            n_killed += 1
        else:
            n_killed += kill_after(subprocess.Popen([BIN / "leatctl", "cache", "warm", cached],
                                                    stdout=subprocess.DEVNULL), seconds)
        assert len(list(caches.iterdir())) <= 1
        for entry in listed(cached):
            assert entry["state"] in ("complete", "left", "damaged"), entry
        for verdict in verify(cached, check=False):
            assert verdict["n_damaged"] == 0, verdict
        if n_killed % 5 == 0 and n_killed > n_seen:
            n_seen = n_killed
            assert leat_harness.run_digest(cached, "--batches", 500) == leat_harness.run_digest(
                plain, "--batches", 500)
    assert leat_harness.run_digest(cached) == expected
    assert leat_harness.run_digest(cached) == expected
    ctl("cache", "warm", cached)
    assert [(entry["file"], (caches / entry["file"]).read_bytes()) for entry in listed(cached)] == reference
    ctl("cache", "verify", cached)


def test_two_daemons(folder):
    """One builds, the other reads what there is; then both read."""
    plain, cached, caches = write_configs(folder)
    expected = leat_harness.run_digest(plain, "--epochs", 3)
    folders = [folder / "a", folder / "b"]
    for other in folders:
        other.mkdir()
    for _ in range(5):
        ctl("cache", "rm", cached, "--all")
        with Daemon(folders[0], cached) as a, Daemon(folders[1], cached) as b:
            digests = [None, None]

            def pull(i, daemon):
                digests[i] = daemon.digest("s", "--epochs", 3)

            threads = [threading.Thread(target=pull, args=(i, daemon)) for i, daemon in enumerate((a, b))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert digests == [expected] * 2
            assert "event=cache" not in a.log + b.log, a.log + b.log
        assert [entry["state"] for entry in listed(cached)] == ["complete"]


def test_builder_of_two_is_killed(folder):
    plain, cached, caches = write_configs(folder)
    expected = leat_harness.run_digest(plain, "--epochs", 2)
    for other in ("a", "b"):
        (folder / other).mkdir()
    with Daemon(folder / "b", cached) as b:
        for i in range(5):
            leat_harness.wait_until(lambda: ctl("cache", "rm", cached, "--all", check=False).returncode == 0,
                                    "the cache is no longer in use")
            a = Daemon(folder / "a", cached).start()
            trainer = subprocess.Popen([BIN / "leatctl", "pull", "s"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL,
                                       env={**os.environ, "LEAT_SOCKET": str(a.sockets)})
            time.sleep(0.05 * i * SLOW)
            a.stop(signal.SIGKILL)
            trainer.kill()
            trainer.wait()
            assert b.digest("s", "--epochs", 2) == expected
            assert b.digest("s", "--epochs", 2) == expected
            assert [entry["state"] for entry in listed(cached)] in (["complete"], ["in use"])


def damage(path, rng, n):
    raw = bytearray(path.read_bytes())
    for _ in range(n):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    with open(path, "r+b") as file: # in place, as a disk does
        file.write(raw)


def test_damage_is_found_and_repaired(folder):
    rng = random.Random(6)
    plain, cached, caches = write_configs(folder)
    expected = leat_harness.run_digest(plain)
    ctl("cache", "warm", cached)
    path = next(caches.iterdir())
    whole = path.read_bytes()
    for n in (1, 1, 3, 50):
        damage(path, rng, n)
        with Daemon(folder, cached) as daemon:
            assert daemon.digest("s") == expected
        assert leat_harness.run_digest(cached) == expected
        ctl("cache", "verify", cached)
        path = next(caches.iterdir())
        path.write_bytes(whole)
    middle = len(whole) // 2 # one block, while the daemon has the file open
    with Daemon(folder, cached) as daemon:
        assert daemon.digest("s") == expected
        with open(path, "r+b") as file:
            file.seek(middle)
            file.write(bytes(b ^ 255 for b in whole[middle:middle + 5]))
        assert daemon.digest("s") == expected
        assert "is damaged: it does not match its checksum" in daemon.log, daemon.log
        assert path.read_bytes() == whole


def test_source_changes(folder):
    plain, cached, caches = write_configs(folder)
    ctl("cache", "warm", cached)
    csv = next(folder.glob("titanic-*.csv"))
    raw = csv.read_bytes()
    for i, changed in enumerate((raw.replace(b"Mr.", b"Dr.", 1), raw[: raw.rindex(b"\n", 0, -1) + 1],
                                 raw.replace(b"Miss", b"Mrs."))):
        csv.write_bytes(changed)
        expected = leat_harness.run_digest(plain)
        assert leat_harness.run_digest(cached) == expected
        assert leat_harness.run_digest(cached) == expected
        assert len(list(caches.iterdir())) == 2 + i


def test_disk_is_full(folder):
    disk = folder / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "leat-test", disk],
                                           capture_output=True).returncode != 0:
        raise Skip("a small disk cannot be mounted")
    try:
        plain, cached, caches = write_configs(folder, path=disk / "caches")
        expected = leat_harness.run_digest(plain, "--epochs", 2)
        with Daemon(folder, cached) as daemon:
            assert daemon.digest("s", "--epochs", 2) == expected
            assert f"{disk}/caches: cannot write: No space left on device" in daemon.log, daemon.log
            assert daemon.log.count("event=cache") == 1, daemon.log
        for entry in verify(cached):
            assert entry["n_damaged"] == 0
        done = ctl("cache", "warm", cached, check=False)
        assert done.returncode == 1 and b"cannot write: No space left on device" in done.stderr, done
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        assert leat_harness.run_digest(cached, "--epochs", 2) == expected # it is gone on with
        assert [entry["state"] for entry in listed(cached)] == ["complete"]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_run_tells_of_it(folder):
    """A cache that cannot be used is no failure, but no secret either."""
    plain, cached, _ = write_configs(folder, n_rows=500, path=folder / "no" / "such" / "folder")
    for mode in ([], ["--no-daemon"]):
        done = ctl("run", cached, "--digest", *mode)
        assert leat_harness.find_digest(done.stdout) == leat_harness.run_digest(plain)
        assert b"cannot make the folder of the cache" in done.stderr, done.stderr
        assert ctl("run", plain, *mode).stderr == b""


def test_least_recently_used_goes(folder):
    plain, cached, caches = write_configs(folder, n_rows=20000)
    ctl("cache", "warm", cached)
    one = sum(path.stat().st_size for path in caches.iterdir())
    files = []
    for i in range(4):
        other = folder / f"other{i}"
        other.mkdir()
        _, config, _ = write_configs(other, n_rows=20000 + i + 1, path=caches, max_size=int(one * 3.5))
        ctl("cache", "warm", config)
        files.append(config)
    assert len(list(caches.iterdir())) == 3
    built = json.loads(ctl("cache", "warm", files[-1], "--json").stdout)
    assert built["n_built_records"] == 0
    assert json.loads(ctl("cache", "warm", cached, "--json").stdout)["n_built_records"] == 20000 # it had gone


def test_commands(folder):
    _, cached, caches = write_configs(folder, n_rows=5000)
    assert listed(cached) == []
    built = json.loads(ctl("cache", "warm", cached, "--json").stdout)
    assert built["is_complete"] and built["n_records"] == 5000 == built["n_built_records"]
    entry, = listed(caches)
    assert entry["file"] == built["file"] and entry["about"]["stream"] == "s", entry
    assert entry["about"]["files"][0].endswith("titanic-5000.csv")
    assert b"titanic-5000.csv" in ctl("cache", "ls", cached).stdout
    assert verify(caches)[0]["is_good"]
    key = entry["file"][:10]
    assert len(json.loads(ctl("cache", "ls", cached, "--key", key, "--json").stdout)) == 1
    assert ctl("cache", "ls", cached, "--key", "ffff", "--key", "eeee", check=False).returncode == 1
    assert ctl("cache", "rm", cached, check=False).returncode == 2
    with Daemon(folder, cached) as daemon:
        trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        leat_harness.wait_until(lambda: listed(cached)[0]["state"] == "in use", "the cache is in use")
        assert ctl("cache", "rm", cached, "--key", key, check=False).returncode == 1
        trainer.kill()
        trainer.wait()
    ctl("cache", "rm", cached, "--key", key)
    assert listed(cached) == []
    for what in (["ls"], ["verify"], ["rm", "--all"]):  # an answer, and none that could be taken for a good one
        assert ctl("cache", what[0], cached, *what[1:]).stdout.decode().endswith("caches: there are no caches\n")


def test_shards(folder):
    """Prepared by several processes at once, without a cache in the file; merged, and used."""
    plain, cached, caches = write_configs(folder)
    ctl("cache", "warm", cached)
    built = next(caches.iterdir())
    whole = built.read_bytes()
    ctl("cache", "rm", cached, "--all")
    shards = [subprocess.Popen([BIN / "leatctl", "cache", "prepare", plain, "--shard", f"{i}/5", "-o", folder / "shards"],
                               stdout=subprocess.DEVNULL) for i in range(5)]
    assert [shard.wait(leat_harness.HANG_S) for shard in shards] == [0] * 5
    refused = ctl("cache", "merge", cached, *(word for shard in sorted((folder / "shards").iterdir())[1:] for word in ("--shards", shard)),
                  check=False)
    assert refused.returncode == 1 and b"shard 0/5 is missing: make it with `leatctl prepare " + str(cached).encode() + b" --shard 0/5 -o DIR`" in refused.stderr
    assert b": there are no caches, but 5 shards; `leatctl cache merge` joins shards into a cache\n" in ctl("cache", "ls", folder / "shards").stdout
    ctl("cache", "merge", cached, "--shards", folder / "shards")
    assert built.read_bytes() == whole
    assert leat_harness.run_digest(cached) == leat_harness.run_digest(plain)


def test_bad_records(folder):
    rows = [f"{i},{'x' if i % 50 == 7 else i}\n" for i in range(20000)]
    (folder / "n.csv").write_text("n,id\n" + "".join(rows))
    cache = {"path": str(folder / "caches")}
    aside = {"on_error": "quarantine", "quarantine": str(folder / "bad.jsonl")}
    for name, options in (("plain", {}), ("cached", {"cache": cache})):
        stream = data.numbers_stream([str(folder / "n.csv")], **options, **aside, block_bytes=8192)
        (folder / f"{name}.yaml").write_text(data.yaml_text({"s": stream}))
    expected = leat_harness.run_digest(folder / "plain.yaml")
    bad = (folder / "bad.jsonl").read_bytes()
    assert bad.count(b"\n") == 400
    for _ in range(3):
        (folder / "bad.jsonl").unlink()
        assert leat_harness.run_digest(folder / "cached.yaml") == expected
        assert (folder / "bad.jsonl").read_bytes() == bad


if __name__ == "__main__":
    leat_harness.main(globals())

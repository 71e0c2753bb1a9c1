#!/usr/bin/env python3
"""Disks that fail while leat reads and writes: no batch is wrong, no epoch is short, the daemon goes on, and so does the stream once
the disk is whole.

    test_disks.py BIN [PATTERN]
"""
import errno
import gzip
import json
import os
import subprocess

import data
import leat_harness
from bad_disk import BadDisk
from leat_harness import BIN, HANG_S, Daemon, ctl, find_digest, run_digest, wait_until

N_ROWS = 20000
SOME = 60000  # a byte in the middle of each file


def rows(first=0):
    return "id\n" + "".join(f"{i}\n" for i in range(first, first + N_ROWS))


def numbers(*paths, **options):
    return data.numbers_stream([str(path) for path in paths], batch_size=100, block_bytes=4096, **options)


def config(folder, streams):
    path = folder / "leatd.yaml"
    path.write_text(data.yaml_text(streams))
    return path


def fails(done, *words):
    said = done.stderr.decode()
    assert done.returncode != 0, done
    for word in words:
        assert word in said, (word, said)


def pulling(daemon, stream):
    return subprocess.Popen([BIN / "leatctl", "pull", stream, "--digest"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})


def sources(disk):
    """Streams of each way to read, with a file that has more than SOME bytes on the disk."""
    lines = "".join(json.dumps({"id": i}) + "\n" for i in range(N_ROWS))
    disk.put("n.csv", rows())
    disk.put("n.jsonl", lines)
    disk.put("random.jsonl.gz", "")
    disk.nodes[1].entries["random.jsonl.gz"].data[:] = gzip.compress(lines.encode(), 1)
    tail = [{"select": {"fields": ["id"]}}, {"batch": {"batch_size": 100}}]
    cast = {"cast": {"input": "id", "dtype": "int64"}}
    return {"csv": numbers(disk.folder / "n.csv"),
            "jsonl": {"source": {"jsonl": {"paths": [str(disk.folder / "n.jsonl")]}}, "block_bytes": 4096, "stages": [cast, *tail]},
            "gzip": {"source": {"jsonl": {"paths": [str(disk.folder / "random.jsonl.gz")]}}, "stages": [cast, *tail]},
            "blocks": {"source": {"csv": {"paths": [str(disk.folder / "n.csv")]}},
                       "stages": [cast, {"shuffle": {"blocks": True, "block_size": 64, "buffer_size": 1024, "seed": 1}}, *tail]}}


def test_reads_fail(folder):
    """Whatever the source and the errno: an error with the file and the cause; then the same batches as before."""
    with BadDisk(folder / "disk") as disk:
        streams = sources(disk)
        (folder / "good.csv").write_text(rows())
        with Daemon(folder, config(folder, {**streams, "good": numbers(folder / "good.csv")})) as daemon:
            expected = {name: daemon.digest(name) for name in (*streams, "good")}
            for code in (errno.EIO, errno.ESTALE, errno.ENXIO):
                for disk.from_byte in (0, SOME if code == errno.EIO else 30000):
                    disk.fail = {("read", ""): code}
                    for name in streams:
                        n_failed = disk.n_failed
                        done = daemon.pull(name, "--digest", check=False)
                        if disk.n_failed > n_failed:
                            fails(done, str(disk.folder), os.strerror(code))
                        else:
                            assert find_digest(done.stdout) == expected[name]  # it is not that long
                    assert daemon.digest("good") == expected["good"]
                    disk.fail = {}
                    assert {name: daemon.digest(name) for name in expected} == expected
        assert disk.n_failed >= 12, disk.n_failed


def test_a_file_of_many(folder):
    """Gone, unreadable or shorter when its turn comes in mid-epoch: never an epoch without it."""
    with BadDisk(folder / "disk") as disk:
        names = [f"{i}.csv" for i in range(8)]
        for i, name in enumerate(names):
            disk.put(name, rows(i * N_ROWS))
        with Daemon(folder, config(folder, {"s": {**numbers(*(disk.folder / name for name in names)), "jobs_in_flight": 2}})) as daemon:
            expected = daemon.digest("s")
            root = disk.nodes[1].entries

            def during(change):
                """What the trainer of an epoch says in whose middle this happens."""
                with disk.paused():
                    process = pulling(daemon, "s")
                    disk.wait_for_reader()
                    change()
                out, said = process.communicate(timeout=HANG_S)
                disk.fail = {}
                return subprocess.CompletedProcess([], process.returncode, out, said)

            for code in (errno.EACCES, errno.ENOENT, errno.EIO, errno.EMFILE):
                done = during(lambda: disk.fail.update({("open", names[6]): code, ("getattr", names[6]): code}))
                fails(done, names[6], os.strerror(code))
                assert daemon.digest("s") == expected
            kept = root[names[6]]
            fails(during(lambda: root.pop(names[6])), names[6], "No such file")
            root[names[6]] = kept
            assert daemon.digest("s") == expected
            whole = bytes(kept.data)
            kept.data[SOME:] = b""
            disk.touch(kept)
            shorter = daemon.digest("s")
            kept.data[:] = whole
            disk.touch(kept)
            assert shorter != expected and daemon.digest("s") == expected
            done = during(lambda: kept.data.__delitem__(slice(SOME, None)))
            if done.returncode == 0 and find_digest(done.stdout) != shorter:  # it was read at once, or its end is missed
                wait_until(lambda: "data-changed" in daemon.log, "an event")


def test_caches(folder):
    """A cache on a disk that fails is only slower, in whatever way it fails."""
    ways = [("write", errno.EIO), ("write", errno.ENOSPC), ("write", errno.EDQUOT), ("create", errno.EROFS), ("create", errno.EIO),
            ("rename", errno.EIO), ("open", errno.EIO), ("mkdir", errno.EACCES), ("read", errno.EIO), ("fsync", errno.EIO), ("getattr", errno.EIO)]
    (folder / "n.csv").write_text(rows())
    with BadDisk(folder / "disk") as disk:
        plain = config(folder, {"s": numbers(folder / "n.csv")})
        expected = run_digest(plain, "--epochs", 2, "--no-daemon")
        for what, code in ways:
            for is_built in (False, True):
                place = disk.folder / f"{what}-{errno.errorcode[code]}-{is_built}"
                file = config(folder, {"s": numbers(folder / "n.csv", cache={"path": str(place)})})
                if is_built:
                    assert run_digest(file, "--epochs", 2) == expected
                with Daemon(folder, file) as daemon:
                    for disk.from_byte in (0, 20000):
                        disk.fail = {(what, ""): code}
                        assert daemon.digest("s", "--epochs", 2) == expected, (what, code, is_built)
                        disk.fail = {}
                    assert daemon.digest("s", "--epochs", 2) == expected, (what, code, is_built)
        assert disk.n_failed >= len(ways), disk.n_failed


def test_state(folder):
    """What the daemon keeps for itself can be lost."""
    (folder / "n.csv").write_text(rows())
    with BadDisk(folder / "disk") as disk:
        file = config(folder, {"s": numbers(folder / "n.csv")})
        expected = run_digest(file, "--no-daemon")
        for what, code in (("create", errno.EROFS), ("write", errno.ENOSPC), ("write", errno.EIO), ("rename", errno.EIO), ("read", errno.EIO),
                           ("open", errno.EIO), ("getattr", errno.EIO), ("mkdir", errno.EROFS), ("unlink", errno.EIO)):
            with Daemon(folder, file, env={"XDG_STATE_HOME": str(disk.folder / f"{what}{code}")}) as daemon:
                disk.fail = {(what, ""): code}
                assert daemon.digest("s") == expected and daemon.digest("s") == expected, (what, code)
                disk.fail = {}
                assert daemon.digest("s") == expected


def test_dumps_and_sets(folder):
    """`dump` and `prepare` fail if the disk does, leave nothing that looks whole, and work again afterwards."""
    (folder / "n.csv").write_text(rows())
    file = config(folder, {"s": numbers(folder / "n.csv")})
    expected = run_digest(file, "--no-daemon")
    with BadDisk(folder / "disk") as disk:
        for what, code in (("write", errno.EIO), ("write", errno.ENOSPC), ("rename", errno.EIO), ("create", errno.EROFS)):
            for disk.from_byte in (0, SOME):
                disk.fail = {(what, ""): code}
                done = ctl("dump", file, "-o", disk.folder / "out.jsonl", check=False)
                fails(done, os.strerror(code))
                assert "out.jsonl" not in disk.names(), disk.names()
                place = disk.folder / f"set-{what}-{code}-{disk.from_byte}"
                for step in (["--shard", "0/2"], ["--shard", "1/2"], ["--seal"]):
                    n_failed, disk.fail = disk.n_failed, {(what, ""): code}
                    done = ctl("prepare", file, *step, "-o", place, check=False)
                    disk.fail = {}
                    if disk.n_failed > n_failed:  # what is short does not reach that byte
                        fails(done, os.strerror(code))
                        assert not (place / "set.json").exists()
                    ctl("prepare", file, *step, "-o", place)
                prepared = folder / "prepared.yaml"
                prepared.write_text(data.yaml_text({"s": numbers(folder / "n.csv", cache={"prepared": str(place)})}))
                assert run_digest(prepared) == expected
                disk.fail = {("read", ""): errno.EIO}
                fails(ctl("run", prepared, "--digest", check=False), "Input/output error")
                disk.fail = {}
        ctl("dump", file, "-o", disk.folder / "out.jsonl")
        assert len((disk.folder / "out.jsonl").read_text().splitlines()) == N_ROWS


def test_slow(folder):
    """A disk that does not answer keeps nobody else waiting: not the other trainers of that user, neither at its opening nor later."""
    (folder / "good.csv").write_text(rows())
    with BadDisk(folder / "disk") as disk:
        disk.put("n.csv", rows())
        streams = {"slow": numbers(disk.folder / "n.csv"), "good": numbers(folder / "good.csv")}
        with Daemon(folder, config(folder, streams), "--workers", "2") as daemon:
            expected = {name: daemon.digest(name) for name in streams}
            for _ in range(2):
                with disk.paused():
                    waiting = pulling(daemon, "slow")
                    disk.wait_for_reader()
                    for _ in range(3):
                        assert daemon.digest("good") == expected["good"]
                        wait_until(lambda: daemon.status()["n_sessions"] == 1, "only the slow trainer is left")
                    assert waiting.poll() is None
                out, said = waiting.communicate(timeout=HANG_S)
                assert waiting.returncode == 0 and find_digest(out) == expected["slow"], said
                disk.put("n.csv", rows())  # so that it is read again when the next one opens it


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""One stream, one digest: whatever runs it, however many workers, whatever the size of a block.

    test_digest.py BIN [PATTERN]
"""
import json
import os
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, run_digest


def write(folder, stream, name="s.yaml", **settings):
    path = folder / name
    path.write_text(data.yaml_text({"s": stream}, **settings))
    return path


def test_workers(folder):
    file = write(folder, data.titanic_stream(data.titanic(folder, 20000)))
    expected = run_digest(file, "--epochs", 2, "--no-daemon")
    for n_workers in range(1, 9):
        found = run_digest(file, "--epochs", 2, "--workers", n_workers)
        assert found == expected, f"{n_workers} workers: {found}, not {expected}"


def test_delivery_copy(folder):
    file = write(folder, data.titanic_stream(data.titanic(folder, 5000)))
    expected = run_digest(file, "--no-daemon")
    assert run_digest(file, "--delivery", "copy") == expected
    assert run_digest(file, "--delivery", "shared") == expected
    assert run_digest(file, "--delivery", "shared", "--window", 1) == expected
    assert run_digest(file, "--delivery", "copy", "--window", 9) == expected


def test_large_copies(folder):
    stream = data.titanic_stream(data.titanic(folder, 3000), batch_size=1024, length=700)
    file = write(folder, stream)
    assert run_digest(file, "--delivery", "copy") == run_digest(file, "--delivery", "shared")


def test_nobody_reads_on(folder):
    """As behind `| head`: it ends well and without a word, and its daemon's folder with it."""
    file = write(folder, data.titanic_stream(data.titanic(folder, 2000)))
    for more in ([], ["--no-daemon"]):
        command = [BIN / "leatctl", "run", file, "--epochs", "0", "--format", "jsonl", *more]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "XDG_RUNTIME_DIR": str(folder)}) as process:
            assert json.loads(process.stdout.readline())["step"] == 0
            process.stdout.close()
            assert process.wait(HANG_S) == 0
            assert process.stderr.read() == b""
        assert not [name for name in os.listdir(folder) if name.startswith("leatctl-")]


def test_block_sizes(folder):
    csv = data.titanic(folder, 60000)
    digests = set()
    for block_bytes in (4096, 5000, 65536, 262144, 1 << 20, 4 << 20):
        file = write(folder, data.titanic_stream(csv, block_bytes=block_bytes))
        digests.add(run_digest(file, "--no-daemon"))
        digests.add(run_digest(file, "--workers", 3))
    assert len(digests) == 1, digests


def test_seed_and_epoch(folder):
    file = write(folder, data.titanic_stream(data.titanic(folder, 3000)))
    digests = {run_digest(file), run_digest(file, "--seed", 1), run_digest(file, "--epochs", 2),
               run_digest(file, "--rank", 0, "--world-size", 2), run_digest(file, "--rank", 1, "--world-size", 2),
               run_digest(write(folder, data.titanic_stream(folder / "titanic-3000.csv", seed=2), "t.yaml"))}
    assert len(digests) == 6, digests
    assert run_digest(file, "--seed", 0) == run_digest(file), "seed 0 is the default"


def test_trainers_at_once(folder):
    """Several trainers of one daemon, each with its own pace, see the same."""
    import subprocess
    streams = {"a": data.titanic_stream(data.titanic(folder, 10000)),
               "b": data.titanic_stream(folder / "titanic-10000.csv", batch_size=7)}
    with Daemon(folder, data.yaml_text(streams, workers=2)) as daemon:
        command = [leat_harness.BIN / "leatctl", "pull", "--digest", "--epochs", "2"]
        env = {**leat_harness.os.environ, "LEAT_SOCKET": str(daemon.sockets)}
        running = [(name, subprocess.Popen([*command, name], stdout=subprocess.PIPE, env=env))
                   for name in ("a", "b") * 4]
        outputs = [(name, process.communicate(timeout=leat_harness.HANG_S)[0]) for name, process in running]
        found = {(name, leat_harness.find_digest(output)) for name, output in outputs}
        assert len(found) == 2, found


if __name__ == "__main__":
    leat_harness.main(globals())

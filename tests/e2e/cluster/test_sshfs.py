#!/usr/bin/env python3
"""One folder on two hosts by sshfs, a file system without locks between them: two builders of one cache, and shards of one set.

    test_sshfs.py BIN [PATTERN]
"""
import contextlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
import sshd
from leat_harness import BIN, HANG_S, Skip, ctl, find_digest, require, wait_until

TRIALS = int(os.environ.get("LEAT_TEST_TRIALS", "3"))
N_ROWS = 6000


@contextlib.contextmanager
def shared_folder(folder):
    """Two hosts that see the folder `shared` of a third one at the same path, and that path."""
    program, shared, place = require("sshfs"), folder / "shared", folder / "mounted"
    shared.mkdir()
    place.mkdir()
    with hosts.cluster(3) as (server, *nodes), contextlib.ExitStack() as stack:
        def start(command, log):
            with open(folder / log, "wb") as file:
                process = subprocess.Popen([require("setpriv"), "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
            stack.callback(lambda: (process.terminate(), process.wait()))
            return process
        start(sshd.write(folder, server), "sshd.log")
        wait_until(lambda: server.listens(22), "sshd is there")
        options = f"IdentityFile={folder / 'key'},UserKnownHostsFile={folder / 'known'},StrictHostKeyChecking=yes,BatchMode=yes"
        for node in nodes:
            process = start(node.command(program, "-f", "-o", options, f"root@{server.address}:{shared}", place), f"sshfs-{node.name}.log")
            wait_until(lambda: process.poll() is not None or node.run("mountpoint", "-q", place, check=False).returncode == 0, "it is mounted")
            if process.poll() is not None:
                raise Skip("sshfs cannot mount here: " + (folder / f"sshfs-{node.name}.log").read_text().strip())
        try:
            yield nodes, place
        finally:
            for node in nodes:
                node.run("umount", "--lazy", place, check=False)


def at_once(nodes, *words):
    """leatctl on all hosts at once. What they printed, and what they told."""
    processes = [node.popen(BIN / "leatctl", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for node in nodes]
    done = [process.communicate(timeout=HANG_S) for process in processes]
    told = [err.decode() for _, err in done]
    assert all(process.returncode == 0 for process in processes), told
    return [out for out, _ in done], told


def test_two_builders(folder):
    csv = data.titanic(folder, N_ROWS)
    plain, cached = folder / "plain.yaml", folder / "cached.yaml"
    plain.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384)}))
    expected = leat_harness.run_digest(plain, "--epochs", 2)
    with shared_folder(folder) as (nodes, place):
        for i in range(TRIALS):
            cached.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384, cache={"path": str(place / f"caches-{i}")})}))
            for _ in range(2):  # they build it, and read it
                printed, told = at_once(nodes, "run", cached, "--epochs", 2, "--digest")
                assert [find_digest(out) for out in printed] == [expected] * 2
                assert not any("damaged" in text or "checksum" in text for text in told), told
            # As the server sees it: a host sees names of before for some seconds.
            verdicts = json.loads(ctl("cache", "verify", folder / "shared" / f"caches-{i}", "--json").stdout)
            assert verdicts and all(verdict["is_good"] for verdict in verdicts), verdicts


def test_shards(folder):
    """Each host makes all shards of one set, in its own order."""
    csv, n_shards = data.titanic(folder, N_ROWS), 4
    plain, prepared = folder / "plain.yaml", folder / "prepared.yaml"
    plain.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384)}))
    with shared_folder(folder) as (nodes, place):
        prepared.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384, cache={"prepared": str(place / "set")})}))
        processes = []
        for node, order in zip(nodes, (range(n_shards), reversed(range(n_shards)))):
            script = "for i in {}; do {} prepare {} --shard $i/{} -o {} || exit 1; done".format(
                " ".join(map(str, order)), BIN / "leatctl", plain, n_shards, place / "set")
            processes.append(node.popen("sh", "-c", script, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        for process in processes:
            told = process.communicate(timeout=HANG_S)[1]
            assert process.returncode == 0, told.decode()
        for node in nodes:
            node.run(BIN / "leatctl", "prepare", prepared, "--seal", "-o", place / "set")
        printed, _ = at_once(nodes, "run", prepared, "--digest")
    assert [find_digest(out) for out in printed] == [leat_harness.run_digest(plain)] * 2


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""Open MPI over hosts, with a daemon on each: the ranks agree, or all of them fail.

    test_mpi.py BIN [PATTERN]
"""
import contextlib
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Skip, require

AGREE = BIN.parent / "examples" / "agree_mpi"
NODE = ROOT / "config" / "cluster" / "node.sh"
N_ROWS = 96


def write_programs(folder, nodes):
    """What mpirun enters a host with, in place of ssh, and what a rank is: it finds the daemon of its host."""
    agent, rank = folder / "agent", folder / "rank"
    cases = "\n".join(f"    {node.address}) shift; exec {' '.join(node.command('sh', '-c'))} \"$*\" ;;" for node in nodes)
    agent.write_text(f'#!/bin/sh\ncase "$1" in\n{cases}\nesac\necho "no host $1" >&2\nexit 1\n')
    rank.write_text(f'#!/bin/sh\nLEAT_SOCKET={folder}/$(hostname)/sockets exec {AGREE} "$@"\n')
    for program in (agent, rank):
        program.chmod(0o755)
    return agent, rank


def mpirun(nodes, agent, *words, first):
    """A rank on each node, over the network between them."""
    require("mpirun")
    if not AGREE.exists():
        raise Skip("agree_mpi was not built: it needs libopenmpi-dev")
    (agent.parent / "tmp").mkdir(exist_ok=True)
    return nodes[0].run(
        "mpirun", "--allow-run-as-root", "--timeout", int(HANG_S), "--mca", "plm_rsh_agent", agent, "--mca", "btl", "self,tcp",
        "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
        "--host", ",".join(node.address for node in nodes), "-n", len(nodes), first, *words, check=False, timeout=HANG_S + 30,
        env={**os.environ, "TMPDIR": str(agent.parent / "tmp"), "ASAN_OPTIONS": "detect_leaks=0"})  # Open MPI leaks


def test_agree(folder):
    with hosts.cluster(4) as nodes, contextlib.ExitStack() as stack:
        agent, rank = write_programs(folder, nodes)
        for i, node in enumerate(nodes):
            streams = {}
            for name, n_rows in (("same", N_ROWS), ("other", N_ROWS - (i == 2))):
                csv = folder / f"{name}-{node.name}.csv"
                csv.write_text("id\n" + "".join(f"{j}\n" for j in range(n_rows)))
                streams[name] = data.numbers_stream([str(csv)], batch_size=4)
            hosts.start_daemon(stack, folder, node, data.yaml_text(streams))

        done = mpirun(nodes, agent, "same", first=rank)
        assert done.returncode == 0 and f"{N_ROWS} rows by 4 ranks" in done.stdout, (done.stdout, done.stderr)
        done = mpirun(nodes, agent, "other", first=rank)
        assert done.returncode == 1 and "rows by" not in done.stdout, (done.stdout, done.stderr)
        told = re.findall(r"rank (\d) on (n\d): ", done.stderr)
        assert told == [(str(i), f"n{i}") for i in range(4)], done.stderr
        sizes = re.findall(r'(\d+)\t[0-9a-f]{16}\t".*\.csv"', done.stderr)
        assert len(sizes) == 4 and sizes[2] != sizes[0] == sizes[1] == sizes[3], done.stderr


def test_node_script(folder):
    """config/cluster/node.sh: each node has its daemon while the job runs."""
    csv, config = folder / "ids.csv", folder / "train.yaml"
    csv.write_text("id\n" + "".join(f"{i}\n" for i in range(N_ROWS)))
    config.write_text(data.yaml_text({"same": data.numbers_stream([str(csv)], batch_size=4)}))
    with hosts.cluster(2) as nodes:
        agent, _ = write_programs(folder, nodes)
        env = {"PATH": f"{BIN}:{os.environ['PATH']}", "TMPDIR": str(folder)}
        done = mpirun(nodes, agent, *(f"{key}={value}" for key, value in env.items()), NODE, config, AGREE, "same", first="env")
        assert done.returncode == 0 and f"{N_ROWS} rows by 2 ranks" in done.stdout, (done.stdout, done.stderr)
        done = mpirun(nodes, agent, *(f"{key}={value}" for key, value in env.items()), NODE, folder / "none.yaml", AGREE, "same", first="env")
        assert done.returncode != 0 and "none.yaml" in done.stderr, (done.stdout, done.stderr)
    assert not list(folder.glob("leat.*")), "the sockets are gone"


if __name__ == "__main__":
    leat_harness.main(globals())

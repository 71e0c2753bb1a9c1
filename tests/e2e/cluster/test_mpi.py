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
from leat_harness import BIN, HANG_S, Skip, require

AGREE = BIN.parent / "examples" / "agree_mpi"
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


def test_agree(folder):
    require("mpirun")
    if not AGREE.exists():
        raise Skip("agree_mpi was not built: it needs libopenmpi-dev")
    (folder / "tmp").mkdir()
    with hosts.cluster(4) as nodes, contextlib.ExitStack() as stack:
        agent, rank = write_programs(folder, nodes)
        for i, node in enumerate(nodes):
            streams = {}
            for name, n_rows in (("same", N_ROWS), ("other", N_ROWS - (i == 2))):
                csv = folder / f"{name}-{node.name}.csv"
                csv.write_text("id\n" + "".join(f"{j}\n" for j in range(n_rows)))
                streams[name] = data.numbers_stream([str(csv)], batch_size=4)
            hosts.start_daemon(stack, folder, node, data.yaml_text(streams))

        def mpirun(stream):
            return nodes[0].run(
                "mpirun", "--allow-run-as-root", "--timeout", int(HANG_S), "--mca", "plm_rsh_agent", agent, "--mca", "btl", "self,tcp",
                "--mca", "oob_tcp_if_include", "eth0", "--mca", "btl_tcp_if_include", "eth0",
                "--host", ",".join(node.address for node in nodes), "-n", len(nodes), rank, stream, check=False, timeout=HANG_S + 30,
                env={**os.environ, "TMPDIR": str(folder / "tmp"), "ASAN_OPTIONS": "detect_leaks=0"})  # Open MPI leaks
        done = mpirun("same")
        assert done.returncode == 0 and f"{N_ROWS} rows by 4 ranks" in done.stdout, (done.stdout, done.stderr)
        done = mpirun("other")
        assert done.returncode == 1 and "rows by" not in done.stdout, (done.stdout, done.stderr)
        told = re.findall(r"rank (\d) on (n\d): ", done.stderr)
        assert told == [(str(i), f"n{i}") for i in range(4)], done.stderr
        sizes = re.findall(r'(\d+)\t[0-9a-f]{16}\t".*\.csv"', done.stderr)
        assert len(sizes) == 4 and sizes[2] != sizes[0] == sizes[1] == sizes[3], done.stderr


if __name__ == "__main__":
    leat_harness.main(globals())

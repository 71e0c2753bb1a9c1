#!/usr/bin/env python3
"""torchrun over hosts, with gloo between them and a daemon on each: rows as of one machine, or all ranks fail.

    test_torchrun.py BIN [PATTERN]
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
from leat_harness import BIN, HANG_S, Skip

PACKAGE = BIN.parent / "python"
N_ROWS, BATCH_SIZE, WORLD_SIZE = 100, 4, 4


def find_python():
    """One that has PyTorch."""
    for python in (os.environ.get("LEAT_ORACLE_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import torch, numpy"], capture_output=True).returncode == 0:
            return python
    raise Skip("no Python here has torch (./bootstrap deps)")


def run_ranks(folder, nodes):
    """torchrun on each host, one rank each. What each rank has told."""
    python = find_python()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}
    outputs = [folder / f"{node.name}.out" for node in nodes]
    processes = []
    for i, (node, output) in enumerate(zip(nodes, outputs)):
        with open(output, "wb") as file:
            processes.append(node.popen(
                python, "-m", "torch.distributed.run", "--nnodes", len(nodes), "--nproc-per-node", 1, "--node-rank", i,
                "--master-addr", nodes[0].address, "--master-port", 29500, pathlib.Path(__file__).with_name("torch_rank.py"), folder,
                stdout=file, stderr=file, env=environment))
    try:
        statuses = [process.wait(3 * HANG_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert statuses == [0] * len(nodes), [output.read_text()[-3000:] for output in outputs]
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(len(nodes))]


def test_ranks(folder):
    if not list((PACKAGE / "leat").glob("_leat*")):
        raise Skip("the Python package was not built")
    with hosts.cluster(WORLD_SIZE) as nodes, contextlib.ExitStack() as stack:
        for i, node in enumerate(nodes):
            streams = {}
            for name, n_rows in (("same", N_ROWS), ("other", N_ROWS - (i == 2))):
                csv = folder / f"{name}-{node.name}.csv"
                csv.write_text("id\n" + "".join(f"{j}\n" for j in range(n_rows)))
                streams[name] = data.numbers_stream([str(csv)], batch_size=BATCH_SIZE)
            hosts.start_daemon(stack, folder, node, data.yaml_text(streams))
        told = run_ranks(folder, nodes)
    assert [rank["host"] for rank in told] == [node.name for node in nodes]
    steps = dict(step for rank in told for step in rank["same"])
    n_steps = N_ROWS // BATCH_SIZE // WORLD_SIZE * WORLD_SIZE
    assert steps == {i: list(range(i * BATCH_SIZE, (i + 1) * BATCH_SIZE)) for i in range(n_steps)}, steps
    for rank in told:
        error = rank["other"]
        assert "AgreementError" in error and "(n2)" in error and "other-n2.csv" in error, error
        assert "Error" in rank["mixed"], rank["mixed"]
    half = WORLD_SIZE // 2
    assert all(dict(rank["half"]) for rank in told[:half])  # they do not ask
    for rank in told[half:]:
        assert "AgreementError" in rank["half"] and "did not report what " in rank["half"], rank["half"]


if __name__ == "__main__":
    leat_harness.main(globals())

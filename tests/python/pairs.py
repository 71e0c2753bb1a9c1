"""Two processes that know each other by torch.distributed, as torchrun starts them; what each prints as its last line is JSON.

Not a test: test_accelerate and test_trainer use it.
"""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

TIMEOUT_S = 240


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run(script: pathlib.Path, *arguments: str, n: int = 2) -> list[Any]:
    """The script in n processes; the JSON of each, by rank. What a process that fails says is in the exception."""
    common = {
        **os.environ,
        "WORLD_SIZE": str(n),
        "LOCAL_WORLD_SIZE": str(n),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    command = [sys.executable, "-W", "ignore", str(script), *arguments]
    processes = [
        subprocess.Popen(
            command,
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(n)
    ]
    try:
        told = [process.communicate(timeout=TIMEOUT_S) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for rank, (process, (output, errors)) in enumerate(zip(processes, told)):
        assert process.returncode == 0, f"rank {rank} ended with {process.returncode}:\n{output[-2000:]}\n{errors[-4000:]}"
    return [json.loads(output.strip().splitlines()[-1]) for output, _ in told]

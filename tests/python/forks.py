"""Processes that share one import of what takes seconds: forks.py N FOLDER VARIABLES MODULES SCRIPT [ARGUMENT...].

Imports the modules, and then runs the script in N forked processes. The variables tell each its number, and what it prints is in
FOLDER/NUMBER.out and FOLDER/NUMBER.err. Lists have commas. The exit status is 1 if one of the processes fails.

Not a test: test_accelerate, test_agreement and test_trainer call run().
"""

from __future__ import annotations

import importlib
import os
import pathlib
import runpy
import signal
import socket
import subprocess
import sys

TIMEOUT_S = 240
TORCHRUN = ["RANK", "LOCAL_RANK"]


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def of_torchrun(n: int) -> dict[str, str]:
    """What torchrun tells all of n processes."""
    return {
        "WORLD_SIZE": str(n),
        "LOCAL_WORLD_SIZE": str(n),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port(),
        "ACCELERATE_USE_CPU": "true",
        "GLOO_SOCKET_IFNAME": "lo",
    }


def run(n: int, folder: pathlib.Path, variables: list[str], modules: list[str], script: str, *arguments: str,
        environment: dict[str, str]) -> list[str]:
    """What each process prints, by rank. What one that fails says is in the exception."""
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-W", "ignore", __file__, str(n), str(folder), ",".join(variables), ",".join(modules), script]
    common = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", **environment}
    process = subprocess.Popen([*command, *arguments], env=common, process_group=0)
    try:
        status = process.wait(timeout=TIMEOUT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        outputs, errors = ([path.read_text() for path in sorted(folder.glob(f"*.{kind}"))] for kind in ("out", "err"))
    assert status == 0 and len(outputs) == n, "\n".join(text[-4000:] for text in outputs + errors)
    return outputs


def fork(n: int, folder: pathlib.Path, variables: list[str]) -> None:
    """Returns in each child. The parent ends when all of them have."""
    children = []
    for rank in range(n):
        child = os.fork()
        if child == 0:
            for descriptor, kind in ((1, "out"), (2, "err")):
                with (folder / f"{rank}.{kind}").open("w") as output:
                    os.dup2(output.fileno(), descriptor)
            os.environ |= {variable: str(rank) for variable in variables}
            return
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(any(statuses))


def main() -> None:
    _, n, folder, variables, modules, *sys.argv = sys.argv
    for module in modules.split(","):
        importlib.import_module(module)
    fork(int(n), pathlib.Path(folder), variables.split(","))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

"""The examples, each as a user runs it: without arguments, as a program of its own. They assert
themselves that the loss falls, and, of several processes, that all end with equal weights
and saw rows of their own. Those of Ray run in test_ray.py."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from conftest import ROOT, wait_until

EXAMPLES = ROOT / "client" / "python" / "examples"
LONG = {"trainer", "torch_distributed", "instruction_tuning"}  # with several processes, or with all of transformers
NEEDS = {
    "torch_classifier": ["torch"],
    "mlx_classifier": ["mlx"],
    "jax_classifier": ["jax"],
    "trainer": ["torch", "transformers", "accelerate"],
    "torch_distributed": ["torch"],
    "mlx_distributed": ["mlx"],
    "instruction_tuning": ["torch", "transformers"],
}
NEEDS_TO_PREPARE = {"dask_prepare": ["distributed"]}
OF_RAY = ["ray_data", "ray_train"]
HANG_S = 600  # they take seconds; imports on a busy machine take longer than that
LAUNCHED = ("RANK", "WORLD_SIZE", "MLX_RANK", "LEAT_SOCKET", "XDG_RUNTIME_DIR")


def run(script: pathlib.Path, folder: pathlib.Path) -> tuple[int, str]:
    """Its status, and what it says. In a folder of its own, where its daemons put their sockets, and leat its cache."""
    environment = {name: value for name, value in os.environ.items() if name not in LAUNCHED}
    places = {"XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state", "TMPDIR": "."}
    environment |= {variable: str(folder / name) for variable, name in places.items()}
    command = [sys.executable, str(script)]
    with open(folder / "output", "w+") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output, process_group=0)
        try:
            process.wait(HANG_S)
        except subprocess.TimeoutExpired:  # torchrun ends those that it has started
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(HANG_S)
            raise
        output.seek(0)
        return process.returncode, output.read()


def require(packages: list[str]) -> None:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in NEEDS])
def test_trains(name: str, tmp_path: pathlib.Path) -> None:
    require(NEEDS[name])
    if name == "torch_distributed" and int(importlib.metadata.version("torch").partition(".")[0]) < 2:
        pytest.skip("needs torch 2: before, torchrun is not to be called from Python with its defaults")
    status, output = run(EXAMPLES / f"{name}.py", tmp_path)
    assert status == 0, output[-8000:]
    losses = [float(loss) for loss in re.findall(r"(?<![a-z_])loss'?:? '?(\d+\.\d+)", output)]
    assert len(losses) > 1 and losses[-1] < 0.9 * losses[0], output[-8000:]
    wait_until(lambda: not list(tmp_path.glob("leat-*")), "the daemons of the example end, and their folders are gone")


@pytest.mark.parametrize("name", NEEDS_TO_PREPARE)
def test_prepares(name: str, tmp_path: pathlib.Path) -> None:
    require(NEEDS_TO_PREPARE[name])
    status, output = run(EXAMPLES / f"{name}.py", tmp_path)
    assert status == 0 and "4 shards of 891 rows" in output, output[-8000:]


def test_each_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NEEDS, *NEEDS_TO_PREPARE, *OF_RAY}

#!/usr/bin/env python3
"""The examples in C do what they say.

    test_examples.py BIN [PATTERN]
"""
import contextlib
import os
import re
import shutil
import subprocess

import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Daemon, Skip, ctl

EXAMPLES = BIN.parent / "examples"
NUMBERS = """streams:
  numbers:
    source: {{csv: {{paths: [{}/numbers.csv]}}}}
    stages:
      - cast: {{input: number, dtype: int32}}
      - batch: {{batch_size: 4}}
"""


def run(daemon, program, *args):
    return subprocess.run([EXAMPLES / program, *args], capture_output=True, text=True, timeout=HANG_S,
                          env={"LEAT_SOCKET": str(daemon.sockets)})


def test_logistic_regression(folder):
    config = ROOT / "client" / "examples" / "logistic_regression.yaml"
    ctl("check", config)
    with Daemon(folder, config) as daemon:
        done = run(daemon, "logistic_regression", "passengers", "20")
        assert done.returncode == 0, done.stderr
        losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", done.stdout)]
        assert len(losses) == 20 and losses[-1] < 0.9 * losses[0], done.stdout
        again = run(daemon, "logistic_regression", "passengers", "20")
        assert again.stdout == done.stdout  # the same batches, so the same model
        assert run(daemon, "logistic_regression", "passengers", "1").returncode == 1  # nothing fell
        assert "passengers" in run(daemon, "logistic_regression", "passenger").stderr


def mpirun(*daemons):
    """A rank at each daemon. They end within the time of the test, or mpirun kills them."""
    ranks = [["-n", "1", "env", f"LEAT_SOCKET={daemon.sockets}", EXAMPLES / "agree_mpi", "numbers"] for daemon in daemons]
    apps = [word for rank in ranks for word in [":", *rank]][1:]
    options = ["--allow-run-as-root", "--oversubscribe", "--timeout", str(int(HANG_S)), "--mca", "plm", "isolated"]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}  # Open MPI leaks
    return subprocess.run(["mpirun", *options, *apps], capture_output=True, text=True, timeout=HANG_S + 30, env=environment)


def test_agree_mpi(folder):
    if not (EXAMPLES / "agree_mpi").exists() or not shutil.which("mpirun"):
        raise Skip("agree_mpi needs libopenmpi-dev and openmpi-bin")
    daemons = []
    with contextlib.ExitStack() as stack:
        for name, n_rows in (("a", 64), ("b", 64), ("c", 63)):
            place = folder / name
            place.mkdir()
            rows = "".join(f"{i}\n" for i in range(n_rows))
            (place / "numbers.csv").write_text("number\n" + rows)
            daemons.append(stack.enter_context(Daemon(place, NUMBERS.format(place))))
        a, b, c = daemons
        done = mpirun(a, b)
        assert done.returncode == 0 and "64 rows by 2 ranks" in done.stdout, done.stderr
        done = mpirun(a, c)
        assert done.returncode == 1 and "rows by" not in done.stdout, done.stdout
        files = re.findall(r'(\d+)\t[0-9a-f]{16}\t".*numbers\.csv"', done.stderr)
        assert len(files) == 2 and files[0] != files[1], done.stderr
        assert "rank 0 on " in done.stderr and "rank 1 on " in done.stderr


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""The examples in C do what they say.

    test_examples.py BIN [PATTERN]
"""
import re
import subprocess

import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Daemon, ctl

EXAMPLES = BIN.parent / "examples"


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


if __name__ == "__main__":
    leat_harness.main(globals())

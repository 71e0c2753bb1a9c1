#!/usr/bin/env python3
"""Kubernetes' manifests are valid, and their commands do what they say with the variables that a cluster would set.

    test_kubernetes.py BIN [PATTERN]

No cluster is run.
"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, Daemon, Skip, ctl

VERSION = "1.31"
CHECK = """
import json, sys, kubernetes_validate, yaml
found = list(yaml.safe_load_all(sys.stdin))
for manifest in found:
    kubernetes_validate.validate(manifest, sys.argv[1], strict=True)
print(json.dumps(found))
"""


def valid(text):
    """The manifests, which Kubernetes would take."""
    for python in (os.environ.get("LEAT_ORACLE_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import kubernetes_validate"], capture_output=True).returncode == 0:
            done = subprocess.run([python, "-c", CHECK, VERSION], input=text, capture_output=True, text=True, timeout=HANG_S)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)
    raise Skip("no Python here has kubernetes-validate (./bootstrap deps)")


def container_of(manifest):
    """Its command, and its own variables."""
    container, = manifest["spec"]["template"]["spec"]["containers"]
    return container["command"], {variable["name"]: variable["value"] for variable in container.get("env", [])}


def test_prepare(folder):
    csv, config, shards = data.titanic(folder, 3000), folder / "train.yaml", folder / "set"
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=4096)}))
    expected = leat_harness.run_digest(config)
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=4096, cache={"prepared": str(shards)})}))
    text = ctl("prepare", config, "--job", "kubernetes", "-o", shards).stdout.decode().replace("64", "3")
    prepare, seal = valid(text)
    command, variables = container_of(prepare)
    assert prepare["spec"]["completionMode"] == "Indexed" and prepare["spec"]["completions"] == int(variables["LEAT_SHARDS"]) == 3
    for i in range(3):
        subprocess.run([BIN / command[0], *command[1:]], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, **variables, "JOB_COMPLETION_INDEX": str(i)})
    command, _ = container_of(seal)
    subprocess.run([BIN / command[0], *command[1:]], check=True, stdout=subprocess.DEVNULL)
    csv.unlink()
    assert leat_harness.run_digest(config) == expected


def test_train(folder):
    """Ranks by the variables of the job, at a daemon that is started as its container says."""
    _, job = valid((ROOT / "config" / "cluster" / "kubernetes.yaml").read_text())
    _, variables = container_of(job)
    n_pods = job["spec"]["completions"]
    assert variables["LEAT_WORLD_SIZE"] == str(n_pods) == str(job["spec"]["parallelism"])
    daemon, = job["spec"]["template"]["spec"]["initContainers"]
    assert daemon["command"][0] == "leatd" and daemon["command"][-2:] == ["--socket-dir", variables["LEAT_SOCKET"]]
    csv = folder / "ids.csv"
    csv.write_text("id\n" + "".join(f"{i}\n" for i in range(160)))
    with Daemon(folder, data.yaml_text({"s": data.numbers_stream([str(csv)])})) as daemon:
        rows = []
        for rank in range(n_pods):
            done = ctl("dump", "s", env={**variables, "LEAT_SOCKET": str(daemon.sockets), "JOB_COMPLETION_INDEX": str(rank)})
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            assert {line["_step"] % n_pods for line in lines} == {rank}
            rows += [line["id"] for line in lines]
        assert sorted(rows) == list(range(160))


if __name__ == "__main__":
    leat_harness.main(globals())

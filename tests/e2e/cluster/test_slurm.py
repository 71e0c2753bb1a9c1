#!/usr/bin/env python3
"""Slurm over hosts: the job that `leatctl prepare --job slurm` prints, with a node that dies in the middle.

    test_slurm.py BIN [PATTERN]
"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
from leat_harness import BIN, ROOT, ctl, require, wait_until

N_NODES, N_SHARDS = 4, 6
EXAMPLES = ROOT / "config" / "cluster"
CONFIG = """\
ClusterName=leat
SlurmctldHost=n0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={0}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={0}/state
SlurmdSpoolDir={0}/spool-%n
SlurmctldPidFile={0}/slurmctld.pid
SlurmdPidFile={0}/slurmd-%n.pid
SlurmctldLogFile={0}/slurmctld.log
SlurmdLogFile={0}/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmdTimeout=5
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
NodeName=n[0-{1}] CPUs=1 RealMemory=256
PartitionName=all Nodes=ALL Default=YES State=UP
"""
# The leatctl of the nodes: its tasks wait until the test has seen all nodes at work.
WAITER = """#!/bin/sh
touch {0}/started-$(hostname)
until [ -e {0}/go ]; do sleep 0.1; done
exec {1}/leatctl "$@"
"""


class Slurm:
    """munged, slurmctld on n0, and a slurmd on each host. Ends with the stack."""

    def __init__(self, folder, stack, nodes):
        for program in ("munged", "slurmctld", "slurmd", "sbatch"):
            require(program)
        self.folder, self.nodes, self.stack = folder, nodes, stack
        os.chmod(folder, 0o755)
        (folder / "slurm.conf").write_text(CONFIG.format(folder, len(nodes) - 1))
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (folder / "state").mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.start(nodes[0], "munged", "--foreground", "--force", *(f"--{what}={folder}/munge.{end}" for what, end in (
            ("socket", "socket"), ("key-file", "key"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        wait_until((folder / "munge.socket").exists, "munged is there")
        self.start(nodes[0], "slurmctld", "-D")
        for node in nodes:
            self.start(node, "slurmd", "-D", "-N", node.name)
        wait_until(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(nodes)), "all nodes are idle")

    def start(self, node, *words):
        log = open(self.folder / f"{words[0]}-{node.name}.out", "wb")
        process = node.popen(*words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
        log.close()
        self.stack.callback(lambda: (process.kill(), process.wait()))

    def ask(self, *words, check=False):
        return self.nodes[0].run(*words, env=self.env, check=check).stdout

    def told(self):
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in [*self.folder.glob("slurm*.log"), *self.folder.glob("slurm-*.out")])


def test_array(folder):
    csv = data.titanic(folder, 4000)
    config, shards, job = folder / "train.yaml", folder / "set", folder / "job"
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384, cache={"prepared": str(shards)})}))
    text = ctl("prepare", config, "--job", "slurm", "-o", shards).stdout.decode()
    for old, new in (("--array=0-63", f"--array=0-{N_SHARDS - 1}"), ("LEAT_SHARDS=64", f"LEAT_SHARDS={N_SHARDS}"), ("--cpus-per-task=8", "--cpus-per-task=1")):
        assert old in text, text
        text = text.replace(old, new)
    job.write_text(text)
    (folder / "bin").mkdir()
    (folder / "bin" / "leatctl").write_text(WAITER.format(folder, BIN))
    (folder / "bin" / "leatctl").chmod(0o755)
    with hosts.cluster(N_NODES) as nodes, contextlib.ExitStack() as stack:
        for node in nodes:
            stack.callback(node.kill_all)
        slurm = Slurm(folder, stack, nodes)
        slurm.env["PATH"] = f"{folder / 'bin'}:{slurm.env['PATH']}"
        array = slurm.ask("sbatch", "--parsable", "--chdir", folder, job, check=True).strip()
        seal = slurm.ask("sbatch", "--parsable", "--chdir", folder, "-a", "0", "-d", f"afterok:{array}", job, "--seal", check=True).strip()
        wait_until(lambda: len(list(folder.glob("started-*"))) == N_NODES, "all nodes are at work")
        nodes[-1].kill_all()
        wait_until(lambda: re.search(r"Restarts=[1-9]", slurm.ask("scontrol", "show", "job", array)), "its task is tried again")
        (folder / "go").touch()
        wait_until(lambda: not slurm.ask("squeue", "-h", "-j", f"{array},{seal}").strip() or (shards / "set.json").exists(), slurm.told)
        assert (shards / "set.json").exists(), slurm.told()
    assert len(list(shards.glob(f"*-of-{N_SHARDS}.leat"))) == N_SHARDS
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384)}))
    alone = leat_harness.run_digest(config)
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv, block_bytes=16384, cache={"prepared": str(shards)})}))
    csv.unlink()
    assert leat_harness.run_digest(config) == alone


def test_train(folder):
    """config/cluster/slurm.sh: a daemon and a rank on each node."""
    csv, config, job = data.titanic(folder, 2000), folder / "train.yaml", folder / "slurm.sh"
    config.write_text(data.yaml_text({"s": data.titanic_stream(csv)}))
    text = (EXAMPLES / "slurm.sh").read_text()
    assert "python3 train.py" in text and f"--nodes={N_NODES}" in text
    job.write_text(text.replace("python3 train.py", "leatctl pull s --format jsonl"))
    (folder / "node.sh").write_text((EXAMPLES / "node.sh").read_text())
    (folder / "node.sh").chmod(0o755)
    with hosts.cluster(N_NODES) as nodes, contextlib.ExitStack() as stack:
        for node in nodes:
            stack.callback(node.kill_all)
        slurm = Slurm(folder, stack, nodes)
        slurm.env.update(PATH=f"{BIN}:{slurm.env['PATH']}", TMPDIR=str(folder))
        number = slurm.ask("sbatch", "--parsable", "--chdir", folder, job, check=True).strip()
        wait_until(lambda: not slurm.ask("squeue", "-h", "-j", number).strip(), slurm.told)
        assert "JobState=COMPLETED" in slurm.ask("scontrol", "show", "job", number), slurm.told()
    alone = hosts.steps_of(ctl("run", config, "--format", "jsonl").stdout.splitlines())
    lines = [line for line in (folder / f"slurm-{number}.out").read_text().splitlines() if line.startswith("{")]
    assert hosts.steps_of(lines) == hosts.whole_rounds(alone, N_NODES)
    assert not list(folder.glob("leat.*")), "the sockets are gone"


if __name__ == "__main__":
    leat_harness.main(globals())

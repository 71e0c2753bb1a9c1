"""Daemons in network namespaces of their own, each with a trainer of one rank: what all of them cost together."""
import contextlib
import os
import pathlib
import sys
import time

E2E = pathlib.Path(__file__).resolve().parents[1] / "e2e"
sys.path[:0] = [str(E2E), str(E2E / "cluster")]
import hosts
import leat_harness


def cpu_seconds(pid):
    """User and system time of the process, to the nanosecond (as of clock_getcpuclockid): its ticks are too coarse."""
    return time.clock_gettime((~pid << 3) | 2)


def pull(folder, text, n_daemons):
    """An epoch by that many ranks: its steps, and the CPU seconds of the daemons from their start. One rank pulls after the other,
    as nodes share no caches of a processor."""
    with hosts.cluster(n_daemons) as nodes, contextlib.ExitStack() as stack:
        daemons = [hosts.start_daemon(stack, folder, node, text) for node in nodes]
        steps = {}
        for rank, (node, daemon) in enumerate(zip(nodes, daemons)):
            command = [leat_harness.BIN / "leatctl", "pull", "s", "--rank", rank, "--world-size", n_daemons, "--format", "jsonl"]
            output = folder / f"rank-{rank}"
            with open(output, "wb") as file:
                trainer = node.popen(*command, stdout=file, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
            assert trainer.wait() == 0, output
            steps.update(hosts.steps_of(output.read_text().splitlines()))
        return steps, sum(cpu_seconds(daemon.pid) for daemon in daemons)


def measure(folder, text, n_daemons, n_rounds):
    """CPU seconds of one daemon, and how many times that all of `n_daemons` take; of the rounds the least counts. Their
    batches are the same."""
    one, many = [], []
    for _ in range(n_rounds):
        alone, seconds = pull(folder, text, 1)
        one.append(seconds)
        steps, seconds = pull(folder, text, n_daemons)
        many.append(seconds)
        assert steps == hosts.whole_rounds(alone, n_daemons)
    return {"daemon_s": round(min(one), 3), f"daemons_{n_daemons}": round(min(many) / min(one), 3)}

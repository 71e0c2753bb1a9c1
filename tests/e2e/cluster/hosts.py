"""Hosts of a cluster on one machine: network namespaces that a bridge joins, which stands in a namespace of its own.

A namespace lives as long as the process that keeps it, and that ends with the test, however the test ends. The hosts share
the file system but for what is mounted in one of them, and know each other's names. `nsenter --net` enters them, since
`ip netns exec` would hide what the test has mounted.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from leat_harness import HANG_S, Daemon, Skip, require

KEEP = """hostname "$0" && ip link set lo up && mount --bind "$1" /etc/hosts && mount --bind /dev/null /etc/resolv.conf && echo up && exec cat"""


def net_of(pid):
    """The network namespace of a process; None: it has ended."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


class Host:
    """A network namespace with a host name and mounts of its own: `host.command(...)` runs there."""

    def __init__(self, name, hosts_file):
        self.name, self.address = name, None
        self.keeper = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", KEEP, name, hosts_file], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "up\n":
            raise Skip(f"no network namespace can be made here: {self.keeper.communicate()[1].strip()}")

    def command(self, *words):
        spaces = [f"--{kind}=/proc/{self.keeper.pid}/ns/{file}" for kind, file in (("net", "net"), ("uts", "uts"), ("mount", "mnt"))]
        return ["nsenter", *spaces, f"--wd={os.getcwd()}", "--", *map(str, words)]

    def popen(self, *words, **options):
        return subprocess.Popen(self.command(*words), **options)

    def run(self, *words, check=True, timeout=HANG_S, **options):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout, **options)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
        return done

    def listens(self, port):
        """A program here accepts connections at this TCP port."""
        lines = pathlib.Path(f"/proc/{self.keeper.pid}/net/tcp").read_text().splitlines()[1:]
        return any(int(line.split()[1].split(":")[1], 16) == port and line.split()[3] == "0A" for line in lines)

    def listens_at(self, path):
        """A program here accepts connections at this Unix socket; its file is there some time before."""
        lines = pathlib.Path(f"/proc/{self.keeper.pid}/net/unix").read_text().splitlines()[1:]
        return any(line.split()[3] == "00010000" and line.endswith(f" {path}") for line in lines)

    def kill_all(self):
        """As if the host lost its power: all processes here end at once."""
        own = os.stat(f"/proc/{self.keeper.pid}/ns/net").st_ino
        while True:
            found = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != self.keeper.pid and net_of(pid) == own]
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                return
            time.sleep(0.02)

    def end(self):
        self.keeper.communicate()


@contextlib.contextmanager
def cluster(n_hosts):
    """Hosts n0, n1, ... that reach each other at 10.77.0.1, 10.77.0.2, ..."""
    require("ip")
    require("nsenter")
    if os.geteuid() != 0:
        raise Skip("only root can make network namespaces")
    with contextlib.ExitStack() as stack:
        names = stack.enter_context(tempfile.NamedTemporaryFile("w"))
        names.write("127.0.0.1 localhost\n" + "".join(f"10.77.0.{i + 1} n{i}\n" for i in range(n_hosts)))
        names.flush()

        def add(name):
            host = Host(name, names.name)
            stack.callback(host.end)
            return host

        switch = add("switch")
        switch.run("ip", "link", "add", "bridge", "type", "bridge")
        switch.run("ip", "link", "set", "bridge", "up")
        hosts = [add(f"n{i}") for i in range(n_hosts)]
        for i, host in enumerate(hosts):
            host.address = f"10.77.0.{i + 1}"
            switch.run("ip", "link", "add", f"port{i}", "type", "veth", "peer", "name", "eth0", "netns", host.keeper.pid)
            switch.run("ip", "link", "set", f"port{i}", "master", "bridge", "up")
            host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "up")
        yield hosts


def start_daemon(stack, folder, host, text):
    """A daemon in that host, which ends with the stack. Its configuration and its sockets are its own."""
    place = folder / host.name
    place.mkdir(exist_ok=True)
    return stack.enter_context(Daemon(place, text, wrapper=host.command()))


def steps_of(lines):
    """(epoch, step): digest, of what `--format jsonl` printed."""
    found = {}
    for line in map(json.loads, lines):
        if "digest" in line and "step" in line:
            assert (line["epoch"], line["step"]) not in found, f"{line} came twice"
            found[line["epoch"], line["step"]] = line["digest"]
    return found


def whole_rounds(steps, world_size):
    """What the ranks of that world get of an epoch's steps between them, with `uneven: drop`."""
    n_steps = {epoch: 1 + max(step for at, step in steps if at == epoch) for epoch, _ in steps}
    return {place: digest for place, digest in steps.items() if place[1] < n_steps[place[0]] // world_size * world_size}

"""Trainers of different paces, and what the kernel and the daemon say about memory meanwhile."""
import json
import os
import random
import signal
import subprocess
import time

import leat_harness

MIB = 1 << 20
REFUSED_S = 3


class Trainer:
    """Pulls without end, as its pace says: `fast` all the time; `slow` goes and stops some times a
    second; `stops` for seconds; `dies` by SIGKILL in the middle and comes again; `leaves` kindly and
    comes again. How long it waited for a batch, while it was not stopped, is `longest_wait_s`."""

    PACES = ("fast", "slow", "stops", "dies", "leaves")

    def __init__(self, daemon, stream, pace, is_copy=False, seed=0):
        self.daemon, self.stream, self.pace, self.is_copy = daemon, stream, pace, is_copy
        self.rng = random.Random(seed)
        self.n_batches = self.n_starts = 0
        self.messages = []  # of those that were refused or failed
        self.longest_wait_s = 0.0
        self.process = None
        self.start(time.monotonic())

    def start(self, now):
        args = ["--delivery", "copy"] if self.is_copy else []
        self.process = subprocess.Popen(
            [leat_harness.BIN / "leatctl", "pull", self.stream, "--epochs", "0", *args],
            env={**os.environ, "LEAT_SOCKET": str(self.daemon.sockets)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.is_stopped, self.seen, self.told, self.hungry_s = False, 0, now, 0.0
        self.n_starts += 1
        self.next = now + self.pause()

    def pause(self):
        if self.pace == "slow":
            return self.rng.uniform(0.05, 0.3)
        if self.pace == "stops":
            return self.rng.uniform(1, 3)
        return self.rng.uniform(1.5, 4) if self.pace in ("dies", "leaves") else 1e9

    def turn(self, now):
        """What its pace has it do now. Who was refused asks again after a while."""
        if self.process.poll() is not None:
            if not self.process.stderr.closed:
                text = self.process.stderr.read().decode(errors="replace").strip()
                self.process.stderr.close()
                is_refused = self.process.returncode > 0 and "interrupted" not in text
                if is_refused and text not in self.messages:
                    self.messages.append(text)
                self.next = now + (REFUSED_S if is_refused else 0)
            if now >= self.next:
                self.start(now)
        elif now >= self.next:
            self.next = now + self.pause()
            if self.pace in ("slow", "stops"):
                self.is_stopped = not self.is_stopped
                self.process.send_signal(signal.SIGSTOP if self.is_stopped else signal.SIGCONT)
            else:
                self.process.send_signal(signal.SIGKILL if self.pace == "dies" else signal.SIGINT)

    def tell(self, n_batches, now):
        """So many batches went to its process until now."""
        if n_batches > self.seen:
            self.n_batches += n_batches - self.seen
            self.seen = n_batches
            self.hungry_s = 0.0
        elif not self.is_stopped and self.process.poll() is None:
            self.hungry_s += now - self.told
            self.longest_wait_s = max(self.longest_wait_s, self.hungry_s)
        self.told = now

    def has_an_answer(self):
        """Batches, or why there are none. Who dies or leaves may have gone before."""
        return self.n_batches > 0 or bool(self.messages) or self.pace in ("dies", "leaves")

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        if not self.process.stderr.closed:
            self.process.stderr.close()


class Watch:
    """Memory of the daemon, looked at now and then."""

    def __init__(self, daemon, limit):
        self.daemon, self.limit = daemon, limit
        self.most_unknown = 0  # that the process has and the account does not
        self.at_unknown = {}
        self.shmem = self.used = 0

    def look(self):
        status = self.daemon.status()
        kernel = status_of(self.daemon.pid)
        unknown = kernel["VmRSS"] - status["memory_used_bytes"]
        self.shmem = max(self.shmem, kernel["RssShmem"])
        if unknown > self.most_unknown:
            self.most_unknown = unknown
            self.at_unknown = {"rss": kernel["VmRSS"], "counted": status["memory_used_bytes"],
                               **maps_of(self.daemon.pid)}
        return status

    def figures(self):
        status, kernel = self.daemon.status(), status_of(self.daemon.pid)
        return {"limit": self.limit, "hwm": kernel["VmHWM"], "share": round(kernel["VmHWM"] / self.limit, 3),
                "counted_peak": status["memory_peak_bytes"], "shmem": self.shmem,
                "unknown": self.most_unknown, "at_unknown": self.at_unknown}


def status_of(pid):
    """/proc/PID/status, what is in kB as bytes."""
    with open(f"/proc/{pid}/status") as file:
        rows = [line.split() for line in file]
    return {row[0][:-1]: int(row[1]) * 1024 for row in rows if row[-1] == "kB"}


def maps_of(pid):
    """Resident bytes by what they are for, as far as the kernel can tell: the heap that grows by brk,
    heaps of threads, mappings of their own, stacks, shared memory, files."""
    kinds, kind = {}, None
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0] and not words[0].endswith(":"):
                kind = kind_of(words)
            elif words[0] == "Rss:":
                kinds[kind] = kinds.get(kind, 0) + int(words[1]) * 1024
    return kinds


def kind_of(words):
    start, name = int(words[0].split("-")[0], 16), " ".join(words[5:])
    if name == "[heap]":
        return "heap"
    if "memfd:" in name:
        return "shared"
    if name.startswith("["):
        return "stack"
    if name:
        return "files"
    return "heaps_of_threads" if start % (64 << 20) == 0 else "mappings"


def batches_by_pid(daemon):
    streams = json.loads(daemon.ctl("streams", "--json").stdout)
    return {session["pid"]: session["n_batches"] for stream in streams for session in stream["sessions"]}


def run(daemon, trainers, watch, seconds, step_s=0.1, until=lambda: False):
    """Lets them pull for so long, or until then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        for trainer in trainers:
            trainer.turn(time.monotonic())
        watch.look()
        batches, now = batches_by_pid(daemon), time.monotonic()
        for trainer in trainers:
            trainer.tell(batches.get(trainer.process.pid, 0), now)
        time.sleep(step_s)

#!/usr/bin/env python3
"""No threads, no pipes and no descriptors: at the start the daemon says so, later it goes on. A clock that jumps changes nothing.

    test_scarce.py BIN [PATTERN]
"""
import json
import os
import pathlib
import resource
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, SLOW, Daemon, Skip, wait_until


def config(folder):
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(2000)))
    (folder / "r.jsonl").write_text("".join(f'{{"id": {i}}}\n' for i in range(100)))
    exec_ = {"source": {"jsonl": {"paths": [str(folder / "r.jsonl")]}}, "stages": [
        {"exec": {"command": ["/bin/cat"], "schema": {"id": "int64"}}}, {"select": {"fields": ["id"]}},
        {"batch": {"batch_size": 8}}]}
    return data.yaml_text({"s": data.numbers_stream([str(folder / "numbers.csv")]), "exec": exec_}, workers=2)


def scarce_daemon(folder):
    """A daemon, and the files whose being there takes threads and pipes from it."""
    if SLOW > 1:
        raise Skip("a sanitizer must be the first library")
    threads, pipes = folder / "no-threads", folder / "no-pipes"
    env = {"LD_PRELOAD": str(BIN.parent / "tests" / "e2e" / "scarce.so"), "LEAT_SCARCE_THREADS": str(threads),
           "LEAT_SCARCE_PIPES": str(pipes)}
    return Daemon(folder, config(folder), env=env), threads, pipes


def start(daemon):
    """Its status and what it says, if it ends rather than serve."""
    process = subprocess.Popen(list(map(str, daemon.command)), env=daemon.env, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: process.poll() is not None or daemon.ctl("pull", "s", check=False).returncode == 0,
                   "a daemon, or its end")
    finally:
        process.kill()
    said = process.communicate()[1]
    return process.returncode, said


def test_too_few_threads_at_the_start(folder):
    daemon, threads, _ = scarce_daemon(folder)
    threads.touch()
    daemon.env["LEAT_THREADS_MOST"] = "2"  # without its threads the pool would end the daemon later
    status, said = start(daemon)
    assert status == 1 and b"only 2 of 3 threads can start" in said, (status, said)


def test_no_pipe_at_the_start(folder):
    daemon, _, pipes = scarce_daemon(folder)
    pipes.touch()
    status, said = start(daemon)
    assert status == 1 and b"cannot create a pipe: Too many open files" in said, (status, said)


def test_nothing_later(folder):
    daemon, threads, pipes = scarce_daemon(folder)
    with daemon:
        threads.touch()
        pipes.touch()
        expected = daemon.digest("s")
        refused = daemon.pull("exec", check=False)
        assert refused.returncode != 0 and b"cannot start the program /bin/cat" in refused.stderr, refused.stderr
        assert daemon.digest("s") == expected
        threads.unlink()
        pipes.unlink()
        daemon.digest("exec")


def test_clock_jumps(folder):
    """By a day, back and forth, at each look: the same batches, also from a cache and an index made then, and all verbs answer."""
    if SLOW > 1:
        raise Skip("a sanitizer must be the first library")
    jumps = folder / "jumps"
    env = {"LD_PRELOAD": str(BIN.parent / "tests" / "e2e" / "scarce.so"), "LEAT_CLOCK_JUMPS": str(jumps)}
    (folder / "caches").mkdir()
    text = config(folder) + "  cached: " + json.dumps({**data.numbers_stream([str(folder / "numbers.csv")]), "cache": {"path": str(folder / "caches")}}) + "\n"
    with Daemon(folder, text, env=env) as daemon:
        expected = {stream: daemon.digest(stream) for stream in ("s", "exec")}
        jumps.touch()
        for _ in range(3):
            assert {stream: daemon.digest(stream) for stream in expected} == expected
            assert daemon.digest("cached") == expected["s"]
        for verb in (("status",), ("stats",), ("stats", "--since", "60"), ("streams", "--users"), ("why", "s"), ("metrics",), ("reload",)):
            daemon.ctl(*verb)


def pull_with_few(daemon, stream, digest, give_back):
    """A client that the daemon cannot even accept waits, and is served once it can."""
    n_told = daemon.log.count("event=descriptors")
    process = subprocess.Popen([BIN / "leatctl", "pull", stream, "--digest", "--reconnect", "0"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
    wait_until(lambda: process.poll() is not None or daemon.log.count("event=descriptors") > n_told, "an end, or no descriptor")
    give_back()
    out, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 0 or said
    assert process.returncode != 0 or leat_harness.find_digest(out) == digest, out


def test_table_of_descriptors_does_not_grow(folder):
    """Growing it would stop the loop for a grace period of the kernel, in the middle of accept()."""
    with Daemon(folder, config(folder)) as daemon:
        daemon.digest("s")
        status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
        size = int(next(line.split()[1] for line in status.splitlines() if line.startswith("FDSize:")))
        n_max = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)[0]
        assert size >= min(n_max, 65536), f"{size} of {n_max}"


def test_few_descriptors(folder):
    """However many there are, a stream is served or refused, and the daemon goes on."""
    with Daemon(folder, config(folder)) as daemon:
        expected = {stream: daemon.digest(stream) for stream in ("s", "exec")}
        whole = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "idle at first")
        n_fds = daemon.n_fds()
        for n_more in range(0, 24, 4):
            for stream, digest in expected.items():
                resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (n_fds + n_more, whole[1]))
                pull_with_few(daemon, stream, digest, lambda: resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, whole))
        for stream, digest in expected.items():
            assert daemon.digest(stream) == digest


if __name__ == "__main__":
    leat_harness.main(globals())

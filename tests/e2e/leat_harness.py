"""What the end-to-end tests share: the programs, daemons in folders of their own, a small runner.

A test file is a script with functions test_*(); `main()` runs them, each with a fresh folder, and
prints one line for each. `NAME.py BIN [PATTERN]` runs those whose name holds PATTERN. Exit status
77: all were skipped. What was skipped is printed as tests/suite.py reads it.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("LEAT_BIN", "build/bin")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = float(os.environ.get("LEAT_TEST_SLOW", "1"))  # how much slower a sanitizer makes things
HANG_S = 120 * max(1, SLOW / 2)  # nothing that goes on at all takes so long, on whatever machine


class Skip(Exception):
    """This test needs what is not here; says what."""


def ctl(*args, timeout=HANG_S, check=True, env=None, cwd=None):
    """leatctl with these arguments; fails the test on another status than 0 unless check=False."""
    done = subprocess.run([BIN / "leatctl", *map(str, args)], capture_output=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, cwd=cwd)
    if check and done.returncode != 0:
        raise AssertionError(f"leatctl {' '.join(map(str, args))}: status {done.returncode}\n"
                             f"{done.stderr.decode(errors='replace')[-2000:]}")
    return done


def find_digest(output):
    """The digest in what `--digest` printed."""
    found = re.findall(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", output)
    if not found:
        raise AssertionError(f"no digest in {output[-500:]!r}")
    return found[-1].decode()


def run_digest(file, *args, **keywords):
    return find_digest(ctl("run", file, "--digest", *args, **keywords).stdout)


class Daemon:
    """leatd with its sockets in a folder of its own. Ends with the `with` block, by SIGTERM; then
    its status must be 0, and what it logged is in `log`."""

    def __init__(self, folder, config, *args, env=None, wrapper=()):
        self.folder = pathlib.Path(folder)
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir(exist_ok=True)
        self.config = self.folder / "leatd.yaml" if "\n" in str(config) else pathlib.Path(config)
        if "\n" in str(config):
            self.config.write_text(config)
        self.log_path = self.folder / "leatd.log"
        self.command = [*wrapper, BIN / "leatd", "--config", self.config, "--socket-dir", self.sockets, *args]
        self.env = {**os.environ, **(env or {})}
        self.process = None
        self.was_stopped = False

    def start(self):
        self.was_stopped = False
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(list(map(str, self.command)), stdout=log, stderr=log,
                                            env=self.env)
        deadline = time.monotonic() + HANG_S
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"leatd ended with {self.process.returncode}: {self.log[-2000:]}")
            if self.ctl("status", "--json", check=False).returncode == 0:
                return self
            if time.monotonic() > deadline:
                raise AssertionError(f"leatd does not answer: {self.log[-2000:]}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGTERM):
        """Ends it."""
        self.was_stopped = True
        self.process.send_signal(how)
        status = self.process.wait(HANG_S)
        if how != signal.SIGKILL and status != 0:
            raise AssertionError(f"leatd ended with status {status}: {self.log[-3000:]}")

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def pid(self):
        return self.process.pid

    def ctl(self, *args, **keywords):
        return ctl(*args, env={"LEAT_SOCKET": str(self.sockets)}, **keywords)

    def status(self):
        return json.loads(self.ctl("status", "--json").stdout)

    def pull(self, stream, *args, **keywords):
        return self.ctl("pull", stream, *args, **keywords)

    def digest(self, stream, *args, **keywords):
        return find_digest(self.pull(stream, "--digest", *args, **keywords).stdout)

    def sessions(self):
        """Of all streams."""
        return [session for stream in json.loads(self.ctl("streams", "--json").stdout) for session in stream["sessions"]]

    def n_fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, _value, _trace):
        if self.process.poll() is None:
            if kind is None:
                self.stop()
            else:
                self.process.kill()
                self.process.wait()
        elif kind is None and not self.was_stopped:
            raise AssertionError(f"leatd ended by itself with {self.process.returncode}: {self.log[-3000:]}")


def wait_until(condition, what):
    """Until condition() holds."""
    deadline = time.monotonic() + HANG_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {HANG_S:g} s: {what}")
        time.sleep(0.02)


def in_child(function):
    """Runs function() in a forked child and waits for its end, so that what it holds of the daemon's
    memory is gone: while a process lives, what was handed to it stays untouched."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, "the client failed; its message is above"


def children(pid):
    """Processes whose parent is `pid`, with their states."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found[int(entry.name)] = fields[0]
    return found


def require(program):
    path = shutil.which(program)
    if not path:
        raise Skip(f"{program} is not installed")
    return path


def note_skipped(case, reason):
    """Says that a case, or the part of it that `case` names, did not run. The rest of the test goes on."""
    print(f"skipped: {case}: {reason}", flush=True)


def main(tests):
    """Runs the functions test_* of a module's globals()."""
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    n_failed = n_run = n_skipped = 0
    for name, test in [(n, t) for n, t in tests.items() if n.startswith("test_") and pattern in n]:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-e2e-"))
        os.environ["XDG_STATE_HOME"] = str(folder / "state")  # not the user's own, nor what another test found
        start = time.monotonic()
        n_run += 1
        try:
            test(folder)
            result = "ok"
        except Skip as reason:
            n_skipped += 1
            note_skipped(name, reason)
            result = "skipped"
        except Exception:  # noqa: whatever it was, the others still run
            n_failed += 1
            result = "FAILED\n" + traceback.format_exc()
            log = folder / "leatd.log"
            if log.exists():
                result += "--- the end of the daemon's log\n" + log.read_text(errors="replace")[-3000:]
        print(f"{name}: {result}  ({time.monotonic() - start:.1f} s)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    if n_failed:
        sys.exit(1)
    sys.exit(77 if n_run == n_skipped else 0)

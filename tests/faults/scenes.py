"""Scenes of run.py: work of a program, short, and what must be true after it.

A scene has `program`, whose calls fail, and
- act(): does the work while a call may fail, and raises Wrong if the outcome is none that a user may get;
- check(): looks at what remains;
- renew(): begins anew after something was wrong.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import data
from leat_harness import BIN, HANG_S, ROOT, Daemon, find_digest

ON_OUTPUT = {"check", "verify", "rm"}  # commands whose output says what is wrong with a file
N_IDLE = 6  # rounds without a fault, after which a daemon holds what it holds


class Wrong(Exception):
    """What no user may see."""


def until(condition):
    """Whether it comes true."""
    end = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def ran(command, env, cwd=None, page=None):
    """Status, output and errors of a program that neither hangs nor crashes, and says why it fails."""
    process = subprocess.Popen(list(map(str, command)), env={**os.environ, **env}, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Wrong(f"{' '.join(map(str, command[1:]))}: hangs") from None
    if process.returncode < 0:
        raise Wrong(f"{' '.join(map(str, command[1:]))}: ended by signal {-process.returncode}: {err.decode(errors='replace')[-500:]}")
    if process.returncode > 0 and not err.strip() and not ON_OUTPUT.intersection(command):
        raise Wrong(f"{' '.join(map(str, command[1:]))}: status {process.returncode}, and no word why: {out[-200:]}")
    if process.returncode > 0 and page and page.call == "malloc" and b"memory" not in out + err:
        raise Wrong(f"{' '.join(map(str, command[1:]))}: a lack of memory is told as: {(out[-200:] + err[-300:]).decode(errors='replace')}")
    return process.returncode, out, err


def write_world(folder):
    """Data, and a configuration of streams that read them in all ways; its text."""
    (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(100)))
    (folder / "t.jsonl").write_text("".join(json.dumps({"id": i, "text": f"the ax {i} is a {'b' * (i % 7)}"}) + "\n" for i in range(60)))
    (folder / "b.jsonl").write_text("".join(json.dumps({"id": i if i % 5 else "none"}) + "\n" for i in range(60)))
    shutil.copy(ROOT / "tests/tokenizer/data/wordlevel.json", folder)
    shutil.copy(ROOT / "tests/pipeline/data/arrow/lz4.arrow", folder)
    subprocess.run(["gzip", "-kf", folder / "n.csv"], check=True)
    batch = [{"batch": {"batch_size": 16}}]
    text = [{"tokenize": {"input": "text", "output": "ids", "tokenizer": "wordlevel.json"}}, {"select": {"fields": ["id", "ids"]}},
            {"pad": {"input": "ids", "longest": True, "value": 0}}, {"shuffle": {"buffer_size": 20, "seed": 1}}, *batch]
    jsonl = {"jsonl": {"paths": ["t.jsonl"], "fields": {"id": "int64", "text": "text"}}}
    streams = {
        "numbers": data.numbers_stream(["n.csv"]),
        "packed": data.numbers_stream(["n.csv.gz"]),
        "text": {"source": jsonl, "stages": text},
        "cached": {"source": jsonl, "cache": {"path": "caches"}, "stages": text},
        "bad": {"source": {"jsonl": {"paths": ["b.jsonl"], "fields": {"id": "int64"}}}, "on_error": "quarantine",
                "quarantine": "bad.jsonl", "stages": [{"select": {"fields": ["id"]}}, *batch]},
        "arrow": {"source": {"arrow": {"paths": ["lz4.arrow"]}}, "on_error": "skip",
                  "stages": [{"template": {"output": "one", "parts": ["1"]}}, {"cast": {"input": "one", "dtype": "int32"}},
                             {"select": {"fields": ["one"]}}, *batch]},
        "exec": {"source": jsonl, "stages": [{"exec": {"command": ["/bin/cat"], "inputs": ["id"], "schema": {"id": "int64"}, "processes": 1}},
                                             {"select": {"fields": ["id"]}}, *batch]},
    }
    (folder / "caches").mkdir(exist_ok=True)
    return data.yaml_text(streams, workers=2, roots=[str(folder)], http_listen="unix:http.sock")


class Scene:
    program = "leatd"

    def __init__(self, name, folder, page):
        self.name, self.folder, self.page = name, folder / name, page
        self.folder.mkdir()
        self.config = self.folder / "world.yaml"
        self.config.write_text(write_world(self.folder))
        self.expected = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def check(self):
        pass

    def renew(self):
        pass

    def finish(self):
        pass

    def digest_of(self, stream):
        """As a process alone gives it."""
        if stream not in self.expected:
            command = [BIN / "leatctl", "run", self.config, stream, "--no-daemon", "--digest"]
            self.expected[stream] = find_digest(subprocess.run(command, check=True, capture_output=True).stdout)
            self.tidy()
        return self.expected[stream]

    def tidy(self):
        """Removes what a stream wrote. The daemon may remove its unfinished cache file meanwhile."""
        while (self.folder / "caches").exists():
            try:
                shutil.rmtree(self.folder / "caches")
            except FileNotFoundError:
                pass
        (self.folder / "caches").mkdir()

    def judge(self, stream, status, out):
        try:
            found = find_digest(out) if status == 0 else None
        except AssertionError as error:
            raise Wrong(f"{stream}: status 0, and {error}") from None
        if found not in (None, self.digest_of(stream)):
            raise Wrong(f"{stream}: wrong batches")


# ---- the daemon ----

class Start(Scene):
    """A daemon begins, serves and ends. If it does not begin, it says why."""

    def act(self):
        daemon = Daemon(self.folder, self.config, env=self.page.env("leatd"))
        daemon.log_path.write_text("")
        self.page.start_counting()
        with open(daemon.log_path, "ab") as log:
            self.page.arm()
            process = daemon.process = subprocess.Popen(list(map(str, daemon.command)), env=daemon.env, stdout=log, stderr=log)
        try:
            if not until(lambda: process.poll() is not None or daemon.ctl("status", check=False).returncode == 0):
                raise Wrong("neither ends nor serves")
            self.page.disarm()
            if process.poll() is None:
                self.judge("numbers", *ran([BIN / "leatctl", "pull", "numbers", "--digest", "--reconnect", "0"], {"LEAT_SOCKET": str(daemon.sockets)})[:2])
                process.terminate()
            try:
                status = process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                raise Wrong("does not end by SIGTERM") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status < 0 or (status > 0 and not daemon.log.strip()):
            raise Wrong(f"status {status}: {daemon.log[-400:]}")


class Serving(Scene):
    """A daemon that goes on. Its steps are functions of the scene, and all are done in a round.

    Blocks of memory are counted when the daemon has ended, as it keeps some for as long as it lives: its history, for one.
    """

    def __init__(self, name, folder, page, *steps, tidies=False):
        super().__init__(name, folder, page)
        self.steps, self.tidies, self.daemon, self.n_fds, self.n_blocks = steps, tidies, None, None, None
        self.may_fail = False

    def __enter__(self):
        self.daemon = Daemon(self.folder, self.config, env=self.page.env("leatd"))
        self.begin()
        self.n_blocks = self.end()
        self.begin()
        return self

    def __exit__(self, kind, *_):
        self.page.disarm()
        if self.daemon.process.poll() is None:
            self.daemon.process.kill()
            self.daemon.process.wait()

    def begin(self):
        self.page.start_counting()
        self.daemon.start()
        for _ in range(N_IDLE):
            self.work()
        until(lambda: not self.daemon.sessions())
        self.n_fds = self.daemon.n_fds()

    def end(self):
        """The blocks of memory that it leaves."""
        try:
            self.daemon.stop()
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise Wrong(f"does not end well: {error}") from None
        return self.page.n_blocks

    def renew(self):
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.begin()

    def ctl(self, *arguments, status=0):
        """Without a fault, it must end with this status: a step that is refused would test nothing."""
        done = ran([BIN / "leatctl", *arguments], {"LEAT_SOCKET": str(self.daemon.sockets)})
        if done[0] != status and not self.may_fail:
            raise Wrong(f"leatctl {' '.join(map(str, arguments))}: status {done[0]} without a fault: {done[2].decode(errors='replace')}")
        return done

    def work(self):
        if self.tidies:
            self.tidy()
        for step in self.steps:
            step(self)

    def act(self):
        self.page.arm()
        self.may_fail = True
        try:
            self.work()
        finally:
            self.may_fail = False

    def check(self):
        if self.daemon.process.poll() is not None:
            raise Wrong(f"leatd ended with {self.daemon.process.returncode}: {self.daemon.log[-400:]}")
        for stream in ("numbers", "text"):
            status, out, _ = self.ctl("pull", stream, "--digest", "--reconnect", "0")
            self.judge(stream, status, out)
        if not until(lambda: not self.daemon.sessions()):
            raise Wrong("a session remains")
        if not until(lambda: self.daemon.n_fds() <= self.n_fds):
            raise Wrong(f"{self.daemon.n_fds()} descriptors, {self.n_fds} before: {descriptors(self.daemon.pid)}")

    def finish(self):
        """After all rounds, or after each."""
        n_more = self.end() - self.n_blocks
        if n_more > 0:
            raise Wrong(f"{n_more} blocks of memory remain at the end; --anew tells of which fault")


def descriptors(pid):
    return sorted(os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))


def pull(stream, *more):
    def step(scene):
        status, out, _ = scene.ctl("pull", stream, "--digest", "--reconnect", "5", *more)
        scene.judge(stream, status, out)

    return step


def ask(*arguments):
    def step(scene):
        scene.ctl(*arguments)

    return step


def two_at_once(scene):
    command = list(map(str, [BIN / "leatctl", "pull", "text", "--digest", "--reconnect", "5", "--epochs", "1"]))
    env = {**os.environ, "LEAT_SOCKET": str(scene.daemon.sockets)}
    both = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in both:
        try:
            out, err = process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            for other in both:
                other.kill()
            raise Wrong("one of two trainers hangs") from None
        if process.returncode < 0 or (process.returncode > 0 and not err):
            raise Wrong(f"one of two trainers: status {process.returncode}")
        scene.judge("text", process.returncode, out)


def resume(scene):
    """From the middle, in two parts."""
    position = scene.folder / "position"
    position.unlink(missing_ok=True)
    status, _, _ = scene.ctl("pull", "text", "--batches", "2", "--save-position", position, "--reconnect", "5")
    if status == 0 and position.exists():
        scene.ctl("pull", "text", "--position", f"@{position}", "--digest", "--reconnect", "5")


def killed(scene):
    """A trainer that ends without a word while it holds batches."""
    trainer = hold(scene)
    trainer.kill()
    trainer.communicate()


def reload(scene):
    """A stream more, one that is changed, one that is wrong, and back."""
    text = scene.config.read_text()
    changed = text.replace('"buffer_size": 20', '"buffer_size": 7', 1)
    more = text + '  "more": ' + json.dumps(data.numbers_stream(["n.csv"], batch_size=3)) + "\n"
    for written, status in ((more, 0), (changed, 0), (changed + "  wrong: {source: 1}\n", 3), (text, 0)):
        scene.config.write_text(written)
        scene.ctl("reload", status=status)


def hold(scene):
    """A trainer that holds batches."""
    trainer = subprocess.Popen([BIN.parent / "tests/e2e/trainer", "numbers", "4", "2"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               env={**os.environ, "LEAT_SOCKET": str(scene.daemon.sockets)})
    trainer.stdout.readline()
    return trainer


def kick(scene):
    trainer = hold(scene)
    scene.ctl("kick", "--pid", trainer.pid)
    trainer.kill()
    trainer.communicate()


class Ending(Serving):
    """A daemon that is drained while a trainer holds batches."""

    def work(self):
        trainer = hold(self)
        drain = subprocess.Popen([BIN / "leatctl", "drain", "--timeout", "1"], env={**os.environ, "LEAT_SOCKET": str(self.daemon.sockets)},
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: drain.poll() is not None or "drain" in self.daemon.log)
        trainer.kill()
        trainer.communicate()
        is_drained = drain.wait(HANG_S) == 0
        self.page.disarm()
        if not is_drained and self.daemon.process.poll() is None:
            self.daemon.process.terminate()
        try:
            status = self.daemon.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            raise Wrong("does not end") from None
        if status != 0 and (is_drained or status != -signal.SIGTERM):  # that may come as it ends already
            raise Wrong(f"ended with {status}: {self.daemon.log[-400:]}")

    def __enter__(self):
        self.daemon = Daemon(self.folder, self.config, env=self.page.env("leatd"))
        return self

    def act(self):
        self.daemon.start()
        self.daemon.was_stopped = True
        self.page.arm()
        self.work()

    def check(self):
        pass

    def renew(self):
        if self.daemon.process.poll() is None:
            self.daemon.process.kill()
            self.daemon.process.wait()

    def finish(self):
        pass


# ---- leatctl, and libleat in it ----

class Command(Scene):
    """A command of leatctl. If it succeeds, it prints what it prints otherwise, unless times are in that."""

    program = "leatctl"

    def __init__(self, name, folder, page, *arguments, stream=None, is_same=True, daemon=False, made=(), before=None):
        super().__init__(name, folder, page)
        self.arguments, self.stream, self.is_same, self.made, self.before = arguments, stream, is_same, made, before
        self.daemon = Daemon(self.folder, self.config) if daemon else None
        self.whole = None

    def __enter__(self):
        if self.daemon:
            self.daemon.start()
        self.whole = self.run({})
        if self.whole is None:
            raise Wrong(f"leatctl {' '.join(map(str, self.arguments))} fails without a fault")
        return self

    def __exit__(self, kind, *_):
        if self.daemon and self.daemon.process.poll() is None:
            self.daemon.stop() if kind is None else self.daemon.process.kill()

    def run(self, env):
        """What it made, or printed; None if it failed."""
        for name in self.made:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.tidy()
        if self.before:
            self.before(self)
        if self.daemon:
            env = {**env, "LEAT_SOCKET": str(self.daemon.sockets)}
        status, out, _ = ran([BIN / "leatctl", *self.arguments], env, self.folder, self.page)
        if status > 0:
            return None
        if self.stream:
            self.judge(self.stream, status, out)
        return [read(self.folder / name) for name in self.made] if self.made else out

    def act(self):
        self.page.arm()
        result = self.run(self.page.env("leatctl"))
        if result and self.is_same and result != self.whole:
            raise Wrong(f"says that it succeeded, with another result: {str(result)[-300:]}")

    def check(self):
        if self.daemon and self.daemon.process.poll() is not None:
            raise Wrong(f"leatd ended: {self.daemon.log[-400:]}")


def read(path):
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_bytes() if path.exists() else None


def warm(scene):
    subprocess.run([BIN / "leatctl", "cache", "warm", scene.config, "cached"], check=True, capture_output=True)


def make(folder, pages):
    """All scenes, the daemon's first."""
    daemon, client = pages["leatd"], pages["leatctl"]
    for name, *steps in (("pull", pull("numbers"), pull("text")), ("copy", pull("numbers", "--delivery", "copy")),
                         ("sources", pull("packed"), pull("arrow"), pull("bad")), ("exec", pull("exec")), ("share", two_at_once),
                         ("resume", resume), ("killed", killed),
                         ("verbs", ask("status"), ask("streams"), ask("stats"), ask("explain", "text"), ask("why", "text"),
                          ask("streams", "--users"), ask("streams", "--trainers"), ask("stats", "--since", "60"), ask("metrics"),
                          ask("log-level", "debug", "--room", "session"), ask("log-level", "info"), ask("reload", "--check"),
                          ask("where", "text", "--step", "1"), ask("cache", "ls"), ask("dump", "text")),
                         ("reload", reload), ("kick", kick)):
        yield Serving(name, folder, daemon, *steps)
    yield Serving("cache", folder, daemon, pull("cached"), pull("cached"), tidies=True)
    yield Start("start", folder, daemon)
    yield Ending("drain", folder, daemon)

    of = {"stream": "text", "daemon": True}
    yield Command("client-pull", folder, client, "pull", "text", "--digest", "--reconnect", "5", is_same=False, **of)
    yield Command("client-copy", folder, client, "pull", "text", "--digest", "--reconnect", "5", "--delivery", "copy", is_same=False, **of)
    for verb in (("status",), ("streams",), ("stats",), ("explain", "text"), ("why", "text"), ("metrics",), ("top", "--once"),
                 ("reload",), ("log-level",)):
        yield Command("client-" + verb[0], folder, client, *verb, daemon=True, is_same=False)
    yield Command("client-kick", folder, client, "kick", "--stream", "numbers", daemon=True, is_same=False, before=hold)
    yield Command("client-save", folder, client, "pull", "text", "--batches", "2", "--save-position", "p", made=("p",), daemon=True, is_same=False)
    yield Command("client-run", folder, client, "run", "world.yaml", "cached", "--no-daemon", "--digest", stream="cached", is_same=False)
    yield Command("client-private", folder, client, "run", "world.yaml", "text", "--digest", stream="text", is_same=False)
    yield Command("client-check", folder, client, "check", "world.yaml", is_same=False)  # without leatd it leaves out the settings
    for name, *arguments in (("explain-file", "explain", "world.yaml", "text", "--no-measure"),
                             ("describe", "describe", "world.yaml", "text", "-q"), ("head", "head", "world.yaml", "text"),
                             ("where", "where", "world.yaml", "text", "--step", "1"), ("spec", "spec", "world.yaml", "text"),
                             ("stages", "stages"), ("help", "help")):
        yield Command("client-" + name, folder, client, *arguments)
    yield Command("client-tokenizer", folder, client, "tokenizer", "show", "wordlevel.json", is_same=False)
    for name, target in (("jsonl", "d.jsonl"), ("safetensors", "d"), ("npz", "d")):
        yield Command("client-dump-" + name, folder, client, "dump", "world.yaml", "text", "-o", target, "--format", name, made=(target,))
    yield Command("client-warm", folder, client, "cache", "warm", "world.yaml", "cached", "-q", is_same=False)
    yield Command("client-ls", folder, client, "cache", "ls", "world.yaml", is_same=False, before=warm)
    yield Command("client-verify", folder, client, "cache", "verify", "world.yaml", "-q", is_same=False, before=warm)
    yield Command("client-rm", folder, client, "cache", "rm", "world.yaml", "--all", is_same=False, before=warm)
    yield Command("client-prepare", folder, client, "prepare", "world.yaml", "cached", "--shard", "0/2", "-o", "shards", "-q", made=("shards",))

#!/usr/bin/env python3
"""leat installed as daemon/guide/install.md says, under a systemd that is PID 1: activation, sandbox, crash, hang, stop.

    test_systemd_pid1.py BIN [PATTERN]

The machine is a container of systemd-nspawn: /usr is this machine's with what `cmake --install` adds
on top, everything else is empty and in memory. Needs root and systemd-nspawn; skipped where no
container boots.
"""
import contextlib
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import data
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, SLOW, Skip, find_digest, require, run_digest, wait_until
from test_sandbox import landlock_version
from tracer import Tracer

SOCKETS = ["leatd.socket", "leatd-copy.socket", "leatd-control.socket"]
CONFIG = data.yaml_text({"titanic": data.titanic_stream("titanic.csv")}, workers=2).replace(
    str(ROOT / "config" / "titanic.vocab.txt"), "titanic.vocab.txt")
FILES = ["titanic.csv", "titanic.vocab.txt"]
TRAINER_UID = 1000
HIERARCHIES = {"": ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"], "name=systemd": ["/sys/fs/cgroup/systemd"]}
BOOT_S = HANG_S


# A program for the stage exec that needs a secret.
ADD = """
import json, os, sys
number = int(open(os.environ["CREDENTIALS_DIRECTORY"] + "/number").read())
for line in sys.stdin:
    record = json.loads(line)
    print(json.dumps({"_leat": record["_leat"], "id": int(record["id"]) + number}), flush=True)
"""


# A program for the stage exec that tells what each of these comes to.
TRY = """
import ctypes, json, mmap, os, socket, sys
def network(family):
    socket.socket(family, socket.SOCK_STREAM).close()
def local():
    ends = socket.socketpair()
def write(path):
    open(path + "/leat-tried", "w").close()
def compile():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
def chmod(mode):
    path = "/tmp/leat-tried-mode"
    open(path, "w").close()
    os.chmod(path, mode)
def change_user():
    os.setuid(0)
def unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
def chown():
    os.chown("/tmp", os.getuid(), os.getgid())
def real_time():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
def io_uring():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 0, None) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")
tried = {
    "ipv4": lambda: network(socket.AF_INET), "ipv6": lambda: network(socket.AF_INET6), "unix": local,
    "etc": lambda: write("/etc"), "srv": lambda: write("/srv"), "usr": lambda: write("/usr"), "tmp": lambda: write("/tmp"),
    "state": lambda: write("/var/lib/leat"), "cache": lambda: write("/var/cache/leat"), "home": lambda: os.listdir("/home/alice"),
    "root": lambda: os.listdir("/root"), "run": lambda: os.stat("/run/user/1000"), "compile": compile,
    "setgid": lambda: chmod(0o2755), "chmod": lambda: chmod(0o755), "setuid": change_user, "unshare": unshare, "chown": chown,
    "nice": lambda: os.nice(5), "affinity": lambda: os.sched_setaffinity(0, [0]), "realtime": real_time, "io_uring": io_uring,
    "others": lambda: os.stat("/proc/1"), "kmsg": lambda: os.stat("/dev/kmsg"), "null": lambda: os.stat("/dev/null"),
}
def attempt(call):
    try:
        call()
        return 0
    except OSError as error:
        return error.errno
for line in sys.stdin:
    told = {name: attempt(call) for name, call in tried.items()}
    print(json.dumps({"_leat": json.loads(line)["_leat"], **told}), flush=True)
"""


TRIED = dict.fromkeys(["unix", "tmp", "state", "cache", "chmod", "null"], 0)
TRIED |= dict.fromkeys(["ipv4", "ipv6"], errno.EAFNOSUPPORT) | dict.fromkeys(["etc", "srv", "usr"], errno.EROFS)
TRIED |= dict.fromkeys(["others", "kmsg"], errno.ENOENT) | dict.fromkeys(["home", "root", "run"], errno.EACCES)
TRIED |= dict.fromkeys(["compile", "setgid", "setuid", "unshare", "chown", "nice", "affinity", "realtime", "io_uring"], errno.EPERM)


# As leatd(8) says what is to be allowed.
ALLOW = """
[Service]
PrivateNetwork=no
IPAddressDeny=
RestrictAddressFamilies=AF_INET AF_INET6
MemoryDenyWriteExecute=no
ReadWritePaths=/srv
SystemCallFilter=@resources
"""


def children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    with contextlib.suppress(OSError):
        for child in map(int, path.read_text().split()):
            yield child
            yield from children(child)


def make_cgroups(name):
    """Of its own for one container: those that share one see each other's processes in their units."""
    made = []
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, hierarchy, path = line.split(":", 2)
        for mount in HIERARCHIES.get(hierarchy, []):
            folder = pathlib.Path(mount + path) / name
            with contextlib.suppress(OSError):
                if (folder.parent / "cgroup.procs").exists():
                    folder.mkdir()
                    made.append(folder)
    return made


def remove_cgroup(folder):
    """With those below it; none has a process any more, or it stays."""
    for path, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(path)


class Machine:
    """A container with systemd as PID 1 and leat installed."""

    def __init__(self):
        if os.geteuid() != 0:
            raise Skip("needs root")
        if SLOW > 1:
            raise Skip("sanitizers do not fit into the unit's sandbox")
        if not os.path.exists("/usr/lib/systemd/systemd") or not os.path.islink("/lib"):
            raise Skip("systemd is not installed, or /lib is not in /usr")
        require("systemd-nspawn")
        require("nsenter")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-e2e-"))
        self.log = open(self.folder / "boot.log", "w+")
        self.process = self.leader = None
        self.cgroups = []

    def install(self):
        subprocess.run(["cmake", "--install", BIN.parent, "--prefix", "/usr"], check=True, stdout=self.log,
                       env={**os.environ, "DESTDIR": str(self.folder), "PATH": f"/usr/bin:{os.environ['PATH']}"})
        tests = self.folder / "usr/lib/leat-tests"
        tests.mkdir(parents=True)
        for program in ("e2e/namer", "daemon_test_roots"):
            shutil.copy(BIN.parent / "tests" / program, tests)

    def boot(self):
        self.boot_tree("/", "--volatile=yes", f"--overlay=/usr:{self.folder}/usr:/usr")
        for name in FILES:
            self.write(f"/etc/leat/{name}", (ROOT / "config" / name).read_text())

    def boot_tree(self, folder, *more):
        options = [f"--directory={folder}", *more, "--quiet", "--register=no", "--machine", f"leat-{os.getpid()}",
                   "--private-network", "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self"]
        if not os.path.isdir("/run/systemd/system"):
            options.append("--keep-unit")  # else it asks this machine's systemd for a scope
            self.cgroups = make_cgroups(f"leat-{os.getpid()}")
        self.process = subprocess.Popen(
            ["systemd-nspawn", *options, "--boot", "systemd.unit=basic.target", "systemd.firstboot=off"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=self.enter_cgroups,
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        deadline = time.monotonic() + BOOT_S
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = (self.folder / "boot.log").read_text(errors="replace").strip()
                raise Skip("no container boots here: " + text.split("\n")[-1])
            time.sleep(0.1)

    def enter_cgroups(self):
        for folder in self.cgroups:
            (folder / "cgroup.procs").write_text("0")

    def is_up(self):
        for pid in children(self.process.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "systemd\n":
                    self.leader = pid
                    return self.run("systemctl", "is-active", "basic.target", check=False) == "active"
        return False

    def command(self, *args):
        return ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--",
                "/usr/bin/env", "-i", "PATH=/usr/bin:/usr/sbin", "SYSTEMD_PAGER=", *map(str, args)]

    def run(self, *args, check=True, stdin=None):
        """What the command prints in there, errors too; its status must be 0."""
        done = subprocess.run(self.command(*args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG_S,
                              input=stdin.encode() if stdin else b"")
        text = done.stdout.decode(errors="replace").strip()
        if check and done.returncode != 0:
            raise AssertionError(f"{args}: status {done.returncode}: {text}\n{self.journal()}")
        return text

    def start(self, *args):
        return subprocess.Popen(self.command(*args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def end_trainers(self, client):
        """All of them; killing nsenter would not reach them, and it stops with the one that is stopped."""
        self.run("pkill", "-KILL", "-f", "^leatctl pull")
        client.kill()
        client.wait(HANG_S)

    def write(self, path, text):
        self.run("sh", "-c", 'mkdir -p "${1%/*}" && cat >"$1"', "sh", path, stdin=text)

    def show(self, unit, name):
        return self.run("systemctl", "show", unit, "-P", name)

    def states(self):
        return [self.show(unit, "ActiveState") for unit in ["leatd.service", *SOCKETS]]

    def journal(self):
        done = subprocess.run(self.command("journalctl", "-u", "leatd", "-n", "20", "--no-pager", "-o", "cat"),
                              capture_output=True, timeout=HANG_S)
        return done.stdout.decode(errors="replace")

    def expect_journal(self, *texts):
        """It says these, as soon as journald has come to it."""
        wait_until(lambda: all(text in self.journal() for text in texts), f"the journal has {texts}")

    def find_process(self, pid):
        """Its number out here."""
        for child in children(self.leader):
            with contextlib.suppress(OSError):
                if re.search(rf"^NSpid:.*\t{pid}$", pathlib.Path(f"/proc/{child}/status").read_text(), re.M):
                    return child
        raise AssertionError(f"no process {pid} in the container")

    def main_pid(self):
        return self.show("leatd.service", "MainPID")

    def restart(self, config=CONFIG):
        """The service with this configuration, as if just started."""
        self.write("/etc/leat/leatd.yaml", config)
        self.run("systemctl", "reset-failed")
        self.run("systemctl", "restart", *SOCKETS, "leatd.service")

    def wait_restarted(self, pid):
        wait_until(lambda: self.show("leatd.service", "ActiveState") == "active" and self.main_pid() != pid,
                   "the daemon runs again")

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(HANG_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        for folder in self.cgroups:
            remove_cgroup(folder)
        shutil.rmtree(self.folder, ignore_errors=True)


machine = None


def test_activation(folder):
    """As daemon/guide/install.md says it; the first client starts the daemon, by whichever socket."""
    for name in FILES:
        shutil.copy(ROOT / "config" / name, folder)
    (folder / "here.yaml").write_text(CONFIG)
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("systemd-sysusers")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "enable", "--now", "leatd.service")
    assert machine.states() == ["active"] * 4
    digest = run_digest(folder / "here.yaml")
    for more in ([], ["--delivery", "copy"]):
        machine.run("systemctl", "stop", "leatd.service")
        assert machine.states() == ["inactive", "active", "active", "active"]
        assert find_digest(machine.run("leatctl", "pull", "titanic", "--digest", *more).encode()) == digest
        assert machine.show("leatd.service", "SubState") == "running", machine.journal()
    machine.run("systemctl", "stop", "leatd.service")
    assert json.loads(machine.run("leatctl", "status", "--json"))["n_streams"] == 1
    assert machine.show("leatd.service", "NRestarts") == "0"
    events = machine.run("journalctl", "-u", "leatd", "-o", "json", "LEAT_EVENT=started").splitlines()
    assert len(events) == 4 and json.loads(events[-1])["LEAT_SOCKET"] == "(passed)", events


def test_sandbox(folder):
    """What the unit forbids is forbidden, the daemon gives up the rest, and still writes bad records aside."""
    machine.write("/etc/leat/bad.csv", "id\n1\n2\nthree\n4\n")
    stream = data.numbers_stream(["bad.csv"], on_error="quarantine", quarantine="/var/lib/leat/bad.jsonl")
    machine.restart(data.yaml_text({"s": stream}, workers=2, writable=["/var/lib/leat"]))
    if landlock_version() >= 1:
        assert json.loads(machine.run("leatctl", "status", "--json"))["sandbox"] == "calls, writes", machine.journal()
    assert "1 bad record" in machine.run("leatctl", "pull", "s")
    aside = machine.run("cat", "/var/lib/leat/bad.jsonl")
    assert json.loads(aside)["line"] == 4, aside
    pid = machine.main_pid()
    status = dict(line.split(":", 1) for line in machine.run("cat", f"/proc/{pid}/status").splitlines())
    assert all(int(uid) >= 61184 for uid in status["Uid"].split()), status["Uid"]  # the range of DynamicUser=
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert (int(status["NoNewPrivs"]), int(status["Seccomp"])) == (1, 2)
    for path in ["/etc/x", "/usr/x", "/var/lib/x", "/home/x"]:
        said = machine.run("nsenter", "-t", pid, "-m", "touch", path, check=False)
        assert "Read-only" in said or "denied" in said, said
    exposure = machine.run("systemd-analyze", "security", "leatd.service").splitlines()[-1]
    assert float(re.search(r"leatd.service: ([\d.]+)", exposure)[1]) <= 0.5, exposure


def test_confinement(folder):
    """The suite of `roots`, run by the unit itself before it starts the daemon."""
    drop_in = "/run/systemd/system/leatd.service.d/confinement.conf"
    machine.write(drop_in, "[Service]\nExecStartPre=/usr/lib/leat-tests/daemon_test_roots\n")
    machine.run("systemctl", "daemon-reload")
    machine.restart()
    said = machine.run("journalctl", "-u", "leatd", "-n", "100", "-o", "cat")
    assert said.count("[  PASSED  ] 7 test(s).") == 3 and "SKIPPED" not in said, said
    machine.run("rm", drop_in)
    machine.run("systemctl", "daemon-reload")


# What a trainer names below roots: [/srv/data, /srv/more], and the sum of its numbers, or what it is told.
NAMES = [
    ("one.csv", "1"), ("/srv/data/one.csv", "1"), ("sub/two.csv", "2"), ("/srv/data//sub/./two.csv", "2"),
    ("sub/../one.csv", "1"), ("*.csv", "1"), ("/srv/data/*/*.csv", "6"), ("sub", "2"),
    ("sub/deep/../two.csv", "2"), ("/srv/more/eight.csv", "8"), ("eight.csv", "8"), ("/srv/data/s?b/t*.csv", "2"),
    ("/srv/secret.csv", "is outside the folders"), ("../secret.csv", "is outside the folders"),
    ("/srv/data/../secret.csv", "is outside the folders"), ("/etc/passwd", "is outside the folders"),
    ("/srv/*.csv", "is outside the folders"), ("../*.csv", "is outside the folders"),
    ("/proc/self/root/srv/data/one.csv", "is outside the folders"), ("/srv/data2/one.csv", "is outside the folders"),
    ("link", "symbolic link"), ("/srv/data/link", "symbolic link"), ("out/secret.csv", "symbolic link"),
    ("magic/srv/data/one.csv", "symbolic link"), ("fifo", "is not a regular file"), ("none.csv", "No such file"),
    ("one.csv/", "Not a directory"), ("/srv/more/closed.csv", "Permission denied"), ("sub/none-*.csv", "no file matches"),
]
MAKE_NAMES = """
mkdir -p /srv/data/sub/deep /srv/data/other /srv/more /srv/data2 && cd /srv
write() { printf 'id\\n%s\\n' "$2" >"$1"; }
write data/one.csv 1; write data/sub/two.csv 2; write data/other/four.csv 4; write more/eight.csv 8
write more/closed.csv 64; write secret.csv 100; write data2/one.csv 200; chmod 0 more/closed.csv
ln -s ../secret.csv data/link; ln -s .. data/out; ln -s /proc/self/root data/magic; mkfifo data/fifo
"""


def test_roots(folder):
    """Trainers of another user name files below `roots`, and only there, under the unit as it is shipped."""
    machine.run("sh", "-ec", MAKE_NAMES)
    machine.restart("roots: [/srv/data, /srv/more]\n" + CONFIG)
    group = machine.run("getent", "group", "leat-clients").split(":")[2]
    said = machine.run("setpriv", f"--reuid={TRAINER_UID}", f"--regid={TRAINER_UID}", f"--groups={group}",
                       "/usr/lib/leat-tests/namer", stdin="".join(name + "\n" for name, _ in NAMES)).splitlines()
    assert len(said) == len(NAMES), said
    wrong = [(name, line) for (name, told), line in zip(NAMES, said)
             if (line != told if told.isdigit() else told not in line)]
    assert not wrong, wrong


def test_doctor(folder):
    """It tells what the unit denies to the daemon, though nothing is denied to leatctl."""
    machine.restart()
    told = json.loads(machine.run("leatctl", "doctor", "--json"))["findings"]
    found = {finding["name"]: finding for finding in told if finding["area"] in ("kernel", "daemon")}
    openat2 = found["openat2"]
    assert openat2["state"] == "ok" and "the daemon cannot use it (Function not implemented)" in openat2["text"], openat2
    for name in ("sealed memory", "pidfd", "SO_PEERGROUPS"):
        assert found[name]["state"] == "ok" and found[name]["text"].endswith("the daemon can use it"), found[name]
    assert ", 0 trainers, 0 refused" in found["state"]["text"], found["state"]


def test_http(folder):
    """Metrics over TCP, of a daemon that is kept from all networks: its socket is handed to it."""
    machine.restart()
    machine.run("systemctl", "stop", "leatd*")
    machine.run("systemctl", "start", "leatd-http.socket", "leatd.service")
    ask = ("import urllib.request, sys; "
           "sys.stdout.write(urllib.request.urlopen('http://127.0.0.1:9464/metrics').read().decode())")
    wait_until(lambda: "leat_sessions 0" in machine.run("python3", "-c", ask, check=False), "metrics")
    machine.run("leatctl", "pull", "titanic")
    wait_until(lambda: 'leat_stream_rows_total{stream="titanic",owner="settings"} 891' in machine.run("python3", "-c", ask),
               "the rows in the metrics")
    machine.run("systemctl", "stop", "leatd*")


def test_fetch(folder):
    """Objects come through leat-fetch.service, which has the network that leatd lacks, and a user of its own."""
    if not (BIN / "leat-fetch").exists():
        raise Skip("leat-fetch is not built: libcurl or expat is missing")
    machine.run("systemd-sysusers")
    machine.write("/srv/web/a.csv", "id\n1\n2\n3\n")
    machine.run("systemd-run", "--unit=web", "python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/srv/web", "8099")
    wait_until(lambda: machine.run("python3", "-c", "import socket; print(socket.socket().connect_ex(('127.0.0.1', 8099)))") == "0", "a web server")
    machine.restart(data.yaml_text({"w": {"source": {"csv": {"paths": ["http://127.0.0.1:8099/a.csv"]}},
                                          "stages": [{"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": ["id"]}},
                                                     {"batch": {"batch_size": 2}}]}}))
    machine.run("systemctl", "stop", "leat-fetch.socket")  # a first boot enables all
    assert "systemctl enable --now leat-fetch.socket" in machine.run("sh", "-c", "leatctl pull w 2>&1; :")
    machine.run("systemctl", "start", "leat-fetch.socket")
    for _ in range(2):
        machine.run("leatctl", "pull", "w")
        machine.run("systemctl", "restart", "leat-fetch.service")
    assert machine.run("stat", "-c", "%U %a", "/run/leat-fetch/fetch.sock", "/var/cache/leat-fetch").split("\n") == ["root 660", "leat-fetch 700"]
    assert machine.run("sh", "-c", "ls /var/cache/leat-fetch | wc -l") == "1"
    machine.run("systemctl", "stop", "leatd.service", "leat-fetch.socket", "leat-fetch.service", "web.service")


def test_groups(folder):
    """Trainers are of leat-clients and may look, operators are of leat-admin; who is refused is told."""
    machine.restart()
    groups = {name: machine.run("getent", "group", name).split(":")[2] for name in ["leat-clients", "leat-admin"]}
    as_user = ["setpriv", f"--reuid={TRAINER_UID}", f"--regid={TRAINER_UID}"]
    for group, ask in [("leat-clients", ["pull", "titanic"]), ("leat-clients", ["status"]), ("leat-admin", ["status"])]:
        said = machine.run(*as_user, "--clear-groups", "leatctl", *ask, check=False)
        assert f"usermod -aG {'leat-clients' if ask == ['status'] else group}" in said, said
        machine.run(*as_user, f"--groups={groups[group]}", "leatctl", *ask)
    said = machine.run(*as_user, f"--groups={groups['leat-clients']}", "leatctl", "drain", check=False)
    assert "usermod -aG leat-admin" in said, said


def test_crash(folder):
    """Killed, it is back at once; who connects meanwhile waits."""
    machine.restart()
    assert machine.show("leatd.service", "RestartUSec") == "250ms"
    for n in range(1, 8):  # more often than a start limit of systemd's would bear
        pid = machine.main_pid()
        machine.run("kill", "-KILL", pid)
        machine.run("leatctl", "pull", "titanic")
        machine.wait_restarted(pid)
        assert machine.show("leatd.service", "NRestarts") == str(n)
    assert machine.states() == ["active"] * 4


def test_status(folder):
    """What `systemctl status` and `journalctl -x` say."""
    machine.restart()
    assert machine.show("leatd.service", "StatusText") == "ready: 1 stream, no trainers"
    client = machine.start("leatctl", "pull", "titanic", "--epochs", "0")
    wait_until(lambda: re.fullmatch(r"1 stream, 1 in use; 1 trainer; [\d.]+ batches/s", machine.show("leatd.service", "StatusText")),
               "the line of status")
    machine.run("journalctl", "--update-catalog")
    said = machine.run("journalctl", "-x", "-u", "leatd", "LEAT_EVENT=started", "-n", "1", "--no-pager")
    assert "Subject: leatd is ready" in said and "leatd is ready (version=" in said, said
    machine.end_trainers(client)


def test_hang(folder):
    """systemd hears from it in time; when it does not, it starts it again."""
    drop_in = "/run/systemd/system/leatd.service.d/watchdog.conf"
    machine.write(drop_in, "[Service]\nWatchdogSec=6\n")
    machine.run("systemctl", "daemon-reload")
    machine.restart()
    pid, before = machine.main_pid(), machine.show("leatd.service", "WatchdogTimestampMonotonic")
    wait_until(lambda: int(machine.show("leatd.service", "WatchdogTimestampMonotonic")) > int(before), "it is heard")
    assert machine.main_pid() == pid
    machine.run("kill", "-STOP", pid)
    machine.wait_restarted(pid)
    machine.expect_journal("Watchdog timeout")
    machine.run("leatctl", "pull", "titanic")
    machine.run("rm", drop_in)
    machine.run("systemctl", "daemon-reload")


def test_stopped_workers(folder):
    """Workers that do not go on, with a loop that does: it is started again all the same, and trainers go on."""
    machine.restart("worker_timeout: 1s\n" + CONFIG)
    pid = machine.main_pid()
    host_pid = machine.find_process(pid)
    threads = [int(path.name) for path in pathlib.Path(f"/proc/{host_pid}/task").iterdir() if int(path.name) != host_pid]
    with Tracer(threads) as tracer:  # before there is work: who is stopped with a lock in its hands hangs the loop, too
        client = machine.start("leatctl", "pull", "titanic", "--epochs", "0")
        wait_until(tracer.reap, "the daemon is ended")
    machine.wait_restarted(pid)
    machine.expect_journal("workers cannot continue", "Failed with result 'watchdog'")
    wait_until(lambda: json.loads(machine.run("leatctl", "status", "--json"))["n_batches"] > 0, "the trainer goes on")
    machine.end_trainers(client)


def test_broken_configuration(folder):
    """Told with its line; the sockets stay, and who waits is served once it is repaired."""
    machine.restart()
    machine.write("/etc/leat/leatd.yaml", CONFIG.replace("workers", "worker"))
    machine.run("systemctl", "restart", "leatd.service", check=False)
    machine.expect_journal('/etc/leat/leatd.yaml:1:1: unknown key "worker"; did you mean "workers"?')
    n_restarts = int(machine.show("leatd.service", "NRestarts"))
    client = machine.start("leatctl", "pull", "titanic")
    wait_until(lambda: int(machine.show("leatd.service", "NRestarts")) > n_restarts + 1, "it is tried again and again")
    assert client.poll() is None and machine.states()[1:] == ["active"] * 3
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    output = client.communicate(timeout=HANG_S)[0]
    assert client.returncode == 0, output


def refusals():
    """What the daemon said of its starts that failed, and in how many seconds each would be tried again (0: at once)."""
    lines = machine.run("journalctl", "-u", "leatd", "-o", "json", "LEAT_EVENT=failed").splitlines()
    return [int((re.findall(r"in (\d+) s", json.loads(line)["LEAT_THEN"]) or ["0"])[0]) for line in lines]


def test_given_up(folder):
    """A configuration that stays wrong is tried with growing pauses, and then the unit has failed, its sockets closed."""
    machine.restart()
    n_before = len(refusals())
    machine.write("/etc/leat/leatd.yaml", CONFIG.replace("workers", "worker"))
    started = time.monotonic()
    said = machine.run("systemctl", "restart", "leatd.service", check=False)
    assert "failed" in said, said  # at once, not after pauses
    wait_until(lambda: len(refusals()) >= n_before + 5, "it was tried five times")
    pauses = refusals()[n_before:]
    assert pauses[:2] == [0, 1] and pauses == sorted(pauses) and pauses[4] > 1, pauses
    assert time.monotonic() - started >= sum(pauses[:4]), pauses
    assert machine.show("leatd.service", "StatusText").startswith("cannot start: /etc/leat/leatd.yaml:1:1: ")
    said = machine.run("systemctl", "restart", "leatd.service", check=False)
    assert "failed" in said and refusals()[-1] < max(pauses), (said, refusals())  # an operator's start is a first one
    n_before = len(refusals())
    machine.write("/run/leatd/failing", "0\n")  # as if it had been so since the machine was started
    wait_until(lambda: machine.states() == ["failed", *["inactive"] * 3], "it has failed")
    assert machine.show("leatd.service", "ExecMainStatus") == "6"
    assert "No such file" in machine.run("leatctl", "status", check=False)
    time.sleep(2)
    assert len(refusals()) <= n_before + 2 and machine.states()[0] == "failed"
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("systemctl", "start", "leatd.service")
    assert machine.states() == ["active"] * 4
    machine.run("leatctl", "pull", "titanic")


def test_reload(folder):
    """By systemctl, as the unit has it: the same process with another stream; a wrong file fails the reload only."""
    machine.restart()
    pid = machine.main_pid()
    more = CONFIG[CONFIG.index("streams:"):].replace('"titanic":', '"again":').replace('["titanic.csv"]', '["../titanic.csv"]')
    machine.write("/etc/leat/streams.d/more.yaml", more.replace('"titanic.vocab.txt"', '"../titanic.vocab.txt"'))
    machine.run("systemctl", "reload", "leatd.service")
    assert machine.main_pid() == pid and machine.states() == ["active"] * 4
    digests = {find_digest(machine.run("leatctl", "pull", name, "--digest").encode()) for name in ("titanic", "again")}
    assert len(digests) == 1
    machine.write("/etc/leat/streams.d/more.yaml", more.replace("stages", "stagse"))
    assert "failed" in machine.run("systemctl", "reload", "leatd.service", check=False)
    machine.expect_journal("/etc/leat/streams.d/more.yaml:2:")
    assert machine.main_pid() == pid and machine.states() == ["active"] * 4
    machine.run("leatctl", "pull", "again")
    machine.run("rm", "-r", "/etc/leat/streams.d")
    machine.run("systemctl", "reload", "leatd.service")


def test_drain(folder):
    """After a drain it is started again: a restart without loss."""
    machine.restart()
    pid = machine.main_pid()
    assert "drained" in machine.run("leatctl", "drain", "--timeout", "10")
    machine.wait_restarted(pid)
    machine.run("leatctl", "pull", "titanic")


def test_drain_on_stop(folder):
    """With the drop-in a stop waits for the trainers, longer than TimeoutStopSec= by itself."""
    drop_in = "/run/systemd/system/leatd.service.d/drain.conf"
    conf = machine.run("cat", "/usr/share/doc/leatd/drain-on-stop.conf")
    machine.write(drop_in, conf + "\nTimeoutStopSec=4\n")
    machine.run("systemctl", "daemon-reload")
    machine.restart()
    client = machine.start("leatctl", "pull", "titanic", "--epochs", "0")
    wait_until(lambda: json.loads(machine.run("leatctl", "status", "--json"))["n_batches"] > 0, "batches")
    machine.run("pkill", "-STOP", "-f", "^leatctl pull")
    stop = machine.start("systemctl", "stop", "leatd.service")
    wait_until(lambda: machine.show("leatd.service", "StatusText").startswith("draining: 1 trainer"), "it drains")
    time.sleep(6)
    assert machine.show("leatd.service", "ActiveState") == "deactivating"
    machine.end_trainers(client)
    assert stop.wait(HANG_S) == 0
    assert machine.show("leatd.service", "Result") == "success", machine.journal()
    machine.run("rm", drop_in)
    machine.run("systemctl", "daemon-reload")


def test_credentials(folder):
    """A secret of root's reaches the program of a stream, and nobody else."""
    drop_in = "/run/systemd/system/leatd.service.d/credentials.conf"
    machine.write("/etc/leat-secret", "7\n")
    machine.run("chmod", "600", "/etc/leat-secret")
    machine.write(drop_in, "[Service]\nLoadCredential=number:/etc/leat-secret\n")
    machine.write("/etc/leat/add.py", ADD)
    machine.write("/etc/leat/ids.csv", "id\n1\n2\n")
    stream = data.numbers_stream(["ids.csv"])
    stream["stages"].insert(0, {"exec": {"command": ["/usr/bin/python3", "-S", "add.py"], "schema": {"id": "int64"}}})
    machine.run("systemctl", "daemon-reload")
    machine.restart(data.yaml_text({"s": stream}, workers=2))
    rows = machine.run("leatctl", "dump", "s").splitlines()
    assert [json.loads(row)["id"] for row in rows] == [8, 9], (rows, machine.journal())
    machine.run("rm", drop_in)
    machine.run("systemctl", "daemon-reload")


def test_exec(folder):
    """What programs of the stage `exec` are denied under the unit is what leatd(8) says."""
    machine.write("/etc/leat/try.py", TRY)
    machine.write("/etc/leat/ids.csv", "id\n1\n")
    machine.run("sh", "-c", "mkdir -p /srv && chmod 1777 /srv")
    machine.run("mkdir", "-p", "/home/alice", f"/run/user/{TRAINER_UID}")
    stream = {"source": {"csv": {"paths": ["ids.csv"]}}, "stages": [
        {"exec": {"command": ["/usr/bin/python3", "try.py"], "schema": dict.fromkeys(TRIED, "int64")}},
        {"select": {"fields": list(TRIED)}}, {"batch": {"batch_size": 1}}]}
    machine.restart(data.yaml_text({"s": stream}, workers=1))
    expect_tried({})
    drop_in = "/run/systemd/system/leatd.service.d/exec.conf"
    machine.write(drop_in, ALLOW)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "restart", "leatd.service")
    expect_tried(dict.fromkeys(["ipv4", "ipv6", "compile", "srv", "affinity", "nice"], 0))
    machine.run("rm", drop_in, "/srv/leat-tried")
    machine.run("systemctl", "daemon-reload")


def expect_tried(otherwise):
    told = json.loads(machine.run("leatctl", "dump", "s").splitlines()[0])
    wrong = {name: (told[name], code) for name, code in {**TRIED, **otherwise}.items() if told[name] != [code]}
    assert not wrong, (wrong, machine.journal())


def test_user(folder):
    """Without root: the same units in a user's own service manager."""
    machine.run("systemd-sysusers", "--inline", f'u alice {TRAINER_UID} "Alice" /home/alice /bin/sh')
    place = f"/run/user/{TRAINER_UID}"
    machine.run("install", "-d", "-o", "alice", "-m", "700", place, "/home/alice", "/home/alice/.config")
    machine.run("install", "-d", "-o", "alice", "/home/alice/.config/leat")
    for name in FILES:
        machine.run("cp", f"/etc/leat/{name}", "/home/alice/.config/leat/")
    machine.write("/home/alice/.config/leat/leatd.yaml", "writable: [.]\n" + CONFIG)
    machine.run("systemd-run", "--quiet", "--unit=alice", "--uid=alice", "-p", "Delegate=yes", "-p", "KillMode=mixed",
                "-E", f"XDG_RUNTIME_DIR={place}", "-E", "HOME=/home/alice", "/usr/lib/systemd/systemd", "--user")
    alice = ["setpriv", f"--reuid={TRAINER_UID}", f"--regid={TRAINER_UID}", "--clear-groups", "env",
             f"XDG_RUNTIME_DIR={place}", "HOME=/home/alice"]
    wait_until(lambda: machine.run(*alice, "systemctl", "--user", "is-active", "default.target", check=False) == "active",
               "the user's service manager")
    machine.run("systemctl", "stop", "leatd*")
    machine.run(*alice, "systemctl", "--user", "enable", "--now", *SOCKETS)
    output = machine.run(*alice, "leatctl", "pull", "titanic", "--digest")
    for name in FILES:
        shutil.copy(ROOT / "config" / name, folder)
    (folder / "here.yaml").write_text(CONFIG)
    assert find_digest(output.encode()) == run_digest(folder / "here.yaml")
    assert machine.run(*alice, "systemctl", "--user", "is-active", "leatd.service") == "active"
    if landlock_version() >= 1:
        assert json.loads(machine.run(*alice, "leatctl", "status", "--json"))["sandbox"] == "calls, writes"
    said = machine.run(*alice, "systemctl", "--user", "show", "leatd.service", "-P", "StatusText")
    assert said.startswith(("ready", "1 stream")), said
    machine.run(*alice, "systemctl", "--user", "stop", "leatd*")
    machine.run("systemctl", "stop", "alice.service")


def test_stop(folder):
    """Under load, cleanly; nobody starts it again unasked, as a trainer would that waits for it, and nothing is left."""
    machine.restart()
    client = machine.start("leatctl", "pull", "titanic", "--epochs", "0", "--reconnect", "0")
    wait_until(lambda: json.loads(machine.run("leatctl", "status", "--json"))["n_sessions"] == 1, "a session")
    machine.run("systemctl", "stop", "leatd.service")
    output = client.communicate(timeout=HANG_S)[0]
    assert client.returncode == 1 and b"the daemon is shutting down" in output, output
    assert machine.show("leatd.service", "Result") == "success"  # and not "timeout"
    assert machine.states() == ["inactive", "active", "active", "active"]
    machine.run("systemctl", "stop", "leatd*")
    assert machine.states() == ["inactive"] * 4
    assert machine.run("ls", "/run/leat") == ""


def main():
    global machine
    try:
        machine = Machine()
    except Skip as reason:
        leat_harness.note_skipped("all", reason)
        raise SystemExit(77)
    signal.signal(signal.SIGTERM, lambda *_: exit(1))
    try:
        machine.install()
        machine.boot()
        leat_harness.main(globals())
    except Skip as reason:
        leat_harness.note_skipped("all", reason)
        raise SystemExit(77)
    finally:
        machine.close()


if __name__ == "__main__":
    main()

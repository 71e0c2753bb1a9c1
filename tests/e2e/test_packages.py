#!/usr/bin/env python3
"""Debian's packages of leat: what is in them, and how they install, upgrade and go in a booted Debian 12.

    test_packages.py BIN [PATTERN]

The packages are made of the tree that BIN lies in, and once more as a later release. The machine is a
container of systemd-nspawn over a tree that tests/e2e/debian_tree.py makes, and build/ keeps; what is
installed there is gone afterwards. Its tests go on from each other, in their order. Needs dpkg-dev, for
the machine root, systemd-nspawn, and mmdebstrap with a mirror, for one test lintian; what is missing
skips its tests.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import debian_tree
import leat_harness
from leat_harness import BIN, HANG_S, ROOT, SLOW, Skip, require, wait_until
from test_systemd_pid1 import SOCKETS, Machine, children

UNITS = ["leatd.service", *SOCKETS]
EXAMPLES = "/usr/share/doc/leatd/examples"
STREAM = (ROOT / "config" / "titanic.yaml").read_text()
CONFIG = "workers: 2\n" + re.sub(r"(paths: \[|vocab: |tokenizer: )", rf"\1{EXAMPLES}/", STREAM)
GROUPS = ["leat-clients", "leat-admin"]
TRAINER_UID = 1000
PACE_US = 20000
N_EPOCHS = 300  # more than the trainer gets through
CLEAN = ["initial-upload-closes-no-bugs"]  # what lintian may warn of
TRAINER = "#include <leat.h>\n#include <stdio.h>\nint main(void) {\n    puts(leat_version());\n}\n"
READ = """
import leat
with leat.open("titanic") as batches:
    batch = next(iter(batches))
    print(leat.__file__, len(batch["labels"]))
print(sum(1 for batch in leat.csv("%s/titanic.csv").cast("Survived", "labels", dtype="int64").select(["labels"]).batch(32)))
"""


def pack(folder, release, *names):
    """Packages of the tree, as that release of its version; all, or those of these names."""
    chosen = ["-D", "CPACK_COMPONENTS_ALL=" + ";".join(names)] if names else []
    done = subprocess.run(["/usr/bin/cpack", "--config", BIN.parent / "CPackConfig.cmake", "-B", folder,
                           "-D", f"CPACK_DEBIAN_PACKAGE_RELEASE={release}", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip",
                           *chosen], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"cpack: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return {path.name.split("_")[0]: path for path in sorted(folder.glob("*.deb"))}


def with_other_sockets(folder, package):
    """That package with another unit of a socket."""
    folder.mkdir()
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder / "open"], check=True)
    unit = folder / "open" / "usr/lib/systemd/system/leatd.socket"
    unit.write_text(re.sub(r"Backlog=\d+", "Backlog=77", unit.read_text()))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", folder / "open", folder / package.name], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / package.name


class Packages:
    """A release of all of them; leatd of the next; and that with other sockets."""

    def __init__(self, folder):
        if SLOW > 1:
            raise Skip("packages are made of trees without sanitizers")
        require("dpkg-shlibdeps")
        self.folder = folder
        self.first = pack(folder / "1", 1)
        self.next = pack(folder / "2", 2, "leatd")
        self.other = with_other_sockets(folder / "3", self.next["leatd"])


class Debian(Machine):
    """A Debian 12 without leat; the packages lie in /packages there. `absent`: why there is none."""

    absent = None

    def boot(self):
        tree = debian_tree.find(ROOT / "build" / "debian-12", sorted(packages.first.values()))
        self.boot_tree(tree, "--volatile=overlay", f"--bind-ro={packages.folder}:/packages",
                       f"--bind-ro={BIN.parent}/tests/e2e/steady:/usr/local/bin/steady")

    def apt(self, command, *what):
        names = [f"/packages/{path.relative_to(packages.folder)}" if isinstance(path, pathlib.Path) else path
                 for path in what]
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", command, "--yes", "--allow-downgrades",
                        "--no-install-recommends", "-o", "DPkg::Options::=--force-unsafe-io", *names)

    def version(self):
        return self.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", "leatd", check=False)

    def n_sessions(self):
        status = self.run("leatctl", "status", "--json", check=False)
        with contextlib.suppress(ValueError):
            return json.loads(status)["n_sessions"]
        return -1

    def train(self, pace_us, n_epochs):
        """The command of a trainer that is a user of leat-clients."""
        group = self.run("getent", "group", "leat-clients").split(":")[2]
        return ["setpriv", f"--reuid={TRAINER_UID}", f"--regid={TRAINER_UID}", f"--groups={group}",
                "/usr/local/bin/steady", "titanic", "0", "1", "2", str(pace_us), str(n_epochs)]

    def around(self, trainer, what):
        """Does what() while the trainer runs: then there is another daemon, and the trainer goes on with it."""
        pid = self.main_pid()
        what()
        self.wait_restarted(pid)
        wait_until(lambda: self.n_sessions() == 1 or trainer.poll() is not None, "the trainer is back")
        if trainer.poll() is not None:
            raise AssertionError(f"the trainer ended: {trainer.communicate()[0][-2000:]}\n{self.journal()}")


packages = None
machine = None


def booted():
    """The machine; the first who asks boots it."""
    global machine
    if not machine:
        machine = Debian()
        try:
            machine.boot()
        except Skip as reason:
            machine.absent = reason
    if machine.absent:
        raise machine.absent
    return machine


def installed_files(folder):
    """What `cmake --install` installs, as paths below /; of man pages the names that packages give them."""
    subprocess.run(["/usr/bin/cmake", "--install", BIN.parent, "--prefix", "/usr"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": str(folder)})
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file()}
    return {re.sub(r"^(usr/share/man/.*[^z])$", r"\1.gz", name) for name in names}


def packed_files(package):
    lines = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split(None, 5)[5].split(" -> ")[0].removeprefix("./") for line in lines if not line.startswith("d")}


def test_files(folder):
    """All that is installed is in a package, and in one only."""
    of_package = {name: packed_files(path) for name, path in packages.first.items()}
    every = [name for names in of_package.values() for name in names]
    assert len(every) == len(set(every)), sorted(name for name in set(every) if every.count(name) > 1)
    assert not installed_files(folder) - set(every)
    for name, files in of_package.items():
        assert {f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.Debian.gz"} <= files, name
    assert {"etc/leat/leatd.yaml", "usr/bin/leatd", "usr/lib/systemd/system/leatd.service"} <= of_package["leatd"]
    assert {"usr/bin/leatctl"} <= of_package["leatctl"]
    assert {"usr/include/leat.h", "usr/include/leat_tokenizer.h"} <= of_package["libleat-dev"]
    assert any(name.endswith("/libleat.so.0") for name in of_package["libleat0"])


def test_lintian(folder):
    """Without errors, nor warnings that would be news."""
    require("lintian")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on=error,warning", f"--suppress-tags={','.join(CLEAN)}",
                           *packages.first.values()], capture_output=True, text=True, timeout=5 * HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr


def test_headers(folder):
    """A trainer in C is built with what libleat-dev brings, and runs with libleat0."""
    for name in ("libleat0", "libleat-dev"):
        subprocess.run(["dpkg-deb", "--extract", packages.first[name], folder], check=True)
    libraries = next((folder / "usr/lib").rglob("libleat.so")).parent
    (folder / "version.c").write_text(TRAINER)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "leat"], capture_output=True, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}).stdout.split()
    subprocess.run(["cc", "-o", folder / "version", folder / "version.c", *flags], check=True)
    said = subprocess.run([folder / "version"], capture_output=True, text=True, check=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(libraries)}).stdout.strip()
    assert said and packages.first["libleat0"].name.split("_")[1].startswith(said), said


def test_install(folder):
    """One command, and the service runs, with a configuration that names no data; a stream, and there are batches."""
    machine = booted()
    machine.apt("install", packages.first["leatd"])
    assert machine.version() == "ii  0.1.0-1", machine.version()
    machine.run("systemctl", "start", "leatd")
    assert machine.states() == ["active"] * 4, machine.journal()
    assert [machine.run("systemctl", "is-enabled", unit) for unit in UNITS] == ["enabled"] * 4
    assert machine.run("systemctl", "is-enabled", "leatd-http.socket", check=False) == "disabled"
    for group in GROUPS:
        machine.run("getent", "group", group)
    assert "leatd is ready" in machine.run("journalctl", "--list-catalog"), "the journal's catalog"
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("systemctl", "restart", "leatd")
    assert machine.run(*machine.train(0, 1)).startswith("epoch 0 28 ")
    machine.run("sh", "-c", "! command -v leatctl")
    expect_reload(machine)


def expect_reload(machine):
    """By systemctl, which waits: of a file that is wrong it fails, and all stays."""
    pid = machine.main_pid()
    machine.write("/etc/leat/leatd.yaml", CONFIG.replace("titanic:", "second:", 1))
    machine.run("systemctl", "reload", "leatd")
    assert "no stream" in machine.run(*machine.train(0, 1), check=False)
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("systemctl", "reload", "leatd")
    for wrong in (CONFIG.replace("workers", "worker"), ""):
        machine.write("/etc/leat/leatd.yaml", wrong)
        machine.run("sh", "-c", "! systemctl reload leatd")
        assert machine.states() == ["active"] * 4 and machine.main_pid() == pid
        assert machine.run(*machine.train(0, 1)).startswith("epoch 0 28 ")
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("systemctl", "reload", "leatd")


def test_companions(folder):
    """Operators and Python find what they need in the other packages."""
    machine = booted()
    machine.apt("install", "--no-install-recommends", *(path for name, path in packages.first.items() if name != "leatd"))
    assert json.loads(machine.run("leatctl", "status", "--json"))["n_streams"] == 1
    assert "libleat.so.0" in machine.run("ldconfig", "-p")
    lines = machine.run("python3", "-c", READ % EXAMPLES).splitlines()
    assert lines == ["/usr/lib/python3/dist-packages/leat/__init__.py 32", "28"], lines
    assert machine.run("python3", "-c", "import importlib.metadata as m; print(m.version('leat'))") == "0.1.0"


def test_trainer(folder):
    """Restarted, killed, hung, upgraded and downgraded around a trainer, which sees what an undisturbed one does."""
    machine = booted()
    undisturbed = machine.run(*machine.train(0, N_EPOCHS)).splitlines()
    machine.write("/run/systemd/system/leatd.service.d/watchdog.conf", "[Service]\nWatchdogSec=6\n")
    machine.run("systemctl", "daemon-reload")
    trainer = machine.start(*machine.train(PACE_US, 0))
    wait_until(lambda: machine.n_sessions() == 1, "a session")
    machine.around(trainer, lambda: machine.run("systemctl", "restart", "leatd"))
    machine.around(trainer, lambda: machine.run("systemctl", "kill", "--signal=KILL", "leatd"))
    machine.around(trainer, lambda: machine.apt("install", packages.next["leatd"]))
    assert machine.version() == "ii  0.1.0-2", machine.version()
    machine.around(trainer, lambda: machine.run("systemctl", "kill", "--signal=STOP", "leatd"))
    machine.around(trainer, lambda: machine.apt("install", packages.first["leatd"]))
    assert machine.version() == "ii  0.1.0-1", machine.version()
    os.kill(list(children(trainer.pid))[-1], signal.SIGTERM)
    lines = trainer.communicate(timeout=HANG_S)[0].decode().splitlines()
    assert trainer.returncode == 0, lines[-3:]
    assert len(lines) > 2 and lines[:-1] == undisturbed[:len(lines) - 1], (lines[-3:], len(undisturbed))
    found = re.fullmatch(r"longest_ms \d+ lost (\d+) back \1", lines[-1])
    assert found and int(found[1]) >= 5, lines[-1]


def expect_refused(machine, pid, release, package, *words):
    said = machine.apt("install", package)
    assert all(word in said for word in (*words, "leatd.service was NOT restarted")), said
    assert machine.version() == f"ii  0.1.0-{release}", machine.version()
    assert machine.main_pid() == pid and machine.states() == ["active"] * 4


def test_refused(folder):
    """An upgrade whose daemon would refuse the configuration keeps the one that runs, and says why."""
    machine = booted()
    pid = machine.main_pid()
    trainer = machine.start(*machine.train(PACE_US, 0))
    wait_until(lambda: machine.n_sessions() == 1, "a session")
    machine.write("/etc/leat/leatd.yaml", CONFIG.replace("workers", "worker"))
    expect_refused(machine, pid, 2, packages.other, '/etc/leat/leatd.yaml:1:1: unknown key "worker"',
                   "then run: systemctl restart leatd.socket ")
    machine.write("/etc/leat/leatd.yaml", CONFIG)
    machine.run("chmod", "600", "/etc/leat/leatd.yaml")  # the daemon's user may not read it
    expect_refused(machine, pid, 1, packages.first["leatd"], "/etc/leat/leatd.yaml: Permission denied")
    machine.run("chmod", "644", "/etc/leat/leatd.yaml")
    assert trainer.poll() is None
    machine.around(trainer, lambda: machine.apt("install", packages.next["leatd"]))
    machine.apt("install", packages.first["leatd"])
    os.kill(list(children(trainer.pid))[-1], signal.SIGTERM)
    assert trainer.wait(HANG_S) == 0


def test_choices(folder):
    """What an operator has decided stays over an upgrade: the configuration, and that nothing runs."""
    machine = booted()
    machine.run("systemctl", "disable", "--now", *UNITS)
    machine.apt("install", packages.next["leatd"])
    assert machine.states() == ["inactive"] * 4
    assert [machine.run("systemctl", "is-enabled", unit, check=False) for unit in UNITS] == ["disabled"] * 4
    assert machine.run("cat", "/etc/leat/leatd.yaml") == CONFIG.strip()
    machine.run("systemctl", "enable", "--now", "leatd.service")
    assert machine.states() == ["active"] * 4


def test_other_sockets(folder):
    """Sockets that an upgrade changes are made again, with the daemon."""
    machine = booted()
    machine.apt("install", packages.first["leatd"])
    pid = machine.main_pid()
    machine.apt("install", packages.other)
    assert machine.states() == ["active"] * 4 and machine.main_pid() != pid
    assert machine.show("leatd.socket", "Backlog") == "77"
    assert machine.run(*machine.train(0, 1)).startswith("epoch 0 28 ")


def test_reload(folder):
    """A stream more without a restart; of a file that is wrong the reload fails, and all stays."""
    machine = booted()
    if machine.show("leatd.service", "CanReload") != "yes":
        raise Skip("the unit has no ExecReload")
    pid = machine.main_pid()
    machine.write("/etc/leat/streams.d/more.yaml", CONFIG.split("\n", 1)[1].replace("titanic:", "more:", 1))
    machine.run("systemctl", "reload", "leatd")
    assert json.loads(machine.run("leatctl", "status", "--json"))["n_streams"] == 2
    machine.write("/etc/leat/streams.d/more.yaml", "streams:\n  more: {}\n")
    machine.run("sh", "-c", "! systemctl reload leatd")
    assert json.loads(machine.run("leatctl", "status", "--json"))["n_streams"] == 2
    assert machine.main_pid() == pid
    machine.run("rm", "/etc/leat/streams.d/more.yaml")


def test_purge(folder):
    """Removed, it does not run; purged, nothing of it is left but its groups."""
    machine = booted()
    machine.run("systemctl", "enable", "leatd-http.socket")
    machine.run("sh", "-c", "touch /var/lib/leat/found /var/cache/leat/found")
    machine.apt("remove", "leatd")
    assert machine.states() == ["inactive"] * 4
    assert machine.show("leatd-http.socket", "ActiveState") == "inactive"
    assert machine.run("cat", "/etc/leat/leatd.yaml") == CONFIG.strip()
    machine.run("ls", "/var/lib/leat/found")
    machine.apt("purge", *(name for name in packages.first if name != "python3-leat"))  # which went with leatd
    left = machine.run("find", "/", "-xdev", "-name", "*leat*", "-not", "-path", "/packages/*", "-not", "-path", "/proc/*")
    assert left == "", left
    for group in GROUPS:
        machine.run("getent", "group", group)


def main():
    global packages
    signal.signal(signal.SIGTERM, lambda *_: exit(1))
    with tempfile.TemporaryDirectory(prefix="leat-e2e-") as folder:
        try:
            packages = Packages(pathlib.Path(folder))
            leat_harness.main(globals())
        except Skip as reason:
            leat_harness.note_skipped("all", reason)
            raise SystemExit(77)
        finally:
            if machine:
                machine.close()


if __name__ == "__main__":
    main()

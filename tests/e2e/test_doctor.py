#!/usr/bin/env python3
"""leatctl doctor: what is well is ok, and each fault that is made is found, with its mend.

    test_doctor.py BIN [PATTERN]
"""
import json
import os
import resource
import shutil
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, Skip, ctl


def config(folder, cache="caches", **settings):
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(100)))
    stream = data.numbers_stream([str(folder / "numbers.csv")], cache={"path": str(folder / cache)})
    return data.yaml_text({"plain": stream}, workers=1, **settings)


def findings(done):
    """By area and name; the status must fit what is told."""
    told = json.loads(done.stdout)
    states = [finding["state"] for finding in told["findings"]]
    assert told["ok"] == ("fail" not in states) == (done.returncode == 0), told
    assert set(states) <= {"ok", "warn", "fail", "unseen"}, states
    assert all(finding["mend"] for finding in told["findings"] if finding["state"] in ("warn", "fail")), told
    return {(finding["area"], finding["name"]): finding for finding in told["findings"]}


def examine(daemon, *args):
    return findings(daemon.ctl("doctor", *args, "--json", check=False))


def test_well(folder):
    """Nothing fails; what the daemon is, and where it writes, is seen."""
    with Daemon(folder, config(folder)) as daemon:
        found = examine(daemon)
        wrong = [finding for finding in found.values() if finding["state"] == "fail"]
        assert not wrong, wrong
        for key in [("kernel", "sealed memory"), ("kernel", "openat2"), ("sockets", "control.sock"),
                    ("sockets", "trainer.sock"), ("sockets", "copy.sock"), ("daemon", "version"), ("daemon", "state"),
                    ("configuration", "file"), ("configuration", "reload")]:
            assert found[key]["state"] == "ok", found[key]
        assert found["kernel", "openat2"]["text"].endswith("the daemon can use it"), found["kernel", "openat2"]
        assert ", 0 trainers, 0 refused" in found["daemon", "state"]["text"], found["daemon", "state"]
        assert found["folders", "cache"]["state"] in ("ok", "warn"), found["folders", "cache"]  # little space is left
        assert str(folder / "state" / "leat") in found["folders", "state"]["text"], found["folders", "state"]
        text = daemon.ctl("doctor").stdout.decode()
        assert "sealed memory" in text and " 0 failures" in text and "\033" not in text, text
        assert daemon.sessions() == []


def test_no_daemon(folder):
    """That is a failure, and all else is looked at."""
    found = findings(ctl("doctor", "--json", env={"LEAT_SOCKET": str(folder)}, check=False))
    control = found["sockets", "control.sock"]
    assert control["state"] == "fail" and str(folder) in control["text"] and "systemctl start" in control["mend"], control
    assert "leatctl can use it; no daemon answers" in found["kernel", "openat2"]["text"], found["kernel", "openat2"]
    assert found["kernel", "version"]["state"] == "ok" and found["daemon", "state"]["state"] == "unseen"


def test_broken_configuration(folder):
    """Its place is told, though the daemon runs on with what it had; a FILE is looked at as well."""
    with Daemon(folder, config(folder)) as daemon:
        well = daemon.config.read_text()
        daemon.config.write_text("workerz: 1\n" + well)
        found = examine(daemon)
        for name in ("file", "reload"):
            wrong = found["configuration", name]
            assert wrong["state"] == "fail" and f"{daemon.config}:1:1" in wrong["text"], wrong
        other = folder / "other.yaml"
        other.write_text(well)
        assert examine(daemon, other)["configuration", "file"]["state"] == "ok"
        assert examine(daemon, folder / "none.yaml")["configuration", "file"]["state"] == "fail"


def test_folders(folder):
    """One that is a file, one that is read-only, and one that has no room."""
    (folder / "caches").write_text("a file")
    (folder / "leatd.yaml").write_text(config(folder) + f"state_directory: {folder}/kept\n")
    with Daemon(folder, folder / "leatd.yaml") as daemon:
        cache = examine(daemon)["folders", "cache"]
        assert cache["state"] == "fail" and "Not a directory" in cache["text"], cache
        assert f"{folder}/kept" in examine(daemon)["folders", "state"]["text"]
    found = findings(ctl("doctor", write(folder, "proc.yaml", cache="/proc/caches"), "--json",
                         env={"LEAT_SOCKET": str(folder)}, check=False))
    assert found["folders", "cache"]["state"] == "fail", found


def test_relative(folder):
    """A file named from here is the same file, and paths in it are meant from its folder."""
    (folder / "caches").mkdir()
    text = config(folder, state_directory="kept").replace(str(folder / "caches"), "caches")
    assert "caches" in text, text
    (folder / "leatd.yaml").write_text(text)
    with Daemon(folder, folder / "leatd.yaml") as daemon:
        for file, n_checks in (("leatd.yaml", 2), ("./leatd.yaml", 2), (write(folder, "other.yaml").name, 1)):
            found = findings(ctl("doctor", file, "--json", check=False, cwd=folder,
                                 env={"LEAT_SOCKET": str(daemon.sockets)}))
            assert sum(area == "configuration" for area, _ in found) == n_checks, (file, found)
            assert found["folders", "cache"]["state"] in ("ok", "warn"), found["folders", "cache"]
    found = findings(ctl("doctor", "leatd.yaml", "--json", check=False, cwd=folder, env={"LEAT_SOCKET": str(folder)}))
    cache = found["folders", "cache"]
    assert cache["state"] in ("ok", "warn") and str(folder / "caches") in cache["text"], cache


def write(folder, name, **settings):
    (folder / name).write_text(config(folder, **settings))
    return folder / name


def test_limits(folder):
    """Few descriptors, little address space."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    if os.environ.get("LEAT_TEST_SLOW", "1") != "1":
        raise Skip("a sanitizer's shadow does not fit into the limit")
    done = subprocess.run([BIN / "leatctl", "doctor", "--json"], capture_output=True, timeout=HANG_S, preexec_fn=limit,
                          env={**os.environ, "LEAT_SOCKET": str(folder)})
    found = findings(done)
    for name in ("open files", "address space"):
        assert found["limits", name]["state"] == "warn" and "ulimit" in found["limits", name]["mend"], found


def test_stranger(folder):
    """Who may not look is told which group it would take; what root sees, it does not."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become somebody else")
    for path in (folder.parent, folder):
        os.chmod(path, 0o755)
    tool = shutil.copy(BIN / "leatctl", folder / "leatctl")
    with Daemon(folder, config(folder)) as daemon:
        os.chmod(daemon.sockets, 0o755)
        os.chmod(daemon.sockets / "control.sock", 0o666)
        os.chmod(daemon.sockets / "trainer.sock", 0o600)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tool, "doctor", "--json"],
                              capture_output=True, timeout=HANG_S,
                              env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        found = findings(done)
        trainer, right = found["sockets", "trainer.sock"], found["sockets", "right to look"]
        assert trainer["state"] == "fail" and "not in the group" in trainer["text"], trainer
        assert right["state"] == "fail" and "leat-clients" in right["text"] + right["mend"], right


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""The tuner turns a stream while it runs, says what it chose and why, keeps it for the next run, leaves
alone what is given by hand, and never changes a batch.

    test_tuner.py BIN [PATTERN]
"""
import hashlib
import json
import os
import subprocess

import data
import leat_harness
from leat_harness import Daemon, run_digest, wait_until

KNOBS = ["block_bytes", "jobs_in_flight", "prefetch_size", "collate_batches"]


def stream(csv, **options):
    result = data.titanic_stream(csv, **options)
    result["stages"].pop()  # the prefetch would be by hand
    return result


def config(folder, tuner="on", **options):
    """One worker, so that no trainer is slower: else there would be nothing to turn."""
    csv = data.titanic(folder, 20000)
    return data.yaml_text({"t": stream(csv, **options)}, tuner=tuner, state_directory=str(folder / "state"),
                          log_level="info", workers=1)


def tuner(daemon):
    tuners = json.loads(daemon.ctl("stats", "t", "--json").stdout)[0]["tuners"]
    return tuners[0] if tuners else None


def ring_slots(daemon):
    return json.loads(daemon.ctl("stats", "t", "--json").stdout)[0]["n_slots"]


def kept(folder):
    return sorted((folder / "state" / "tuner").glob("*.tuner"))


class Puller:
    """A trainer that pulls without end, and only as long as it is asked to."""

    def __init__(self, daemon):
        self.process = subprocess.Popen(
            [leat_harness.BIN / "leatctl", "pull", "t", "--epochs", "0"], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def decides(daemon, n):
    """Once that many decisions were made: why the first was."""
    with Puller(daemon):
        first = wait_until(lambda: (tuner(daemon) or {}).get("decisions"), "its first decision")[0]["reason"]
        wait_until(lambda: tuner(daemon)["decisions"][n - 1:], "a decision")
    wait_until(lambda: tuner(daemon)["has_ended"], "the end of the run")
    return first


def test_same_batches(folder):
    text = config(folder)
    file = folder / "off.yaml"
    file.write_text(config(folder, tuner="off"))
    want = run_digest(file, "--epochs", "12", "--no-daemon")
    with Daemon(folder, text) as daemon:
        assert daemon.digest("t", "--epochs", "12") == want
        assert daemon.digest("t", "--epochs", "12") == want
    assert run_digest(file, "--epochs", "12") == want


def test_kept_for_the_next_run(folder):
    with Daemon(folder, config(folder)) as daemon:
        assert "defaults" in decides(daemon, 2)
        wait_until(lambda: kept(folder), "a file")
        assert [knob["name"] for knob in tuner(daemon)["knobs"]] == KNOBS, tuner(daemon)
        text = daemon.ctl("stats", "t").stdout.decode()
        assert "tuner" in text and "block_bytes" in text and "the last run" in text, text
        assert "event=tuned" in daemon.log, daemon.log
    with Daemon(folder, config(folder)) as daemon:
        assert "last run" in decides(daemon, 1)
    for path in kept(folder):
        path.write_bytes(path.read_bytes()[:-9] + b"nonsense\n")
    with Daemon(folder, config(folder)) as daemon:
        assert "defaults" in decides(daemon, 1)
        assert "event=tuner" in daemon.log and "damaged" in daemon.log, daemon.log


def test_larger_ring(folder):
    """What was kept says more batches ahead than the first ring has slots: it is made larger, while batches flow."""
    with Daemon(folder, config(folder, tuner="off")) as daemon, Puller(daemon):
        n_slots = wait_until(lambda: ring_slots(daemon), "a ring")
    with Daemon(folder, config(folder)) as daemon:
        decides(daemon, 2)
        path = wait_until(lambda: kept(folder), "a file")[0]
    lines = path.read_text().splitlines()[:-1]
    lines = [f"prefetch_size {3 * n_slots}" if line.startswith("prefetch_size") else line for line in lines]
    lines = ["settled 1" if line.startswith("settled") else line for line in lines]
    text = "\n".join(lines) + "\n"
    path.write_text(f"{text}checksum {hashlib.blake2b(text.encode(), digest_size=32).hexdigest()}\n")
    with Daemon(folder, config(folder)) as daemon:
        with Puller(daemon):
            wait_until(lambda: ring_slots(daemon) >= 3 * n_slots, "a larger ring")
        file = folder / "off.yaml"
        file.write_text(config(folder, tuner="off"))
        assert daemon.digest("t", "--epochs", "12") == run_digest(file, "--epochs", "12", "--no-daemon")


def test_by_hand(folder):
    text = config(folder, block_bytes=65536, jobs_in_flight=3, collate_batches=5)
    with Daemon(folder, text) as daemon, Puller(daemon):
        knobs = {knob["name"]: knob for knob in wait_until(lambda: tuner(daemon), "a tuner")["knobs"]}
        assert [knobs[name]["is_pinned"] for name in KNOBS] == [True, True, False, True], knobs
        assert [knobs[KNOBS[i]]["value"] for i in (0, 1, 3)] == [65536, 3, 5], knobs


def test_off(folder):
    for options in ({"tuner": "off"}, {}):
        text = config(folder, **({"tuner": "on"} if options else {"tuner": "off"}))
        if options:
            text = text.replace('"stages"', '"tuner": "off", "stages"')
        with Daemon(folder, text) as daemon, Puller(daemon):
            assert wait_until(lambda: tuner(daemon), "a tuner")["phase"] == "off"
        assert not kept(folder)


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""Traces and profiles: what is recorded is whole, nested and in order, of runs that go on as ever;
a person sees who is slow.

    test_trace.py BIN [PATTERN]
"""
import collections
import json
import os
import signal
import subprocess

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, ctl, run_digest, wait_until

EPSILON_US = 0.0015  # times are rounded to nanoseconds


def config(folder, n_rows=20000, **options):
    path = folder / "s.yaml"
    path.write_text(data.yaml_text({"s": data.titanic_stream(data.titanic(folder, n_rows), block_bytes=65536, **options)}))
    return path


def read(path):
    trace = json.loads(path.read_text())
    events = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        events[event["ph"]].append(event)
    return trace["otherData"], events


def check_tracks(events):
    """Of each track: spans begin one after the other, and each lies within the one that it is in;
    stages of a job do not overlap."""
    tracks = collections.defaultdict(list)
    for span in events["X"]:
        assert span["dur"] >= 0, span
        tracks[span["tid"]].append(span)
    for spans in tracks.values():
        job, end = None, 0.0
        for span in spans:
            assert span["ts"] >= (job["ts"] if job else 0.0) - EPSILON_US, ("goes back in time", span, job)
            if span["cat"] == "job":
                assert span["ts"] >= (job["ts"] + job["dur"] if job else 0.0) - EPSILON_US, ("overlaps", span, job)
                job, end = span, span["ts"]
                continue
            assert job["name"] == "map" and span["ts"] >= end - EPSILON_US, (span, job)
            end = span["ts"] + span["dur"]
            assert end <= job["ts"] + job["dur"] + EPSILON_US, ("is not within its job", span, job)
    named = {e["tid"] for e in events["M"] if e["name"] == "thread_name"}
    assert set(tracks) <= named, (set(tracks), named)
    return tracks


def check_batches(events, n=None):
    """Each handed out once, in order, after it was made."""
    steps = [e["args"]["step"] for e in events["i"] if e["args"]["run"] == 0 and e["args"]["epoch"] == 0]
    assert steps == list(range(len(steps))), steps
    assert n is None or len(steps) == n, (len(steps), n)
    times = [e["ts"] for e in events["i"]]
    assert times == sorted(times)
    begins = {e["id"]: e["ts"] for e in events["b"]}
    ends = {e["id"]: e["ts"] for e in events["e"]}
    assert begins.keys() == ends.keys() and len(begins) == len(events["i"])
    assert all(begins[k] <= ends[k] for k in begins)


def check_counters(events):
    for name in ("blocks in flight", "slots free", "memory used"):
        times = [e["ts"] for e in events["C"] if e["name"] == name]
        assert times and times == sorted(times), name
    assert max(max(e["args"].values()) for e in events["C"] if e["name"] == "memory used") > 0


def names(events, category):
    return collections.Counter(e["name"] for e in events["X"] if e["cat"] == category)


def test_file(folder):
    n_rows, file, out = 20000, config(folder), folder / "t.json"
    told = json.loads(ctl("trace", file, "s", "-o", out, "--workers", 2, "--json", "--seconds", 3600).stdout)
    other, events = read(out)
    assert other["dropped"] == 0 and other["events"] == told["events"] and other["batches"] == n_rows // 32, other
    tracks = check_tracks(events)
    check_batches(events, n_rows // 32)
    check_counters(events)
    jobs, stages = names(events, "job"), names(events, "stage")
    assert {"scan", "map", "collate", "order"} <= set(jobs), jobs
    assert {"csv", "template", "tokenize", "pad", "cast"} <= set(stages), stages
    assert set(stages.values()) == {jobs["map"]}, (stages, jobs)
    assert sum(e["args"].get("rows", 0) for e in events["X"] if e["name"] == "map") == n_rows
    assert sum(e["args"].get("rows", 0) for e in events["X"] if e["name"] == "collate") == n_rows
    assert {e["args"]["file"] for e in events["X"] if e["name"] == "map"} == {str(data.titanic(folder, n_rows))}
    assert told["threads"] == len([t for t in tracks if t >= 10]) > 0, told


def test_some_batches(folder):
    out = folder / "t.json"
    ctl("trace", config(folder), "-o", out, "--batches", 7)
    _, events = read(out)
    check_tracks(events)
    check_batches(events, 7)
    assert json.loads(ctl("trace", config(folder), "-o", "-", "--batches", 2).stdout)["otherData"]["batches"] == 2


def test_all_kinds_of_jobs(folder):
    (folder / "bad.csv").write_text("id\n" + "".join(f"{i if i % 50 else 'x'}\n" for i in range(1, 5000)))
    subprocess.run(["gzip", "-k", folder / "bad.csv"], check=True)
    stream = data.numbers_stream(["bad.csv.gz"], on_error="quarantine", quarantine=str(folder / "q.jsonl"),
                                 cache={"path": str(folder / "cache")})
    (folder / "s.yaml").write_text(data.yaml_text({"s": stream}))
    out = folder / "t.json"
    ctl("trace", folder / "s.yaml", "-o", out, "--epochs", 2)
    _, events = read(out)
    check_tracks(events)
    jobs, stages = names(events, "job"), names(events, "stage")
    assert {"scan", "map", "collate", "cache", "quarantine", "order"} <= set(jobs), jobs
    assert {"csv", "cast", "cache", "cache_write"} <= set(stages), stages


def test_running_daemon(folder):
    expected = run_digest(config(folder), "--epochs", 2)
    out = folder / "t.json"
    with Daemon(folder, config(folder)) as daemon:
        trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: daemon.status()["n_batches"] > 0, "it is served")
        tracer = subprocess.Popen([BIN / "leatctl", "trace", "s", "--socket", daemon.sockets, "--seconds", "3600",
                                   "-o", out, "--json"], stdout=subprocess.PIPE)
        wait_until(lambda: out.exists() and out.stat().st_size > 4096, "it is being traced")
        assert b"already" in daemon.ctl("trace", "s", "-o", folder / "no.json", check=False).stderr
        assert daemon.digest("s", "--epochs", 2) == expected, "a trace changes nothing"
        tracer.send_signal(signal.SIGINT)
        told = json.loads(tracer.communicate(timeout=HANG_S)[0])
        assert tracer.returncode == 130, "what was recorded until then is whole"
        trainer.kill()
        trainer.wait()
        assert b"there is no stream" in daemon.ctl("trace", "nosuch", "-o", folder / "no.json", check=False).stderr
        other, events = read(out)
        assert other["batches"] == told["batches"] > 0
        check_tracks(events)
        assert len({e["args"]["run"] for e in events["i"]}) == 2, "the run that there was, and the one that came"
        check_counters(events)
        wait_until(lambda: daemon.status()["n_sessions"] == 0, "the trainer is gone")


def test_tracers_that_die_or_do_not_read(folder):
    """What they had is given back, and the stream goes on."""
    with Daemon(folder, config(folder)) as daemon:
        before = daemon.status()["memory_claimed_bytes"]
        for how in ("kill", "stop"):
            tracer = subprocess.Popen([BIN / "leatctl", "trace", "s", "--socket", daemon.sockets, "--seconds", "3600",
                                       "-o", folder / f"{how}.json"], stdout=subprocess.DEVNULL)
            wait_until(lambda: daemon.status()["memory_claimed_bytes"] > before, "it is being traced")
            if how == "stop":
                tracer.send_signal(signal.SIGSTOP)
            assert daemon.digest("s", "--epochs", 1)
            tracer.kill()
            tracer.wait()
            wait_until(lambda: daemon.status()["memory_claimed_bytes"] <= before + (1 << 20), "it is given back")


def profile(output):
    return json.loads(output)["profile"]


def test_profiles(folder):
    file = config(folder)
    for more in ([], ["--no-daemon"]):
        what = profile(ctl("run", file, "--stats", "--json", *more).stdout)
        stages = {s["name"]: s for s in what["stages"]}
        assert abs(sum(s["share"] for s in what["stages"]) - 1) < 1e-3
        for name, role in (("scan", "scan"), ("csv", "source"), ("tokenize", "map"), ("order", "order"),
                           ("collate", "collate")):
            stage = stages[name]
            assert stage["role"] == role and stage["n_records"] == 20000, stage
            assert 0 < stage["min_ns"] <= stage["p50_ns"] <= stage["p99_ns"] <= stage["max_ns"], stage
            assert stage["min_ns"] <= stage["mean_ns"] <= stage["max_ns"] <= stage["busy_ns"], stage
        assert "of the busy time" in what["verdict"], what["verdict"]
        text = ctl("run", file, "--stats", *more).stdout.decode()
        assert "tokenize" in text and "p99" in text and what["verdict"].split(" takes ")[0].split()[0] in text
    assert "profile" not in json.loads(ctl("run", file, "--json").stdout)


def stats(daemon):
    return json.loads(daemon.ctl("stats", "s", "--json").stdout)[0]


def test_who_is_slow(folder):
    """A trainer that is stopped is the one; so is a program that waits until it is told."""
    with Daemon(folder, config(folder)) as daemon:
        trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "0"], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(lambda: daemon.status()["n_batches"] > 0, "it is served")
        trainer.send_signal(signal.SIGSTOP)
        wait_until(lambda: stats(daemon)["bound_by"] == "trainers", "its sleep is longer than all that it waited for before")
        text = daemon.ctl("stats", "s").stdout.decode()
        trainer.kill()
        trainer.wait()
        assert "trainers are slower than the pipeline" in text, text
    gate = data.Gate(folder, n_rows=30)
    gate.close()
    with Daemon(folder, data.yaml_text({"s": gate.stream})) as daemon:
        trainer = subprocess.Popen([BIN / "leatctl", "pull", "s", "--epochs", "1"], stdout=subprocess.DEVNULL,
                                   env={**os.environ, "LEAT_SOCKET": str(daemon.sockets)})
        wait_until(gate.waiting.exists, "the program waits")
        before_ns = stats(daemon)["wait_ns"]
        wait_until(lambda: stats(daemon)["bound_by"] == "pipeline", "it waits for longer than it took to begin")
        waited_ns = wait_until(lambda: stats(daemon)["wait_ns"] - before_ns, "it waits")
        gate.open()
        assert trainer.wait(HANG_S) == 0
        what = stats(daemon)
    busy = {stage["name"]: stage["busy_ns"] for stage in what["stages"]}
    assert busy["exec"] >= waited_ns > 0, (busy, waited_ns)
    slowest = max(busy, key=busy.get)  # if the machine has better things to do, that may be another one
    assert f"{slowest} takes {100 * busy[slowest] / sum(busy.values()):.0f} % of the busy time" in what["verdict"], what


if __name__ == "__main__":
    leat_harness.main(globals())

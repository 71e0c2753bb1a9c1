#!/usr/bin/env python3
"""leatctl bench: real runs of a small stream, what is refused before the first, and its end by a signal.

    test_bench.py BIN [PATTERN]
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import data
from leat_harness import BIN, HANG_S, children, ctl, wait_until


def write(folder, name="s.yaml", **keywords):
    path = folder / name
    path.write_text(data.yaml_text({"s": data.titanic_stream(data.titanic(folder, 2000), **keywords)}))
    return path


def bench(*args, **keywords):
    return json.loads(ctl("bench", *args, "--json", **keywords).stdout)


def wrong(*args):
    done = ctl("bench", *args, check=False)
    assert done.returncode in (1, 2, 3), done
    assert not done.stdout, done.stdout
    return done.stderr.decode()


def test_epochs(folder):
    """Whole epochs: the counts are those of the data, but for the first batch, with which the clock starts."""
    result = bench(write(folder, batch_size=50), "--epochs", 3, "--repeat", 2)
    [case] = result["configurations"]
    assert len(case["runs"]) == 2 and case["name"] == "" and case["set"] == [], case
    assert len(case["spec_digest"]) == 64
    for run in case["runs"]:
        assert run["batches"] == 3 * 40 - 1, run
        assert abs(run["records_per_s"] * run["measured_s"] - (6000 - 50)) < 1, run
        assert run["tokens_per_s"] > 0 and run["source_bytes_per_s"] > 0 and run["daemon_hwm_bytes"] > 1e6, run
        assert 0 < run["first_batch_s"] <= run["wall_s"] and 0 <= run["waited"] <= 1.001, run
    assert result["machine"]["cpus"] >= 1 and result["options"]["epochs"] == 3
    assert case["median"]["batches"] == 119


def test_vary(folder):
    file = write(folder)
    saved = folder / "r.json"
    done = ctl("bench", file, "s", "--vary", "batch_size=8..32*2", "--vary", "workers=1,2", "--batches", 20,
               "--repeat", 1, "--save", saved)
    result = json.loads(saved.read_text())
    names = [case["name"] for case in result["configurations"]]
    assert names == [f"batch_size={b}, workers={w}" for b in (8, 16, 32) for w in (1, 2)], names
    assert all(case["runs"][0]["batches"] == 20 for case in result["configurations"])
    assert all(name.encode() in done.stdout for name in names), done.stdout
    assert b"best for records/s: " in done.stdout, done.stdout
    digests = {}
    for case in result["configurations"]:
        digests.setdefault(case["name"].split(",")[0], set()).add(case["spec_digest"])
    assert all(len(found) == 1 for found in digests.values()), "workers change no stream"
    assert len(set.union(*digests.values())) == 3, digests
    again = ctl("bench", saved, "--compare", saved).stdout.decode()
    assert again.count("B/A") == 6 and "1.000" in again and "no difference seen" in again, again


def test_compare(folder):
    a, b = write(folder, "a.yaml", batch_size=16), write(folder, "b.yaml", batch_size=16)
    done = ctl("bench", a, "--compare", b, "--batches", 20, "--repeat", 2).stdout.decode()
    assert f"A: {a}, 2 runs" in done and f"B: {b}, 2 runs" in done and "records/s" in done, done
    cached = folder / "c.yaml"
    stream = data.titanic_stream(data.titanic(folder, 40000), batch_size=16)
    cached.write_text(data.yaml_text({"s": {**stream, "cache": {"path": str(folder / "caches")}}}))
    ctl("cache", "warm", cached)
    done = ctl("bench", a, "--compare", cached, "--batches", 400, "--repeat", 2).stdout.decode()  # so that it reads on
    source, = [line for line in done.splitlines() if line.startswith("  source")]
    assert "better" not in source and " 0.000 " in source, done  # who reads a cache is not worse for that


def test_find(folder):
    result = bench(write(folder), "--find", "workers=1..2", "--batches", 20, "--repeat", 1, "--goal", "memory")
    assert [case["name"] for case in result["configurations"]] == ["workers=1", "workers=2"]
    assert result["found"].startswith("best for memory: workers="), result["found"]
    assert "the search stopped because " in result["found"], result["found"]


def test_refused(folder):
    """All that can be known before is, and nothing runs."""
    file = write(folder)
    assert "batch.batch_size=0: streams.s.stages[" in wrong(file, "--vary", "batch.batch_size=8,0")
    assert "0 is outside 1.." in wrong(file, "--vary", "batch.batch_size=8,0")
    assert "did you mean \"batch\"" in wrong(file, "--vary", "batsh.batch_size=8")
    assert "\"batsh_size\"; did you mean" in wrong(file, "--vary", "batch.batsh_size=8")
    assert "workers=9999: workers: 9999 is outside 1..1024" in wrong(file, "--vary", "workers=1,9999")
    assert "400 combinations, but at most 256" in wrong(file, "--vary", "seed=1..20", "--vary", "workers=1..20")
    assert "records, tokens," in wrong(file, "--goal", "tokns")
    assert "the file has no stream \"t\"" in wrong(file, "t")
    assert "give only one of" in wrong(file, "--seconds", 1, "--epochs", 1)
    (folder / "x.json").write_text("{}")
    assert "x.json" in wrong(folder / "x.json", "--compare", folder / "x.json")
    assert "no-such" in wrong(file, "--save", "/no-such/r.json")
    fifo = folder / "fifo.csv"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", 'exec cat "$1" > "$2"', "sh", folder / "titanic-2000.csv", fifo]) as writer:
        assert "through a pipe" in wrong(file, "--vary", f"source.paths={fifo}")
        writer.kill()


def test_failing(folder):
    """A stream that fails says why, with the place in its data."""
    csv = folder / "bad.csv"
    csv.write_text("a,b\n" + "1,2\n" * 100 + "x,2\n")
    file = folder / "bad.yaml"
    file.write_text("streams:\n  s:\n    source: {csv: {paths: [bad.csv]}}\n    stages:\n"
                    "      - cast: {input: a, output: a, dtype: int64}\n      - select: {fields: [a]}\n"
                    "      - batch: {batch_size: 10}\n")
    message = wrong(file, "--epochs", 1)
    assert "bad.csv:102:" in message, message


def daemons(pid):
    """Processes that serve for this one."""
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b"--socket-dir" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                yield child


def interrupt(folder, n_daemons, *args):
    """What is printed if Ctrl-C comes when that many daemons have run."""
    run = subprocess.Popen([BIN / "leatctl", "bench", write(folder), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                           env={**os.environ, "XDG_RUNTIME_DIR": str(folder)} if len(str(folder)) < 40 else None)
    seen = set()
    wait_until(lambda: seen.update(daemons(run.pid)) or len(seen) >= n_daemons, f"{n_daemons} runs began")
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=HANG_S)
    assert run.returncode == 130, (run.returncode, err)
    assert b"you interrupted the measurement: these are the results" in out and b"workers=1 " in out, out
    assert not list(folder.glob("leatctl-*")), "the daemon's folder is left"
    return out


def test_interrupted(folder):
    """Ctrl-C: what was measured is said, and no daemon stays."""
    interrupt(folder, 3, "--vary", "workers=1,2", "--seconds", "1", "--repeat", "50")
    out = interrupt(folder, 7, "--find", "workers=1..64", "--seconds", "1", "--repeat", "5")
    assert b"the search stopped because you interrupted it\n" in out, out


if __name__ == "__main__":
    from leat_harness import main
    main(globals())

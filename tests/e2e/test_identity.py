#!/usr/bin/env python3
"""Many files are read once to identify them, and not at each opening. The kernel counts the bytes.

    test_identity.py BIN [PATTERN]
"""
import json
import os
import pathlib
import subprocess

from leat_harness import BIN, HANG_S, Daemon, main

N_FILES, FILE_BYTES = 80, 300_000
HASHED = N_FILES * 180_000  # at least: head, tail and samples


def write(folder):
    (folder / "data").mkdir()
    for i in range(N_FILES):
        (folder / "data" / f"{i:03}.txt").write_text(f"{i:08}\n" + ("x" * 99 + "\n") * (FILE_BYTES // 100))
    stream = {"source": {"text": {"paths": ["data"]}},
              "stages": [{"hash_bucket": {"input": "text", "output": "h", "buckets": 1000}}, {"select": {"fields": ["h"]}},
                         {"batch": {"batch_size": 2}}]}
    (folder / "s.yaml").write_text(f"state_directory: {folder}/kept\nstreams:\n  s: {json.dumps(stream)}\n")


def read_by(folder, *args):
    """Bytes that a daemon reads until its trainer has two batches. What was kept before is made older than it is."""
    for kept in folder.glob("kept/files/*"):
        later = kept.stat().st_mtime + 10
        os.utime(kept, (later, later))
    with Daemon(folder, folder / "s.yaml") as daemon:
        daemon.pull("s", "--batches", 2, *args)
        lines = pathlib.Path(f"/proc/{daemon.pid}/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


def test_files_are_read_once(folder):
    write(folder)
    first = read_by(folder, "--save-position", folder / "position")
    again = read_by(folder, "--position", f"@{folder / 'position'}")
    assert again <= first - HASHED, (first, again)
    (kept,) = folder.glob("kept/files/*")
    assert kept.stat().st_size < 200 * N_FILES


def test_changes_are_seen(folder):
    """A file that has the size and the time that it had fails the position; what is kept may be damaged."""
    write(folder)
    read_by(folder, "--save-position", folder / "position")
    changed = folder / "data" / "007.txt"
    before = changed.stat()
    text = changed.read_text()
    changed.write_text("y" + text[1:])
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    try:
        read_by(folder, "--position", f"@{folder / 'position'}")
    except AssertionError as refusal:
        assert "the contents of data/007.txt" in str(refusal), refusal
    else:
        raise AssertionError("the change was not seen")
    changed.write_text(text)
    (kept,) = folder.glob("kept/files/*")
    for damage in [b"", b"leat", kept.read_bytes()[:-1] + b"?"]:
        kept.write_bytes(damage)
        read_by(folder, "--position", f"@{folder / 'position'}")
        assert "the file is damaged, so leat reads all data files again" in (folder / "leatd.log").read_text()


def ctl_reads(folder, *args):
    """Bytes that leatctl reads. What was kept before is made older than it is."""
    for kept in (folder / "state").glob("**/files-*"):
        later = kept.stat().st_mtime + 10
        os.utime(kept, (later, later))
    with subprocess.Popen([BIN / "leatctl", *map(str, args)], stdout=subprocess.DEVNULL) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        lines = pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines()
        assert process.wait(HANG_S) == 0
    return int(dict(line.split(": ") for line in lines)["rchar"])


def test_caches_are_found_by_what_is_kept(folder):
    """The key of a cache, of a shard and of a set is of the data, which is not read again for it."""
    write(folder)
    text = (folder / "s.yaml").read_text()
    file = folder / "cached.yaml"
    file.write_text(text.replace('"stages"', f'"cache": {{"path": "{folder}/cache"}}, "stages"'))
    first = ctl_reads(folder, "cache", "warm", file)
    assert first > N_FILES * FILE_BYTES + HASHED
    for command in (["cache", "warm", file], ["run", file, "--no-daemon"]):
        assert ctl_reads(folder, *command) < HASHED / 4, command
    shards = [ctl_reads(folder, "prepare", folder / "s.yaml", "--shard", f"{i}/2", "-o", folder / "set") for i in range(2)]
    assert sum(shards) < N_FILES * FILE_BYTES + HASHED / 4, shards
    assert ctl_reads(folder, "prepare", folder / "s.yaml", "--seal", "-o", folder / "set") < HASHED / 4
    kept = sorted((folder / "state").glob("**/files-*"))
    assert kept
    (folder / "data" / "007.txt").write_text(f"{7:08}\n" + ("y" * 99 + "\n") * (FILE_BYTES // 100))
    assert ctl_reads(folder, "cache", "warm", file) > N_FILES * FILE_BYTES, "changed data is cached anew"


if __name__ == "__main__":
    main(globals())

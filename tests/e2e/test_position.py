#!/usr/bin/env python3
"""A position goes on where the same stream is, wherever that lies; where it is another one, the refusal says in what.

    test_position.py BIN [PATTERN]
"""
import json
import os
import shutil

import data
from leat_harness import Daemon, ROOT, ctl, find_digest, main

N_ROWS = 600
STEP = 7  # of 18 and a part


def stream(folder, seed=None, **options):
    result = data.titanic_stream("in.csv", **options)
    result["stages"][1]["tokenize"]["vocab"] = "vocab.txt"
    return result


def write(folder, changed=None, name="s"):
    (folder / "s.yaml").write_text(data.yaml_text({name: changed or stream(folder)}))
    return folder / "s.yaml"


def prepare(folder):
    """A folder with all that the stream needs, a position in it, and the digest of what follows."""
    place = folder / "here"
    place.mkdir()
    shutil.copy(data.titanic(folder, N_ROWS), place / "in.csv")
    shutil.copy(ROOT / "config" / "titanic.vocab.txt", place / "vocab.txt")
    file = write(place)
    ctl("run", file, "--batches", STEP, "--save-position", place / "position")
    digest = find_digest(ctl("run", file, "--position", f"@{place / 'position'}", "--digest").stdout)
    return place, digest


def refusal(place, *args, status=3):
    """What is said of the position now: the same with a daemon and without."""
    said = []
    for how in ([], ["--no-daemon"]):
        done = ctl("run", place / "s.yaml", "--position", f"@{place / 'position'}", *how, *args, check=False)
        assert done.returncode == status, f"{how}: status {done.returncode}: {done.stderr.decode()}"
        said.append(done.stderr.decode().strip().split("\n")[-1])
    assert said[0] == said[1], said
    return said[0]


def expect(place, *parts):
    said = refusal(place)
    assert all(part in said for part in parts), f"{said!r} does not say {parts}"


def test_arguments(folder):
    place, digest = prepare(folder)
    cases = [
        (lambda s: s["stages"][5]["shuffle"].update(buffer_size=2000), "stages[5].shuffle.buffer_size was 1000, is 2000"),
        (lambda s: s["stages"][5]["shuffle"].update(seed=43), "stages[5].shuffle.seed was 42, is 43"),
        (lambda s: s["stages"][1]["tokenize"].update(max_length=32), "stages[1].tokenize.max_length was 64, is 32"),
        (lambda s: s["stages"].insert(5, {"take": {"count": 500}}), "stages[5].take was added"),
        (lambda s: s["stages"].pop(5), "stages[5].shuffle was removed"),
        (lambda s: s.update(seed=5), "seed was 0, is 5"),
        (lambda s: s.update(on_error="skip"), "on_error was fail, is skip"),
        (lambda s: s["source"]["csv"].update(invalid_utf8="fail"), "source.csv.invalid_utf8 was replace, is fail"),
    ]
    for change, said in cases:
        changed = stream(place)
        change(changed)
        write(place, changed)
        expect(place, "streams.s: has changed since the position was saved: ", said)
    write(place, stream(place, block_bytes=4096, jobs_in_flight=3), name="other_name")
    found = ctl("run", place / "s.yaml", "--position", f"@{place / 'position'}", "--digest").stdout
    assert find_digest(found) == digest, "settings that change only speed were taken for another stream"


def test_files(folder):
    place, digest = prepare(folder)
    csv = (place / "in.csv").read_bytes()
    (place / "in.csv").write_bytes(csv + b"x\n")
    expect(place, f"in.csv had {len(csv):,} bytes, has {len(csv) + 2:,} bytes")
    middle = csv.index(b"\n", len(csv) // 2) + 1
    (place / "in.csv").write_bytes(csv[:middle] + b"9" + csv[middle + 1:])
    expect(place, f"the contents of in.csv ({len(csv):,} bytes) differ between bytes ")
    (place / "in.csv").write_bytes(csv)
    (place / "more.csv").write_bytes(csv)
    changed = stream(place)
    changed["source"]["csv"]["paths"] = ["in.csv", "more.csv"]
    write(place, changed)
    expect(place, "there was 1 file, there are 2")
    write(place)
    vocab = (place / "vocab.txt").read_text()
    (place / "vocab.txt").write_text(vocab + "never\n")
    expect(place, 'the contents of the files of stages[1].tokenize changed ("vocab.txt")')
    (place / "vocab.txt").write_text(vocab)
    found = ctl("run", place / "s.yaml", "--position", f"@{place / 'position'}", "--digest").stdout
    assert find_digest(found) == digest


def test_elsewhere(folder):
    """The same bytes, of another name, time and inode, on a machine that never saw them."""
    place, digest = prepare(folder)
    other = folder / "there" / "deep"
    other.mkdir(parents=True)
    (other / "data.csv").write_bytes((place / "in.csv").read_bytes())
    (other / "words.txt").write_bytes((place / "vocab.txt").read_bytes())
    os.utime(other / "data.csv", (1, 1))
    moved = stream(other)
    moved["source"]["csv"]["paths"] = ["data.csv"]
    moved["stages"][1]["tokenize"]["vocab"] = str(other / "words.txt")
    write(other, moved)
    text = (place / "position").read_text().strip()
    assert len(text) < 256 and f":epoch=0:step={STEP}:world=1" in text, text
    os.environ["XDG_STATE_HOME"] = str(folder / "nothing")
    for how in ([], ["--no-daemon"]):
        assert find_digest(ctl("run", other / "s.yaml", "--position", text, "--digest", *how).stdout) == digest
    (other / "data.csv").write_bytes(b"x" + (place / "in.csv").read_bytes())
    shutil.rmtree(folder / "nothing")
    shutil.copy(place / "position", other / "position")
    expect(other, "the digest of the data was", "leat has no earlier description")


def test_accepted(folder):
    place, _ = prepare(folder)
    changed = stream(place, shuffle=100)
    file = write(place, changed)
    epoch = ctl("run", file, "--format", "jsonl").stdout.splitlines()
    for how in ([], ["--no-daemon"]):
        rest = ctl("run", file, "--format", "jsonl", "--position", f"@{place / 'position'}", "--accept-changes",
                   *how).stdout.splitlines()
        steps = [json.loads(line).get("step") for line in rest]
        assert steps[0] == STEP and set(rest) - set(epoch) <= set(rest[-1:]), (steps, how)
    with Daemon(place, file.read_text()) as daemon:
        daemon.pull("s", "--position", f"@{place / 'position'}", "--accept-changes")
        log = daemon.log
    assert "event=changed" in log and "buffer_size was 1000, is 100" in log, log


def test_seeds(folder):
    """The seed of the position is in force, and another one is refused."""
    place, _ = prepare(folder)
    file = place / "s.yaml"
    ctl("run", file, "--seed", 9, "--batches", STEP, "--save-position", place / "position")
    whole = ctl("run", file, "--seed", 9, "--format", "jsonl").stdout.splitlines()
    for how in ([], ["--no-daemon"], ["--seed", 9]):
        rest = ctl("run", file, "--position", f"@{place / 'position'}", "--format", "jsonl", *how).stdout.splitlines()
        assert rest[:5] == whole[STEP:STEP + 5], how
    said = []
    for how in ([], ["--no-daemon"]):
        done = ctl("run", file, "--position", f"@{place / 'position'}", "--seed", 8, *how, check=False)
        assert done.returncode != 0
        said.append(done.stderr.decode())
    assert all("has the seed 9, but " in text and " 8: leave " in text for text in said), said


def test_ends(folder):
    """Behind the end of an epoch the next one begins; behind the last batch asked for, the next one."""
    place, _ = prepare(folder)
    file = place / "s.yaml"
    for how in ([], ["--no-daemon"]):
        ctl("run", file, "--epochs", 1, "--save-position", place / "end", *how)
        assert ":epoch=1:step=0:" in (place / "end").read_text()
        two = ctl("run", file, "--epochs", 2, "--format", "jsonl", *how).stdout.splitlines()
        second = ctl("run", file, "--position", f"@{place / 'end'}", "--format", "jsonl", "--save-position", place / "end",
                     *how).stdout.splitlines()
        second = [line for line in second if json.loads(line).get("epoch") == 1]
        assert second and set(second) <= set(two)
        assert ":epoch=2:step=0:" in (place / "end").read_text()


def test_bad_texts(folder):
    place, _ = prepare(folder)
    (place / "bytes").write_bytes(b"leat1:\0\xff")
    (place / "long").write_bytes(b"leat1:" + b"a" * 5000)
    for text in ("", "leat1:", "leat2:spec=1", "x" * 300, "@" + str(place / "bytes"), "@" + str(place / "long"), "@",
                 "@" + str(place), "@/nothing"):
        for how in ([], ["--no-daemon"]):
            done = ctl("run", place / "s.yaml", "--position", text, *how, check=False)
            assert done.returncode in (1, 2, 3) and done.stderr and not done.stdout, (text, done)
    done = ctl("run", place / "s.yaml", "--position", "x" * 300, check=False)
    assert b"--position: a position has at most 255 bytes, but you gave 300" in done.stderr, done
    done = ctl("run", place / "s.yaml", "--accept-changes", check=False)
    assert done.returncode == 2 and b"--position" in done.stderr


if __name__ == "__main__":
    main(globals())

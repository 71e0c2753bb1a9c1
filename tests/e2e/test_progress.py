#!/usr/bin/env python3
"""How far long work has come is told on a terminal, taken away again, and told nowhere else.

    test_progress.py BIN [PATTERN]
"""
import json
import subprocess

import data
import leat_harness
from leat_harness import BIN, ctl
from terminal import Terminal


def write_stream(folder, n):
    (folder / "numbers.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(n)))
    stream = data.numbers_stream([str(folder / "numbers.csv")], cache={"path": str(folder / "caches")})
    (folder / "stream.yaml").write_text(data.yaml_text({"plain": stream}, workers=1))
    return folder / "stream.yaml"


def on_terminal(*args):
    """All that it wrote; the last line of the screen is taken away again."""
    with Terminal([BIN / "leatctl", *args], n_columns=120) as terminal:
        assert terminal.wait() == 0, terminal.screen.text
        assert "---]" not in terminal.screen.text and "s left" not in terminal.screen.text, terminal.screen.text
        return terminal.raw


def test_commands(folder):
    """Each says how much is done, of how much."""
    file = write_stream(folder, 200000)
    for shard in "01":
        assert b" MiB\x1b" not in on_terminal("cache", "prepare", file, "--shard", f"{shard}/2", "-o", folder / "shards", "-q")
    for args, word in [(["cache", "merge", file, "--shards", folder / "shards"], b" of "), (["cache", "verify", file], b" of "),
                       (["describe", file], b"] "), (["describe", file, "-n", "150000"], b"of 150,000 records"),
                       (["bench", file, "--repeat", "2", "--batches", "20"], b"of 2 runs")]:
        raw = on_terminal(*args)
        assert word in raw and b"\r\x1b[K" in raw, (args, raw)
        assert b"\x1b" not in on_terminal(*args, "--no-progress"), args


def test_no_terminal(folder):
    """Then there is nothing of it, and what is told on a terminal is right."""
    file = write_stream(folder, 200000)
    raw = on_terminal("cache", "warm", file)
    assert b"\x1b" not in raw or b"records" in raw, raw
    done = ctl("cache", "verify", file, "--json")
    assert done.stderr == b"" and json.loads(done.stdout)[0]["is_good"], done
    into = subprocess.run([BIN / "leatctl", "describe", file], capture_output=True, check=True)
    assert into.stderr == b"" and b"\x1b" not in into.stdout, into


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""config/chat.yaml: what has labels is what the assistant says, whatever runs the stream.

    test_chat.py BIN [PATTERN]
"""
import json
import subprocess

import leat_harness
from leat_harness import BIN, ROOT, Daemon, ctl, find_digest

CONFIG = ROOT / "config" / "chat.yaml"


def decode(ids):
    line = " ".join(map(str, ids)).encode() + b"\n"
    done = subprocess.run([BIN / "leatctl", "tokenizer", "decode", ROOT / "config" / "chat"], input=line,
                          capture_output=True, timeout=leat_harness.HANG_S, check=True)
    return done.stdout.decode().removesuffix("\n")


def head(stream, *args):
    return [json.loads(line) for line in ctl("head", CONFIG, stream, "-n", 100, "--json", *args).stdout.splitlines()]


def labelled(row):
    assert len(row["labels"]) == len(row["input_ids"])
    assert all(label in (-100, number) for label, number in zip(row["labels"], row["input_ids"]))
    return decode([label for label in row["labels"] if label != -100])


def test_talks(_folder):
    rows = head("talks", "--after", "causal_labels")
    assert len(rows) == 5
    for row in rows:
        messages = json.loads(row["messages"])
        said = "".join(message["content"] + "<|im_end|>" for message in messages if message["role"] == "assistant")
        assert labelled(row) == said, (labelled(row), said)
        assert [label != -100 for label in row["labels"]] == [mask == 1 for mask in row["assistant_masks"]]
        assert decode(row["input_ids"]) == row["text"]


def test_tasks(_folder):
    for row in head("tasks", "--after", "causal_labels"):
        assert labelled(row) == row["output"] + "<|im_end|>"
        assert row["text"].endswith("### Response:\n" + labelled(row))


def test_digests(folder):
    with Daemon(folder, CONFIG) as daemon:
        for stream in ("talks", "tasks"):
            alone = find_digest(ctl("run", CONFIG, stream, "--digest", "--no-daemon", "--epochs", 2).stdout)
            assert daemon.digest(stream, "--epochs", 2) == alone


if __name__ == "__main__":
    leat_harness.main(globals())

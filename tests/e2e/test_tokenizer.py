#!/usr/bin/env python3
"""A stream with the tokenizer of a model has the ids that `leatctl tokenizer encode` gives, whatever runs it.

    test_tokenizer.py BIN [PATTERN]
"""
import hashlib
import json
import random
import shutil
import struct
import subprocess

import data
import leat_harness
from leat_harness import BIN, ROOT, ctl, find_digest, run_digest

MODEL = ROOT / "config" / "sentences"
LENGTH = 64


def tokenize(lines, *args):
    """What `leatctl tokenizer encode` answers to these lines of bytes."""
    done = subprocess.run([BIN / "leatctl", "tokenizer", "encode", MODEL, *args], input=b"".join(line + b"\n" for line in lines),
                          capture_output=True, timeout=leat_harness.HANG_S)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.decode().split("\n")[:-1]
    assert len(answers) == len(lines), f"{len(answers)} answers to {len(lines)} lines"
    return answers


def encode(records, **wishes):
    return [json.loads(answer) for answer in tokenize([json.dumps({**record, **wishes}).encode() for record in records], "--jsonl")]


def make_records(n):
    rng = random.Random(5)
    words = ["the", "miller", "opened", "sluice", "at", "dawn", "Mühlrad", "été", "水車", "42", "...", "don't", "<x>", "[MASK]", "\t", "e\u0301"]
    return [{"t": " ".join(rng.choices(words, k=rng.randrange(30))), "pair": " ".join(rng.choices(words, k=rng.randrange(4)))} for _ in range(n)]


def write_stream(folder, records, name="s", **tokenizer):
    with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")
    args = {"input": "t", "pair": "pair", "output": "input_ids", "tokenizer": str(MODEL), "return_token_type_ids": True, "return_offsets_mapping": True, **tokenizer}
    stream = {"source": {"jsonl": {"paths": [f"{name}.jsonl"]}}, "block_bytes": 16384, "stages": [
        {"tokenize": args},
        {"select": {"fields": ["input_ids", "token_type_ids", "offset_mapping"]}},
        {"pad": {"input": "input_ids", "length": LENGTH}}, {"pad": {"input": "token_type_ids", "length": LENGTH}},
        {"pad": {"input": "offset_mapping", "length": 2 * LENGTH}}, {"batch": {"batch_size": 32}}]}
    file = folder / f"{name}.yaml"
    file.write_text(data.yaml_text({name: stream}))
    return file


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def digest_of(answers):
    """The digest of all batches, as client/cli/run/report.h describes it."""
    state = hashlib.blake2b(digest_size=32)
    for step in range(0, (len(answers) + 31) // 32):
        rows = answers[32 * step:32 * step + 32]
        columns = {"input_ids": ([row["ids"] for row in rows], LENGTH), "token_type_ids": ([row["type_ids"] for row in rows], LENGTH),
                   "offset_mapping": ([[place for pair in row["off"] for place in pair] for row in rows], 2 * LENGTH)}
        state.update(struct.pack("<QQQ", 0, step, len(columns)))
        for name, (lists, length) in columns.items():
            values = [value for row in lists for value in row + [0] * (length - len(row))]
            state.update(text(name) + text("int32") + struct.pack("<QQQQ", 2, len(rows), length, 4 * len(values)))
            state.update(struct.pack(f"<{len(values)}i", *values))
    return state.hexdigest()


def test_equals_tokenize(folder):
    made = make_records(3000)
    records = [record for record, answer in zip(made, encode(made, special=True)) if len(answer["ids"]) <= LENGTH]
    assert len(records) > 1000
    expected = digest_of(encode(records, special=True, type_ids=True, off=True))
    file = write_stream(folder, records)
    found = {"--no-daemon": run_digest(file, "--no-daemon")}
    for args in (["--workers", 1], ["--workers", 4], ["--delivery", "copy"], ["--delivery", "shared", "--window", 1]):
        found[" ".join(map(str, args))] = run_digest(file, *args)
    assert set(found.values()) == {expected}, f"{expected} expected: {found}"


def test_truncation(folder):
    """No row is longer than max_length, in whatever order of work."""
    file = write_stream(folder, make_records(2000), max_length=LENGTH, truncation_side="left")
    digests = {run_digest(file, "--no-daemon"), run_digest(file, "--workers", 3), run_digest(file, "--delivery", "copy")}
    assert len(digests) == 1, digests


def test_example(folder):
    rows = [json.loads(line) for line in ctl("head", ROOT / "config" / "sentences.yaml", "-n", 3, "--json").stdout.splitlines()]
    assert rows and all(row["input_ids"][0] == 2 and len(row["offset_mapping"]) == 2 * len(row["input_ids"]) for row in rows), rows
    find_digest(ctl("run", ROOT / "config" / "sentences.yaml", "--digest").stdout)
    described = json.loads(ctl("tokenizer", "show", MODEL, "--json").stdout)
    assert "WordPiece" in described["model"], described


def test_content_counts(folder):
    """A trainer that expects a stream is not given one of another tokenizer."""
    model = folder / "model"
    shutil.copytree(MODEL, model)
    file = write_stream(folder, make_records(10), tokenizer=str(model), max_length=LENGTH)
    first = json.loads(ctl("explain", file, "--json").stdout)["spec_digest"]
    assert first == json.loads(ctl("explain", file, "--json").stdout)["spec_digest"]
    changed = (model / "tokenizer.json").read_text(encoding="utf-8").replace('"lowercase": true', '"lowercase": false')
    (model / "tokenizer.json").write_text(changed, encoding="utf-8")
    assert first != json.loads(ctl("explain", file, "--json").stdout)["spec_digest"]


def test_lines(folder):
    """Lines of any bytes, one answer each, and back."""
    assert tokenize([]) == []
    answers = tokenize([b"the miller", b"", b"\xff\xfe\x80 the", b"the miller"])
    assert answers[0] == answers[3] != "" and answers[1] == "" and answers[2] != ""
    assert tokenize([b"the miller"], "--special")[0].split() == ["2", *answers[0].split(), "3"]
    command = [BIN / "leatctl", "tokenizer", "decode", MODEL]
    assert subprocess.run([*command, "--skip-special"], input=f"2 {answers[0]} 3".encode(), capture_output=True).stdout == b"the miller\n"
    wanted = {"ids": [2, *map(int, answers[0].split()), 3]}
    done = subprocess.run([*command, "--jsonl"], input=json.dumps({**wanted, "skip_special": True}).encode(), capture_output=True)
    assert json.loads(done.stdout) == {"t": "the miller"}, done


def test_answers_at_once(folder):
    """A program at the other end of two pipes need not close its own to be answered."""
    with subprocess.Popen([BIN / "leatctl", "tokenizer", "encode", MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdin.write(b"the miller\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(leat_harness.HANG_S) == 0


def test_errors(folder):
    """Wrong input ends with status 3 and the line, a wrong command line with 2."""
    def run(*args, given=b""):
        done = subprocess.run([BIN / "leatctl", *map(str, args)], input=given, capture_output=True, timeout=leat_harness.HANG_S)
        return done.returncode, done.stderr.decode()
    good = b'{"t": "a"}\n'
    for given, place in ((b'{"t": 5}\n', "stdin:2: t: "), (b"{}\n", "stdin:2: "), (b'{"t": "a\n', "stdin:2:7: "), (b"[1]\n", "stdin:2: "),
                         (b'{"t": "a", "pair": 1}\n', "stdin:2: pair: "), (b'{"t": "a", "special": 1}\n', "stdin:2: special: ")):
        status, message = run("tokenizer", "encode", MODEL, "--jsonl", given=good + given)
        assert status == 3 and place in message, (given, status, message)
    for given in (b"1 2\n1 x\n", b"1\n-1\n", b"1\n99999999999\n"):
        status, message = run("tokenizer", "decode", MODEL, given=given)
        assert status == 3 and "stdin:2:" in message, (given, status, message)
    status, message = run("tokenizer", "decode", MODEL, "--jsonl", given=b'{"ids": [1, "2"]}\n')
    assert status == 3 and "stdin:1: ids[1]: " in message, (status, message)
    assert run("tokenizer", "encode")[0] == run("tokenizer", "decode")[0] == run("tokenizer", "show")[0] == run("tokenizer")[0] == 2
    assert run("tokenizer", "encode", folder / "none")[0] in (1, 3)
    broken = folder / "tokenizer.json"
    broken.write_text('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}')
    status, message = run("tokenizer", "show", broken)
    assert status == 3 and f"{broken}:1:" in message and "merges" in message, (status, message)


if __name__ == "__main__":
    leat_harness.main(globals())

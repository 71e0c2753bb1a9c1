"""Files for the end-to-end tests."""
import json
import pathlib
import subprocess
import sys

from leat_harness import BIN, ROOT


def titanic(folder, n_rows, seed=1):
    """A CSV of that many rows, by the project's generator."""
    path = pathlib.Path(folder) / f"titanic-{n_rows}.csv"
    subprocess.run([BIN.parent / "tests" / "bench" / "gen_titanic", str(n_rows), str(seed), path], check=True)
    return path


def titanic_stream(csv, batch_size=32, length=64, shuffle=1000, **options):
    """Text of three fields, tokens, padding, a label: {..} as YAML's flow style takes it."""
    return {"source": {"csv": {"paths": [str(csv)]}}, **options, "stages": [
        {"template": {"output": "text", "join": " ", "parts": ["Name: {Name}", "Age: {Age}", "Cabin: {Cabin}"]}},
        {"tokenize": {"input": "text", "output": "input_ids", "mode": "shortest", "unknown": "skip",
                      "vocab": str(ROOT / "config" / "titanic.vocab.txt"), "max_length": length}},
        {"pad": {"input": "input_ids", "length": length, "value": 0, "mask": "attention_mask"}},
        {"cast": {"input": "Survived", "output": "labels", "dtype": "int64"}},
        {"select": {"fields": ["input_ids", "attention_mask", "labels"]}},
        {"shuffle": {"buffer_size": shuffle, "seed": 42}},
        {"batch": {"batch_size": batch_size}},
        {"prefetch": {"prefetch_size": 4}}]}


def numbers_stream(paths, batch_size=8, **options):
    """A stream of one number a record: `id`."""
    return {"source": {"csv": {"paths": paths}}, **options, "stages": [
        {"cast": {"input": "id", "dtype": "int64"}}, {"select": {"fields": ["id"]}},
        {"batch": {"batch_size": batch_size}}, {"prefetch": {"prefetch_size": 2}}]}


class Gate:
    """A stream of numbers through a program that answers only while the gate is open."""

    def __init__(self, folder, n_rows=100000):
        self.path, self.waiting = folder / "open", folder / "waiting"
        self.path.touch()
        (folder / "n.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(n_rows)))
        (folder / "gate.py").write_text(f"""\
import pathlib, sys, time
for line in sys.stdin:
    while not pathlib.Path({str(self.path)!r}).exists():
        pathlib.Path({str(self.waiting)!r}).touch()
        time.sleep(0.01)
    print(line, end="", flush=True)
""")
        self.stream = {"source": {"csv": {"paths": [str(folder / "n.csv")]}}, "block_bytes": 4096, "stages": [
            {"cast": {"input": "id", "dtype": "int64"}},
            {"exec": {"command": [sys.executable, "-u", str(folder / "gate.py")], "inputs": ["id"], "schema": {"id": "int64"},
                      "processes": 1}},
            {"select": {"fields": ["id"]}}, {"batch": {"batch_size": 8}}, {"prefetch": {"prefetch_size": 2}}]}

    def close(self):
        self.path.unlink()

    def open(self):
        self.path.touch()


def yaml_text(streams, **settings):
    """A configuration; JSON is YAML, a line for each stream."""
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in settings.items()]
    lines += ["streams:"] + [f"  {json.dumps(name)}: {json.dumps(stream)}" for name, stream in streams.items()]
    return "\n".join(lines) + "\n"

"""What Python adds to a batch of four tensors: beside the same loop in C, in turns, of one daemon and one stream.

    binding_bench.py BUILD [--rounds 3]      (with the Python that has NumPy and, if wanted, torch)

Prints JSON: nanoseconds a batch, the best of the goes of each round, and the median of rounds. `loop` takes a batch, looks up its
four tensors and gives it back: that, less `c`, is what Python costs. `numpy` and `torch` make an array of each tensor besides,
`for` is the loop as a trainer writes it. `is_same_address` tells that nothing was copied on the way.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

N_GOES = 300
N_A_GO = 64
PAUSE_S = 0.003
NAMES = ("a", "b", "c", "d")
SPEC = """streams:
  rows:
    source: {{ jsonl: {{ paths: [{rows}] }} }}
    stages:
      - stack: {{ inputs: [w, x, y, z], output: a }}
      - cast: {{ input: w, output: b, dtype: int32 }}
      - cast: {{ input: x, output: c, dtype: float32 }}
      - cast: {{ input: y, output: d, dtype: uint8 }}
      - select: {{ fields: [a, b, c, d] }}
      - batch: {{ batch_size: 32, drop_last: true }}
      - prefetch: {{ prefetch_size: 128 }}
"""


def write(folder: pathlib.Path) -> pathlib.Path:
    rows = folder / "rows.jsonl"
    rows.write_text("".join(json.dumps(dict(zip("wxyz", (i % 97, i % 7, i % 251, i)))) + "\n" for i in range(64000)))
    config = folder / "leatd.yaml"
    config.write_text(SPEC.format(rows=rows))
    return config


def start(build: pathlib.Path, folder: pathlib.Path) -> subprocess.Popen[bytes]:
    command = [build / "bin" / "leatd", "--config", write(folder), "--socket-dir", folder / "sockets"]
    (folder / "sockets").mkdir()
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (folder / "sockets" / "trainer.sock").exists() and daemon.poll() is None:
        time.sleep(0.05)
    return daemon


def keep(tensors: tuple[Any, ...]) -> None:
    """What a loop does that only looks its tensors up."""


def arrays_of(convert: Callable[[Any], Any]) -> Callable[[tuple[Any, ...]], None]:
    def use(tensors: tuple[Any, ...]) -> None:
        for tensor in tensors:
            convert(tensor)

    return use


def take(stream: Any, use: Callable[[tuple[Any, ...]], None]) -> int:
    """The batches that were there, up to N_A_GO."""
    from leat import TimedOutError

    a, b, c, d = NAMES
    following, n = stream.native.next, 0
    try:
        while n < N_A_GO:
            batch = following(0)
            if batch.__class__ is not int:
                use((batch[a], batch[b], batch[c], batch[d]))
                batch.release()
                n += 1
    except TimedOutError:
        pass
    return n


def best_ns(go: Callable[[], int]) -> float:
    best = float("inf")
    for _ in range(N_GOES):
        time.sleep(PAUSE_S)
        begin = time.perf_counter_ns()
        if go() == N_A_GO:
            best = min(best, (time.perf_counter_ns() - begin) / N_A_GO)
    return best


def as_written(stream: Any) -> int:
    """A `for` over the stream that ends after N_A_GO batches."""
    n = 0
    for batch in stream:
        batch["a"], batch["b"], batch["c"], batch["d"]
        n += 1
        if n == N_A_GO:
            break
    return n


def converters() -> dict[str, Callable[[Any], Any]]:
    import numpy

    found: dict[str, Callable[[Any], Any]] = {"numpy": numpy.asarray}
    try:
        import torch
    except ImportError:
        return found
    return {**found, "torch": torch.from_dlpack}


def is_same_address(stream: Any) -> bool:
    import numpy

    batch = next(iter(stream))
    return all(numpy.asarray(batch[name]).ctypes.data == batch[name].data_ptr for name in NAMES)


def measure(build: pathlib.Path, folder: pathlib.Path, n_rounds: int) -> dict[str, Any]:
    import leat

    leat.connect(folder / "sockets")
    c_loop = [build / "tests" / "bench" / "binding_bench", folder / "sockets", "rows"]
    uses = {"loop": keep} | {name: arrays_of(convert) for name, convert in converters().items()}
    found: dict[str, list[float]] = {}
    for _ in range(n_rounds):
        found.setdefault("c", []).append(float(subprocess.run(c_loop, check=True, capture_output=True).stdout))
        with leat.open("rows", window=2 * N_A_GO) as stream:
            for name, use in uses.items():
                found.setdefault(name, []).append(best_ns(lambda use=use: take(stream, use)))
            found.setdefault("for", []).append(best_ns(lambda: as_written(stream)))
            same = is_same_address(stream)
    medians = {name: statistics.median(values) for name, values in found.items()}
    return {"ns": medians, "python_over_c_us": (medians["loop"] - medians["c"]) / 1000, "is_same_address": same}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    build = given.build.resolve()
    sys.path.insert(0, str(build / "python"))
    os.environ.setdefault("LEAT_BIN", str(build / "bin"))
    with tempfile.TemporaryDirectory() as folder:
        daemon = start(build, pathlib.Path(folder))
        try:
            print(json.dumps(measure(build, pathlib.Path(folder), given.rounds), indent=1))
        finally:
            daemon.terminate()
            daemon.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Batches to a GPU: GB/s from the ring to the device, and the share of a training step that is waited for data.

    LEAT_BIN=build/bin PYTHONPATH=build/python python3 tests/bench/cuda_bench.py [--json FILE] [--device 0] [--jax]
    [--seconds 5] [--batches 32] [--slots 12]

Needs a GPU, and PyTorch with CUDA (--jax: and JAX). With --device cpu, PyTorch alone is enough: batches are copied to
memory of the CPU, so that you can try the program. What arrives is compared with what was sent first. The tables:

- copy: one batch that is held, copied again and again by itself: what the bus gives, registered and (in a process of its
  own) not.
- feed: batches of a stream, each released before a byte of it was read: what the daemon gives at most.
- stream: batches of the same stream to torch, each released when it was copied. It cannot be faster than copy or feed.
  The batches of both are rows of ids of a cache, --batches of 64 MiB an epoch. --slots are the slots of the ring: a
  worker fills one of them at a time.
- step: a small transformer trains; its time for a step with a batch that is on the device already, against batches of a
  stream. What is more is waited for. Besides, the time in next().
- jax: with --jax, the same arrays by way of JAX.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from typing import Any

MIB = 1 << 20
SIZES = {"64 MiB": 64 * MIB, "8 MiB": 8 * MIB, "1 MiB": MIB, "64 KiB": 64 << 10}
WIDTH = 4096  # bytes of a row of the copied batches
BATCH = 64 * MIB  # bytes of a batch of a stream
WINDOW = 4  # batches of a stream that are held at once: two are copied, one waits, one is given back
WARM = 8  # batches before the clock starts


def write_lists(path: pathlib.Path, n_rows: int, length: int, n_times: int = 1) -> pathlib.Path:
    """JSONL of lists of ids; n_times: the same rows again and again."""
    draw = random.Random(1)
    lines = (json.dumps({"input_ids": draw.choices(range(1, 30000), k=length)}) + "\n" for _ in range(n_rows))
    text = "".join(lines).encode()
    with open(path, "wb") as file:
        for _ in range(n_times):
            file.write(text)
    return path


def lists(path: pathlib.Path, n_rows: int, length: int, n_ahead: int = 4) -> Any:
    """Batches of n_rows rows, padded with 0 to that length, as int32, without end."""
    import leat

    rows = leat.jsonl(path, fields={"input_ids": "list<int32>"}).pad(length, input="input_ids", value=0)
    return rows.batch(n_rows, drop_last=True).prefetch(n_ahead)


def rate(n_bytes: int, seconds: float) -> dict[str, float]:
    return {"gb_s": n_bytes / seconds / 1e9, "us": seconds * 1e6}


def measure_copy(folder: pathlib.Path, ordinal: int, seconds: float, sizes: dict[str, int]) -> dict[str, Any]:
    """GB/s by size of the batch."""
    from leat import _leat

    found: dict[str, Any] = {}
    device = _leat.CudaDevice(ordinal)
    path = write_lists(folder / "few.jsonl", 64, 8)
    for name, size in sizes.items():
        n_rows = size // WIDTH
        source = write_lists(folder / "few.jsonl", n_rows, 8) if n_rows > 64 else path
        with lists(source, n_rows, WIDTH // 4).open(window=2) as stream:
            batch = stream.next()
            tensor = batch["input_ids"]
            assert tensor.nbytes == size, (tensor.nbytes, size)
            memory = device.alloc(size)
            device.copy([(tensor, memory.address)]).wait()  # registers
            n, start = 0, time.perf_counter()
            issue = 0.0
            while time.perf_counter() - start < seconds / len(sizes):
                began = time.perf_counter()
                copies = [device.copy([(tensor, memory.address)]) for _ in range(8)]
                issue += time.perf_counter() - began
                copies[-1].wait()
                n += len(copies)
            each = (time.perf_counter() - start) / n
            found[name] = {**rate(size, each), "issue_us": issue / n * 1e6, "is_registered": copies[-1].is_registered}
            batch.release()
    return found


def without_registering(folder: pathlib.Path, ordinal: int, seconds: float) -> dict[str, Any]:
    """The same of 64 MiB from memory of this process that nobody registered: the batches of delivery "copy"."""
    from leat import _leat

    source = write_lists(folder / "copied.jsonl", 64 * MIB // WIDTH, 8)
    device = _leat.CudaDevice(ordinal)
    with lists(source, 64 * MIB // WIDTH, WIDTH // 4).open(window=2, delivery="copy") as stream:
        tensor = stream.next()["input_ids"]
        memory = device.alloc(tensor.nbytes)
        n, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / 4:
            device.copy([(tensor, memory.address)]).wait()
            n += 1
        return {"64 MiB": rate(tensor.nbytes, (time.perf_counter() - start) / n)}


def check(folder: pathlib.Path, device: Any) -> None:
    """What arrives is what was sent, for batches in flight and released at once."""
    import torch

    source = write_lists(folder / "check.jsonl", 4096, 64)
    pipeline = lists(source, 64, 64)
    with pipeline.open(epochs=1) as stream:
        wanted = [batch.to("torch")["input_ids"] for batch in stream]
    with pipeline.open(epochs=1) as stream:
        arrived = [arrays["input_ids"] for arrays in stream.to("torch", device)]
        assert len(arrived) == len(wanted) and all(torch.equal(one.cpu(), other) for one, other in zip(arrived, wanted))
    with pipeline.open(epochs=1, window=2) as stream:
        arrived = [batch.to("torch", device)["input_ids"] for batch in stream]
        assert all(torch.equal(one.cpu(), other) for one, other in zip(arrived, wanted))


def cached(folder: pathlib.Path, n_batches: int, n_slots: int) -> Any:
    """Batches of 64 MiB out of a cache, which the first loop fills."""
    n_rows, n_drawn = BATCH // WIDTH, 1024
    source = write_lists(folder / "stream.jsonl", n_drawn, WIDTH // 4, n_batches * n_rows // n_drawn)
    pipeline = lists(source, n_rows, WIDTH // 4, n_slots)
    pipeline = pipeline.options(cache={"path": str(folder / "cache")}, block_bytes="4MiB")
    for batch in pipeline.open(epochs=1):
        batch.release()
    return pipeline


def time_epochs(epochs: Any, use: Any, seconds: float, wait: Any) -> dict[str, Any]:
    """Iterates over `epochs` again and again: a batch costs what use() and the wait for it take."""
    n, start = -WARM, 0.0
    while start == 0 or time.perf_counter() - start < seconds:
        for batch in epochs:
            n += 1
            if n == 0:
                wait()
                start = time.perf_counter()
            use(batch)
    wait()
    return {"64 MiB": rate(BATCH, (time.perf_counter() - start) / n), "n_batches": n}


def measure_stream(pipeline: Any, device: Any, seconds: float) -> dict[str, Any]:
    """What the daemon gives, and what arrives on the device."""
    import torch

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    found: dict[str, Any] = {}
    with pipeline.open(window=WINDOW) as stream:
        found["feed"] = time_epochs(stream, lambda batch: batch.release(), seconds, wait)
    with pipeline.open(window=WINDOW) as stream:
        found["stream"] = time_epochs(stream.to("torch", device, copy=True), lambda arrays: None, seconds, wait)
    return found


def make_step(device: Any, length: int) -> Any:
    """One training step of a small transformer, as a function of its input."""
    import torch

    width = 512
    model = torch.nn.Sequential(
        torch.nn.Embedding(30000, width),
        torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True), 6),
        torch.nn.Linear(width, 512),
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def step(input_ids: Any) -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(input_ids).flatten(0, 1), input_ids.flatten().long() % 512)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def time_steps(step: Any, batches: Any, n: int, device: Any) -> tuple[float, float]:
    """Seconds for a step, and of these in next()."""
    import torch

    waited, start = 0.0, 0.0
    for i in range(n + 5):
        if i == 5:  # warm by now
            torch.cuda.synchronize(device)
            waited, start = 0.0, time.perf_counter()
        began = time.perf_counter()
        input_ids = next(batches)
        waited += time.perf_counter() - began
        step(input_ids)
        if i % 4 == 3:
            torch.cuda.current_stream(device).synchronize()  # as where a loss is logged: the CPU is not far ahead
    torch.cuda.synchronize(device)
    return (time.perf_counter() - start) / n, waited / n


def measure_step(folder: pathlib.Path, device: Any, seconds: float) -> dict[str, Any]:
    """A step's time with a batch on the device, and with batches of a stream."""
    import torch

    n_rows, length = 64, 512
    step = make_step(device, length)
    held = torch.randint(1, 30000, (n_rows, length), dtype=torch.int32, device=device)
    one, _ = time_steps(step, iter(lambda: held, None), 20, device)
    n = max(20, int(seconds / one))
    source = write_lists(folder / "step.jsonl", 8192, length)
    found: dict[str, Any] = {"batch": [n_rows, length], "n_steps": n}
    with lists(source, n_rows, length).open() as stream:

        def endless() -> Any:
            converted = stream.to("torch", device)
            while True:
                yield from (arrays["input_ids"] for arrays in converted)

        batches = endless()
        for attempt in range(3):  # by turns, the least of each: the machine has other users
            still, _ = time_steps(step, iter(lambda: held, None), n, device)
            fed, waited = time_steps(step, batches, n, device)
            found["still_ms"] = min(found.get("still_ms", 1e9), still * 1e3)
            if fed * 1e3 < found.get("fed_ms", 1e9):
                found |= {"fed_ms": fed * 1e3, "next_ms": waited * 1e3, "next_share": waited / fed}
    found["waited_share"] = max(0.0, 1 - found["still_ms"] / found["fed_ms"])
    return found


def measure_jax(folder: pathlib.Path, given: argparse.Namespace) -> dict[str, Any]:
    """Batches of 64 MiB by way of JAX, after a comparison."""
    import jax
    import numpy

    source = write_lists(folder / "jax.jsonl", 4096, 64)
    with lists(source, 64, 64).open(epochs=1) as stream:
        wanted = [batch.to("numpy")["input_ids"] for batch in stream]
    with lists(source, 64, 64).open(epochs=1) as stream:
        arrived = [arrays["input_ids"] for arrays in stream.to("jax", jax.devices("cuda")[0])]
    assert all(numpy.array_equal(numpy.asarray(one), other) for one, other in zip(arrived, wanted, strict=True))
    del arrived
    add = jax.jit(lambda total, ids: total + ids[0, 0])
    with cached(folder, given.batches, given.slots).open(window=WINDOW) as stream:
        total = jax.numpy.int32(0)

        def use(arrays: Any) -> None:
            nonlocal total
            total = add(total, arrays["input_ids"])

        epochs = stream.to("jax", jax.devices("cuda")[0])
        return time_epochs(epochs, use, given.seconds, lambda: total.block_until_ready())


def show(results: dict[str, Any]) -> None:
    print(f"{results['device']}")
    for name in ("copy", "copy, not registered", "feed", "stream", "jax"):
        for size, row in results.get(name, {}).items():
            if isinstance(row, dict):
                issue = f", {row['issue_us']:.1f} us to issue" if "issue_us" in row else ""
                print(f"{name:22} {size:7} {row['gb_s']:6.1f} GB/s  {row['us']:9.1f} us{issue}")
    step = results.get("step")
    if step is None:
        return
    print(f"step, batch on device  {step['still_ms']:8.3f} ms")
    waited = f"waited {step['waited_share']:.2%}; {step['next_share']:.2%} in next()"
    print(f"step, batches fed      {step['fed_ms']:8.3f} ms, {waited}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there")
    parser.add_argument("--device", default="0", help="the number of the GPU, or cpu")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each table")
    parser.add_argument("--batches", type=int, default=32, help="of 64 MiB in an epoch of the stream")
    parser.add_argument("--slots", type=int, default=12, help="of 64 MiB that are filled ahead")
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--only-jax", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    is_cuda = given.device != "cpu"
    with tempfile.TemporaryDirectory(prefix="leat-cuda-") as name:
        folder = pathlib.Path(name)
        if given.only_jax:  # beside torch, JAX would take the device's memory
            print(json.dumps(measure_jax(folder, given)))
            return
        import torch

        device = torch.device("cuda", int(given.device)) if is_cuda else torch.device("cpu")
        check(folder, device)
        device_name = torch.cuda.get_device_name(device) if is_cuda else "CPU"
        results: dict[str, Any] = {"device": device_name, "torch": torch.__version__}
        if is_cuda:
            results["copy"] = measure_copy(folder, device.index, given.seconds, SIZES)
            results["copy, not registered"] = without_registering(folder, device.index, given.seconds)
        results |= measure_stream(cached(folder, given.batches, given.slots), device, given.seconds)
        if is_cuda:
            results["step"] = measure_step(folder, device, given.seconds)
        if given.jax:
            command = [sys.executable, __file__, "--only-jax", "--seconds", str(given.seconds),
                       "--batches", str(given.batches), "--slots", str(given.slots)]
            environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            is_done = done.returncode == 0
            results["jax"] = json.loads(done.stdout.splitlines()[-1]) if is_done else {"error": done.stderr[-2000:]}
        show(results)
        if given.jax and "error" in results["jax"]:
            print(results["jax"]["error"], file=sys.stderr)
        if given.json:
            given.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()

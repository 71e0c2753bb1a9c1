#!/usr/bin/env python3
"""leatctl dump: the files hold what `run --digest` hashes, in every format; what fails or is
interrupted leaves nothing, or whole files.

    test_dump.py BIN [PATTERN]
"""
import ast
import hashlib
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import zipfile

import data
import leat_harness
from leat_harness import BIN, HANG_S, Daemon, Skip, children, ctl, run_digest, wait_until

N_ROWS = 500
SIZES = {"bool": 1, "uint8": 1, "uint16": 2, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
OF_SAFETENSORS = {"BOOL": "bool", "U8": "uint8", "U16": "uint16", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "F16": "float16",
                  "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
OF_NUMPY = {"|b1": "bool", "|u1": "uint8", "<u2": "uint16", "|i1": "int8", "<i2": "int16", "<i4": "int32", "<i8": "int64", "<f2": "float16",
            "<V2": "bfloat16", "<f4": "float32", "<f8": "float64"}
CODES = {"bool": "?", "uint8": "B", "uint16": "H", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "float32": "f", "float64": "d"}


def config(folder, **options):
    """Every dtype but those that no stage makes."""
    stream = data.titanic_stream(data.titanic(folder, N_ROWS), block_bytes=8192, **options)
    casts = [{"cast": {"input": "Fare", "output": dtype, "dtype": dtype}} for dtype in ("float16", "bfloat16", "float32")]
    casts += [{"normalize": {"input": "float32", "output": "float64", "dtype": "float64", "std": 3}}]
    casts += [{"cast": {"input": "SibSp", "output": dtype, "dtype": dtype}} for dtype in ("uint8", "uint16", "int8", "int16", "int32")]
    fields = [next(iter(cast.values()))["output"] for cast in casts]
    stages = [stage for stage in stream["stages"] if "select" not in stage]
    at = next(i for i, stage in enumerate(stages) if "shuffle" in stage)
    select = {"select": {"fields": ["input_ids", "attention_mask", "labels", *fields]}}
    stream["stages"] = [*stages[:at], *casts, select, *stages[at:]]
    path = folder / "s.yaml"
    path.write_text(data.yaml_text({"s": stream}))
    return path


# ---- readers ----


def read_safetensors(path):
    """name → (dtype, shape, bytes), and the metadata; checks what the format asks for."""
    text = path.read_bytes()
    n_header = struct.unpack_from("<Q", text)[0]
    assert n_header % 8 == 0 and text[8:9] == b"{"
    header = json.loads(text[8:8 + n_header])
    metadata, end, tensors = header.pop("__metadata__"), 0, {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, stop = entry["data_offsets"]
        dtype = OF_SAFETENSORS[entry["dtype"]]
        assert start == end and start % SIZES[dtype] == 0 and stop - start == math.prod(entry["shape"]) * SIZES[dtype]
        tensors[name] = (dtype, entry["shape"], text[8 + n_header + start:8 + n_header + stop])
        end = stop
    assert end == len(text) - 8 - n_header
    return tensors, metadata


def read_npz(path):
    tensors = {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            npy = archive.read(name)
            assert npy[:8] == b"\x93NUMPY\x01\x00" and name.endswith(".npy")
            start = 10 + struct.unpack_from("<H", npy, 8)[0]
            header = ast.literal_eval(npy[10:start].decode())
            assert start % 64 == 0 and not header["fortran_order"]
            tensors[name[:-4]] = (OF_NUMPY[header["descr"]], list(header["shape"]), npy[start:])
    return tensors


def digest(hasher, epoch, step, tensors, order):
    """As client/cli/run/report.h says."""
    def text(value):
        hasher.update(struct.pack("<Q", len(value)) + value)

    hasher.update(struct.pack("<QQQ", epoch, step, len(order)))
    for name in order:
        dtype, shape, content = tensors[name]
        text(name.encode())
        text(dtype.encode())
        hasher.update(struct.pack(f"<Q{len(shape)}QQ", len(shape), *shape, len(content)) + content)


def place(path):
    words = path.stem.split("-")
    assert words[0] == "epoch" and words[2] == "step", path
    return int(words[1]), int(words[3])


def order_of(file):
    return [t["name"] for t in json.loads(ctl("run", file, "--batches", 1, "--format", "jsonl").stdout.splitlines()[0])["tensors"]]


def whole_digest(folder, read, order):
    hasher = hashlib.blake2b(digest_size=32)
    for path in sorted(folder.iterdir()):
        digest(hasher, *place(path), read(path), order)
    return hasher.hexdigest()


def values(tensor):
    dtype, shape, content = tensor
    if dtype == "bfloat16":
        halves = struct.unpack(f"<{len(content) // 2}H", content)
        flat = [struct.unpack("<f", struct.pack("<I", half << 16))[0] for half in halves]
    else:
        flat = list(struct.unpack(f"<{math.prod(shape)}{CODES[dtype]}", content))
    width = math.prod(shape[1:])
    return flat if len(shape) == 1 else [flat[i:i + width] for i in range(0, len(flat), width)]


# ---- tests ----


def test_formats(folder):
    file = config(folder)
    expected, order = run_digest(file, "--epochs", 2), order_of(file)
    ctl("dump", file, "--epochs", 2, "-o", folder / "st")
    assert whole_digest(folder / "st", lambda path: read_safetensors(path)[0], order) == expected
    for path in (folder / "st").iterdir():
        metadata = read_safetensors(path)[1]
        assert (int(metadata["epoch"]), int(metadata["step"])) == place(path)
    ctl("dump", file, "--epochs", 2, "-o", f"{folder}/npz/", "--format", "npz", "--delivery", "copy")
    assert whole_digest(folder / "npz", read_npz, order) == expected
    told = ctl("dump", file, "--epochs", 2, "-o", f"{folder}/small", "--format", "npz", "--compress", "--json").stdout
    assert whole_digest(folder / "small", read_npz, order) == expected
    told = json.loads(told)
    assert told["rows"] == 2 * N_ROWS and told["batches"] == len(os.listdir(folder / "small"))
    assert told["bytes"] == sum(path.stat().st_size for path in (folder / "small").iterdir())
    assert told["bytes"] < sum(path.stat().st_size for path in (folder / "npz").iterdir()) / 2


def test_lines(folder):
    file = config(folder)
    order = order_of(file)
    printed = ctl("dump", file).stdout
    ctl("dump", file, "-o", folder / "all.jsonl")
    assert (folder / "all.jsonl").read_bytes() == printed
    rows = [json.loads(line) for line in printed.splitlines()]
    ctl("dump", file, "-o", folder / "st")
    at = 0
    for path in sorted((folder / "st").iterdir()):
        tensors = read_safetensors(path)[0]
        columns = {name: values(tensor) for name, tensor in tensors.items()}
        for row in range(len(columns["labels"])):
            expected = {"_epoch": 0, "_step": place(path)[1], "_row": row, **{name: columns[name][row] for name in order}}
            got = rows[at]
            assert list(got) == list(expected)
            for name in order:
                if name == "float32" or name == "bfloat16" or name == "float16":  # shortest digits of a float32
                    got[name] = struct.unpack("<f", struct.pack("<f", got[name]))[0]
            assert got == expected
            at += 1
    assert at == len(rows) == N_ROWS


def test_places(folder):
    """--epoch, --step, --batches, ranks, one file, and a stream of the running daemon."""
    file = config(folder)
    ctl("dump", file, "--epochs", 3, "-o", folder / "all")
    with Daemon(folder, file) as daemon:
        daemon.ctl("dump", "s", "--epoch", 1, "--step", 3, "--batches", 5, "-o", folder / "part", "--rank", 1, "--world-size", 2)
        daemon.ctl("dump", "s", "--epoch", 2, "--step", 7, "--batches", 1, "-o", folder / "one.safetensors")
        daemon.ctl("dump", "s", "--epoch", 2, "--step", 7, "--batches", 1, "-o", folder / "other", "--format", "jsonl")
    part = sorted((folder / "part").iterdir())
    assert [place(path) for path in part] == [(1, 3), (1, 5), (1, 7), (1, 9), (1, 11)]
    for path in part:
        assert path.read_bytes() == (folder / "all" / path.name).read_bytes()
    one = folder / "all" / "epoch-0002-step-00000007.safetensors"
    assert (folder / "one.safetensors").read_bytes() == one.read_bytes()
    assert {json.loads(line)["_step"] for line in (folder / "other").read_text().splitlines()} == {7}


def test_refusals(folder):
    file = config(folder)
    for args, status, text in (
            (["-o", "x.npz"], 2, "--batches 1"), (["-o", "x.npz", "--batches", 2], 2, "--batches 1"),
            (["--format", "npz"], 2, "only JSONL"), (["--compress"], 2, ".npz"), (["--format", "csv"], 2, "safetensors, npz"),
            (["--position", "leat1:x", "--epoch", 1], 2, "--epoch"), (["--epoch", "-1"], 2, "whole number"),
            (["-o", "no/such/"], 1, "No such file"), (["-o", "no/such.jsonl"], 1, "its folder does not exist"),
            (["-o", "s.yaml/"], 1, ""), (["-o", "/dev/null", "--format", "jsonl"], 1, "not a regular file"),
            (["-o", folder / "x.parquet"], 2, 'unknown suffix ".parquet"'), (["-o", "x.pt", "--format", "npz"], 2, 'unknown suffix ".pt"'),
            (["t"], 3, "no stream")):
        done = ctl("dump", file, *args, check=False, cwd=folder)
        assert done.returncode == status and text in done.stderr.decode(), (args, done.returncode, done.stderr)
        assert not done.stdout, args
    assert ctl("dump", "nobody", check=False, env={"LEAT_SOCKET": str(folder)}).returncode == 4
    assert {path.name for path in folder.iterdir() if path.suffix != ".csv"} <= {"s.yaml", "state"}


def test_failing_stream(folder):
    """No file, no folder, of a stream that fails at once; whole files of one that fails later."""
    path = folder / "n.csv"
    path.write_text("id\nx\n")
    file = folder / "n.yaml"
    file.write_text(data.yaml_text({"n": data.numbers_stream([str(path)])}))
    for output in ("out", "out.jsonl"):
        assert ctl("dump", file, "-o", folder / output, check=False).returncode == 3
        assert not (folder / output).exists()
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(100)) + "x\n")
    file.write_text(data.yaml_text({"n": data.numbers_stream([str(path)], block_bytes=4096)}))
    assert ctl("dump", file, "-o", folder / "out.jsonl", check=False).returncode == 3
    assert not (folder / "out.jsonl").exists()
    assert not [name for name in os.listdir(folder) if is_temporary(name)]


def test_full_disk(folder):
    """In a mount namespace, a disk of 128 KiB."""
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-rm", "true"], capture_output=True).returncode != 0:
        raise Skip("no mount namespaces")
    file = config(folder)
    (folder / "small").mkdir()
    for output in ("small/out", "small/out.jsonl"):
        script = (f"mount -t tmpfs -o size=128k none {folder}/small || exit 77; "
                  f"{BIN}/leatctl dump {file} --epochs 9 -o {folder}/{output}; echo $?; "
                  f"cp -a {folder}/small {folder}/copy-{output[6:]}")
        done = subprocess.run([unshare, "-rm", "sh", "-c", script], capture_output=True, timeout=HANG_S, text=True)
        if done.returncode == 77:
            raise Skip("a tmpfs cannot be mounted")
        assert done.stdout.strip() == "1" and "No space left on device" in done.stderr, (done.stdout, done.stderr)
    assert not list((folder / "copy-out.jsonl").iterdir())
    files = sorted((folder / "copy-out" / "out").iterdir())
    assert files and [place(path)[1] for path in files] == list(range(len(files)))
    for path in files:
        read_safetensors(path)


def running(file, *args):
    return subprocess.Popen([BIN / "leatctl", "dump", file, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_output(process, folder):
    def is_there():
        assert process.poll() is None, process.stderr.read()
        return len(os.listdir(folder)) > 3 if folder.is_dir() else any(map(is_temporary, os.listdir(folder.parent)))

    wait_until(is_there, "something is written")


def is_temporary(name):
    return name.startswith(".leat")


def test_pipe(folder):
    """Who has read enough, as `head`, ends it, and the daemon with it."""
    with running(config(folder), "--epochs", 0) as process:
        assert json.loads(process.stdout.readline())["_row"] == 0
        process.stdout.close()
        assert process.wait(HANG_S) == 0
        assert process.stderr.read() == b""


def test_interrupt(folder):
    file = config(folder)
    for output, how in (("out", signal.SIGINT), ("out.jsonl", signal.SIGTERM)):
        with running(file, "--epochs", 0, "-o", folder / output) as process:
            wait_for_output(process, folder / output)
            process.send_signal(how)
            assert process.wait(HANG_S) == 130
    assert not (folder / "out.jsonl").exists()
    assert not [name for name in [*os.listdir(folder), *os.listdir(folder / "out")] if is_temporary(name)]
    for path in (folder / "out").iterdir():
        read_safetensors(path)


def test_killed(folder):
    """What has its name is whole, and the daemon is gone too."""
    with running(config(folder), "--epochs", 0, "-o", folder / "out") as process:
        wait_for_output(process, folder / "out")
        daemons = children(process.pid)
        process.kill()
        process.wait()
    assert daemons
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in daemons), "the daemon is gone")
    for path in (folder / "out").iterdir():
        if not is_temporary(path.name):
            read_safetensors(path)


if __name__ == "__main__":
    leat_harness.main(globals())

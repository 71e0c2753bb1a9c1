"""batch.save(): what NumPy, safetensors and json read back is what the batch showed; what cannot be written raises what Python's
own files raise."""

from __future__ import annotations

import json
import os
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

np = pytest.importorskip("numpy")

import leat  # noqa: E402
from leat import saving  # noqa: E402

DTYPES = ("bool", "uint8", "uint16", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
N_ROWS = 50


def pipeline(folder: pathlib.Path, batch_size: int = 8) -> leat.Pipeline:
    path = folder / "x.csv"
    path.write_text("x,y\n" + "".join(f"{i % 2},{i / 7}\n" for i in range(N_ROWS)))
    found = leat.csv(str(path))
    for dtype in DTYPES:
        found = found.cast(input="y" if "float" in dtype else "x", output=dtype, dtype=dtype)
    found = found.stack(inputs=["float32", "int32"], output="matrix")
    return found.batch(batch_size)


@pytest.fixture
def batch(tmp_path: pathlib.Path) -> Iterator[Any]:
    with pipeline(tmp_path).open() as stream:
        yield next(iter(stream))


def expected(batch: Any) -> dict[str, Any]:
    """By way of Python's numbers, which need no array type."""
    wide = {"bfloat16": "float32"}
    return {name: np.array(tensor.tolist(), wide.get(tensor.dtype, tensor.dtype)) for name, tensor in batch.items()}


def assert_equal(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape, name
        assert np.array_equal(found[name], array), name


def from_halves(array: Any) -> Any:
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("compression", [0, 1, 9])
def test_npz(batch: Any, tmp_path: pathlib.Path, compression: int) -> None:
    saving.save(batch, tmp_path / "b.npz", compression=compression)
    with np.load(tmp_path / "b.npz", allow_pickle=False) as archive:
        found = {name: archive[name] for name in archive.files}
    assert list(found) == list(batch)
    assert found["bfloat16"].dtype == np.dtype("V2")
    found["bfloat16"] = from_halves(found["bfloat16"])
    assert_equal(found, expected(batch))


def test_npz_as_ml_dtypes_writes_it(batch: Any, tmp_path: pathlib.Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    batch.save(tmp_path / "b.npz")
    wanted = np.array(batch["bfloat16"].tolist(), ml_dtypes.bfloat16)
    np.savez(tmp_path / "numpy.npz", bfloat16=wanted)
    with np.load(tmp_path / "b.npz") as ours, np.load(tmp_path / "numpy.npz") as theirs:
        assert ours["bfloat16"].dtype == theirs["bfloat16"].dtype
        assert ours["bfloat16"].tobytes() == theirs["bfloat16"].tobytes()
        assert np.array_equal(ours["bfloat16"].view(ml_dtypes.bfloat16), wanted)


def test_safetensors(batch: Any, tmp_path: pathlib.Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    batch.save(tmp_path / "b.safetensors")
    with safetensors.safe_open(tmp_path / "b.safetensors", "np") as file:
        assert file.metadata() == {"epoch": "0", "step": "0", "rows": "8"}
        names = [name for name in file.keys() if name != "bfloat16"]  # noqa: SIM118: it is no mapping
        found = {name: file.get_tensor(name) for name in names}
    wanted = expected(batch)
    del wanted["bfloat16"]
    assert_equal(found, wanted)


def test_safetensors_in_torch(batch: Any, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    numpy_of = pytest.importorskip("safetensors.torch").load_file
    batch.save(tmp_path / "b.safetensors")
    found = numpy_of(tmp_path / "b.safetensors")
    assert set(found) == set(batch)
    for name, tensor in batch.items():
        assert found[name].dtype == getattr(torch, tensor.dtype) and tuple(found[name].shape) == tensor.shape
        assert found[name].tolist() == tensor.tolist(), name


def test_jsonl(batch: Any, tmp_path: pathlib.Path) -> None:
    batch.save(tmp_path / "b.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [row.pop("_row") for row in rows] == list(range(8))
    assert {(row.pop("_epoch"), row.pop("_step")) for row in rows} == {(0, 0)}
    wanted = expected(batch)
    assert_equal({name: np.array([row[name] for row in rows], wanted[name].dtype) for name in batch}, wanted)


def test_what_was_written_in_place(batch: Any, tmp_path: pathlib.Path) -> None:
    torch = pytest.importorskip("torch")
    torch.from_dlpack(batch["int32"]).fill_(7)
    batch.save(tmp_path / "b.npz")
    assert set(np.load(tmp_path / "b.npz")["int32"].tolist()) == {7}


def test_same_bytes(batch: Any, tmp_path: pathlib.Path) -> None:
    for ending in ("npz", "safetensors", "jsonl"):
        batch.save(tmp_path / f"a.{ending}")
        batch.save(str(tmp_path / "b"), ending)
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / "b").read_bytes()


def test_errors(batch: Any, tmp_path: pathlib.Path) -> None:
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileNotFoundError) as missing:
        batch.save(tmp_path / "none" / "b.npz")
    assert missing.value.filename == tmp_path / "none" / "b.npz"
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(IsADirectoryError):
        batch.save(tmp_path / "folder.npz")
    (tmp_path / "folder.npz").rmdir()
    with pytest.raises(leat.SpecError, match="does not end in"):
        batch.save(tmp_path / "b.txt")
    with pytest.raises(leat.SpecError, match='"csv"'):
        batch.save(tmp_path / "b.csv", "csv")
    with pytest.raises(leat.SpecError, match=r"outside 0\.\.9"):
        saving.save(batch, tmp_path / "b.npz", compression=10)
    with pytest.raises(leat.SpecError, match="not a regular file"):
        batch.save("/dev/null", "npz")
    with pytest.raises(TypeError):
        saving.save({}, tmp_path / "b.npz")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        batch.save(7)
    with pytest.raises(ValueError, match="null"):
        batch.save("a\0.npz")
    assert sorted(os.listdir(tmp_path)) == before
    batch.release()
    with pytest.raises(ValueError, match="released"):
        batch.save(tmp_path / "b.npz")


def test_forked(batch: Any, tmp_path: pathlib.Path) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            batch.save(tmp_path / "b.npz")
        except leat.ForkedError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_threads(tmp_path: pathlib.Path) -> None:
    """Several save the same batch, while others are pulled and it is released."""
    with pipeline(tmp_path, 4).open() as stream:
        batches = iter(stream)
        batch = next(batches)
        batch.save(tmp_path / "wanted.npz")
        threads = [
            threading.Thread(target=lambda i=i: [batch.save(tmp_path / f"{i}-{k}.npz") for k in range(5)]) for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for other in batches:
            other.release()
        for thread in threads:
            thread.join()
        batch.release()
        assert stream.native.n_held == 0
    wanted = (tmp_path / "wanted.npz").read_bytes()
    assert [(tmp_path / f"{i}-{k}.npz").read_bytes() == wanted for i in range(4) for k in range(5)] == [True] * 20

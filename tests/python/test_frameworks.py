"""Batch.to() and Stream.to(): right values, memory of whose own, and clear words where a framework cannot."""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from conftest import note_skipped
from leat import frameworks

numpy = pytest.importorskip("numpy")

N_ROWS = 50
BATCH = 8
ALL_DTYPES = (
    "int32", "int64", "int8", "int16", "uint8", "uint16", "float16", "bfloat16", "float32", "float64", "bool",
)
try:
    import torch
except ImportError:
    DTYPES = ALL_DTYPES
else:  # uint16: torch 2.3 and later
    DTYPES = tuple(dtype for dtype in ALL_DTYPES if hasattr(torch, dtype))
    for dtype in set(ALL_DTYPES) - set(DTYPES):
        note_skipped(f"columns of {dtype}", f"torch {torch.__version__} has no {dtype}")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("number\n" + "".join(f"{i % 2 if i < BATCH else i}\n" for i in range(N_ROWS)))
    return path


@pytest.fixture
def stream(path: pathlib.Path) -> Iterator[Any]:
    """All types of elements; the first batch is 0, 1, 0, 1, .. in each."""
    pipeline = leat.csv(path)
    for dtype in DTYPES:
        pipeline = pipeline.cast("number", f"as_{dtype}", dtype=dtype, **({"default": "true"} if dtype == "bool" else {}))
    pipeline = pipeline.select([f"as_{dtype}" for dtype in DTYPES]).batch(BATCH)
    with pipeline.options(on_error="skip").open(window=4) as stream:
        yield stream


@pytest.fixture
def batch(stream: Any) -> Any:
    return stream.next()


WANTED = [i % 2 for i in range(BATCH)]


def floats(array: Any) -> list[float]:
    """Of any framework's array."""
    return [float(value) for value in (array.tolist() if hasattr(array, "tolist") else array)]


@pytest.mark.parametrize("framework", frameworks.FRAMEWORKS)
def test_values_types_and_whose_memory_it_is(stream: Any, batch: Any, framework: str) -> None:
    pytest.importorskip({"mlx": "mlx.core"}.get(framework, framework))
    if framework == "numpy":
        pytest.importorskip("ml_dtypes")
    arrays = batch.to(framework)
    assert list(arrays) == [f"as_{dtype}" for dtype in DTYPES]
    for dtype in DTYPES:
        array = arrays[f"as_{dtype}"]
        assert floats(array) == WANTED, dtype
        assert tuple(array.shape) == (BATCH,)
        narrow = {"int64": "int32", "float64": "float32"} if framework == "jax" else {}  # without jax_enable_x64
        assert str(array.dtype).rpartition(".")[2].removesuffix("_") == narrow.get(dtype, dtype)
    assert batch.release() is True and stream.native.n_held == 0  # nobody looks into the slot
    assert floats(arrays["as_int32"]) == WANTED


def test_copies_may_be_written(batch: Any) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    mine = batch.to("torch")
    mine["as_float32"] += 5
    copy = batch.to("numpy")
    copy["as_int32"] += 5
    assert floats(batch.to("torch")["as_float32"]) == WANTED == floats(batch.to("numpy")["as_int32"])
    assert batch.to("torch", device=torch.device("cpu"), copy=True)["as_int32"].data_ptr() != batch["as_int32"].data_ptr


def test_another_default_device_is_not_written_to(batch: Any) -> None:
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        assert floats(batch.to("torch")["as_int32"]) == WANTED


def test_without_a_copy_the_addresses_are_the_slots(stream: Any, batch: Any) -> None:
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "uint16"):
        pytest.skip(f"torch {torch.__version__} takes no bool by DLPack")
    looking = batch.to("torch", copy=False)
    for dtype in DTYPES:
        assert looking[f"as_{dtype}"].data_ptr() == batch[f"as_{dtype}"].data_ptr
        assert looking[f"as_{dtype}"].dtype == getattr(torch, dtype)
    assert batch.release() is False and stream.native.n_held == 1
    del looking
    gc.collect()
    assert stream.native.n_held == 0


def test_without_a_copy_numpy_is_read_only(path: pathlib.Path) -> None:
    with leat.csv(path).cast("number", dtype="int32").batch(BATCH).open() as stream:
        batch = stream.next()
        array = batch.to("numpy", copy=False)["number"]
        assert array.ctypes.data == batch["number"].data_ptr
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


def test_without_a_copy_jax_has_the_slots_address(path: pathlib.Path) -> None:
    jax = pytest.importorskip("jax")
    with leat.csv(path).cast("number", dtype="float32").batch(BATCH).open() as stream:
        batch = stream.next()
        array = batch.to("jax", device=jax.devices("cpu")[0], copy=False)["number"]
        assert array.unsafe_buffer_pointer() == batch["number"].data_ptr
        assert floats(jax.numpy.cos(array * 0)) == [1.0] * BATCH


def test_what_a_framework_cannot_is_told(stream: Any, batch: Any) -> None:
    with pytest.raises(leat.SpecError, match="'pytorch' is not one of numpy, torch"):
        stream.to("pytorch")  # and not first when it is iterated
    with pytest.raises(leat.SpecError, match="'tensorflow' is not one of numpy, torch, jax, mlx"):
        batch.to("tensorflow")
    with pytest.raises(leat.SpecError, match="on the CPU: leave out device='cuda'"):
        batch.to("numpy", device="cuda")
    with pytest.raises(leat.SpecError, match="no bfloat16"):
        batch.to("numpy", copy=False)


def test_what_torch_cannot_is_told(batch: Any) -> None:
    pytest.importorskip("torch")
    with pytest.raises(leat.SpecError, match="copy=False works only on the CPU"):
        batch.to("torch", device="cuda", copy=False)
    with pytest.raises(RuntimeError, match="nowhere"):
        batch.to("torch", device="nowhere")


def test_what_jax_and_mlx_cannot_is_told(batch: Any) -> None:
    pytest.importorskip("jax")
    with pytest.raises(leat.SpecError, match="as_int64: JAX has int64 only with jax_enable_x64"):
        batch.to("jax", copy=False)
    with pytest.raises(leat.SpecError, match="JAX numbers the cpu devices from 0, and has"):
        batch.to("jax", device="cpu:77")
    pytest.importorskip("mlx.core")
    with pytest.raises(leat.SpecError, match="MLX always copies"):
        batch.to("mlx", copy=False)
    with pytest.raises(leat.SpecError, match="belong to no device"):
        batch.to("mlx", device="gpu")


@pytest.mark.parametrize(("number", "fits"), [(2**31 - 1, True), (-(2**31), True), (2**31, False), (-(2**31) - 1, False), (2**40, False)])
def test_numbers_that_jax_would_narrow(tmp_path: pathlib.Path, number: int, fits: bool) -> None:
    pytest.importorskip("jax")
    (tmp_path / "rows.csv").write_text(f"number\n0\n{number}\n")
    with leat.csv(tmp_path / "rows.csv").cast("number", dtype="int64").batch(2).open() as stream:
        batch = stream.next()
        assert batch is not None
        if fits:
            assert batch.to("jax")["number"].tolist() == [0, number]
            return
        for convert in (lambda: batch.to("jax"), lambda: batch["number"].__jax_array__()):
            with pytest.raises(leat.DataError, match=f"number: {number} does not fit into int32"):
                convert()


def test_a_stream_converted(stream: Any) -> None:
    pytest.importorskip("torch")
    converted = stream.to("torch")
    state = converted.state_dict()
    first = [floats(batch["as_int32"]) for batch in converted]
    assert sum(map(len, first)) == sum(len(batch["as_int32"]) for batch in converted)  # the next epoch
    assert converted.state_dict()["position"] != state["position"]
    converted.load_state_dict(state)
    assert [floats(batch["as_int32"]) for batch in converted] == first
    converted.set_epoch(5)
    next(iter(converted))
    assert stream.epoch == 5
    converted.close()


def test_to_device(stream: Any, batch: Any) -> None:
    torch = pytest.importorskip("torch")
    moved = leat.to_device(batch, "cpu")
    assert isinstance(moved["as_int32"], torch.Tensor) and floats(moved["as_int32"]) == WANTED
    assert isinstance(leat.to_device(stream, torch.device("cpu")), frameworks.Converted)
    nested = {"a": [torch.zeros(2), (torch.ones(1), "text")], "b": 3}
    assert leat.to_device(nested, "meta")["a"][1][0].device.type == "meta"
    assert leat.to_device(nested, "meta")["a"][1][1] == "text" and leat.to_device(nested, "meta")["b"] == 3
    batches = leat.to_device([{"x": torch.zeros(1)}, {"x": torch.ones(1)}], "meta")
    assert len(batches) == 2 and [item["x"].device.type for item in batches] == ["meta", "meta"]
    with pytest.raises(leat.SpecError, match="for jax"):
        leat.to_device([1], "cpu", "jax")


def test_to_a_device_of_jax(batch: Any) -> None:
    jax = pytest.importorskip("jax")
    moved = leat.to_device(batch, jax.devices("cpu")[0])
    assert isinstance(moved["as_int32"], jax.Array) and floats(moved["as_int32"]) == WANTED

"""leat.convert: every pair of frameworks, with the judge NumPy."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy
import pytest

import leat
from leat import errors

ml_dtypes = pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
mx = pytest.importorskip("mlx.core")
CLASSES = {"numpy": numpy.ndarray, "torch": torch.Tensor, "jax": jax.Array, "mlx": mx.array}
DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32"]
SHAPES = [(2, 3), (), (0, 4)]


def _numbers(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return (numpy.arange(int(numpy.prod(shape))) % 7).astype(kind).reshape(shape)


@pytest.mark.parametrize(("origin", "target"), list(itertools.product(CLASSES, repeat=2)))
def test_each_pair_keeps_types_and_shapes(origin: str, target: str) -> None:
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        wanted = _numbers(dtype, shape)
        there = leat.convert(leat.convert(wanted, origin), target)
        assert isinstance(there, CLASSES[target])
        back = leat.convert(there, "numpy")
        assert (back.dtype, back.shape) == (wanted.dtype, shape) and (back == wanted).all(), (dtype, shape)
        back[...] = 1  # an array of its own


def test_wide_numbers() -> None:
    wide = numpy.array([1 << 40, -1])
    for target in ("torch", "mlx"):
        assert leat.convert(leat.convert(wide, target), "numpy").tolist() == wide.tolist()
    assert str(leat.convert(numpy.array([0.1]), "mlx").dtype) == "mlx.core.float64"
    assert leat.convert(numpy.array([-1, 5]), "jax").tolist() == [-1, 5]
    with pytest.raises(errors.DataError, match="an array of int64: 1099511627776 does not fit into int32"):
        leat.convert(wide, "jax")
    with pytest.raises(errors.DataError, match="4294967296 does not fit into uint32"):
        leat.convert(numpy.array([1 << 32], numpy.uint64), "jax")


def test_odd_arrays() -> None:
    base = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    base.flags.writeable = False
    for odd in (base.T, base[::-1], base.astype(">i4"), torch.arange(6).reshape(2, 3).int().T):
        wanted = numpy.asarray(odd).tolist()
        assert [leat.convert(odd, target).tolist() for target in CLASSES] == [wanted] * 4
    tensor = torch.ones(3, requires_grad=True)
    assert leat.convert(tensor, "jax").tolist() == [1, 1, 1] and not leat.convert(tensor, "torch").requires_grad
    with pytest.raises(errors.SpecError, match="torch has no"):
        leat.convert(numpy.array(["a"]), "torch")


class Pair(NamedTuple):
    left: Any
    right: Any


def test_at_any_depth() -> None:
    data = {"a": [mx.array([1]), "text", None], "b": Pair(numpy.array([2]), (jax.numpy.array([3]), 4))}
    made = leat.convert(data, "torch")
    assert made["a"][0].tolist() == [1] and made["a"][1:] == ["text", None]
    assert isinstance(made["b"], Pair) and made["b"].left.tolist() == [2] and made["b"].right[0].tolist() == [3]
    assert made["b"].right[1] == 4 and data["b"].left.dtype == numpy.int64


def test_of_a_batch() -> None:
    with leat.dataloader([{"n": 1}, {"n": 2}], None, batch_size=2).pipeline as batches:
        batch = batches[0]
        assert leat.convert(batch, "torch")["n"].tolist() == [1, 2]
        assert leat.convert([batch["n"]], "mlx")[0].tolist() == [1, 2]


def test_shared_memory() -> None:
    array = numpy.arange(4, dtype=numpy.int32)
    tensor = leat.convert(array, "torch", copy=False)
    tensor[0] = 9
    assert array[0] == 9 and leat.convert(array, "numpy", copy=False) is array
    assert leat.convert(tensor, "numpy", copy=False).ctypes.data == array.ctypes.data
    assert leat.convert(jax.numpy.ones(4), "numpy", copy=False).tolist() == [1, 1, 1, 1]
    for value, target, words in (
        (array, "mlx", "MLX cannot share"), (array.astype(">i4"), "torch", "torch cannot share this array of numpy"),
        (tensor.bfloat16(), "numpy", "numpy cannot share"),
    ):
        with pytest.raises(errors.SpecError, match=words):
            leat.convert(value, target, copy=False)
    with pytest.raises(errors.SpecError, match="shares the memory of an array"):
        leat.convert(array, "torch", device="cpu", copy=False)
    with pytest.raises(errors.SpecError, match="'tensorflow' is not one of"):
        leat.convert(array, "tensorflow")
    for target in ("numpy", "mlx"):
        with pytest.raises(errors.SpecError, match="leave out device=.cuda"):
            leat.convert(array, target, device="cuda")

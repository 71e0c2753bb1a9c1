"""Converts arrays of one framework to arrays of another.

Copies go through NumPy, so all pairs of frameworks behave alike. Arrays that share memory go through DLPack.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from . import _leat, frameworks
from .errors import DataError, SpecError
from .frameworks import module

_CLASSES = {"torch": ("torch", "Tensor"), "numpy": ("numpy", "ndarray"), "jax": ("jax", "Array"), "mlx": ("mlx.core", "array")}


def convert(arrays: Any, framework: str, device: Any = None, copy: bool | None = None) -> Any:
    """Converts arrays of one framework to arrays of "torch", "jax", "mlx" or "numpy", also inside dicts, lists and tuples.

    arrays: torch tensors, arrays of NumPy, JAX or MLX, or tensors of leat. A batch becomes a dict. Other objects stay as they
        are.
    device: the same as in Batch.to().
    copy: None or True makes copies on the device, without gradients. False makes arrays that share memory with the originals:
        if you write to one array, the other changes, too. leat raises SpecError if the two frameworks cannot share the array.
    Shapes and dtypes stay the same, including bfloat16. There is one exception: without jax_enable_x64, JAX turns int64 into
    int32 and float64 into float32. Raises DataError if a number does not fit.
    """
    if isinstance(arrays, _leat.Batch):
        return frameworks.convert(arrays, framework, device, copy)
    frameworks.check(framework)

    def one(value: Any) -> Any:
        origin = _origin(value)
        if origin is None:
            return value
        if copy is False:
            return _shared(value, origin, framework, device)
        return _MAKERS[framework](_to_numpy(value, origin), device)

    return frameworks.map_leaves(arrays, one)


def _origin(value: Any) -> str | None:
    """Returns the framework of an array ("leat" for a leat.Tensor), or None if the value is not an array. Imports no
    framework."""
    if isinstance(value, _leat.Tensor):
        return "leat"
    for framework, (name, kind) in _CLASSES.items():
        found = sys.modules.get(name)
        if found is not None and isinstance(value, getattr(found, kind)):
            return framework
    return None


def _shared(value: Any, origin: str, framework: str, device: Any) -> Any:
    if origin == framework and device is None:
        return value
    if device is not None:
        raise SpecError(
            "copy=False shares the memory of an array, so the array cannot move to another device: leave out copy=False, or"
            f" device={device!r}"
        )
    if "mlx" in (origin, framework):
        raise SpecError("MLX cannot share its memory with other frameworks: leave out copy=False")
    place = {"torch": "torch", "numpy": "numpy", "jax": "jax.dlpack"}[framework]
    try:
        return module(place).from_dlpack(value.detach() if origin == "torch" else value)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise SpecError(f"{framework} cannot share this array of {origin}: {error}; leave out copy=False") from error


# ---- copies


def _bfloat16() -> Any:
    try:
        return module("ml_dtypes").bfloat16
    except ImportError as error:
        raise SpecError(
            "leat cannot convert bfloat16 without the package ml_dtypes: install ml_dtypes, or convert to float32 first"
        ) from error


def _to_numpy(value: Any, origin: str) -> Any:
    """Returns a NumPy array, which may share memory with the value."""
    numpy = module("numpy")

    if origin == "leat":
        return frameworks.array_of(value)
    if origin == "torch":
        torch = module("torch")
        host = value.detach().to("cpu").resolve_conj().resolve_neg()
        return host.view(torch.int16).numpy().view(_bfloat16()) if host.dtype == torch.bfloat16 else host.numpy()
    if origin == "mlx":
        mx = module("mlx.core")
        if value.dtype == mx.bfloat16:
            return numpy.array(value.view(mx.uint16)).view(_bfloat16())
    return numpy.asarray(value)


def _own(array: Any) -> Any:
    """Returns a copy in the byte order of this machine."""
    return module("numpy").array(array, dtype=array.dtype.newbyteorder("="), order="C")


def _bits(array: Any) -> Any:
    """Returns a copy, with 16-bit integers in place of bfloat16."""
    own = _own(array)
    return own.view("uint16") if own.dtype.name == "bfloat16" else own


def _make_numpy(array: Any, device: Any) -> Any:
    frameworks.check_numpy_device(device)
    return _own(array)


def _make_torch(array: Any, device: Any) -> Any:
    torch = module("torch")

    try:
        tensor = torch.from_numpy(_bits(array))
    except TypeError as error:
        raise SpecError(f"torch has no {array.dtype}: {error}") from error
    tensor = tensor.view(torch.bfloat16) if array.dtype.name == "bfloat16" else tensor
    return tensor if device is None else tensor.to(device)


def _make_jax(array: Any, device: Any) -> Any:
    jax = module("jax")

    if not jax.config.jax_enable_x64:
        frameworks.check_narrowed(f"an array of {array.dtype}", array)
    return jax.device_put(_own(array), frameworks.jax_place(device))


def _make_mlx(array: Any, device: Any) -> Any:
    mx = module("mlx.core")

    frameworks.check_mlx_device(device)
    own, name = _bits(array), array.dtype.name
    if name == "bfloat16":
        return mx.array(own).view(mx.bfloat16)
    return mx.array(own, dtype=mx.float64) if name == "float64" else mx.array(own)


_MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "numpy": _make_numpy, "torch": _make_torch, "jax": _make_jax, "mlx": _make_mlx,
}

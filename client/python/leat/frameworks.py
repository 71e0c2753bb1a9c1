"""Converts batches to arrays of PyTorch, JAX, MLX and NumPy.

`convert` implements Batch.to(). On the CPU, it copies each tensor once, into memory of the framework. So the arrays are
writable, and stay valid after the batch is released. With copy=False, the arrays view the batch in shared memory. For a CUDA
device, `convert` makes one asynchronous copy from shared memory (see `cuda`). `Converted` and `to_device` convert a whole
stream. On a GPU, they copy the next batch while your step computes.

leat imports a framework only at its first use.
"""

from __future__ import annotations

import ctypes
import importlib
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, SupportsIndex, TypeVar

from . import _leat, typed
from .cursor import settle_copies
from .errors import DataError, HeldError, SpecError, TimedOutError
from .lookup import refuse_loaders

B = TypeVar("B")
T = TypeVar("T")

FRAMEWORKS = ("numpy", "torch", "jax", "mlx")


def module(name: str) -> Any:
    """Imports a framework."""
    return importlib.import_module(name)


def convert(batch: _leat.Batch, framework: str, device: Any = None, copy: bool | None = None) -> dict[str, Any]:
    """Converts the tensors of a batch to arrays of a framework, in the order of the stream.

    device: None for the CPU (for JAX, its default device), "cpu", "cuda", "cuda:1", or an object of the framework
        (torch.device, jax.Device or Sharding).
    copy: None or True makes copies, which are writable if the framework has writable arrays. False makes arrays that view the
        batch in shared memory, which stays occupied as long as the arrays exist. Only this process sees what you write to
        these arrays. Raises SpecError if the framework cannot do this.
    """
    return begin(batch, framework, device, copy)()


def begin(batch: _leat.Batch, framework: str, device: Any = None, copy: bool | None = None) -> Callable[[], dict[str, Any]]:
    """Begins a conversion, and returns a function that finishes it. Until then, a copy to CUDA runs in the background."""
    check(framework)
    if framework == "torch":
        return _begin_torch(batch, device, copy)
    if framework == "jax":
        return _begin_jax(batch, device, copy)
    if framework == "mlx":
        arrays = _to_mlx(batch, device, copy)
    else:
        arrays = _to_numpy(batch, device, copy)
    return lambda: arrays


def check(framework: str) -> None:
    if framework not in FRAMEWORKS:
        raise SpecError(f"{framework!r} is not one of {', '.join(FRAMEWORKS)}")


# ---- NumPy


def _to_numpy(batch: _leat.Batch, device: Any, copy: bool | None) -> dict[str, Any]:
    check_numpy_device(device)
    return {name: _numpy_array(tensor, copy) for name, tensor in batch.items()}


def check_numpy_device(device: Any) -> None:
    """Raises SpecError if NumPy has no such device."""
    if device not in (None, "cpu"):
        raise SpecError(f"NumPy arrays are always on the CPU: leave out device={device!r}")


def _numpy_array(tensor: _leat.Tensor, copy: bool | None) -> Any:
    numpy = module("numpy")

    if tensor.dtype != "bfloat16":
        return numpy.asarray(tensor) if copy is False else numpy.array(tensor)
    if copy is False:
        raise SpecError(f"{tensor.name}: NumPy has no bfloat16: leave out copy=False, or cast the tensor to float32 in the pipeline")
    try:
        ml_dtypes = module("ml_dtypes")
    except ImportError as error:
        why = f"{tensor.name}: NumPy has no bfloat16: install ml_dtypes, or cast the tensor to float32 in the pipeline"
        raise SpecError(why) from error
    array = numpy.empty(tensor.shape, ml_dtypes.bfloat16)
    _copy_to(array.ctypes.data, tensor)
    return array


def array_of(tensor: _leat.Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """Returns the array for Tensor.numpy(), tensor[..] and tensor.__array__(). The array views the batch in shared memory if
    possible. Raises ValueError if a copy is necessary, but copy=False."""
    needs_copy = tensor.dtype == "bfloat16" or dtype is not None and module("numpy").dtype(dtype).name != tensor.dtype
    if needs_copy and copy is False:
        raise ValueError(
            f"{tensor.name}: {tensor.dtype} can become {dtype or 'an array of NumPy'} only with a copy: leave out copy=False"
        )
    array = _numpy_array(tensor, bool(copy) or tensor.dtype == "bfloat16")
    return array if dtype is None else array.astype(dtype, copy=False)


def list_of_halves(tensor: _leat.Tensor) -> Any:
    """Returns the nested lists for Tensor.tolist() of a float16 or bfloat16 tensor."""
    raw = bytearray(tensor.nbytes)
    if raw:
        _copy_to(ctypes.addressof(ctypes.c_char.from_buffer(raw)), tensor)
    kind = "e"
    if tensor.dtype == "bfloat16":  # the upper half of float32
        halves, raw, kind = raw, bytearray(2 * len(raw)), "f"
        raw[2::4], raw[3::4] = halves[::2], halves[1::2]
    return _nested(list(struct.unpack(f"{tensor.nbytes // 2}{kind}", raw)), tensor.shape)


def _nested(numbers: list[float], shape: tuple[int, ...]) -> Any:
    if len(shape) < 2:
        return numbers if shape else numbers[0]
    size = len(numbers) // max(shape[0], 1)
    return [_nested(numbers[at * size : (at + 1) * size], shape[1:]) for at in range(shape[0])]


def _copy_to(address: int, tensor: _leat.Tensor) -> None:
    """Copies the tensor's bytes. The batch stays in shared memory until the copy is complete."""
    hold = tensor.__dlpack__() if tensor.dtype == "bfloat16" else memoryview(tensor)
    ctypes.memmove(address, tensor.data_ptr, tensor.nbytes)
    del hold


# ---- PyTorch


def torch_dtype(name: str) -> Any:
    """Returns torch.int32 for "int32". Raises SpecError if this torch has no such type."""
    torch = module("torch")
    if not hasattr(torch, name):
        raise SpecError(f"torch {torch.__version__} has no {name}: cast the tensor to another type in the pipeline, or use a newer torch")
    return getattr(torch, name)


def _begin_torch(batch: _leat.Batch, device: Any, copy: bool | None) -> Callable[[], dict[str, Any]]:
    torch = module("torch")

    place = torch.device("cpu" if device is None else device)
    if place.type != "cpu" and copy is False:
        raise SpecError(f"copy=False works only on the CPU, not on {place}: leave out copy=False")
    if place.type == "cuda":
        from .cuda import Torch

        return Torch(batch, place).finish
    if copy is False:
        for tensor in batch.values():
            torch_dtype(tensor.dtype)
        arrays = {name: torch.from_dlpack(tensor) for name, tensor in batch.items()}
    else:
        arrays = {name: _torch_copy(tensor) for name, tensor in batch.items()}
    if place.type != "cpu":
        arrays = {name: array.to(place) for name, array in arrays.items()}
    return lambda: arrays


def _torch_copy(tensor: _leat.Tensor) -> Any:
    torch = module("torch")

    array = torch.empty(tensor.shape, dtype=torch_dtype(tensor.dtype), device="cpu")  # not the default device
    _copy_to(array.data_ptr(), tensor)
    return array


# ---- JAX


def _begin_jax(batch: _leat.Batch, device: Any, copy: bool | None) -> Callable[[], dict[str, Any]]:
    place = jax_place(device)
    _check_narrowed(batch.values())
    if getattr(place, "platform", None) in ("gpu", "cuda"):
        if copy is False:
            raise SpecError(f"copy=False works only on the CPU, not on {place}: leave out copy=False")
        from .cuda import Jax

        return Jax(batch, place).finish
    arrays = {name: _jax_array(tensor, place, copy) for name, tensor in batch.items()}
    return lambda: arrays


def jax_array_of(tensor: _leat.Tensor) -> Any:
    """Returns the array for Tensor.__jax_array__(): a copy on JAX's default device."""
    _check_narrowed([tensor])
    return _jax_array(tensor, jax_place(None), None)


def _check_narrowed(tensors: Iterable[_leat.Tensor]) -> None:
    """Raises DataError if a number does not fit, because JAX converts int64 to int32."""
    if module("jax").config.jax_enable_x64:
        return
    for tensor in tensors:
        if tensor.dtype == "int64":
            check_narrowed(tensor.name, module("numpy").asarray(tensor))


def check_narrowed(name: str, numbers: Any) -> None:
    """Raises DataError if JAX converts a NumPy array to 32-bit integers, and one of its numbers does not fit."""
    narrow = {"int64": "int32", "uint64": "uint32"}.get(numbers.dtype.name)
    if narrow is None or not numbers.size:
        return
    limits = module("numpy").iinfo(narrow)
    worst = max(int(numbers.max()), int(numbers.min()), key=abs)
    if not limits.min <= worst <= limits.max:
        wide = numbers.dtype.name
        raise DataError(f"{name}: {worst} does not fit into {narrow}, and JAX converts {wide} to {narrow}: set jax_enable_x64")


def jax_place(device: Any) -> Any:
    """Returns the jax.Device that `device` names, or the given Sharding."""
    jax = module("jax")

    if device is None:
        default = jax.config.jax_default_device
        return default if isinstance(default, jax.Device) else jax.local_devices(backend=default)[0]
    if not isinstance(device, str):
        return device
    platform, _, number = device.partition(":")
    devices = jax.local_devices(backend=platform)
    if number and not (number.isdigit() and int(number) < len(devices)):
        raise SpecError(f"there is no device {device!r}: JAX numbers the {platform} devices from 0, and has {len(devices)}")
    return devices[int(number or 0)]


def _jax_array(tensor: _leat.Tensor, place: Any, copy: bool | None) -> Any:
    jax = module("jax")

    if copy is not False:
        return jax.device_put(_numpy_array(tensor, True), place)
    if getattr(place, "platform", None) != "cpu":
        raise SpecError(f"copy=False works only on the CPU, not on {place}: leave out copy=False")
    if tensor.itemsize == 8 and not jax.config.jax_enable_x64:
        raise SpecError(
            f"{tensor.name}: JAX has {tensor.dtype} only with jax_enable_x64: set jax_enable_x64, leave out copy=False, or cast"
            " the tensor in the pipeline"
        )
    return jax.dlpack.from_dlpack(tensor)


# ---- MLX


def _to_mlx(batch: _leat.Batch, device: Any, copy: bool | None) -> dict[str, Any]:
    mx = module("mlx.core")

    check_mlx_device(device)
    if copy is False:
        raise SpecError("MLX always copies: leave out copy=False")
    return {name: _mlx_array(tensor, mx) for name, tensor in batch.items()}


def check_mlx_device(device: Any) -> None:
    """Raises SpecError for a GPU or a device of another framework, because MLX arrays belong to no device."""
    if device not in (None, "cpu") and not isinstance(device, module("mlx.core").Device):
        raise SpecError(
            f"MLX arrays belong to no device: leave out device={device!r}, and choose the device in your computation"
        )


def _mlx_array(tensor: _leat.Tensor, mx: Any) -> Any:
    if tensor.dtype == "float64":  # mx.array would make float32 of it
        return mx.array(memoryview(tensor), dtype=mx.float64)
    if tensor.dtype == "bfloat16":  # mx.array takes only NumPy's
        raw = (ctypes.c_uint16 * (tensor.nbytes // 2))()
        _copy_to(ctypes.addressof(raw), tensor)
        return mx.array(memoryview(raw).cast("B").cast("H")).reshape(tensor.shape).view(mx.bfloat16)
    return mx.array(tensor)


# ---- streams


class Converted(Generic[B]):
    """Iterates over a stream or a pipeline, and yields each batch as a dict of arrays. Stream.to() returns such an object.

    Each `iter()` begins the next epoch of the source. On CUDA, leat copies the next batch while your step computes.
    state_dict() returns the position after the last batch that you got, not after the batch that leat copies ahead. You need
    not release the batches."""

    def __init__(
        self,
        source: Any,
        framework: str,
        device: Any = None,
        copy: bool | None = None,
        kind: typed.Kind[B] | None = None,
    ) -> None:
        check(framework)
        self.source = source
        self.framework = framework
        self.device = device
        self.copy = copy
        self._kind = kind

    def into(self, kind: type[T]) -> Converted[T]:
        """Returns an iterable of the same batches as objects of the type `kind`: a TypedDict, a dataclass or a NamedTuple. Its
        fields must have the names of tensors. Leaves out tensors that the type does not name. Raises SpecError if the type
        names a tensor that the batches do not have."""
        made = typed.Kind(kind)
        made.check(self.source.schema)
        return Converted(self.source, self.framework, self.device, self.copy, made)

    def __iter__(self) -> _Ahead[B]:
        return _Ahead(iter(self.source), self._begin, self._is_ahead())

    def __getitem__(self, index: SupportsIndex) -> B:
        """Returns the batch with this number in the first epoch, as in a loop. Does not affect your loops. See
        `Stream.__getitem__`."""
        refuse_loaders(index, "a stream", "pipeline")
        made: B = self._begin(self.source[index])()
        return made

    def __len__(self) -> int:
        return len(self.source)

    def set_epoch(self, epoch: int) -> None:
        """The next iterator begins with this epoch, or continues at a loaded position in this epoch."""
        self.source.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Like Stream.state_dict(): the position after the last batch that you got."""
        state: dict[str, Any] = self.source.state_dict()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iterator continues at this position."""
        self.source.load_state_dict(state)

    def close(self) -> None:
        """Closes the stream."""
        self.source.close()

    def _begin(self, batch: _leat.Batch) -> Callable[[], Any]:
        finish, kind = begin(batch, self.framework, self.device, self.copy), self._kind
        return finish if kind is None else lambda: kind.make(finish())

    def _is_ahead(self) -> bool:
        if self.framework == "torch":
            return str(self.device).partition(":")[0] == "cuda"
        return self.framework == "jax" and getattr(jax_place(self.device), "platform", None) in ("gpu", "cuda")


class _Ahead(Iterator[B]):
    """Reads one batch ahead. The conversion of a batch begins when the batch is read, and ends when the batch is returned."""

    def __init__(self, source: Any, begin_one: Callable[[Any], Callable[[], B]], is_ahead: bool) -> None:
        self.source = source
        self._begin = begin_one
        self._is_ahead = is_ahead
        self._ahead: deque[Callable[[], B]] = deque()
        self._is_at_end = False
        self._error: Exception | None = None  # came in place of the batch ahead

    def __next__(self) -> B:
        if not self._is_ahead:
            return self._begin(next(self.source))()
        if not self._ahead and not self._read_next():
            settle_copies(is_waiting=False)
            raise StopIteration
        finish = self._ahead.popleft()
        self._release_position()
        if not self._is_at_end:
            self._look_ahead()
        return finish()

    def state_dict(self) -> dict[str, Any]:
        """Like Stream.state_dict(): the position after the last batch that you got."""
        state: dict[str, Any] = self.source.state_dict()
        return state

    def __del__(self) -> None:
        try:
            self._ahead.clear()
            settle_copies(is_waiting=False)
        except Exception:  # at the end of the process all names of modules may be None
            pass

    def _release_position(self) -> None:
        if hasattr(self.source, "release_position"):
            self.source.release_position()

    def _read_next(self) -> bool:
        error, self._error = self._error, None
        if error is not None:
            self._release_position()
            raise error
        batch = None if self._is_at_end else next(self.source, None)
        if batch is None:
            self._is_at_end = True
            self._release_position()
            return False
        self._ahead.append(self._begin(batch))
        return True

    def _look_ahead(self) -> None:
        """Reads the next batch only if it is ready, so that the step does not wait. Keeps an exception until the next call."""
        try:
            self._read_ahead()
        except (TimedOutError, HeldError):
            return
        except Exception as error:
            self._error = error

    def _read_ahead(self) -> None:
        if hasattr(self.source, "hold_position"):
            self.source.hold_position()
        look = getattr(self.source, "next", None)
        batch = next(self.source, None) if look is None else look(0)
        if batch is None:
            self._is_at_end = True
            return
        self._ahead.append(self._begin(batch))


def to_device(data: Any, device: Any, framework: str | None = None) -> Any:
    """Moves a batch, or each batch of an iterable, to a device.

    A leat.Batch becomes a dict of arrays of `framework`. With None, this is the framework of the device object, or "torch". A
    stream or a pipeline becomes a `Converted`. In other data, such as the batches of a DataLoader, leat moves the torch
    tensors in dicts, lists and tuples. If `data` is an iterable and the device is CUDA, leat moves the next batch while your
    step computes.
    """
    framework = framework or _framework_of(device)
    if isinstance(data, _leat.Batch):
        return convert(data, framework, device)
    if hasattr(type(data), "native") or hasattr(data, "spec"):
        return Converted(data, framework, device)
    if framework != "torch":
        raise SpecError(f"to_device() for {framework} needs a leat.Batch, a stream or a pipeline, not {type(data).__name__}")
    if isinstance(data, Mapping) or not isinstance(data, Iterable) or hasattr(data, "data_ptr"):
        return _map_tensors(data, lambda tensor: tensor.to(device))
    return _Moved(data, device)


def _framework_of(device: Any) -> str:
    name = type(device).__module__.partition(".")[0]
    return "jax" if name in ("jax", "jaxlib") else "torch"


def _map_tensors(data: Any, do: Callable[[Any], Any]) -> Any:
    """Replaces each torch tensor by do(tensor), in dicts, lists and tuples at any depth."""
    return map_leaves(data, lambda value: do(value) if hasattr(value, "data_ptr") and hasattr(value, "to") else value)


def map_leaves(data: Any, do: Callable[[Any], Any]) -> Any:
    """Replaces each value by do(value), in dicts, lists and tuples at any depth."""
    if isinstance(data, Mapping):
        return {name: map_leaves(value, do) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        mapped = [map_leaves(value, do) for value in data]
        return type(data)(*mapped) if hasattr(data, "_fields") else type(data)(mapped)
    return do(data)


class _Moved:
    """Iterates over `source`, and moves the torch tensors of each item to a device."""

    def __init__(self, source: Iterable[Any], device: Any) -> None:
        self._source = source
        self._device = device

    def __iter__(self) -> Iterator[Any]:
        torch = module("torch")

        device = torch.device(self._device)
        if device.type != "cuda":
            return (_map_tensors(item, lambda tensor: tensor.to(device)) for item in self._source)
        side = torch.cuda.Stream(device)
        return _Ahead(iter(self._source), lambda item: _begin_move(item, device, side), True)

    def __len__(self) -> int:
        return len(self._source)  # type: ignore[arg-type]


def _begin_move(item: Any, device: Any, side: Any) -> Callable[[], Any]:
    """Begins to copy on the CUDA stream `side`. If the memory is pinned, the CPU does not wait."""
    torch = module("torch")

    with torch.cuda.stream(side):
        moved = _map_tensors(item, lambda tensor: tensor.to(device, non_blocking=True))
        event = side.record_event()

    def finish() -> Any:
        stream = torch.cuda.current_stream(device)
        stream.wait_event(event)
        _map_tensors(moved, lambda tensor: tensor.record_stream(stream))
        return moved

    return finish

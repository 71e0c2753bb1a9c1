"""Copies batches to an NVIDIA GPU, straight from shared memory, while the GPU computes.

leat registers the read-only mapping of the shared memory with CUDA once. The GPU then reads this memory at the full speed of
the bus, without a copy on the CPU. `Torch(batch, device)` and `Jax(batch, device)` begin a transfer on leat's own CUDA stream.
finish() makes the framework's stream wait for the transfer; the CPU does not wait. When a CUDA event shows that the GPU has
read a batch, leat frees the batch's slot in shared memory.

leat is not linked with CUDA: it loads CUDA's driver (libcuda.so.1) at the first use. Like CUDA, this module does not work in
forked children.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import deque
from typing import Any

from . import _leat, frameworks

_log = logging.getLogger("leat")

MAX_UNDER_WAY = 2  # transfers that hold slots; fewer if the stream's window is small
_CUDA = 2  # DLPack's device types

_feeders: dict[tuple[int, int], Feeder] = {}  # by process and device


class Feeder:
    """Sends batches to a device."""

    def __init__(self, ordinal: int) -> None:
        self.device = _leat.CudaDevice(ordinal)
        self.memories = _Memories(self.device)
        self._under_way: deque[_leat.CudaCopy] = deque()
        self._has_warned = False

    def send(self, batch: _leat.Batch, addresses: dict[str, int]) -> _leat.CudaCopy:
        """Begins to copy the named tensors to the given addresses of the device."""
        copy = self.device.copy([(batch[name], address) for name, address in addresses.items()])
        self._under_way.append(copy)
        self._warn_slow(copy)
        window = batch.stream.window if batch.stream is not None else 1
        self.settle(min(MAX_UNDER_WAY, window - 1))
        return copy

    def settle(self, n_left: int) -> None:
        """Frees the slots that the GPU has read. Waits until at most `n_left` slots are still unread."""
        with contextlib.suppress(IndexError):  # another thread was quicker
            while self._under_way and (len(self._under_way) > n_left or self._under_way[0].is_done):
                self._under_way.popleft().wait()

    def _warn_slow(self, copy: _leat.CudaCopy) -> None:
        if copy.is_registered or self._has_warned:
            return
        self._has_warned = True
        _log.warning(
            "%s: leat cannot register the memory of batches with CUDA, so copies are several times slower", self.device.name
        )


def feeder(ordinal: int) -> Feeder:
    """Returns this process's feeder for the device."""
    key = os.getpid(), ordinal
    if key not in _feeders:
        _feeders[key] = Feeder(ordinal)
    return _feeders[key]


def settle(is_waiting: bool) -> None:
    """Frees the slots that the devices have read. With is_waiting, it waits until they have read all slots."""
    for (pid, _), sender in list(_feeders.items()):
        if pid == os.getpid():
            sender.settle(0 if is_waiting else MAX_UNDER_WAY)


class Torch:
    """Copies a batch to `device` (a torch.device of type cuda), into torch's memory."""

    def __init__(self, batch: _leat.Batch, device: Any) -> None:
        torch = frameworks.module("torch")
        torch.cuda.init()
        self._torch = torch
        ordinal = torch.cuda.current_device() if device.index is None else device.index
        self._device = torch.device("cuda", ordinal)
        sender = feeder(ordinal)
        # Memory of the side stream was freed there before, so the copy waits for no computation.
        with torch.cuda.stream(torch.cuda.ExternalStream(sender.device.stream, device=self._device)):
            self._arrays = {
                name: torch.empty(tensor.shape, dtype=frameworks.torch_dtype(tensor.dtype), device=self._device)
                for name, tensor in batch.items()
            }
        self._copy = sender.send(batch, {name: array.data_ptr() for name, array in self._arrays.items()})

    def finish(self) -> dict[str, Any]:
        """Returns the tensors. Work that is queued on torch's current stream from now on waits for the copy."""
        stream = self._torch.cuda.current_stream(self._device)
        self._copy.precede(stream.cuda_stream)
        for array in self._arrays.values():
            array.record_stream(stream)  # its memory is not reused before that stream is done
        return self._arrays


class Jax:
    """Copies a batch to `device` (a jax.Device of platform gpu).

    leat cannot write into memory of JAX. So leat copies the batch into its own memory on the device, and JAX copies the batch
    from there. leat reuses this memory after JAX's copy is complete."""

    def __init__(self, batch: _leat.Batch, device: Any) -> None:
        self._device = device
        self._sender = feeder(device.local_hardware_id)
        self._tensors = dict(batch.items())
        self._lent = {name: self._sender.memories.take(tensor.nbytes) for name, tensor in self._tensors.items()}
        self._copy = self._sender.send(batch, {name: memory.address for name, memory in self._lent.items()})

    def finish(self) -> dict[str, Any]:
        """Returns the arrays. On the device, computations wait for the copy."""
        jax = frameworks.module("jax")

        arrays = {}
        for name, tensor in self._tensors.items():
            memory = self._lent[name]
            view = jax.dlpack.from_dlpack(_Lent(memory, self._copy, tensor, self._sender.device.ordinal))
            arrays[name] = jax.numpy.copy(view)
            self._sender.memories.give(memory, arrays[name])
        return arrays


class _Lent:
    """Exports the copy of a tensor in memory of a device as DLPack capsules."""

    def __init__(self, memory: _leat.CudaMemory, copy: _leat.CudaCopy, tensor: _leat.Tensor, ordinal: int) -> None:
        self._memory, self._copy, self._tensor, self._ordinal = memory, copy, tensor, ordinal

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self._ordinal

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """stream: the number of the CUstream that waits for the copy. With None or -1, the CPU waits."""
        if stream in (None, -1):
            self._copy.wait()
        else:
            self._copy.precede(stream)
        return self._memory.capsule(self._tensor)


class _Memories:
    """A pool of device memory. take() gets memory from the pool. give() returns it, with the array that was copied from it."""

    def __init__(self, device: _leat.CudaDevice) -> None:
        self._device = device
        self._returned: deque[tuple[_leat.CudaMemory, Any]] = deque()

    def take(self, n_bytes: int) -> _leat.CudaMemory:
        """Returns memory of at least this size, which no earlier copy still reads."""
        for i, (memory, array) in enumerate(self._returned):
            if n_bytes <= memory.nbytes <= 2 * n_bytes and (array.is_deleted() or array.is_ready()):
                del self._returned[i]
                if array.is_deleted():  # donated to a computation, so nothing tells when the copy was done
                    _wait_for_all(array)
                return memory
        return self._device.alloc(n_bytes)

    def give(self, memory: _leat.CudaMemory, array: Any) -> None:
        """Puts memory back into the pool. take() may return it again as soon as its copy, `array`, is ready. If the pool is
        full, leat frees the oldest memory."""
        self._returned.append((memory, array))
        while len(self._returned) > 64:
            old, copy = self._returned.popleft()
            if not copy.is_deleted():
                copy.block_until_ready()
            else:
                _wait_for_all(copy)
            del old


def _wait_for_all(array: Any) -> None:
    """Waits for all computations so far on the array's device."""
    jax = frameworks.module("jax")

    (jax.device_put(0, array.sharding) + 0).block_until_ready()

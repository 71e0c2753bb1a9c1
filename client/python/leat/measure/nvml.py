"""Lists NVIDIA's GPUs and their memory, through the driver's library libnvidia-ml.so.1. It creates no CUDA context."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU. Memory is in bytes. `memory_free` is the memory that no process uses."""

    index: int
    name: str
    memory_total: int
    memory_free: int


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def accelerators(library: str = "libnvidia-ml.so.1") -> tuple[Accelerator, ...]:
    """Returns all GPUs that the driver shows to this process. The list is empty if there is no driver, or if it does not
    answer."""
    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2() != 0:
            return ()
    except (OSError, AttributeError):
        return ()
    try:
        return _all(nvml)
    finally:
        nvml.nvmlShutdown()


def _all(nvml: ctypes.CDLL) -> tuple[Accelerator, ...]:
    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return ()
    found = (_accelerator(nvml, index) for index in range(count.value))
    return tuple(each for each in found if each)


def _accelerator(nvml: ctypes.CDLL, index: int) -> Accelerator | None:
    handle, memory, name = ctypes.c_void_p(), _Memory(), ctypes.create_string_buffer(96)
    if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != 0:
        return None
    if nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(len(name))) != 0:
        return None
    if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != 0:
        return None
    return Accelerator(index, name.value.decode(errors="replace"), int(memory.total), int(memory.free))

"""Estimates how much memory a model takes, and how many rows fit beside it. Shows what hardware this machine has.

GB is decimal, 10^9 bytes, as vendors of disks and accelerators count. GiB is binary, 2^30 bytes, as `free -h` prints it. 1 GiB
is 1.0737 GB. `_gb` in a name means decimal GB.

The formulas come from the papers that they name, and are estimates. They leave out the memory of the framework: the CUDA
context (0.3 to 0.6 GB), fragmentation, workspaces of kernels, and buckets of gradients in distributed training. The safety
factor of `optimal_batch_size` leaves room for these. For exact figures, run your program under `leat.memory_profile()`.
"""

from __future__ import annotations

import math
import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

from . import proc
from .table import table

if TYPE_CHECKING:
    from .nvml import Accelerator

GB = 10**9
GIB = 2**30

_DECIMAL = ("B", "KB", "MB", "GB", "TB", "PB", "EB")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")

# Adam in mixed precision: a copy of the weights, the mean and the variance, each in float32.
_ADAM_BYTES = 12
_ADAM_BYTES_FLOAT32 = 8  # the weights themselves are the copy


def format_memory_size(n_bytes: float, *, binary: bool = False) -> str:
    """Formats a number of bytes with three significant digits: "1.50 GB" (10^9 bytes), or with `binary` "1.40 GiB" (2^30
    bytes).

    Raises ValueError for NaN or infinity.
    """
    if not math.isfinite(n_bytes):
        raise ValueError(f"n_bytes is {n_bytes}, but it must be finite")
    base, units = (1024, _BINARY) if binary else (1000, _DECIMAL)
    value, unit = abs(float(n_bytes)), 0
    while unit + 1 < len(units) and round(value) >= base:
        value /= base
        unit += 1
    sign = "-" if n_bytes < 0 else ""
    if unit == 0:
        return f"{sign}{value:.0f} B"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{sign}{value:.{digits}f} {units[unit]}"


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The memory that a model takes, in decimal GB (10^9 bytes). `float(size)` is the total."""

    weights_gb: float
    gradients_gb: float
    optimizer_gb: float

    @property
    def total_gb(self) -> float:
        """The total, in GB (10^9 bytes)."""
        return self.weights_gb + self.gradients_gb + self.optimizer_gb

    @property
    def total_gib(self) -> float:
        """The total, in GiB (2^30 bytes)."""
        return self.total_gb * GB / GIB

    def __float__(self) -> float:
        return float(self.total_gb)

    def __str__(self) -> str:
        names = ("weights", "gradients", "optimizer", "total")
        sizes = [getattr(self, f"{name}_gb") * GB for name in names]
        return table((name, format_memory_size(n), format_memory_size(n, binary=True)) for name, n in zip(names, sizes))


def estimate_model_size(
    num_parameters: float, bits: int = 32, include_gradients: bool = False, include_optimizer_states: bool = False
) -> ModelSize:
    """The memory of a model of `num_parameters` with weights of `bits` bits, without activations.

    weights    num_parameters * bits / 8 bytes
    gradients  num_parameters * max(bits, 16) / 8 bytes: weights of 8 or 4 bits have gradients of 16 bits
    optimizer  Adam: 8 bytes a parameter for mean and variance in float32; 12 with a float32 copy of weights below 32 bits

    So training takes 16 bytes a parameter, both in float32 (4 + 4 + 8) and in mixed precision (2 + 2 + 12): Rajbhandari et
    al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", arXiv:1910.02054, section 3.1. In
    float32, plain SGD needs no memory for the optimizer, and SGD with momentum needs 4 bytes a parameter.

    >>> estimate_model_size(7e9, bits=16).total_gb
    14.0
    """
    if not (math.isfinite(num_parameters) and num_parameters >= 0):
        raise ValueError(f"num_parameters is {num_parameters}, but it must be 0 or more")
    if not 1 <= bits <= 64:
        raise ValueError(f"bits is {bits}, but weights have 1 to 64 bits")
    gradient_bits = max(bits, 16) if include_gradients else 0
    state_bytes = (_ADAM_BYTES if bits < 32 else _ADAM_BYTES_FLOAT32) if include_optimizer_states else 0
    return ModelSize(
        weights_gb=num_parameters * bits / 8 / GB,
        gradients_gb=num_parameters * gradient_bits / 8 / GB,
        optimizer_gb=num_parameters * state_bytes / GB,
    )


def optimal_batch_size(
    model_size_gb: SupportsFloat,
    sequence_length: int,
    available_memory_gb: float,
    safety_factor: float = 0.8,
    *,
    hidden_size: int | None = None,
    num_layers: int | None = None,
    bytes_per_parameter: float = 16,
    fused_attention: bool = True,
    recompute: bool = False,
) -> int:
    """Returns how many rows of `sequence_length` tokens fit in memory beside a transformer, for one training step. Returns 0 if
    not even one row fits.

    rows = (available_memory_gb * safety_factor - model_size_gb) / gb_of_a_row, rounded down

    `model_size_gb` is the memory for weights, gradients and optimizer (GB, 10^9 bytes, or a ModelSize). With activations of 16
    bits, a row takes in each layer

      34 * s * h                 bytes with fused (flash) attention
      34 * s * h + 5 * a * s^2   bytes with attention that keeps its matrices (fused_attention=False)
      2 * s * h                  bytes where layers are recomputed (recompute=True), plus one layer in full

    with s = sequence_length, h = hidden_size, a = h / 64 heads. The formulas are for a model on one device. They come from Korthikanti
    et al., "Reducing Activation Recomputation in Large Transformer Models", arXiv:2205.05198, equations 1 and 2 and table 2.

    If you leave out `hidden_size` and `num_layers`, leat computes them from the size: parameters = model_size_gb /
    bytes_per_parameter (16: Adam, as in estimate_model_size) = 12 * num_layers * hidden_size^2, with hidden_size =
    64 * num_layers, as in GPT-2 and BERT-base; Kaplan et al., "Scaling Laws for Neural Language Models", arXiv:2001.08361,
    section 2.1 and figure 5, find that the ratio matters little. Logits (sequence_length * vocabulary * 4 bytes, and as
    much for their gradient) are not counted.

    Raises ValueError if a size is not positive, or if the safety factor is outside 0 to 1.
    """
    model_gb = float(model_size_gb)
    _check_sizes(model_gb, sequence_length, available_memory_gb, safety_factor, bytes_per_parameter)
    guess = _shape_of(model_gb * GB / bytes_per_parameter)
    hidden, layers = hidden_size or guess[0], num_layers or guess[1]
    if hidden <= 0 or layers <= 0:
        raise ValueError(f"hidden_size {hidden} and num_layers {layers}: both must be above 0")
    layer = 34.0 * sequence_length * hidden
    if not fused_attention:
        layer += 5.0 * (hidden / 64) * sequence_length**2
    row = 2.0 * sequence_length * hidden * layers + layer if recompute else layer * layers
    free = (available_memory_gb * safety_factor - model_gb) * GB
    return max(0, math.floor(free / row))


def _check_sizes(model_gb: float, length: int, available_gb: float, safety: float, bytes_per_parameter: float) -> None:
    positive = {
        "model_size_gb": model_gb,
        "sequence_length": length,
        "available_memory_gb": available_gb,
        "bytes_per_parameter": bytes_per_parameter,
    }
    for name, value in positive.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"{name} is {value}, but it must be above 0")
    if not 0 < safety <= 1:
        raise ValueError(f"safety_factor is {safety}, but it must be above 0 and at most 1")


def _shape_of(n_parameters: float) -> tuple[float, float]:
    """Returns (hidden size, layers) of a transformer with 12 * layers * (64 * layers)^2 parameters."""
    layers = (n_parameters / (12 * 64**2)) ** (1 / 3)
    return 64 * layers, layers


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The hardware that this process may use. Sizes are in bytes. If a control group limits the CPUs, `n_cpus` may be a
    fraction."""

    machine: str
    cpu: str
    n_cpus: float
    memory_total: int
    memory_available: int
    is_limited: bool  # a control group allows less memory than the machine has
    accelerators: tuple[Accelerator, ...]

    def __str__(self) -> str:
        memory = f"{_both(self.memory_available)} of {_both(self.memory_total)} available"
        rows = [
            ("machine", self.machine),
            ("CPU", self.cpu),
            ("CPUs to use", f"{self.n_cpus:g}"),
            ("memory", memory + (", as the control group allows" if self.is_limited else "")),
        ]
        rows += [
            (f"GPU {each.index}", f"{each.name}, {_both(each.memory_free)} of {_both(each.memory_total)} free")
            for each in self.accelerators
        ]
        width = max(len(row[0]) for row in rows)
        return "\n".join(f"{name.ljust(width)}  {text}" for name, text in rows)


def _both(n_bytes: int) -> str:
    return f"{format_memory_size(n_bytes)} ({format_memory_size(n_bytes, binary=True)})"


def device_info() -> DeviceInfo:
    """Finds the CPUs and the memory that this process may use, within its affinity and control groups, and NVIDIA GPUs with
    their free memory.

    It imports no framework and makes no CUDA context. libnvidia-ml.so.1 lists all GPUs in the order of the driver.
    CUDA_VISIBLE_DEVICES does not change this.
    """
    from . import nvml

    memory = proc.machine_memory()
    return DeviceInfo(
        machine=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=proc.cpu_model(),
        n_cpus=min(float(len(os.sched_getaffinity(0))), proc.cpu_quota()),
        memory_total=memory.total,
        memory_available=memory.available,
        is_limited=memory.is_limited,
        accelerators=nvml.accelerators(),
    )

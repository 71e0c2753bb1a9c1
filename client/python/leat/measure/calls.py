"""The time of a function's calls. The compilation in the first call is measured separately.

A function of JAX, torch.compile or MLX compiles in its first call with arguments of new shapes or types. A call may return
before its result is computed. So leat counts the time until the result is complete.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SpecError
from .table import seconds


@dataclass(frozen=True, slots=True)
class Profile:
    """The times of the calls of one function, in seconds. As text, it is one line."""

    name: str
    first_s: float  # the first call: it compiles and computes
    calls_s: tuple[float, ...]  # the calls after it

    @property
    def compute_s(self) -> float:
        """The median of the calls after the first one."""
        return statistics.median(self.calls_s)

    @property
    def compile_s(self) -> float:
        """How much longer the first call took than the median of the others, or 0 if it took no longer."""
        return max(0.0, self.first_s - self.compute_s)

    def __str__(self) -> str:
        least, most = seconds(min(self.calls_s)), seconds(max(self.calls_s))
        calls = f"median of {len(self.calls_s)}, {least} to {most}"
        return f"{self.name}: compile {seconds(self.compile_s)}, then compute {seconds(self.compute_s)} a call ({calls})"


def profile(function: Callable[..., Any], *arguments: Any, calls: int = 20) -> Profile:
    """Calls the function once, and then `calls` times more, with the same arguments. A call ends when the arrays of JAX, MLX
    and torch on CUDA that it returns are computed.

    print(leat.profile(step, params, batch)) shows how long compiling and computing take. Do not call the function before with
    arguments of the same shapes and types, because then it is already compiled.
    """
    if calls < 1:
        raise SpecError(f"calls is {calls}, but it must be at least 1")
    _settle(arguments)  # what is under way belongs to no call
    first, *rest = (_time(function, arguments) for _ in range(calls + 1))
    name = str(getattr(function, "__name__", type(function).__name__))
    return Profile(name, first, tuple(rest))


def _time(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    start = time.perf_counter_ns()
    _settle(function(*arguments))
    return (time.perf_counter_ns() - start) / 1e9


def _settle(result: Any) -> None:
    """Waits until the arrays in `result` are computed. Imports no framework."""
    jax, mx, torch = (sys.modules.get(name) for name in ("jax", "mlx.core", "torch"))
    if jax is not None:
        jax.block_until_ready(result)
    if mx is not None:
        mx.eval(*(array for array in _leaves(result) if isinstance(array, mx.array)))
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, (list, tuple)):
        yield value
        return
    for item in value:
        yield from _leaves(item)

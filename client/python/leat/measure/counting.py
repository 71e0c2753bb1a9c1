"""Counts the samples and tokens of batches of any kind, without waiting for a device."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_MAX_PENDING = 1024  # sums on a device that are not read yet


def samples_of(batch: Any) -> int:
    """Returns the number of rows of a batch: its `n_rows`, or the length of the first axis of an array. For a mapping or a
    sequence, its first array counts. A mapping with a number or a text as a value is one record, and so is any other object."""
    n_rows = getattr(batch, "n_rows", None)
    if isinstance(n_rows, int):
        return n_rows
    if isinstance(batch, Mapping):
        lengths = [_length(value) for value in batch.values()]
        return lengths[0] if lengths and None not in lengths and lengths[0] is not None else 1
    if isinstance(batch, (tuple, list)) and batch and _shape(batch[0]) is not None:
        return _length(batch[0]) or 1
    length = _length(batch)
    return 1 if length is None else length


def _shape(value: Any) -> tuple[int, ...] | None:
    shape = getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, Sequence) else None


def _length(value: Any) -> int | None:
    """The length of the first axis, or None if the value has no axes."""
    shape = _shape(value)
    if shape is not None:
        return int(shape[0]) if shape else None
    return len(value) if isinstance(value, (list, tuple)) else None


class TokenCount:
    """Adds up numbers of tokens. Sums on a device stay there until total() reads them."""

    def __init__(self) -> None:
        self._n = 0
        self._is_known = False
        self._pending: list[Any] = []

    def add_number(self, n: int) -> None:
        """Adds n tokens."""
        self._n += n
        self._is_known = True

    def add(self, batch: Any, mask: str, tokens: str) -> None:
        """Adds the sum of batch[mask]. Without a mask, adds the number of elements of batch[tokens], or nothing."""
        if not isinstance(batch, Mapping):
            return
        if mask in batch:
            self._add_sum(batch[mask])
        elif tokens in batch:
            self.add_number(_n_elements(batch[tokens]))

    def total(self) -> int | None:
        """Returns the sum, or None if no batch had tokens."""
        self._read_pending()
        return self._n if self._is_known else None

    def _add_sum(self, mask: Any) -> None:
        self._is_known = True
        if hasattr(mask, "sum"):  # NumPy, PyTorch, JAX, MLX
            self._pending.append(_begun(mask.sum()))
            if len(self._pending) >= _MAX_PENDING:
                self._read_pending()
        else:
            self._n += _sum_of_bytes(mask)

    def _read_pending(self) -> None:
        pending, self._pending = self._pending, []
        self._n += sum(int(each) for each in pending)


def _begun(total: Any) -> Any:
    """Starts to compute a sum of MLX. MLX computes lazily: until it starts, it keeps the whole mask in memory."""
    if type(total).__module__.startswith("mlx"):
        sys.modules["mlx.core"].async_eval(total)
    return total


def _n_elements(value: Any) -> int:
    shape = _shape(value)
    if shape is None:
        return sum(map(_n_elements, value)) if isinstance(value, (list, tuple)) else 1
    return math.prod(map(int, shape))


def _sum_of_bytes(mask: Any) -> int:
    """The sum of a mask of zeros and ones: a buffer, or nested lists."""
    if isinstance(mask, (list, tuple)):
        return sum(_sum_of_bytes(each) if isinstance(each, (list, tuple)) else int(each) for each in mask)
    if "numpy" in sys.modules:
        return int(sys.modules["numpy"].asarray(mask).sum())
    view = memoryview(mask)
    return _sum_of_bytes(view.tolist()) if view.format in ("e", "f", "d") else bytes(view).count(1)

"""How many samples and tokens a batch has, whatever it is made of, without waiting for a device."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

_N_PENDING = 1024  # sums on a device that are not read yet, at most


def samples_of(batch: Any) -> int:
    """Rows of a batch: its `n_rows`; the first axis of the first array of a mapping or sequence; of an array itself. A mapping
    with a value that has no axis (a number, a text) is one record, as is what is no batch at all."""
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
    """Of the first axis; None where there is none."""
    shape = _shape(value)
    if shape is not None:
        return int(shape[0]) if shape else None
    return len(value) if isinstance(value, (list, tuple)) else None


class TokenCount:
    """A number of tokens that is added to. Sums of what lies on a device stay there until total() asks for them."""

    def __init__(self) -> None:
        self._n = 0
        self._is_known = False
        self._pending: list[Any] = []

    def add_number(self, n: int) -> None:
        """So many more."""
        self._n += n
        self._is_known = True

    def add(self, batch: Any, mask: str, tokens: str) -> None:
        """The sum of batch[mask], else the elements of batch[tokens]; nothing where it has neither."""
        if not isinstance(batch, Mapping):
            return
        if mask in batch:
            self._add_sum(batch[mask])
        elif tokens in batch:
            self.add_number(_n_elements(batch[tokens]))

    def total(self) -> int | None:
        """All of them; None: never was there a batch that told."""
        self._read_pending()
        return self._n if self._is_known else None

    def _add_sum(self, mask: Any) -> None:
        self._is_known = True
        if hasattr(mask, "sum"):  # NumPy, PyTorch, JAX, MLX
            self._pending.append(_begun(mask.sum()))
            if len(self._pending) >= _N_PENDING:
                self._read_pending()
        else:
            self._n += _sum_of_bytes(mask)

    def _read_pending(self) -> None:
        pending, self._pending = self._pending, []
        self._n += sum(int(each) for each in pending)


def _begun(total: Any) -> Any:
    """A sum that is under way: MLX, which computes when it is asked to, would hold the whole mask until then."""
    if type(total).__module__.startswith("mlx"):
        sys.modules["mlx.core"].async_eval(total)
    return total


def _n_elements(value: Any) -> int:
    shape = _shape(value)
    if shape is None:
        return sum(map(_n_elements, value)) if isinstance(value, (list, tuple)) else 1
    n = 1
    for length in shape:
        n *= int(length)
    return n


def _sum_of_bytes(mask: Any) -> int:
    """Of a mask of zeros and ones with the buffer protocol, or of nested lists."""
    if isinstance(mask, (list, tuple)):
        return sum(_sum_of_bytes(each) if isinstance(each, (list, tuple)) else int(each) for each in mask)
    if "numpy" in sys.modules:
        return int(sys.modules["numpy"].asarray(mask).sum())
    view = memoryview(mask)
    return _sum_of_bytes(view.tolist()) if view.format in ("e", "f", "d") else bytes(view).count(1)

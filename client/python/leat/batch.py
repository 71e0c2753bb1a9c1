"""A batch: a mapping of names to tensors in shared memory.

The C extension implements the mapping, its tensors and their lifetimes. The methods here convert, save and check a batch. Each
of them imports its module at the first call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _leat

if TYPE_CHECKING:
    from .checking import Report

Tensor = _leat.Tensor


class Batch(_leat.Batch):
    """A mapping of names to Tensors, in the order of the stream.

    A batch occupies one slot of shared memory until you call release(), or until the batch and all arrays that view it are
    gone. `with batch:` releases the batch at the end of the block.
    """

    __slots__ = ("__weakref__",)

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> dict[str, Any]:
        """Returns the tensors as a dict of arrays of "torch", "jax", "mlx" or "numpy".

        copy: None makes copies that are independent of the batch and, on the CPU, writable. With device="cuda", the GPU makes
            the copies while your program continues. False makes arrays that view the memory of the batch, or raises SpecError
            if the framework cannot do this.
        """
        from . import frameworks

        return frameworks.convert(self, framework, device=device, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle or copy a batch, because its memory belongs to the stream: use the arrays of batch.to(..)")

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the batch as "safetensors", "npz" or "jsonl". If format is None, the suffix of the path decides.

        If save() fails, an old file of this name stays unchanged. Raises SpecError if the format is unknown or does not allow
        the name of a tensor, and OSError if the file system fails. `leat.saving.save` can also compress .npz.
        """
        from . import saving

        saving.save(self, path, format)

    def check(self, vocab_size: int | None = None, pad_id: int | None = None) -> Report:
        """Looks for NaN, infinities, ids out of range, and rows that have only padding. The returned report is true in an `if`
        when the batch has no faults."""
        from . import checking

        return checking.check(self, vocab_size=vocab_size, pad_id=pad_id)


Mapping.register(Batch)

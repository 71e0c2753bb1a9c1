"""A batch: a mapping of names to tensors in shared memory.

The extension has the mapping, its tensors and their lifetimes. The methods here load the modules that convert, save and check a
batch at their first use.
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

    It holds one slot of the window until you call release(), or until the batch and all arrays that view it are gone. `with
    batch:` releases it at the end of the block.
    """

    __slots__ = ("__weakref__",)

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> dict[str, Any]:
        """Returns the tensors as a dict of arrays of "torch", "jax", "mlx" or "numpy".

        copy: None makes writable copies on the CPU, which do not hold the slot. For "cuda", the GPU makes the copy, and your
            program does not wait for it. False makes arrays that view the slot, or raises SpecError if the framework cannot
            have such arrays.
        """
        from . import frameworks

        return frameworks.convert(self, framework, device=device, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle or copy a batch, because its memory belongs to the stream: take batch.to(..)")

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the batch as "safetensors", "npz" or "jsonl". If format is None, the suffix of the path decides.

        The new file is complete, or the old file stays as it was. Raises SpecError for an unknown format, or a tensor name that the
        format cannot hold, and OSError if the file system fails. `leat.saving.save` can also compress .npz.
        """
        from . import saving

        saving.save(self, path, format)

    def check(self, vocab_size: int | None = None, pad_id: int | None = None) -> Report:
        """Looks for NaN, infinities, ids out of range, and rows that have only padding. The report counts as true if the
        batch has no faults."""
        from . import checking

        return checking.check(self, vocab_size=vocab_size, pad_id=pad_id)


Mapping.register(Batch)

"""A batch: a mapping of names to tensors, in a slot of the ring.

The extension has the mapping, its tensors and their lifetimes. The methods here load the modules that convert, save and check
a batch at their first use.
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
    """A collections.abc.Mapping of names to Tensors, in the order of the stream.

    It holds one slot of the window until you release() it, or until the batch and all arrays that look into it are gone. As a
    context manager it releases itself at the end of the block.
    """

    __slots__ = ("__weakref__",)

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> dict[str, Any]:
        """The tensors as arrays of "torch", "jax", "mlx" or "numpy".

        copy None: on the CPU writable copies, which do not hold the slot; on "cuda" an asynchronous copy from the ring.
        copy False: arrays that look into the slot. SpecError if the framework cannot have them.
        """
        from . import frameworks

        return frameworks.convert(self, framework, device=device, copy=copy)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes the batch as "safetensors", "npz" or "jsonl"; format None: by the path's suffix.

        The file is whole, or as it was before. SpecError: no such format, or names that it cannot hold. OSError: the file
        system fails. `leat.saving.save` can compress .npz.
        """
        from . import saving

        saving.save(self, path, format)

    def check(self, vocab_size: int | None = None, pad_id: int | None = None) -> Report:
        """Looks for NaN, infinities, ids out of range and rows of padding only. The report is true if it found none."""
        from . import checking

        return checking.check(self, vocab_size=vocab_size, pad_id=pad_id)


Mapping.register(Batch)

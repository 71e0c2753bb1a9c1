"""A batch: name → tensor, in a slot of the ring that it holds.

The mapping, its tensors and their lives are the extension's; what stands here leads on to the modules that convert, save and
check a batch, which are loaded when they are first used.
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
    """name → Tensor, in the order of the stream; a collections.abc.Mapping.

    Holds one slot of the window until the batch and all arrays that look into it are gone, or until `release()`. As a context
    manager it releases at the end of the block.
    """

    __slots__ = ("__weakref__",)

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> dict[str, Any]:
        """The tensors as arrays of "torch", "jax", "mlx" or "numpy".

        copy None: on the CPU writable copies, which do not hold the slot; on "cuda" an asynchronous copy from the ring.
        copy False: arrays that look into the slot (an error where the framework cannot).
        """
        from . import frameworks

        return frameworks.convert(self, framework, device=device, copy=copy)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Writes it as "safetensors", "npz" or "jsonl"; format None: as the path's suffix says.

        The file is there whole, or as it was before. SpecError: no such format, or names that it cannot hold; OSError: what
        the disk says. `saving.save` can compress .npz.
        """
        from . import saving

        saving.save(self, path, format)

    def check(self, vocab_size: int | None = None, pad_id: int | None = None) -> Report:
        """What is wrong with it: NaN, Inf, ids out of range, rows of padding only. The report is true if nothing is."""
        from . import checking

        return checking.check(self, vocab_size=vocab_size, pad_id=pad_id)


Mapping.register(Batch)

"""Batches as files: safetensors, .npz, JSONL. `leat_batch_save` in leat.h writes them, and describes their content.

Changes that you made in place, through arrays over the batch, are saved too.
"""

from __future__ import annotations

import os

from . import _leat
from .errors import SpecError

_FORMATS = {
    None: _leat.SAVE_BY_NAME,
    "safetensors": _leat.SAVE_SAFETENSORS,
    "npz": _leat.SAVE_NPZ,
    "jsonl": _leat.SAVE_JSONL,
}


def save(batch: _leat.Batch, path: str | os.PathLike[str], format: str | None = None, *, compression: int = 0) -> None:
    """Writes the batch to a temporary file in the same folder, syncs it, and renames it. So the file is whole, or as it was
    before, and the same batch makes the same bytes. Other threads run meanwhile.

    format: "safetensors" (all dtypes; epoch, step and rows are its metadata), "npz" (for numpy.load; bfloat16 as "V2", which
        `.view(ml_dtypes.bfloat16)` reads) or "jsonl" (a line for each row; NaN and infinities are null). None: by the suffix.
    compression: of .npz alone: 0, or deflate at the level 1 (fast) to 9 (small).

    SpecError: no such format, or names that it cannot hold. DataError: a name that is not UTF-8. OSError (FileNotFoundError,
    PermissionError, ..): the file system fails. ValueError: the batch was released.
    """
    if format not in _FORMATS:
        raise SpecError(f'there is no format "{format}" to save in; there are safetensors, npz, jsonl')
    _leat.save_batch(batch, path, _FORMATS[format], compression)

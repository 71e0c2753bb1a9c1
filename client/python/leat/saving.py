"""Saves batches as files: safetensors, .npz, JSONL. `leat_batch_save` writes them; leat.h describes their content.

The files include the changes that you made in place, through arrays that view the batch.
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
    """Writes the batch to a temporary file in the same folder, syncs it, and renames it. So either the new file is complete, or
    the old file is unchanged. Equal batches give equal files. Other threads can run meanwhile.

    format: "safetensors" (all dtypes; its metadata has epoch, step and rows), "npz" (for numpy.load; bfloat16 has the dtype
        "V2", and `.view(ml_dtypes.bfloat16)` gives its numbers) or "jsonl" (a line for each row; NaN and infinities are null).
        If the format is None, the suffix of the path decides.
    compression: only for .npz: 0 for none, or a level from 1 (fast) to 9 (small).

    Raises SpecError for an unknown format or a tensor name that the format cannot hold, and DataError for a name that is not UTF-8. Raises
    OSError (FileNotFoundError, PermissionError, ..) if the file system fails, and ValueError if you have released the batch.
    """
    if format not in _FORMATS:
        raise SpecError(f'leat cannot save in the format "{format}"; give safetensors, npz or jsonl')
    _leat.save_batch(batch, path, _FORMATS[format], compression)

"""Records of a stream without a `batch`: dicts of copied values, which you may keep.

Each record comes in its own slot. leat gives the slot back to the daemon as soon as it has copied the record.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import Batch
    from .epoch import Epoch

Record = dict[str, Any]
TEXT = ".utf8"  # suffix of the stage `tensors` for the bytes of a text


@functools.cache
def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def record_of(batch: Batch) -> Record:
    """Returns the record of a batch, and releases the batch."""
    numpy = _numpy()
    record: Record = {}
    for name, tensor in batch.items():
        if name.endswith(TEXT) and tensor.dtype == "uint8":
            record[name.removesuffix(TEXT)] = bytes(tensor).decode("utf-8", "replace")
        elif numpy is None or tensor.dtype == "bfloat16":
            record[name] = tensor.tolist()
        elif tensor.ndim == 0:
            record[name] = numpy.asarray(tensor)[()]
        else:
            record[name] = numpy.array(tensor)
    batch.release()
    return record


class Records(Iterator[Record], AsyncIterator[Record]):
    """The records of one epoch."""

    def __init__(self, batches: Epoch) -> None:
        self.source = batches

    def __iter__(self) -> Records:
        return self

    def __next__(self) -> Record:
        return record_of(next(self.source))

    def __aiter__(self) -> Records:
        return self

    async def __anext__(self) -> Record:
        return record_of(await anext(self.source))

    def state_dict(self) -> dict[str, Any]:
        """Like Stream.state_dict(), for this iterator."""
        return self.source.state_dict()

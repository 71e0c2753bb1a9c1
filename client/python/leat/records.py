"""Records of a stream that is not batched: a dict for each, of the caller's own values.

Each record comes in a slot of its own; what it holds is copied out and the slot given back, so that records may be kept for as
long as one likes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import Batch
    from .stream import Stream

Record = dict[str, Any]
TEXT = ".utf8"  # the stage `tensors` calls the bytes of a text so


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _of_batch(batch: Batch, numpy: Any) -> Record:
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
    return record


def of_stream(stream: Stream) -> Iterator[Record]:
    """The records of one epoch."""
    numpy = _numpy()
    for batch in stream:
        record = _of_batch(batch, numpy)
        batch.release()
        yield record


async def of_stream_async(stream: Stream) -> AsyncIterator[Record]:
    """The same, for an event loop."""
    numpy = _numpy()
    async for batch in stream:
        record = _of_batch(batch, numpy)
        batch.release()
        yield record

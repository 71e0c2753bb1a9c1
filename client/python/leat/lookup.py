"""Batches by their number: `batches[5]`.

`batches[i]` is the batch with the number i, counted from 0, that a loop on this rank gets in the first epoch. leat reads this
batch in a separate session, so your loops are not affected. Consecutive numbers simply continue in this session. For any other
number, leat seeks first.
"""

from __future__ import annotations

import operator
import sys
import threading
from typing import TYPE_CHECKING

from .errors import SpecError

if TYPE_CHECKING:
    from . import _leat
    from .batch import Batch
    from .stream import Stream

FIRST_EPOCH = 0  # from which the numbers count
_MOST = 1 << 32  # batches of an epoch whose length is not known
_LOADERS = ("torch.utils.data", "torchdata")


def refuse_loaders(index: object, what: str, dataset: str) -> None:
    """Raises TypeError if a loader of torch asks for an item. Such a loader treats any object with numbered items as a data
    set. So it would read the stream's first epoch again and again."""
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    if any(caller == loader or caller.startswith(f"{loader}.") for loader in _LOADERS):
        raise TypeError(
            f"a DataLoader of torch asks for item {index!r}, but {what} makes its own epochs and batches: pass"
            f" leat.TorchDataset({dataset}) to the DataLoader or Trainer"
        )


class Lookup:
    """Finds the batches of a stream by their numbers, in a separate session."""

    def __init__(self, stream: Stream) -> None:
        """`stream` serves this rank, and is used only for look-ups."""
        self.stream = stream
        self._next = -1  # the number of the batch that the session has next; -1: unknown
        self._lock = threading.Lock()

    def serves(self, native: _leat.Stream) -> bool:
        """True if this object finds the batches of the same rank."""
        return (self.stream.rank, self.stream.world_size) == (native.rank, native.world_size)

    def find(self, index: object) -> Batch:
        """Returns the batch with this number. A negative number counts from the end. Raises IndexError if there is no such
        batch. Raises TypeError if the index is not an integer, or if it is negative and leat does not know the number of
        batches."""
        number = self._number(index)
        with self._lock:
            if number != self._next:
                self.stream.seek(FIRST_EPOCH, number * self.stream.world_size)
            self._next = -1
            try:
                batch = self.stream.next()
            except SpecError as error:  # the epoch has no such step
                raise self._beyond(index) from error
            if batch is None:
                raise self._beyond(index)
            self._next = number + 1
            return batch

    def _number(self, index: object) -> int:
        if not hasattr(index, "__index__"):
            raise TypeError(f"an index must be an integer, not {index!r}")
        number = operator.index(index)
        if number < 0:
            number += len(self.stream)
        if not 0 <= number < (_MOST if self.stream.known_steps is None else len(self.stream)):
            raise self._beyond(index)
        return number

    def _beyond(self, index: object) -> IndexError:
        known = self.stream.known_steps
        n = "fewer" if known is None else len(self.stream)
        return IndexError(f"there is no item {index!r} in an epoch of {self.stream.name}, which has {n} batches")

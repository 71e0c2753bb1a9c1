"""Finds out if Accelerate loops over a dataset, because it divides the items among processes.

Accelerate's `prepare()` wraps a DataLoader, as transformers.Trainer does. The wrapper divides the items of the dataset:

- A *dispatcher* (the default for an IterableDataset): process 0 reads P batches of the loader at a time. They are concatenated,
  sent to all processes and cut into P equal parts. If P does not divide the last rows, it fills up with rows from the start.
- A *shard* (dispatch_batches=False): each process reads everything and keeps its slice of every B x P items, with B items in a
  batch. If fewer items are left at the end, it fills up with items from the start.

So the dataset must yield *all* items, and so many that Accelerate need not fill up. Both wrappers register in
accelerate.GradientState when their iteration begins, before they read the dataset. Workers inherit this by fork or pickle.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

DISPATCHER = "dispatcher"
SHARD = "shard"
LOADER = "loader"  # a loader of one process, which divides nothing


class Consumer(NamedTuple):
    """A loader of Accelerate that iterates over a dataset."""

    kind: str  # DISPATCHER, SHARD or LOADER
    n_processes: int
    process: int  # the number of this one
    batch_size: int | None  # of the loader, in items of the dataset
    is_split: bool  # batch_size is the sum over all processes
    collate: Any

    @property
    def round_items(self) -> int:
        """The number of items in a round. Each shard keeps its slice of them."""
        size = self.batch_size or 1
        return size if self.is_split else size * self.n_processes

    @property
    def own_items(self) -> range:
        """The items that a shard keeps of each round, as a range of their numbers in the round."""
        size = self.round_items // self.n_processes
        return range(self.process * size, (self.process + 1) * size)


def find(dataset: Any) -> Consumer | None:
    """Returns the loader of Accelerate that iterates over `dataset` now, or None."""
    state = sys.modules.get("accelerate.state")
    if state is None or not state.GradientState._shared_state:  # not initialised: asking would do it
        return None
    for loader in reversed(state.GradientState().dataloader_references):
        consumer = _consumer_of(loader, dataset, state) if loader is not None else None
        if consumer is not None:
            return consumer
    return None


def count_processes() -> int:
    """Returns the number of Accelerate's processes, or 1 if the program does not use Accelerate."""
    state = sys.modules.get("accelerate.state")
    if state is None or not state.PartialState._shared_state:
        return 1
    return int(getattr(state.PartialState(), "num_processes", 1))


def _consumer_of(loader: Any, dataset: Any, state: Any) -> Consumer | None:
    held: Any = getattr(loader, "dataset", None)
    common = {"batch_size": loader.batch_size, "collate": loader.collate_fn}
    if held is dataset and type(loader).__name__ == "DataLoaderDispatcher":
        partial = state.PartialState()
        return Consumer(
            kind=DISPATCHER,
            n_processes=partial.num_processes,
            process=partial.process_index,
            is_split=loader.split_batches,
            **common,
        )
    if held is dataset:
        return Consumer(kind=LOADER, n_processes=1, process=0, is_split=False, **common)
    if type(held).__name__ == "IterableDatasetShard" and held.dataset is dataset:
        common["batch_size"] = held.batch_size
        return Consumer(
            kind=SHARD, n_processes=held.num_processes, process=held.process_index, is_split=held.split_batches, **common
        )
    return None

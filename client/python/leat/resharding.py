"""Who iterates over a dataset: the trainer itself, or Accelerate, which divides among processes what it is given.

Accelerate's `prepare()` wraps a DataLoader, and transformers.Trainer does so with each of its own. What comes out of the
wrapped dataset is then divided once more:

- A *dispatcher* (the default for an IterableDataset): process 0 alone reads, P batches of the loader at a time; they are
  concatenated, sent to all and cut into P equal parts. Where the rows at the end are no multiple of P, rows of the
  beginning are added.
- A *shard* (dispatch_batches=False): each process reads everything and keeps its slice of every B x P items. Where the last
  ones are fewer, items of the beginning are added.

So there the dataset has to give *all* items, and as many that nothing is added. Both announce themselves in
accelerate.GradientState when their iteration begins, before the dataset is asked: that is what is looked at here. Workers
inherit it by fork, or by what is pickled.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

DISPATCHER = "dispatcher"
SHARD = "shard"
LOADER = "loader"  # of Accelerate, which divides nothing: one process


class Consumer(NamedTuple):
    """A loader of Accelerate that iterates over a dataset."""

    kind: str  # DISPATCHER, SHARD or LOADER
    n_processes: int
    process: int  # which of them this one is
    batch_size: int | None  # of the loader, in items of the dataset
    is_split: bool  # batch_size is that of all processes together
    collate: Any

    @property
    def round_items(self) -> int:
        """Items of which a shard takes its slice."""
        size = self.batch_size or 1
        return size if self.is_split else size * self.n_processes

    @property
    def own_items(self) -> range:
        """Those of a round's items that a shard keeps."""
        size = self.round_items // self.n_processes
        return range(self.process * size, (self.process + 1) * size)


def find(dataset: Any) -> Consumer | None:
    """Who of Accelerate iterates over that dataset now; None: nobody."""
    state = sys.modules.get("accelerate.state")
    if state is None or not state.GradientState._shared_state:  # not initialised: asking would do it
        return None
    for loader in reversed(state.GradientState().dataloader_references):
        consumer = _consumer_of(loader, dataset, state) if loader is not None else None
        if consumer is not None:
            return consumer
    return None


def count_processes() -> int:
    """Of how many processes Accelerate knows; 1 where it is not in use."""
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

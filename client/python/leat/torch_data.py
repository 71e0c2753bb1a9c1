"""A stream as an IterableDataset, for torch's DataLoader, torchdata's StatefulDataLoader, and Hugging Face's Trainer and
Accelerate.

    dataset = leat.TorchDataset(leat.csv("train.csv").tokenize("./modernbert").pad(128).batch(32))
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)

The items of the dataset are whole batches (`BatchDict`), which the pipeline's stage `batch` makes. With `rows=True` they are
single rows, for a loader that makes batches itself. Each iteration is one epoch.

Each step of the stream belongs to one rank (see `ranks`). The DataLoader's workers on a rank take turns with its steps. So all
workers together yield the same sequence as without workers. Every worker opens a session for its rank, and skips the steps of
the other workers, which costs one packet per step. If Accelerate divides the items among processes, the dataset yields all of
them (see `resharding`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from multiprocessing import context
from typing import Any, NamedTuple, cast

import torch
from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data._utils.collate import default_collate_fn_map

from . import _leat, daemon, frameworks, ranks, resharding
from .errors import SpecError
from .passes import Pass, Passes, Worker
from .records import TEXT
from .stream import Stream

STATE_VERSION = 1
_NOT_ROWS = (
    "each item is already a whole batch, made by the pipeline's stage `batch`: give "
    "DataLoader(..., batch_size=None), or TorchDataset(..., rows=True) so that the loader batches single rows"
)


class BatchDict(dict[str, torch.Tensor]):
    """A whole batch: a dict of names to tensors [rows, ...]. torch's default collation raises an error instead of stacking
    it."""


class Mark(NamedTuple):
    """The position after an item, at which a pass continues."""

    position: str | None  # of the stream; None: the start of the epoch
    seen: int  # batches of this rank in this pass, including other workers'
    rows: int  # rows of the batch at `position` that were returned


START = Mark(None, 0, 0)
Item = BatchDict | dict[str, Any]  # a record, of a pipeline without `batch`, may have texts
Marked = tuple[Item | None, Mark]


class TorchDataset(IterableDataset[Item]):
    """The batches of a pipeline, or of a declared stream, as torch tensors.

    source: a leat.Pipeline, or the name of a stream that an operator has declared. The stream opens at the first item, in the
        process that reads the item.
    rows: True yields single rows of the batches. A pipeline without a stage `batch` then yields its records, with texts as str;
        this is slower.
    copy: as in Batch.to. None makes copies. False makes tensors that view the slots. They are writable, and you must delete
        them soon, because the daemon reuses the slots.
    rank, world_size: the rank of this trainer and the number of ranks (default: leat.ranks finds them).
    options: as in Pipeline.open.

    len() is the number of items of an epoch for this rank. For rows, it counts the last batch as full. It raises TypeError with
    the reason if leat does not know the number. Under Accelerate, it counts the items of all processes, as Accelerate expects.
    """

    def __init__(
        self,
        source: Any,
        *,
        rows: bool = False,
        copy: bool | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if not isinstance(source, str) and not callable(getattr(source, "open", None)):
            raise SpecError(
                "a TorchDataset takes a pipeline or the name of a declared stream, because each worker opens it, "
                f"but you gave a {type(source).__name__}"
            )
        self.source = source
        self.has_records = not getattr(source, "is_batched", True)  # a batch is a row
        self.rows = rows or self.has_records
        self.copy = copy
        self._given = (rank, world_size)
        self._passes = Passes(options.pop("first_epoch", 0))
        self._options = options
        self._pending = START  # where the first pass after set_epoch or load_state_dict begins
        self._consumer: resharding.Consumer | None = None  # when this was pickled
        self._known_share: dict[str, int] = {}  # when a worker was spawned, which cannot find it
        self._feed: _Feed | None = None
        self._current: _Place | None = None
        self._n_steps: dict[int, tuple[int, int]] = {}  # by world size: steps of an epoch over all ranks, rows of a batch
        if "position" in options:
            self._load_position(options.pop("position"))

    def __iter__(self) -> Iterator[Item]:
        """Begins the next epoch, or the epoch that set_epoch or load_state_dict has chosen."""
        consumer = self._find_consumer()
        worker = _find_worker()
        begun = self._passes.begin(worker)
        mark = self._pending if begun.is_first else START
        if worker is not None:
            self._pending = START  # persistent workers do not see set_epoch() of the parent
        self._current = _Place(begun, mark._replace(seen=0))
        return _Pass(self, consumer, worker, self._current)

    def __len__(self) -> int:
        n_processes = resharding.count_processes()
        is_whole = n_processes > 1 and self._given == (None, None)
        share = {"rank": 0, "world_size": 1} if is_whole else self._share()
        n_steps, batch_size = self._count(share)
        if self.rows:
            return n_steps * batch_size
        return n_steps - n_steps % n_processes if is_whole else n_steps

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration, in any worker, begin this epoch. If you have loaded a state of this epoch, it continues
        there."""
        consumer = resharding.find(self)
        if consumer is not None:
            self._check(consumer)
        self._passes_from(epoch, self._pending if self._is_pending(epoch) else START)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of this process. load_state_dict() accepts it, also on another dataset over the same source. If
        workers read, it is the start of the next epoch, because only the workers know their positions. StatefulDataLoader asks
        the workers."""
        current = self._current
        if current is not None and current.begun.number == self._passes.last and not current.is_ended and not self._passes.is_fresh:
            return current.state_dict()
        epoch = self._passes.open_epoch
        if epoch is not None:
            warnings.warn(
                f"this state skips the rest of epoch {epoch} and continues with epoch {epoch + 1}, because only the "
                "DataLoader's workers know their positions. To save a state in the middle of an epoch, use torchdata's StatefulDataLoader",
                RuntimeWarning,
                stacklevel=2,
            )
        return _state(self._passes.next_epoch, self._pending if self._passes.is_fresh else START, False)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iteration continue at this position. That iteration raises PositionError if the source has changed.
        This call raises SpecError if `state` is not a state."""
        epoch, mark, is_ended = _read_state(state)
        self._passes_from(epoch + is_ended, START if is_ended else mark)

    def close(self) -> None:
        """Closes the stream that this process opened. The next iteration opens it again."""
        feed, self._feed = self._feed, None
        if feed is not None and feed.is_own:
            feed.close()

    def _is_pending(self, epoch: int) -> bool:
        return self._passes.is_fresh and self._pending.position is not None and self._passes.next_epoch == epoch

    def _passes_from(self, epoch: int, mark: Mark) -> None:
        self._passes.set(epoch)
        self._pending = mark

    def _load_position(self, position: str) -> None:
        self._passes_from(_leat.position_parse(position)[0], Mark(position, 0, 0))

    def _find_consumer(self) -> resharding.Consumer | None:
        consumer = resharding.find(self)
        if consumer is None:
            return self._consumer
        self._check(consumer)
        return consumer._replace(collate=None)

    def _check(self, consumer: resharding.Consumer) -> None:
        """Checks that the loader of Accelerate fits the items. Raises SpecError if it does not."""
        who = "this loader of Accelerate" if consumer.n_processes > 1 else "this loader"
        if consumer.n_processes > 1 and self._given != (None, None):
            raise SpecError(
                f"{who} already divides the items among {consumer.n_processes} processes: remove rank and world_size "
                "from TorchDataset(..)"
            )
        is_whole = consumer.batch_size is None or (consumer.batch_size == 1 and _takes_whole(consumer.collate))
        if self.rows and consumer.batch_size is None:
            raise SpecError(
                "rows=True needs a loader that makes batches, but its batch_size is None: give a batch_size, or rows=False for "
                "whole batches"
            )
        if not self.rows and not is_whole:
            raise SpecError(
                f"{who} makes batches of {consumer.batch_size} items of a TorchDataset, but {_NOT_ROWS}. For "
                "transformers.Trainer, give rows=True, or per_device_train_batch_size=1 with "
                "data_collator=leat.torch_data.whole_batches"
            )
        if consumer.kind == resharding.SHARD and not self.rows and (consumer.batch_size is None or consumer.is_split):
            raise SpecError(
                "with dispatch_batches=False, Accelerate counts rows, but an item of this loader is a whole batch: create "
                "DataLoader(..., batch_size=1, collate_fn=leat.torch_data.whole_batches) and do not set split_batches"
            )

    def _share(self) -> dict[str, int]:
        return self._known_share or ranks.options(*self._given)

    def _check_even(self, share: Mapping[str, int]) -> None:
        """Checks that all ranks get the same number of rows. Otherwise raises SpecError, because DDP would wait forever."""
        stages = getattr(self.source, "stages", ())
        given = next((given for kind, given in stages if kind == "batch"), None)
        if share.get("world_size", 1) > 1 and given is not None and not (given.get("drop_last") and "batch_size" in given):
            raise SpecError(
                "with rows=True and several ranks, the stage `batch` needs batch_size and drop_last=True: with a smaller "
                "last batch, one rank would get fewer rows, and the other ranks would wait forever"
            )

    def _stream(self, share: Mapping[str, int], epoch: int, position: str | None) -> Stream:
        """Returns this process's stream for a share of the steps. Its next iterator begins the epoch, or continues at the
        position."""
        if self._feed is None or not self._feed.fits(share):
            self.close()
            self._feed = _Feed(self, share)
        return self._feed.at(epoch, position)

    def _count(self, share: Mapping[str, int]) -> tuple[int, int]:
        """Returns the steps of an epoch for a rank, and the rows of a batch."""
        world_size = share.get("world_size", 0)
        if world_size not in self._n_steps:
            feed = _Feed(self, share)
            try:
                stream = feed.at(self._passes.next_epoch, None)
                n_steps = self._passes.steps(stream.world_size) if stream.known_steps is None else None
                n_steps = stream.n_steps if n_steps is None else n_steps
                self._n_steps[world_size] = n_steps // stream.world_size, stream.batch_size
            finally:
                feed.close()
        return self._n_steps[world_size]

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_feed": None, "_current": None, "_consumer": self._find_consumer()}
        if context.get_spawning_popen() is not None:  # so that the worker starts no daemon of its own
            place = daemon.for_declared() if isinstance(self.source, str) else self.source._place()
            state["_address"] = place.address
            state["_known_share"] = self._share()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        address = state.pop("_address", None)
        self.__dict__.update(state)
        if address is not None:
            daemon.connect(address)


class _Feed:
    """A stream that this process keeps open from epoch to epoch, for its share of the steps."""

    def __init__(self, dataset: TorchDataset, share: Mapping[str, int]) -> None:
        self._source = dataset.source
        self._options = {**dataset._options, **share}
        self._share = dict(share)
        self._pid = os.getpid()
        self._stream: Stream | None = None

    @property
    def is_own(self) -> bool:
        """False in a forked child."""
        return self._pid == os.getpid()

    def fits(self, share: Mapping[str, int]) -> bool:
        """True if the stream serves this share in this process."""
        return self.is_own and self._share == dict(share)

    def at(self, epoch: int, position: str | None) -> Stream:
        """Returns the stream. Its next iterator begins the epoch, or continues at a position in this epoch."""
        if self._stream is None:
            place: dict[str, Any] = {"first_epoch": epoch} if position is None else {"position": position}
            self._stream = self._open({**self._options, **place})
        elif position is None:
            self._stream.set_epoch(epoch)
        else:
            self._stream.load_state_dict({"position": position, "version": 1})
        return self._stream

    def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def _open(self, options: Mapping[str, Any]) -> Stream:
        if isinstance(self._source, str):
            from . import pipeline

            return pipeline.open(self._source, **options)
        return cast("Stream", self._source.open(**options))


class _Place:
    """A pass, and its position."""

    def __init__(self, begun: Pass, mark: Mark) -> None:
        self.begun = begun
        self.epoch = begun.epoch
        self.mark = mark
        self.is_ended = False

    def state_dict(self) -> dict[str, Any]:
        return _state(self.epoch, self.mark, self.is_ended)


class _Pass(Iterator[Item]):
    """One epoch of a dataset in one worker. The first item opens the stream."""

    def __init__(
        self, dataset: TorchDataset, consumer: resharding.Consumer | None, worker: Worker | None, place: _Place
    ) -> None:
        self._dataset = dataset
        self._consumer = consumer
        self._worker = worker
        self._place = place
        self._is_used = worker is not None  # torch asks workers at once
        self._items: Iterator[Marked] | None = None

    def __next__(self) -> Item:
        if self._place.is_ended:
            raise StopIteration
        if self._items is None:
            self._items = self._begin()
            self._is_used = True
        try:
            item, self._place.mark = next(self._items)
        except StopIteration:
            self._place.is_ended = True
            if self._worker is not None:
                self._dataset._passes.end(self._place.begun)
            raise
        return cast(Item, item)  # Accelerate drops each None

    def state_dict(self) -> dict[str, Any]:
        return self._place.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        place = self._place
        place.epoch, place.mark, place.is_ended = _read_state(state)
        self._items, self._is_used = None, True
        self._dataset._passes.resume(place.epoch)

    def __del__(self) -> None:
        if not self._is_used:
            try:
                self._dataset._passes.give_back(self._place.begun)
            except Exception:  # at the end of the process all names of modules may be None
                pass

    def _begin(self) -> Iterator[Marked]:
        consumer = self._consumer
        if consumer is None or consumer.kind == resharding.LOADER:
            share = self._dataset._share()
            if self._dataset.rows:
                self._dataset._check_even(share)
            return self._read(share, _turns(self._worker))
        if consumer.kind == resharding.SHARD and not self._dataset.rows:
            share = {"rank": consumer.process, "world_size": consumer.n_processes}
            return _between(self._read(share, _turns(self._worker)), consumer, self._place.mark)
        if self._worker is not None and self._worker.id > 0:
            return iter(())  # one worker reads all that Accelerate cuts
        items = self._read({"rank": 0, "world_size": 1}, (0, 1))
        if consumer.kind == resharding.SHARD:
            return _slices(items, consumer)
        if self._dataset.rows:
            return _rounds_of_rows(items, consumer.n_processes)
        return _rounds_of_batches(items, consumer)

    def _read(self, share: Mapping[str, int], turns: tuple[int, int]) -> Iterator[Marked]:
        """Yields the items of this worker. Workers take turns with the batches of the share."""
        batches = self._take(share, *turns)
        if self._dataset.rows and not self._dataset.has_records:
            return _rows_of(batches, self._place.mark)
        return ((batch, after) for batch, _, after in batches)

    def _take(self, share: Mapping[str, int], turn: int, n_turns: int) -> Iterator[tuple[Item, Mark, Mark]]:
        """Yields this worker's batches, each with the positions before and after it."""
        place = self._place
        seen = place.mark.seen
        stream = self._dataset._stream(share, place.epoch, place.mark.position)
        batches = iter(stream)
        before = Mark(batches.position, seen, 0)
        for batch in batches:
            tensors = self._convert(batch) if seen % n_turns == turn else None
            if self._dataset.copy is not False or tensors is None:
                batch.release()
            del batch
            seen += 1
            after = Mark(batches.position, seen, 0)
            if tensors is not None:
                yield tensors, before, after
            before = after
        if self._worker is not None and stream.known_steps is not None:
            self._dataset._passes.keep_steps(stream.known_steps, stream.world_size)

    def _convert(self, batch: _leat.Batch) -> Item:
        arrays = frameworks.convert(batch, "torch", copy=self._dataset.copy)
        if not self._dataset.has_records:
            return BatchDict(arrays)
        return {name.removesuffix(TEXT): _text(array) if name.endswith(TEXT) else array for name, array in arrays.items()}


def whole_batches(items: Sequence[Item]) -> Item:
    """A `collate_fn` (`data_collator` of a Trainer) for loaders whose batch_size must be 1. It returns the only item."""
    if len(items) != 1:
        raise SpecError(
            f"whole_batches() needs a single item, but the loader gave it {len(items)}: give the loader batch_size=1 (Trainer:"
            " per_device_train_batch_size=1)"
        )
    return items[0]


def _refuse(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    raise SpecError(f"DataLoader makes a batch of {len(batch)} items of a TorchDataset, but {_NOT_ROWS}")


default_collate_fn_map[BatchDict] = _refuse


def _text(utf8: torch.Tensor) -> str:
    return bytes(utf8.tolist()).decode("utf-8", "replace")


def _takes_whole(collate: Any) -> bool:
    while collate is not None and collate is not whole_batches:
        collate = getattr(collate, "data_collator", None)  # of Trainer's collator that drops columns
    return collate is not None


def _find_worker() -> Worker | None:
    info = get_worker_info()
    return None if info is None else Worker(info.id, info.num_workers, info.seed - info.id)


def _turns(worker: Worker | None) -> tuple[int, int]:
    return (0, 1) if worker is None else (worker.id, worker.n_workers)


def _n_rows(batch: Item) -> int:
    """Returns the number of rows of a batch. Raises SpecError if its tensors have different numbers of rows."""
    sizes = {name: tensor.shape[0] if tensor.ndim else -1 for name, tensor in batch.items()}
    n_rows = next(iter(sizes.values()), 0)
    odd = [f"{name} {list(batch[name].shape)}" for name, size in sizes.items() if size != n_rows or size < 0]
    if odd:
        raise SpecError(
            f"cannot cut a batch of {n_rows} rows into rows, because these tensors do not have one entry for each row: "
            f"{', '.join(odd)}"
        )
    return n_rows


def _rows_of(batches: Iterable[tuple[Item, Mark, Mark]], start: Mark) -> Iterator[Marked]:
    """Yields single rows, which view their batch. Skips the rows before `start`."""
    for batch, before, after in batches:
        n_rows = _n_rows(batch)
        n_given = start.rows if before.seen == start.seen else 0
        columns = zip(*(tensor.unbind(0) for tensor in batch.values()))
        for i, values in enumerate(columns):
            if i >= n_given:
                yield dict(zip(batch, values)), after if i + 1 == n_rows else before._replace(rows=i + 1)


def _rounds_of_rows(rows: Iterator[Marked], size: int) -> Iterator[Marked]:
    """Yields rows. Drops rows at the end, so that their number is a multiple of `size`."""
    while len(taken := list(islice(rows, size))) == size:
        yield from taken


def _rounds_of_batches(batches: Iterator[Marked], consumer: resharding.Consumer) -> Iterator[Marked]:
    """Yields rounds with one batch for each process. Cuts the last batch so that all processes get equally many rows."""
    size = 1 if consumer.is_split else consumer.n_processes
    while len(taken := list(islice(batches, size))) == size:
        n_over = sum(_n_rows(cast(Item, batch)) for batch, _ in taken) % consumer.n_processes
        if n_over:
            last = cast(BatchDict, taken[-1][0])
            n_left = _n_rows(last) - n_over
            if n_left <= 0:
                return
            taken[-1] = BatchDict({name: tensor[:n_left] for name, tensor in last.items()}), taken[-1][1]
        yield from taken


def _between(batches: Iterator[Marked], consumer: resharding.Consumer, mark: Mark) -> Iterator[Marked]:
    """Yields this process's batches at their places in rounds, and None at the places of other processes. `mark` is the
    position before these batches."""
    for batch, after in batches:
        for i in range(consumer.n_processes):
            mark = after if i >= consumer.process else mark
            yield (batch if i == consumer.process else None), mark


def _slices(rows: Iterator[Marked], consumer: resharding.Consumer) -> Iterator[Marked]:
    """Yields whole rounds of rows, with None in place of other processes' rows."""
    own = consumer.own_items
    while len(taken := list(islice(rows, consumer.round_items))) == consumer.round_items:
        for i, (row, mark) in enumerate(taken):
            yield (row if i in own else None), mark


def _state(epoch: int, mark: Mark, is_ended: bool) -> dict[str, Any]:
    return {"version": STATE_VERSION, "epoch": epoch, "ended": is_ended, **mark._asdict()}


def _read_state(state: Mapping[str, Any]) -> tuple[int, Mark, bool]:
    """Reads a state. Raises SpecError if it is not a state."""
    if not isinstance(state, Mapping) or state.get("version") != STATE_VERSION:
        raise SpecError(f"a state must be the state_dict() of a TorchDataset (version {STATE_VERSION}), but it is {state!r:.200}")
    epoch, seen, rows, position = (state.get(name) for name in ("epoch", "seen", "rows", "position"))
    if not all(isinstance(number, int) and number >= 0 for number in (epoch, seen, rows)):
        raise SpecError(f"epoch, seen and rows of a state must be whole numbers, but the state is {state!r:.200}")
    if position is not None and not isinstance(position, str):
        raise SpecError(f"the position of a state must be a text or None, but it is {position!r:.200}")
    return cast(int, epoch), Mark(position, cast(int, seen), cast(int, rows)), bool(state.get("ended"))

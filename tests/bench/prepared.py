"""Contenders of compare.py for tokens that are prepared: rows of task.length ids, packed of documents.

Each library first writes the rows in the format that it reads best, in write(): this time is not measured. Then it shuffles
and batches them. Two workers, if the library has workers. A batch is {"input_ids": array of int32 [rows, length]}.

    torch      a file of NumPy, mapped, with a DataLoader
    datasets   Arrow, mapped, in the format of NumPy
    grain      ArrayRecord, with threads
    streaming  MDS of Mosaic's StreamingDataset
    litdata    chunks of LitData
    leat       a cache of the tokens of documents, which leat packs anew in each epoch
"""

from __future__ import annotations

import itertools
import json
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

from contenders import N_WORKERS, Task, encode_batch, numpy_epochs, wheel

Epochs = Iterator[Iterable[Any]]


def packed(task: Task) -> Any:
    """Ids of all documents, one after the other, as rows of task.length; the last row is padded."""
    import numpy

    tokenizer = wheel(task, is_padded=False)
    tokenizer.no_truncation()
    with open(task.path, encoding="utf-8") as file:
        texts = [json.loads(line)[task.field] for line in file]
    pieces = [numpy.array(each.ids, dtype=numpy.int32) for each in encode_batch(tokenizer, texts)]
    n_pads = -sum(map(len, pieces)) % task.length
    pads = numpy.full(n_pads, task.pad_id, dtype=numpy.int32)
    return numpy.concatenate([*pieces, pads]).reshape(-1, task.length)


def folder_of(task: Task) -> pathlib.Path:
    return pathlib.Path(str(task.prepared))


def write_torch(task: Task) -> None:
    import numpy

    folder_of(task).mkdir()
    numpy.save(folder_of(task) / "rows.npy", packed(task))


def of_torch(task: Task) -> Epochs:
    import numpy
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = numpy.load(folder_of(task) / "rows.npy", mmap_mode="c")

        def __len__(self) -> int:
            return len(self.rows)

        def __getitems__(self, places: list[int]) -> Any:
            return {"input_ids": torch.from_numpy(self.rows[places])}

    loader = DataLoader(Rows(), batch_size=task.batch_size, shuffle=True, num_workers=N_WORKERS, collate_fn=lambda batch: batch,
                        persistent_workers=True)
    return itertools.repeat(loader)


def write_datasets(task: Task) -> None:
    from datasets import Dataset, Features, Sequence, Value

    features = Features({"input_ids": Sequence(Value("int32"), length=task.length)})
    Dataset.from_dict({"input_ids": list(packed(task))}, features=features).save_to_disk(folder_of(task))


def of_datasets(task: Task) -> Epochs:
    from datasets import load_from_disk

    rows = load_from_disk(folder_of(task)).with_format("numpy")
    for epoch in itertools.count():
        yield rows.shuffle(seed=epoch, keep_in_memory=True).iter(batch_size=task.batch_size)


def write_grain(task: Task) -> None:
    from array_record.python.array_record_module import ArrayRecordWriter

    folder_of(task).mkdir()
    writer = ArrayRecordWriter(str(folder_of(task) / "rows.array_record"), "group_size:1")
    for row in packed(task):
        writer.write(row.tobytes())
    writer.close()


def of_grain(task: Task) -> Epochs:
    import grain
    import numpy

    source = grain.sources.ArrayRecordDataSource(str(folder_of(task) / "rows.array_record"))
    for epoch in itertools.count():
        rows = grain.MapDataset.source(source).seed(epoch).shuffle()
        yield rows.map(lambda row: {"input_ids": numpy.frombuffer(row, dtype=numpy.int32)}).batch(task.batch_size).to_iter_dataset()


def write_streaming(task: Task) -> None:
    from streaming import MDSWriter

    with MDSWriter(out=str(folder_of(task)), columns={"input_ids": f"ndarray:int32:{task.length}"}) as writer:
        for row in packed(task):
            writer.write({"input_ids": row})


def of_streaming(task: Task) -> Epochs:
    from streaming import StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    rows = StreamingDataset(local=str(folder_of(task)), batch_size=task.batch_size, shuffle=True)
    return itertools.repeat(StreamingDataLoader(rows, batch_size=task.batch_size, num_workers=N_WORKERS, persistent_workers=True))


def write_litdata(task: Task) -> None:
    from litdata.streaming.cache import Cache

    cache = Cache(str(folder_of(task)), chunk_bytes="64MB")
    for i, row in enumerate(packed(task)):
        cache[i] = {"input_ids": row}
    cache.done()
    cache.merge()


def of_litdata(task: Task) -> Epochs:
    from litdata import StreamingDataLoader, StreamingDataset

    rows = StreamingDataset(str(folder_of(task)), shuffle=True)
    return itertools.repeat(StreamingDataLoader(rows, batch_size=task.batch_size, num_workers=N_WORKERS, persistent_workers=True))


def leat_pipeline(task: Task) -> Any:
    import leat

    pipeline = leat.jsonl(task.path, fields={task.field: "text"}).tokenize(tokenizer=task.tokenizer)
    pipeline = pipeline.pack(task.length, how="concat", split=True, value=task.pad_id).select(["input_ids"])
    pipeline = pipeline.shuffle(task.shuffle, seed=42).batch(task.batch_size).prefetch(4)
    return pipeline.options(cache={"path": task.prepared})


def write_leat(task: Task) -> None:
    folder_of(task).mkdir()
    for _ in leat_pipeline(task):
        pass


def of_leat(task: Task) -> Epochs:
    return numpy_epochs(leat_pipeline(task))


# name: (writes the rows, reads them, what its users have imported anyway)
PREPARED = {
    "torch": (write_torch, of_torch, "torch"),
    "datasets": (write_datasets, of_datasets, "numpy"),
    "grain": (write_grain, of_grain, "numpy"),
    "streaming": (write_streaming, of_streaming, "torch"),
    "litdata": (write_litdata, of_litdata, "torch"),
    "leat": (write_leat, of_leat, "numpy"),
}

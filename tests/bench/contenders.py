"""The pipelines of compare.py as users of each library write them: text of records, tokens, padding, a shuffle of 1000,
batches.

Each function takes a Task and gives an iterable of epochs; an epoch is an iterable of batches; a batch maps "input_ids",
"attention_mask" and, where there are labels, "labels" to arrays. Where a library leaves a choice, the quicker one is taken:
batches of texts go to `tokenizers` at once, without offsets; workers of torch read their share of the file as a stream, so
that no worker holds rows; mlx-data does in C++ what it has there, and in Python the rest: JSON, the text of a row's fields,
and tokenizers other than its trie, which take a batch at once on two threads.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import pathlib
import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

N_WORKERS = 2
SHUFFLE = 1000
N_MAP_ROWS = 100_000  # of a Dataset that holds its rows

Record = tuple[str, int | None]  # text, label


@dataclasses.dataclass(frozen=True)
class Task:
    """What is to be done. One of `tokenizer` (a tokenizer.json) and `vocab` (a token a line) is given."""

    name: str
    path: str
    length: int
    tokenizer: str | None = None
    vocab: str | None = None
    field: str | None = None  # of JSONL; None: the columns of the passenger list
    batch_size: int = 32
    shuffle: int = SHUFFLE
    cache: str | None = None
    prepared: str | None = None  # the folder of rows that prepared.py writes and reads

    @property
    def pad_id(self) -> int:
        return 0 if self.vocab else pad_of(self.tokenizer or "")

    def tokens(self) -> list[str]:
        return pathlib.Path(self.vocab or "").read_text(encoding="utf-8").removesuffix("\n").split("\n")


def pad_of(tokenizer: str) -> int:
    """What the file pads with, else its token for that."""
    held = json.loads(pathlib.Path(tokenizer).read_text(encoding="utf-8"))
    if held.get("padding"):
        return int(held["padding"]["pad_id"])
    return next((token["id"] for token in held["added_tokens"] if token["content"] in ("[PAD]", "<pad>")), 0)


PARTS = {
    "Pclass": "Passenger class: ", "Name": "Name: ", "Sex": "Sex: ", "Age": "Age: ", "SibSp": "Siblings/spouses: ",
    "Parch": "Parents/children: ", "Ticket": "Ticket: ", "Fare": "Fare: ", "Cabin": "Cabin: ", "Embarked": "Port: ",
}


def records(task: Task, first: int = 0, stride: int = 1) -> Iterator[Record]:
    """Records first, first + stride, ... of the file, in Python."""
    with open(task.path, newline="", encoding="utf-8") as file:
        if task.field is None:
            for row in itertools.islice(csv.DictReader(file), first, None, stride):
                text = " ".join([part + row[name] for name, part in PARTS.items() if row[name]])
                yield text, int(row["Survived"])
        else:
            for line in itertools.islice(file, first, None, stride):
                yield json.loads(line)[task.field], None


def shuffled(rows: Iterable[Record], size: int) -> Iterator[Record]:
    """A reservoir: what comes takes the place of one drawn at random, which leaves."""
    held: list[Record] = []
    for row in rows:
        if len(held) < size:
            held.append(row)
        else:
            at = random.randrange(size)
            held[at], row = row, held[at]
            yield row
    random.shuffle(held)
    yield from held


def wheel(task: Task, is_padded: bool) -> Any:
    """The tokenizer of the package `tokenizers`, for this task. A list of tokens becomes a Unigram model in which all are as
    likely: it takes as few as possible, too, and is by far the quickest of what it has for that."""
    from tokenizers import Tokenizer, models

    if task.vocab:
        made = Tokenizer(models.Unigram([(token, -1.0) for token in task.tokens()], unk_id=0))
    else:
        made = Tokenizer.from_file(str(task.tokenizer))
    made.enable_truncation(task.length)
    if is_padded:
        made.enable_padding(length=task.length, pad_id=task.pad_id)
    else:
        made.no_padding()
    return made


def encode_batch(tokenizer: Any, texts: list[str]) -> list[Any]:
    return list(getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)(texts))


def of_torch(task: Task, is_map: bool = False) -> Iterator[Iterable[Any]]:
    """DataLoader with two workers: an IterableDataset of texts, each worker its share; `is_map`: a Dataset that holds all
    rows."""
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

    tokenizer = wheel(task, is_padded=True)

    def collate(rows: list[Record]) -> dict[str, Any]:
        encodings = encode_batch(tokenizer, [text for text, _ in rows])
        batch = {
            "input_ids": torch.tensor([each.ids for each in encodings]),
            "attention_mask": torch.tensor([each.attention_mask for each in encodings]),
        }
        if rows[0][1] is not None:
            batch["labels"] = torch.tensor([label for _, label in rows])
        return batch

    class Stream(IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Record]:
            worker: Any = get_worker_info()
            return shuffled(records(task, worker.id, worker.num_workers), task.shuffle // worker.num_workers)

    class Rows(Dataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.rows = list(records(task))

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, at: int) -> Record:
            return self.rows[at]

    dataset = Rows() if is_map else Stream()
    loader = DataLoader(dataset, batch_size=task.batch_size, shuffle=is_map or None, num_workers=N_WORKERS, collate_fn=collate)
    return itertools.repeat(loader)


def of_torch_map(task: Task) -> Iterator[Iterable[Any]]:
    return of_torch(task, is_map=True)


def of_mlx(task: Task) -> Iterator[Iterable[Any]]:
    """mlx-data, two threads: of its own where it tokenizes, else of `tokenizers`, which shares a batch of texts among them."""
    while True:
        yield (mlx_by_trie if task.vocab else mlx_by_wheel)(task)


def mlx_texts(task: Task) -> Any:
    """Lines of JSONL are left to mlx_lines(), with the batch."""
    import mlx.data as dx

    if task.field is None:
        return dx.stream_csv_reader(task.path).sample_transform(mlx_text).shuffle(task.shuffle)
    return dx.stream_line_reader(task.path, "text").shuffle(task.shuffle)


def mlx_text(row: dict[str, Any]) -> dict[str, Any]:
    texts = [part.encode() + row[name].tobytes() for name, part in PARTS.items() if row[name].size]
    return {"text": b" ".join(texts), "labels": int(row["Survived"].tobytes())}


def mlx_by_trie(task: Task) -> Iterable[Any]:
    import numpy
    from mlx.data import core

    trie = core.CharTrie()
    for token in task.tokens():
        trie.insert(token)
    stream = mlx_texts(task).tokenize("text", trie, ignore_unk=True, output_key="input_ids").filter_key("text", remove=True)
    stream = stream.slice("input_ids", 0, 0, task.length).pad_to_size("input_ids", 0, task.length, task.pad_id)
    stream = stream.batch(task.batch_size).key_transform(
        "input_ids", lambda ids: (ids != task.pad_id).astype(numpy.int32), output_key="attention_mask"
    )
    return stream.prefetch(4, N_WORKERS)  # type: ignore[no-any-return]


def mlx_by_wheel(task: Task) -> Iterable[Any]:
    """By `tokenizers`, a batch at once, which is ten times as fast as a text at once. mlx-data's own BPE has no pre-tokenizer,
    no normalizer and no bytes as letters: it gives other ids."""
    import numpy

    tokenizer = wheel(task, is_padded=True)

    def tokenize(batch: dict[str, Any]) -> dict[str, Any]:
        texts = [row.tobytes().rstrip(b"\0").decode() for row in batch.pop("text")]
        encodings = encode_batch(tokenizer, [json.loads(text)[task.field] for text in texts] if task.field else texts)
        batch["input_ids"] = numpy.array([each.ids for each in encodings], dtype=numpy.int32)
        batch["attention_mask"] = numpy.array([each.attention_mask for each in encodings], dtype=numpy.int32)
        return batch

    stream = mlx_texts(task).batch(task.batch_size, pad={"text": 0}).sample_transform(tokenize).prefetch(4, 1)
    return stream  # type: ignore[no-any-return]


def of_datasets(task: Task) -> Iterator[Iterable[Any]]:
    """An IterableDataset, whose `map` takes batches of texts to `tokenizers`, on two threads. Batches become arrays behind it:
    its own format for NumPy converts each list of a row by itself, which takes most of the time."""
    import numpy
    from datasets import IterableDataset

    tokenizer = wheel(task, is_padded=True)

    def rows() -> Iterator[dict[str, Any]]:
        for text, label in records(task):
            yield {"text": text} if label is None else {"text": text, "labels": label}

    def tokenize(batch: dict[str, Any]) -> dict[str, Any]:
        encodings = encode_batch(tokenizer, batch["text"])
        return {"input_ids": [each.ids for each in encodings], "attention_mask": [each.attention_mask for each in encodings]}

    dataset = IterableDataset.from_generator(rows).shuffle(buffer_size=task.shuffle)
    dataset = dataset.map(tokenize, batched=True, remove_columns=["text"])
    while True:
        yield ({name: numpy.array(rows) for name, rows in batch.items()} for batch in dataset.iter(batch_size=task.batch_size))


def of_grain(task: Task) -> Iterator[Iterable[Any]]:
    """A MapDataset of all records in memory, whose `map` takes a batch of texts to `tokenizers`, in two processes."""
    import grain
    import numpy
    from absl import flags

    flags.FLAGS.mark_as_parsed()  # Grain asks for them, and expects that absl runs the program
    tokenizer = wheel(task, is_padded=True)

    def tokenize(rows: list[Record]) -> dict[str, Any]:
        encodings = encode_batch(tokenizer, [text for text, _ in rows])
        batch = {"input_ids": numpy.array([each.ids for each in encodings], dtype=numpy.int32)}
        batch["attention_mask"] = numpy.array([each.attention_mask for each in encodings], dtype=numpy.int32)
        return batch if rows[0][1] is None else batch | {"labels": numpy.array([label for _, label in rows])}

    held = list(itertools.islice(records(task), N_MAP_ROWS))
    for epoch in itertools.count():
        rows = grain.MapDataset.source(held).seed(epoch).shuffle().batch(task.batch_size, batch_fn=list).map(tokenize)
        yield rows.to_iter_dataset().mp_prefetch(grain.MultiprocessingOptions(num_workers=N_WORKERS))


def leat_pipeline(task: Task) -> Any:
    import leat

    if task.field is None:
        pipeline = leat.csv(task.path).template([f"{part}{{{name}}}" for name, part in PARTS.items()])
        pipeline = pipeline.cast("Survived", output="labels", dtype="int64")
    else:
        pipeline = leat.jsonl(task.path, fields={task.field: "text"})
    how = {"vocab": task.vocab, "mode": "shortest", "unknown": "skip"} if task.vocab else {"tokenizer": task.tokenizer}
    pipeline = pipeline.tokenize(max_length=task.length, **how).pad(task.length, value=task.pad_id)
    fields = ["input_ids", "attention_mask", *([] if task.field else ["labels"])]
    pipeline = pipeline.select(fields).shuffle(task.shuffle, seed=42).batch(task.batch_size).prefetch(4)
    return pipeline.options(cache={"path": task.cache}) if task.cache else pipeline


def of_leat(task: Task) -> Iterator[Iterable[Any]]:
    """Views of NumPy into the ring."""
    return numpy_epochs(leat_pipeline(task))


def of_leat_lean(task: Task) -> Iterator[Iterable[Any]]:
    """The same with small blocks, and few of them at once: for who would rather have the memory."""
    return numpy_epochs(leat_pipeline(task).options(block_bytes="64KiB", jobs_in_flight=3))


def numpy_epochs(pipeline: Any) -> Iterator[Iterable[Any]]:
    import numpy

    while True:
        yield ({name: numpy.asarray(tensor) for name, tensor in batch.items()} for batch in pipeline)


def of_leat_torch(task: Task) -> Iterator[Iterable[Any]]:
    """Writable tensors of torch, copied out of the ring."""
    return itertools.repeat(leat_pipeline(task).to("torch"))


# name: (the function, what its users have imported anyway)
CONTENDERS = {
    "torch": (of_torch, "torch"),
    "torch-map": (of_torch_map, "torch"),
    "mlx-data": (of_mlx, "numpy"),
    "datasets": (of_datasets, "numpy"),
    "grain": (of_grain, "numpy"),
    "leat": (of_leat, "numpy"),
    "leat-lean": (of_leat_lean, "numpy"),
    "leat-torch": (of_leat_torch, "torch"),
}


PACKAGES = {"mlx-data": ["mlx", "mlx.data"], "datasets": ["datasets"], "grain": ["grain"], "streaming": ["streaming"],
            "litdata": ["litdata"]}


def is_here(name: str) -> str | None:
    """Why a contender cannot run; None: it can."""
    import importlib.util

    framework = CONTENDERS[name][1] if name in CONTENDERS else "torch"
    tools = ["leat._leat"] if name.startswith("leat") else ["tokenizers", *PACKAGES.get(name, [])]
    missing: list[str] = []
    for tool in (*tools, framework):  # in this order: a package before what is in it
        if tool.partition(".")[0] in missing or importlib.util.find_spec(tool) is None:
            missing.append(tool)
    return f"no {', '.join(missing)} for {pathlib.Path(sys.executable).name}" if missing else None

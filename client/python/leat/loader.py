"""leat.dataloader(): batches of token ids from your data, in one call.

leat makes a source from the data (see `data`), and a pipeline that you could also write yourself: tokenize, pad, cast,
shuffle, batch. `DataLoader.pipeline` is this pipeline. A token cache keeps the ids for the next epoch and the next process.
"""

from __future__ import annotations

import os
import stat
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from . import spec as specs
from .data import columns as kinds
from .data import held, recognise, store
from .data.columns import Column
from .data.held import Files
from .errors import DataError, PositionError, SpecError
from .lookup import refuse_loaders
from .tokenizer import model_tokenizer
from .tokenizer.model_tokenizer import ModelTokenizer

if TYPE_CHECKING:
    from .frameworks import Converted
    from .pipeline import Pipeline
    from .stream import Stream

Labels = str | Sequence[str] | Mapping[str, str] | Literal[False] | None

_LABELS = ("labels", "label")  # the default columns of labels, as in transformers
_FRAMEWORKS = ("torch", "jax", "mlx", "numpy")
_TAKE_ROWS_OUT = {"on_error", "skip_records", "skip_steps"}  # options that may drop rows
_MADE_TEXT = "_text"  # the output of a template
_IGNORED = -100  # no label, in lists of labels


@dataclass(frozen=True)
class _Wanted:
    """The columns of the data that go into the batches."""

    texts: tuple[str, ...]  # one or a pair; empty: numbers alone
    template: tuple[tuple[str, bool], ...]  # parts of the text: (text, False) or (column, True); empty: a column
    labels: Mapping[str, str]  # column → name in the batch
    numbers: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.texts, *self.labels, *self.numbers]))


def dataloader(
    data: Any,
    tokenizer: Any = None,
    *,
    batch_size: int = 32,
    text: str | tuple[str, str] | None = None,
    labels: Labels = None,
    labels_dtype: Any = None,
    classes: Sequence[str] | None = None,
    columns: str | Sequence[str] | Mapping[str, Any] = (),
    max_length: int | None = None,
    padding: Literal["longest", "max_length"] = "longest",
    pad_to_multiple_of: int | None = None,
    token_type_ids: bool | None = None,
    shuffle: bool | int = False,
    seed: int = 0,
    drop_last: bool = False,
    framework: Literal["torch", "jax", "mlx", "numpy"] | None = None,
    device: Any = None,
    epochs: int = 1,
    cache: bool | str | os.PathLike[str] | Mapping[str, Any] = True,
    options: Mapping[str, Any] | None = None,
) -> DataLoader:
    """Makes batches of `data`: {"input_ids": int32 [rows, length], "attention_mask": int32 [rows, length], "labels": [rows]}.

    data: a data set, a data frame, a list or paths; see leat.data.as_source.
    tokenizer: a path (a tokenizer.json, or the folder of a model), a leat.Tokenizer, or a fast tokenizer of transformers. With
        None, batches have no texts. They have the columns of numbers in `columns`, or all columns of numbers.
    text: the column of texts; or two columns, which leat tokenizes as a pair; or a text with columns in braces, such as
        "{question} {answer}". The default is the column "text", or the only column of texts. A missing text becomes an empty
        text.
    labels: a column, several columns, or {column: name in the batch}. By default, leat uses the column "labels" or "label", if
        there is one, and names it "labels". False means no labels. Integers and booleans become int64, and other numbers
        float32, unless you set `labels_dtype`. A categorical column gives its codes. If the labels are texts, set `classes` to
        the list of these texts; their order gives the class numbers. Lists are padded to the longest list of the batch, on the
        tokenizer's padding_side, with -100 for integers.
    columns: other columns of numbers, which become int64, float32 or bool. {"price": "float64"} sets the dtype. Lists are
        padded with 0. An integer that float32 would round is an error, unless you give the dtype. The first 100 rows of a CSV
        file decide whether a column holds integers, fractions or texts.
    max_length: the maximum number of tokens in a row, including special tokens. The default is the tokenizer's
        model_max_length, or else the limit in the tokenizer's file.
    padding: "longest" pads to the longest row of the batch, rounded up to a multiple of `pad_to_multiple_of`. "max_length"
        pads to max_length.
    token_type_ids: True adds token_type_ids to the batches. By default, batches have them if you give a transformers tokenizer
        that makes them.
    shuffle: True shuffles all rows, in a new order each epoch. A number shuffles within a buffer of this many rows. `seed`
        chooses the order.
    drop_last: drops the last batch of an epoch if it is smaller than the others.
    framework: the framework of the arrays. The arrays are copies, so you may keep them. The default is "torch" if your program
        has imported torch, or else "numpy".
    device: the same as in batch.to().
    epochs: the number of epochs in one `for` loop.
    cache: True keeps the token ids below $XDG_CACHE_HOME/leat/tokens. You may also give a folder, or a dict for the option
        `cache`. False turns the cache off.
    options: options of the stream, such as {"on_error": "skip"}.

    Raises SpecError, NotFoundError or DataError if the arguments do not fit the data. This check does not read all data. If a
    record is faulty, your loop raises DataError at the batch of this record.
    """
    thing = recognise.find_columns(recognise.recognise(data))
    recognise.require_rows(thing)
    dtypes = {name: specs.dtype_name(dtype) for name, dtype in columns.items()} if isinstance(columns, Mapping) else {}
    names_of_numbers = [columns] if isinstance(columns, str) else list(columns)
    is_untyped = isinstance(thing, Files) and thing.is_untyped
    wanted = _choose(thing.columns or {}, tokenizer is not None, text, labels, names_of_numbers, is_untyped)
    files = recognise.keep(thing, wanted.columns, {name: "codes" for name in wanted.labels if not classes})
    recognise.require_rows(files)
    model = model_tokenizer.resolve(tokenizer) if tokenizer is not None else None
    pipeline, names = files.pipeline(), list[str]()
    if model is not None:
        max_length = model.max_length if max_length is None else max_length
        pipeline, names = _tokenized(pipeline, wanted, model, max_length, token_type_ids)
        pipeline = _padded(pipeline, names, model, _width(padding, max_length, pad_to_multiple_of))
        names.insert(1, "attention_mask")
    for column in _described(files, thing, [*wanted.labels, *wanted.numbers]):
        if column.name in wanted.labels:
            side = "right" if model is None else model.padding_side
            pipeline = _labelled(pipeline, column, wanted.labels[column.name], labels_dtype, classes, files.is_untyped, side)
        if column.name in wanted.numbers:
            pipeline = _numbered(pipeline, column, dtypes.get(column.name), files.is_untyped)
    pipeline = pipeline.stage("select", {"fields": list(dict.fromkeys([*names, *wanted.labels.values(), *wanted.numbers]))})
    pipeline = _shuffled(pipeline, shuffle, seed).stage("batch", {"batch_size": batch_size, "drop_last": drop_last})
    pipeline = pipeline.with_options({**(options or {}), "cache": _cache(cache, files)})
    loader = DataLoader(
        pipeline, framework=framework, device=device, epochs=epochs, batch_size=batch_size, drop_last=drop_last
    )
    loader.n_rows = None if set(options or ()) & _TAKE_ROWS_OUT else files.n_rows
    if len(wanted.labels) == 1:
        loader.classes = tuple(classes or (files.columns or {})[next(iter(wanted.labels))].classes)
    return loader


# ---- what of the data is wanted ----


def _choose(
    columns: Mapping[str, Column],
    has_texts: bool,
    text: str | tuple[str, str] | None,
    labels: Labels,
    numbers: Sequence[str],
    is_untyped: bool,
) -> _Wanted:
    named = _labels_of(columns, labels)
    if not has_texts:
        if text is not None:
            raise SpecError("`text` needs a tokenizer: set the argument `tokenizer`, too")
        every = [column.name for column in columns.values() if column.is_number or column.is_list]
        return _Wanted((), (), named, tuple(numbers or (name for name in every if name not in named)))
    if isinstance(text, str) and text not in columns and "{" in text:
        parts = _parts_of(text)
        return _Wanted(tuple(part for part, is_column in parts if is_column), tuple(parts), named, tuple(numbers))
    if isinstance(text, (tuple, list)):
        if len(text) != 2:
            raise SpecError(
                f"`text` can be one or two columns, but you gave {len(text)}: for more, write a text with the columns in braces"
            )
        return _Wanted(tuple(text), (), named, tuple(numbers))
    return _Wanted((text or _only_text(columns, named, is_untyped),), (), named, tuple(numbers))


def _labels_of(columns: Mapping[str, Column], labels: Labels) -> dict[str, str]:
    """Returns {column: name in the batch}."""
    if labels is False:
        return {}
    if labels is None:
        return {name: "labels" for name in [name for name in _LABELS if name in columns and _has_values(columns[name])][:1]}
    if isinstance(labels, str):
        return {labels: "labels"}
    if isinstance(labels, Mapping):
        return dict(labels)
    return {name: "labels" if len(labels) == 1 else name for name in labels}


def _has_values(column: Column) -> bool:
    """False for a column without values, as in a test set. Raises SpecError if there are labels that leat cannot read."""
    if column.kind or column.refusal == kinds.NO_VALUES:
        return bool(column.kind)
    raise SpecError(
        f"leat cannot read the labels in {column.name!r}, because they are {column.refusal}: choose another column, or set labels=False"
    )


def _only_text(columns: Mapping[str, Column], labels: Mapping[str, str], is_untyped: bool) -> str:
    others = [column for column in columns.values() if column.name not in labels]
    texts = [column.name for column in others if column.is_text or is_untyped and column.name == "text"]
    if not texts and is_untyped:  # a text of CSV may spell a number
        texts = [column.name for column in others]
    if len(texts) == 1 or "text" in texts:
        return texts[0] if len(texts) == 1 else "text"
    if not texts:
        raise SpecError(f"the data has no column of texts; it has {', '.join(map(str, columns.values())) or 'no columns'}")
    raise SpecError(f"the data has several columns of texts, {', '.join(texts)}: choose one of them, for example text={texts[0]!r}")


def _parts_of(template: str) -> list[tuple[str, bool]]:
    """Splits a text with columns in braces into (text, False) and (column, True). {{ and }} stand for braces."""
    parts: list[tuple[str, bool]] = []
    try:
        for text, column, spec, conversion in string.Formatter().parse(template):
            if spec or conversion or column == "":
                raise ValueError(f"braces must contain only the name of a column, but they contain {column!r}")
            parts += [(text, False)] if text else []
            parts += [(column, True)] if column else []
    except ValueError as error:
        raise SpecError(f"the text {template!r} is malformed: {error}") from error
    return parts


def _described(files: Files, thing: held.Held, names: Sequence[str]) -> list[Column]:
    """Returns the columns in the files. Raises SpecError if a column does not exist."""
    return kinds.wanted({**(thing.columns or {}), **(files.columns or {})}, names)


# ---- stages ----


def _tokenized(
    pipeline: Pipeline, wanted: _Wanted, model: ModelTokenizer, max_length: int | None, token_type_ids: bool | None
) -> tuple[Pipeline, list[str]]:
    """Adds `input_ids`. Also returns the names of all token lists."""
    has_types = model.has_token_type_ids if token_type_ids is None else token_type_ids
    texts = wanted.texts
    if wanted.template:
        # Each column is a part of its own, so an empty one drops no text.
        parts = [f"{{{part}}}" if is_column else _escaped(part) for part, is_column in wanted.template]
        pipeline = pipeline.stage("template", {"output": _MADE_TEXT, "join": "", "parts": parts})
        texts = (_MADE_TEXT,)
    said = {"input": texts[0], "pair": texts[1] if len(texts) == 2 else None, "output": "input_ids", "tokenizer": model.path}
    cut = {"max_length": max_length, "truncation_side": model.truncation_side} if max_length is not None else {}
    types = {"return_token_type_ids": True} if has_types else {}
    return pipeline.stage("tokenize", {**said, **cut, **types}), ["input_ids", *(["token_type_ids"] if has_types else [])]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _width(padding: str, max_length: int | None, multiple: int | None) -> dict[str, Any]:
    """Returns the arguments of `pad` that set the length of the rows."""
    if padding == "longest":
        return {"multiple_of": multiple} if multiple else {"longest": True}
    if padding != "max_length":
        raise SpecError(f"padding is {padding!r}, but it must be 'longest' or 'max_length'")
    if max_length is None:
        raise SpecError("padding='max_length' needs `max_length`, because the tokenizer has no model_max_length: set max_length")
    return {"length": -(-max_length // (multiple or 1)) * (multiple or 1)}


def _padded(pipeline: Pipeline, names: Sequence[str], model: ModelTokenizer, width: Mapping[str, Any]) -> Pipeline:
    if model.pad_id is None:
        raise SpecError("the tokenizer has no pad token: set one, for example tokenizer.pad_token = tokenizer.eos_token")
    values = {"input_ids": model.pad_id, "token_type_ids": model.pad_type_id}
    for name in names:
        mask = "attention_mask" if name == "input_ids" else None
        said = {"input": name, "value": values[name], "side": model.padding_side, "mask": mask}
        pipeline = pipeline.stage("pad", {**said, **width})
    return pipeline


def _labelled(
    pipeline: Pipeline,
    column: Column,
    name: str,
    dtype: Any,
    classes: Sequence[str] | None,
    is_untyped: bool,
    side: str,
) -> Pipeline:
    """Adds the stages for the labels. Pads lists on `side`, like the token ids, so that each label stays beside its token."""
    given = None if dtype is None else specs.dtype_name(dtype)
    are_texts = column.is_text or is_untyped and all(kinds.spells_number(text) for text in classes or ())
    texts = {text: str(number) for number, text in enumerate(classes or ())} if are_texts else {}
    if column.is_text and not texts and not is_untyped:
        raise SpecError(
            f"the labels in {column.name!r} are texts: set `classes` to the list of these texts, in the order of the class numbers"
        )
    if is_untyped and column.kind == "bool" and not texts:
        pipeline = pipeline.stage("cast", {"input": column.name, "dtype": "bool"})
    dtype = given or ("float32" if "float" in column.kind and not texts else "int64")
    cast: dict[str, Any] = {"input": column.name, "output": name, "dtype": dtype, "map": texts or None}
    pipeline = pipeline.stage("cast", {**cast, "exact": given is None and "float" in dtype or None})
    if not column.is_list:
        return pipeline
    value = _IGNORED if dtype.startswith("int") else 0
    return pipeline.stage("pad", {"input": name, "longest": True, "value": value, "side": side})


def _numbered(pipeline: Pipeline, column: Column, given: str | None, is_untyped: bool) -> Pipeline:
    """Adds the stages for a column of numbers. `given` is the dtype that the caller chose."""
    if column.is_text and not (is_untyped and given):
        hint = f"; if only the first rows are not numbers, set columns={{{column.name!r}: 'float32'}}" if is_untyped else ""
        raise SpecError(f"the column {column.name!r} has texts, which cannot be in a batch{hint}")
    dtype = given or ("float32" if "float64" in column.kind else column.kind if is_untyped else None)
    if dtype:
        exact = given is None and dtype == "float32" or None
        pipeline = pipeline.stage("cast", {"input": column.name, "dtype": dtype, "exact": exact})
    return pipeline.stage("pad", {"input": column.name, "longest": True, "value": 0}) if column.is_list else pipeline


def _shuffled(pipeline: Pipeline, shuffle: bool | int, seed: int) -> Pipeline:
    if shuffle is False:
        return pipeline
    how = {"global": True} if shuffle is True else {"buffer_size": shuffle}
    return pipeline.stage("shuffle", {**how, "seed": seed})


def _cache(cache: bool | str | os.PathLike[str] | Mapping[str, Any], files: Files) -> dict[str, Any] | None:
    """The option `cache` of the stream; None for a FIFO, which can be read only once."""
    if cache is False or any(stat.S_ISFIFO(os.stat(path).st_mode) for path in files.paths if os.path.exists(path)):
        return None
    path = os.path.join(os.path.dirname(store.folder()), "tokens")
    if cache is True:
        return {"path": path}
    return {"path": path, **cache} if isinstance(cache, Mapping) else {"path": held.absolute(cache)}


# ---- the loader ----


def _advised(error: DataError) -> DataError:
    """Rewrites the hint of an error for dataloader(), which has no stages."""
    name = (error.path or "").removeprefix("streams.pipeline.").removeprefix("cast.")
    if "float32 would round" in error.message:
        error.message += (
            f": to keep the exact number, set columns={{{name!r}: 'float64'}}; to round it, set 'float32' there "
            "(for labels, set labels_dtype)"
        )
    elif "is not a value of type int64" in error.message or "is not a whole number, but int64 needs one" in error.message:
        error.message += f": for fractions, set columns={{{name!r}: 'float32'}}; for labels, set `labels_dtype` or `classes`"
    elif "is empty: give `default`" in error.message or "the value is missing or null" in error.message:
        error.message = (
            f"the column {name!r} has no value in this row: fill the column first (with pandas: data[{name!r}].fillna(0)), or "
            'leave out such rows with options={"on_error": "skip"}'
        )
    return error


class _Loop(Iterator[dict[str, Any]]):
    """The batches of several epochs, one after the other."""

    def __init__(self, batches: Converted[dict[str, Any]], epochs: _Epochs) -> None:
        self._batches = batches
        self._epochs = epochs
        self.source = iter(batches)  # of the present epoch

    def __next__(self) -> dict[str, Any]:
        self._epochs.is_used = True
        while self._epochs.n_left:
            try:
                return next(self.source)
            except StopIteration:
                self._epochs.n_left -= 1
            except DataError as error:
                raise _advised(error)
            if self._epochs.n_left:
                self.source = iter(self._batches)
        raise StopIteration

    def state_dict(self) -> dict[str, Any]:
        """Like DataLoader.state_dict(), for this iterator."""
        return {**self.source.state_dict(), "epochs_left": self._epochs.to_read}


@dataclass
class _Epochs:
    """The number of epochs that a loop has still to read, including the current epoch."""

    n_left: int
    of_a_loop: int  # of a whole one
    is_used: bool = False

    @property
    def to_read(self) -> int:
        """The number of epochs that a loop from the current position reads. At the end of a loop, this is the number for a new
        loop."""
        return self.n_left or self.of_a_loop


class DataLoader:
    """Yields batches as dicts of arrays. Each `for` loop reads the next epoch, or the next `epochs` epochs.

    pipeline: the leat.Pipeline that makes the batches.
    framework, device: the framework and the device of the arrays.
    n_rows: the number of rows of the data, or None if it is not known.
    classes: the names of the labels in the order of their numbers, if they are known.
    The first use opens the stream. close() or the end of the process closes it. With several ranks, each rank gets its share.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        framework: Literal["torch", "jax", "mlx", "numpy"] | None = None,
        device: Any = None,
        epochs: int = 1,
        batch_size: int | None = None,
        drop_last: bool = False,
    ) -> None:
        """batch_size and drop_last must be the same as in the pipeline. len() needs them."""
        if epochs < 1:
            raise SpecError(f"epochs is {epochs}, but it must be at least 1")
        if framework not in (None, *_FRAMEWORKS):
            raise SpecError(f"framework is {framework!r}, but it must be one of {', '.join(_FRAMEWORKS)}")
        self.pipeline = pipeline
        self.framework = framework or ("torch" if "torch" in sys.modules else "numpy")
        self.device = device
        self.epochs = epochs
        self.n_rows: int | None = None
        self.classes: tuple[str, ...] = ()
        self.batch_size = batch_size
        self.drop_last = drop_last
        self._epochs = _Epochs(epochs, epochs)  # of the last loop

    @property
    def stream(self) -> Stream:
        """The leat.Stream of `pipeline`. The first use opens it."""
        return self.pipeline.stream

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._epochs = _Epochs(self.epochs if self._epochs.is_used else self._epochs.n_left, self.epochs)
        return _Loop(self.stream.to(self.framework, device=self.device), self._epochs)

    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]:
        """Returns the batch with this number in the first epoch, as in a loop. Does not affect your loops. See
        `Stream.__getitem__`."""
        refuse_loaders(index, "a leat.DataLoader", "loader.pipeline")
        with self.stream.lookup.find(index) as batch:
            return batch.to(self.framework, device=self.device)

    def __len__(self) -> int:
        """Returns the number of batches in one `for` loop on this rank. For some pipelines, leat does not know this number
        before it has read an epoch. Then len() raises TypeError with the reason."""
        try:
            return self.epochs * len(self.stream)
        except TypeError:
            if self.n_rows is None or not self.batch_size:
                raise
        n_steps = self.n_rows // self.batch_size if self.drop_last else -(-self.n_rows // self.batch_size)
        is_filled_up = self.pipeline.spec["options"].get("uneven") == "pad"
        world_size = self.stream.world_size
        return self.epochs * (-(-n_steps // world_size) if is_filled_up else n_steps // world_size)

    def set_epoch(self, epoch: int) -> None:
        """The next `for` loop begins with this epoch, counted from 0. If you have loaded a position in this epoch, the loop
        continues there."""
        if not self.stream.continues(epoch):
            self.stream.set_epoch(epoch)
            self._epochs = _Epochs(self.epochs, self.epochs)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the last loop, before the batch that it would read next."""
        return {**self.pipeline.state_dict(), "epochs_left": self._epochs.to_read}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next `for` loop continues at this position. Raises PositionError if data, tokenizer or arguments differ."""
        n_left = state.get("epochs_left", self.epochs) if isinstance(state, Mapping) else 0
        if not isinstance(n_left, int) or n_left < 0:
            raise PositionError(f"epochs_left is {n_left!r}, but it must be a whole number: give what state_dict() returned")
        self.pipeline.load_state_dict(state)
        self._epochs = _Epochs(n_left or self.epochs, self.epochs)

    def close(self) -> None:
        """Ends the stream. The next `for` loop begins from the start."""
        self._epochs = _Epochs(self.epochs, self.epochs)
        self.pipeline.close()

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rows = "" if self.n_rows is None else f"{self.n_rows:,} rows, "
        return f"<leat.DataLoader: {rows}batches of {self.batch_size} for {self.framework}>"

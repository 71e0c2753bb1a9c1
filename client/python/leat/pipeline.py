"""Pipelines: streams described in Python.

    batches = leat.csv("train.csv").template(["Name: {Name}"]).tokenize("./modernbert").pad(128).batch(32)
    for batch in batches:
        ...

Each method returns a new pipeline. The methods read no data, except `map`, and need no daemon. leat connects to a daemon when
you loop over the pipeline or open it. `spec` and the YAML of `to_yaml` describe the same stream, with the same batches.
`_stages.py` has all sources, stages and arguments. It is generated from leat's tables.

leat adds two things: the inputs that you left out (see `inference`) and, if there is no stage `select`, a stage `tensors`
before `batch`. This stage drops the text fields, which cannot be tensors.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, Unpack

from . import _stages, daemon, inference, lookup, opening, programs, progress
from . import spec as specs
from .errors import DataError, Error, NotFoundError, SpecError, in_data
from .opening import OpenOptions

if TYPE_CHECKING:
    from typing import Self

    from .frameworks import Converted
    from .records import Records
    from .stream import Stream

_BEHIND_BATCH = ("batch", "prefetch")
_SHUFFLE_ON, _SHUFFLE_OFF = 1, 2  # enum leat_shuffle


class Pipeline(_stages.Stages):
    """A pipeline: a source, stages and options. A pipeline never changes. The first loop opens its stream. Each `iter()` begins
    the next epoch, even if you left an earlier loop in the middle.

    With a stage `batch`, a loop yields `Batch`es, whose tensors are in shared memory. Without it, a loop yields records: dicts
    with `str` for texts, numbers for scalars, and NumPy arrays for lists. You may keep and change records.
    """

    __slots__ = ("_source", "_stages_", "_options", "_name", "_open_options", "_stream", "_pid", "_chosen", "__weakref__")

    def __init__(
        self,
        source: specs.Stage,
        stages: tuple[specs.Stage, ...] = (),
        options: Mapping[str, Any] | None = None,
        name: str = "pipeline",
    ) -> None:
        """Expects arguments that are plain values with absolute paths. `begin` converts any others."""
        self._source = source
        self._stages_ = stages
        self._options = dict(options or {})
        self._name = name
        self._open_options: OpenOptions = {}
        self._stream: Stream | None = None
        self._pid = 0  # of the process that opened the stream
        self._chosen = ""  # the position that the first loop begins at, if the process that pickled this chose one

    @classmethod
    def begin(cls, kind: str, arguments: Mapping[str, Any]) -> Self:
        """Creates a pipeline with only this source. `leat.csv(..)` and the other functions do the same, with typed
        arguments."""
        if kind not in _stages.SOURCES:
            raise SpecError(f'leat has no source "{kind}"; it has {", ".join(sorted(_stages.SOURCES))}')
        return cls((kind, specs.arguments(kind, arguments)))

    def _changed(self, **changes: Any) -> Self:
        parts: dict[str, Any] = {"source": self._source, "stages": self._stages_, "options": self._options, "name": self._name}
        other = type(self)(**{**parts, **changes})
        other._open_options = self._open_options
        return other

    def stage(self, kind: str, arguments: Mapping[str, Any]) -> Self:
        """Adds a stage whose name you know only at run time. leat ignores arguments that are None. leat fills in inputs that
        you leave out."""
        if kind == "tokenize":
            arguments = {**arguments, "tokenizer": _tokenizer_path(arguments.get("tokenizer"))}
        each = specs.source_stages(self._source)  # the first source has all common fields
        before = [*each[0], *self._stages_] if each else self._stages_
        found = inference.expand(before, kind, specs.arguments(kind, arguments))
        return self._changed(stages=(*self._stages_, *found))

    def with_options(self, arguments: Mapping[str, Any]) -> Self:
        """Sets options of the stream. `options` does the same, with typed arguments."""
        return self._changed(options={**self._options, **specs.arguments("options", arguments)})

    def named(self, name: str) -> Self:
        """Gives the pipeline a name of 1 to 63 bytes, which `leatctl streams` and `to_yaml` use."""
        return self._changed(name=name)

    def opened_with(self, **options: Unpack[OpenOptions]) -> Self:
        """Sets the options with which a loop opens the stream; see OpenOptions."""
        other = self._changed()
        other._open_options = {**self._open_options, **options}
        return other

    def map(
        self,
        function: Callable[[dict[str, Any]], Mapping[str, Any] | None],
        *,
        schema: Mapping[str, Any] | None = None,
        inputs: _stages.Names | None = None,
        batched: bool = False,
        batch_size: int = 256,
        drops: bool | None = None,
        processes: int = 1,
        deadline: float | None = None,
        warn: bool = True,
    ) -> Self:
        """Calls a Python function for each record. The function gets a dict of the fields `inputs` (default: all fields). It
        returns a dict of the fields that it adds or changes, or None to drop the record. If it raises an exception, the record
        counts as a bad record. Lists and arrays of NumPy, torch, JAX and MLX become lists of their dtype.

        schema: the types of the returned fields: "text", "int64", "float32", "bool", "float32[8]", "int32[]", torch.int64, ..
            By default leat infers them from the results for the first records. Arrays that all have one length get this fixed
            length.
        batched: the function gets a dict of columns with up to `batch_size` rows, with numbers as NumPy arrays. It returns
            columns with as many rows, or fewer. Which rows come in one call depends on timing. If the function returns fewer
            rows, it must also return the column "_row", or other columns unchanged, so that leat knows which rows are left.
        drops: True if the function may drop records, so that their number is unknown (default: True if `batched` is True, or
            if the code of the function can return None).
        processes: how many processes call the function at once. The result must depend only on the record. leat calls the
            function for the epoch that you read, and for the first `prefetch` batches of the next epoch (at least for a block
            of records).
        deadline: the longest time for a record, in seconds.
        warn: False turns off the CostWarning, which says that each record goes to another process and back as JSON.
        """
        from . import callables

        stage = callables.stage(
            self, function, schema, inputs,
            processes=processes, deadline=deadline, warn=warn, batched=batched, batch_size=batch_size, drops=drops,
        )
        return self.stage("exec", stage)

    # ---- description ----

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_batched(self) -> bool:
        """True if the pipeline has a stage `batch`. Otherwise a loop yields records."""
        return any(kind == "batch" for kind, _ in self._stages_)

    @property
    def stages(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The name and the arguments of each stage, as you gave them."""
        return tuple((kind, MappingProxyType(given)) for kind, given in self._stages_)

    def _final_stages(self) -> list[specs.Stage]:
        """The stages, with the added stage `tensors` before `batch`."""
        at = next((i for i, (kind, _) in enumerate(self._stages_) if kind in _BEHIND_BATCH), len(self._stages_))
        has_choice = any(kind in ("select", "tensors") for kind, _ in self._stages_)
        extra: list[specs.Stage] = []
        if not self.is_batched:
            extra = [("tensors", {"text": "bytes"})]
        elif not has_choice:
            extra = [("tensors", {})]
        return [*self._stages_[:at], *extra, *self._stages_[at:]]

    @property
    def spec(self) -> dict[str, Any]:
        """The description of the stream for the daemon: {"name", "source": [kind, arguments], "stages": [[kind, arguments],
        ..], "options"}."""
        return {
            "name": self._name,
            "source": list(self._source),
            "stages": [list(stage) for stage in self._final_stages()],
            "options": dict(self._options),
        }

    def to_yaml(self, name: str | None = None) -> str:
        """Returns the stream as YAML. leatd and leatctl make the same batches from this YAML. `name` is the name of the
        stream (default: the pipeline's own)."""
        return specs.to_yaml(name or self._name, self._source, self._final_stages(), self._options)

    def __repr__(self) -> str:
        calls = [self._source, *self._stages_, *([("options", self._options)] if self._options else [])]
        return "leat" + "".join(
            f".{kind}({', '.join(f'{name}={item!r}' for name, item in given.items())})" for kind, given in calls
        )

    def _repr_html_(self) -> str:
        """The view that notebooks show: stages, tensors, the first records, the plan."""
        from . import showing

        return showing.html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"_open_options": self._open_options, "_chosen": self._first_place()}
        return type(self), (self._source, self._stages_, self._options, self._name), (None, state)

    # ---- asking leatctl ----

    def _ask(self, command: str, *arguments: str, stages: list[specs.Stage] | None = None) -> str:
        text = specs.to_yaml(self._name, self._source, self._final_stages() if stages is None else stages, self._options)
        with os.fdopen(os.memfd_create("leat-pipeline"), "w", encoding="utf-8") as file:  # ends with this process
            file.write(text)
            file.flush()
            name = f"/proc/self/fd/{file.fileno()}"
            try:
                return programs.leatctl(command, name, *arguments, keep=file.fileno())
            except Error as error:
                if error.file == name:  # of no use to the caller
                    error.file = error.line = error.column = None
                    in_data(error)
                raise

    def explain(self, format: Literal["text", "json", "dot", "svg"] = "text", *, measure: bool = True) -> str:
        """Explains how leat runs the pipeline: stages, fields, tensors, memory and, with `measure`, the predicted time. For the
        prediction it runs the first 4 MiB of the data, for at most 0.3 s. See `leatctl explain`. Raises an error if the
        pipeline is wrong.
        """
        asked = ["--format", format, *([] if measure else ["--no-measure"])]
        try:
            return self._ask("explain", *asked)
        except Exception:
            self.check()  # its error has a place
            raise

    def check(self) -> None:
        """Raises an error if the pipeline is wrong: SpecError with the stage and the argument, NotFoundError or DataError.
        Reads the beginning of the files."""
        self._ask("explain", "--json", "--no-measure")

    def head(self, n: int = 3, after: str | int | None = None) -> list[dict[str, Any]]:
        """Returns the first n records after a stage: "source", "tokenize", "pad[2]" for the second `pad`, or an index from 0
        (default: after all stages). Another process makes the records, in the order of the data. This does not affect your
        loops. """
        stages = list(self._stages_)
        asked = ["-n", str(n), "--json", *(["--after", str(after)] if after is not None else [])]
        return [dict(json.loads(line)) for line in self._ask("head", *asked, stages=stages).split("\n") if line]

    # ---- batches ----

    def open(self, **options: Unpack[OpenOptions]) -> Stream:
        """Opens a stream; see OpenOptions. Close it, or use it in a `with` statement. Without a stage `batch`, each batch of the
        stream is one record, with texts as bytes in tensors NAME.utf8.
        """
        spec = self.spec

        def how(place: daemon.Place, native: dict[str, Any]) -> Any:
            return place.client.open_built(spec, **native)

        return _open(how, self._place, opening.changed(self._open_options, options), is_declared=False)

    def _place(self) -> daemon.Place:
        each = [self._stages_, *specs.source_stages(self._source)]
        return daemon.for_built(needs_own=any(kind == "exec" for stages in each for kind, _ in stages))

    @property
    def stream(self) -> Stream:
        """The stream that loops, len() and positions use. The first use opens it. A forked child opens another stream."""
        stream = self._own_stream()
        if stream is not None:
            return stream
        place = self._first_place()
        return self._keep(self.open(position=place) if place else self.open())

    def _first_place(self) -> str:
        """The position at which the next loop begins, if this process or its parent has chosen one. Otherwise ""."""
        return self._chosen if self._stream is None else self._stream.chosen

    def _own_stream(self) -> Stream | None:
        return self._stream if self._pid == os.getpid() else None

    def _keep(self, stream: Stream) -> Stream:
        self._stream, self._pid, self._chosen = stream, os.getpid(), ""
        return stream

    @property
    def schema(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """A dict of name to (dtype, shape) for the tensors of a batch. -1 in a shape means that the size varies from batch to
        batch."""
        return self.stream.schema

    def __iter__(self) -> Iterator[Any]:
        """Begins the next epoch. Yields `Batch`es or, without a stage `batch`, records."""
        return iter(self.stream) if self.is_batched else self.records()

    def __getitem__(self, index: SupportsIndex) -> Any:
        """Returns the batch or record with this number, as a loop over the first epoch yields it on this rank. Does not affect
        your loops. See `Stream.__getitem__`."""
        from .records import record_of

        lookup.refuse_loaders(index, "a pipeline", "pipeline")
        batch = self.stream.lookup.find(index)
        return batch if self.is_batched else record_of(batch)

    def first(self) -> Any:
        """Returns the first batch or record of the first epoch. Does not affect your loops or other ranks. Raises DataError if
        the epoch is empty."""
        from .records import Records

        with self.open(epochs=1, agree=False, progress=False) as stream:
            items = iter(stream)
            for item in items if self.is_batched else Records(items):
                return item
        raise DataError("the first epoch has no batch, because the stages drop all records: check filters and maps")

    def records(self) -> Records:
        """Begins the next epoch of a pipeline without a stage `batch`. Yields a dict for each record."""
        from .records import Records

        if self.is_batched:
            raise SpecError(
                "a pipeline with a stage `batch` yields batches, not records: loop over the pipeline itself, or remove `batch`"
            )
        return Records(iter(self.stream))

    def __aiter__(self) -> AsyncIterator[Any]:
        """Like __iter__()."""
        return self.stream.__aiter__() if self.is_batched else self.records()

    def __len__(self) -> int:
        """The number of batches of an epoch for this rank. Raises TypeError with the reason if leat does not know the number.
        leat may know it after it has read an epoch."""
        return len(self.stream)

    def __bool__(self) -> bool:
        return True  # its length may be unknown

    def to(self, framework: str, device: Any = None, copy: bool | None = None) -> Converted[dict[str, Any]]:
        """Yields the batches as arrays of "torch", "jax", "mlx" or "numpy". See `Stream.to`."""
        from . import frameworks

        source = self if self.is_batched else self.stream
        return frameworks.Converted(source, framework, device=device, copy=copy)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the iterator that you began last. `load_state_dict` of an equal pipeline accepts it."""
        return self.stream.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iterator continue at this position. Raises PositionError if the pipeline or the data differ. The
        message says what differs."""
        from .stream import position_of

        stream = self._own_stream()
        if stream is None:
            self._keep(self.open(position=position_of(state)))
        else:
            stream.load_state_dict(state)

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iterator begin this epoch, or continue at a loaded position in this epoch."""
        self.stream.set_epoch(epoch)

    def close(self) -> None:
        """Closes the stream of this pipeline. The next loop opens it again, from the beginning."""
        stream, self._stream, self._chosen = self._own_stream(), None, ""
        if stream is not None:
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()


def _tokenizer_path(tokenizer: Any) -> Any:
    """Returns the path of any tokenizer (see Tokenizer.of). Returns an unknown name unchanged, so that the error comes from the
    daemon."""
    if tokenizer is None or isinstance(tokenizer, os.PathLike):
        return tokenizer
    if not isinstance(tokenizer, str):
        from .tokenizer import path_of

        return path_of(tokenizer)
    if os.path.exists(os.path.expanduser(tokenizer)):
        return tokenizer
    from .tokenizer import model_cache  # takes 2 MiB, with what it imports

    if not model_cache.is_name(tokenizer):
        return tokenizer
    try:
        return os.fspath(model_cache.find_tokenizer(tokenizer))
    except NotFoundError:
        return tokenizer


class LeftOutWarning(UserWarning):
    """The data has fields that leat does not read. To read some of them, name them in `fields`. This also turns off the
    warning."""


def outside() -> int:
    """Returns the stacklevel of the code that called leat, for warnings.warn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(os.path.dirname(__file__)):
        frame, level = frame.f_back, level + 1
    return level


def _open(
    how: Callable[[daemon.Place, dict[str, Any]], Any],
    where: Callable[[], daemon.Place],
    options: OpenOptions,
    *,
    is_declared: bool,
) -> Stream:
    """Makes a Stream from what `how` opens. A declared stream may change from one epoch to the next."""
    from .batch import Batch
    from .cursor import Limits
    from .stream import Stream

    group = opening.Group(options)

    def native(changes: OpenOptions) -> Any:
        place = where()
        wanted = opening.changed(options, changes)
        found = opening.native(wanted, group.share())
        found["reconnect"] = place.reconnect(wanted.get("on_reconnect"))
        return how(place, {"options": found, "batch_type": Batch})

    def again(position: str, limits: Limits, is_start: bool) -> Any:
        changes: Any = {"position": position, **limits._asdict()}
        if is_declared and is_start:
            changes["accept_changes"] = True
        return native(changes)

    first = native({})
    if first.left_out:
        warnings.warn(f"leat does not read all fields of the data: {first.left_out}", LeftOutWarning, stacklevel=outside())
    limits = Limits(options.get("epochs"), options.get("steps"))
    group.agreement(first)  # its errors belong to the opening
    has_bar = progress.is_wanted(options.get("progress"), first.rank)
    position = options.get("position") or ""
    return Stream(first, opener=again, limits=limits, progress=has_bar, group=group, position=position)


def open(
    name: str, *, split: str | None = None, shuffle: bool | None = None, **options: Unpack[OpenOptions]
) -> Stream:
    """Opens a stream that an operator has declared in the daemon's settings. `leatctl streams` lists these streams.

    split: "train", "validation" or "test". Opens the stream NAME.SPLIT if it is declared. Otherwise opens the stream NAME,
        whose stage `split` then keeps only this part.
    shuffle: False removes the stages `shuffle` of the stream, so that rows come in the order of the data. True raises an error
        if the stream has no stage `shuffle`.
    options: see OpenOptions.
    Raises NotFoundError if there is no such stream. The message suggests the nearest name.
    """
    chosen: dict[str, Any] = {}
    if split is not None:
        chosen["split"] = split
    if shuffle is not None:
        chosen["shuffle"] = _SHUFFLE_ON if shuffle else _SHUFFLE_OFF

    def how(place: daemon.Place, native: dict[str, Any]) -> Any:
        native["options"].update(chosen)
        return place.client.open(name, **native)

    return _open(how, daemon.for_declared, options, is_declared=True)


def _as_source(pipeline: Pipeline, what: str) -> dict[str, Any]:
    if not isinstance(pipeline, Pipeline):
        raise SpecError(f"{what} takes pipelines, such as leat.csv(..), not {pipeline!r}")
    if pipeline._options:
        names = ", ".join(pipeline._options)
        raise SpecError(f"{what} takes pipelines without options ({names}): set the options on the result of {what}")
    for stage, _ in pipeline._stages_:
        if stage not in _stages.PER_RECORD:
            text = f"{what} takes pipelines with per-record stages only: move `{stage}`, and the stages after it, behind {what}"
            raise SpecError(text)
    kind, given = pipeline._source
    own = [{stage: arguments} for stage, arguments in pipeline._stages_]
    return {kind: given} | ({"stages": own} if own else {})


def _as_sources(pipelines: tuple[Pipeline | Sequence[Pipeline], ...], what: str) -> list[dict[str, Any]]:
    """The sources of pipelines that are given one by one or in a list."""
    only = pipelines[0] if len(pipelines) == 1 else pipelines
    found = pipelines if isinstance(only, (str, Pipeline)) or not isinstance(only, Sequence) else only
    return [_as_source(pipeline, what) for pipeline in found]  # type: ignore[arg-type]


def concat(*sources: Pipeline | Sequence[Pipeline]) -> Pipeline:
    """Joins several sources, one after the other. The records have the fields that all sources have with the same type.

    sources: pipelines, one by one or in a list. Each may have per-record stages (cast, rename, template, tokenize, filter, ..).
        With these stages, files with different columns can get the same fields.
    """
    return Pipeline.begin("concat", {"sources": _as_sources(sources, "concat")})


def mix(
    *sources: Pipeline | Sequence[Pipeline],
    weights: list[float] | None = None,
    proportions: list[float] | None = None,
    exhausted: Literal["stop", "repeat", "drop"] | None = None,
    seed: int | None = None,
) -> Pipeline:
    """Mixes the records of several sources.

    sources: pipelines, one by one or in a list. Each may have per-record stages, as in `concat`.
    weights: a positive number for each source. leat draws records at random, and each source gets a share proportional to its
        number.
    proportions: give this instead of weights. The sources then take turns, so that the shares are right at any time.
    exhausted: what happens at the end of a source. "stop" ends the epoch, "repeat" begins the source again until all have been
        read once, and "drop" continues with the other sources.
    seed: the seed of the random draws, only with weights.
    """
    given = {"weights": weights, "proportions": proportions, "exhausted": exhausted, "seed": seed}
    return Pipeline.begin("mix", {"sources": _as_sources(sources, "mix"), **given})


def source(kind: str, **arguments: Any) -> Pipeline:
    """Makes a source whose name you know only at run time: `source("csv", paths="train.csv")`."""
    return Pipeline.begin(kind, arguments)


def from_yaml(path: str | os.PathLike[str], stream: str | None = None) -> Pipeline:
    """Reads a stream of a YAML file as a pipeline. Paths in the file are relative to its folder. `stream` is the name of the
    stream (default: the only one)."""
    file = os.path.abspath(os.fspath(path))
    told = json.loads(programs.leatctl("spec", "--secrets", "--json", file, *([stream] if stream else [])))
    base = os.path.dirname(file)
    kind, given = told["source"]
    stages = tuple((inner, specs.arguments(inner, found or {}, base)) for inner, found in told["stages"])
    options = specs.arguments("options", told["options"] or {}, base)
    return Pipeline((kind, specs.arguments(kind, given or {}, base)), stages, options, told["name"])


def __getattr__(name: str) -> Any:
    """The generated sources: csv, jsonl, text, .."""
    if name in _stages.SOURCES:
        return getattr(_stages, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

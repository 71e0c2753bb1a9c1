"""Data for instruction tuning, as batches: prompts with their answers, or conversations, with -100 where no loss is due.

    for batch in leat.instructions("alpaca.jsonl", "./model", max_length=512, batch_size=8, shuffle=True):
        model(**batch.to("torch"))      # input_ids, labels, attention_mask

It is a pipeline like any other, of the stages `instruction` or `chat`, `tokenize`, `causal_labels`, `shuffle`, `pad` and
`batch`; what the data is, is told by the names of its columns, of which the first record is looked at.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from . import chats
from . import data as held_data
from . import pipeline as pipelines
from .errors import DataError, SpecError
from .held import Files
from .pipeline import Pipeline
from .tokenizer import Tokenizer, path_of

_BLANK = (
    "the prompt ends with {!r}, which is one token with the word behind it: what is learned is not the answer to the prompt as "
    "it is asked. Put it in front of the response"
)
SHUFFLE_BUFFER = 10_000  # records, for shuffle=True

# What data calls its columns, the usual name first. The order of the formats is that in which they are looked for.
_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "chat": {"messages": ("messages", "conversations", "conversation", "dialogue", "chat")},
    "alpaca": {
        "instruction": ("instruction",),
        "input": ("input", "context"),
        "output": ("output", "response", "answer", "completion"),
    },
    "completion": {
        "prompt": ("prompt", "question", "query"),
        "completion": ("completion", "response", "answer", "output", "chosen"),
    },
}
_OPTIONAL = {"input"}
_TOOLS = ("tools", "functions")  # beside conversations: what the model may call, which leat's chat templates do not write
# (key of the role, key of the content, what roles are called)
_KEYS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("role", "content", {}),
    ("from", "value", {"human": "user", "gpt": "assistant"}),
)


@dataclass(frozen=True)
class _Format:
    """What the data is: "chat", "alpaca" or "completion", and the column that is meant by each name of _NAMES."""

    kind: str
    columns: Mapping[str, str]


def instructions(
    data: Any,
    tokenizer: Any,
    *,
    columns: Mapping[str, str] | None = None,
    template: str | None = None,
    prompt: str | None = None,
    response: str | None = None,
    system: str | None = None,
    roles: Mapping[str, str] | None = None,
    eos: str | None = None,
    loss_on: Literal["completion", "assistant", "all"] | None = None,
    without_loss: Literal["keep", "fail"] | None = None,
    max_length: int | None = None,
    batch_size: int | None = None,
    shuffle: bool | int = False,
    seed: int = 0,
    drop_last: bool = False,
    padding: Literal["longest", "max_length"] = "longest",
    pad_to_multiple_of: int | None = None,
) -> Pipeline:
    """A pipeline of input_ids (int32), labels (int64; -100 where no loss is due) and, in batches, attention_mask (int32).

    data: paths, a Pipeline, a data set of Hugging Face, a data frame, a list of dicts, with columns of one of these kinds:
        instruction, input (may be missing or empty) and output, which become Alpaca's text; prompt and completion, which are
        put together as they are; or messages, a conversation: [{"role": "user", "content": "Hi"}, ..] or ShareGPT's.
    tokenizer: a path, a name in the local Hugging Face cache, a leat.Tokenizer, or a fast tokenizer of transformers.
    columns: what the data calls them, {"instruction": "question", "output": "answer"}; left out: known names are looked for.
    template: of conversations: one of leat.chats.TEMPLATES; it must be that of the model.
    prompt, response: texts with {columns} in place of Alpaca's: prompt="Q: {question}\\nA:", response=" {answer}".
    system: a system message for conversations that do not begin with one. roles: what the data calls the roles.
    eos: the token behind a response, which the model is to say too; left out: eos_token of the tokenizer; "": none.
    loss_on: the "completion" (of a conversation the last answer), all that the "assistant" says (conversations, if left out),
        or "all" tokens. without_loss: "fail": a record that has no token with loss left, when it is cut, is a bad one.
    max_length: tokens at most; longer texts are cut at their end (or where the tokenizer cuts).
    batch_size: rows of a batch; left out: the pipeline ends with the labels, for stages of your own, as `pack(2048).batch(4)`.
    shuffle: True (10,000 records are mixed at a time) or the number of records; another `seed` gives another order.
    padding: to the longest row of a batch, up to a multiple of pad_to_multiple_of; or all to max_length.

    SpecError: the columns are none of these, or an argument does not fit; DataError, NotFoundError: the data is not there.
    """
    model = Tokenizer.of(tokenizer)
    source, form = _find(data, columns, prompt, response)
    texts = _with_chat(source, form, model, template, system, roles) if form.kind == "chat" else _with_texts(
        source, form, prompt, response, _eos_of(model, eos)
    )
    if prompt is not None:
        _warn_of_blank(model, prompt, response or "")
    if form.kind != "chat" and (template or system or roles):
        raise SpecError(f"template, system and roles are for conversations; this data has {', '.join(form.columns.values())}")
    ids = texts.tokenize(
        path_of(tokenizer),
        input="text",
        output="input_ids",
        max_length=max_length,
        truncation_side="left" if max_length and model.truncation_side == "left" else None,
    )
    labels = ids.causal_labels(
        input="input_ids", loss_on=loss_on or ("assistant" if form.kind == "chat" else "completion"), without_loss=without_loss
    ).select(["input_ids", "labels"])
    shuffled = _shuffled(labels, shuffle, seed)
    if batch_size is None:
        if padding != "longest" or pad_to_multiple_of or drop_last:
            raise SpecError("padding, pad_to_multiple_of and drop_last are for batches: give batch_size")
        return shuffled
    return _padded(shuffled, model, padding, max_length, pad_to_multiple_of).batch(batch_size, drop_last=drop_last or None)


# ---- texts ----


def _with_texts(source: Pipeline, form: _Format, prompt: str | None, response: str | None, eos: str | None) -> Pipeline:
    if prompt is not None or response is not None:
        return source.instruction(prompt=prompt, response=response, eos=eos)
    if form.kind == "completion":
        asked, said = (_braced(form.columns[name]) for name in ("prompt", "completion"))
        return source.instruction(prompt=asked, response=said, eos=eos)
    renamed = {name: column for name, column in form.columns.items() if name != column}
    return source.instruction("alpaca", fields=renamed or None, eos=eos)


def _warn_of_blank(model: Tokenizer, prompt: str, response: str) -> None:
    """Where a prompt ends with a blank that is a token with the word behind it: a model that is asked it has not learned to
    answer it.
    """
    blank = prompt[len(prompt.rstrip()) :]
    end = f"x{blank}"
    behind = response[:1] if response[:1] not in ("", "{") else "The"
    asked = model.encode(end, add_special_tokens=False)
    if blank and model.encode(end + behind, add_special_tokens=False)[: len(asked)] != asked:
        warnings.warn(_BLANK.format(blank), stacklevel=3)


def _braced(column: str) -> str:
    return "{" + column + "}"


def _eos_of(model: Tokenizer, eos: str | None) -> str | None:
    """What is put behind a response. A tokenizer that ends texts with it does so itself."""
    if eos is not None:
        return eos or None
    ends = model.encode("")[-1:]
    return None if model.eos_token is None or ends == [model.eos_token_id] else model.eos_token


def _with_chat(
    source: Pipeline,
    form: _Format,
    model: Tokenizer,
    template: str | None,
    system: str | None,
    roles: Mapping[str, str] | None,
) -> Pipeline:
    name: Any = chats.choose(template or model.chat_template, model.config.get("chat_template"), "template")
    column = form.columns["messages"]
    role, content, usual = _keys_of(source, column)
    own = (role, content) != _KEYS[0][:2]
    return source.chat(
        column,
        template=name,
        system=system,
        roles=roles or usual or None,
        role_key=role if own else None,
        content_key=content if own else None,
    )


def _keys_of(source: Pipeline, column: str) -> tuple[str, str, dict[str, str]]:
    """What the first conversation calls roles and contents; the usual if it does not tell."""
    try:
        messages = json.loads(_first(source).get(column) or "null")
        keys = set(messages[0])
    except (ValueError, TypeError, LookupError):
        return _KEYS[0]
    return next((found for found in _KEYS if {found[0], found[1]} <= keys), _KEYS[0])


# ---- behind ----


def _shuffled(pipeline: Pipeline, shuffle: bool | int, seed: int) -> Pipeline:
    size = SHUFFLE_BUFFER if shuffle is True else int(shuffle)
    return pipeline.shuffle(size, seed=seed) if size else pipeline


def _padded(
    pipeline: Pipeline, model: Tokenizer, padding: str, max_length: int | None, multiple_of: int | None
) -> Pipeline:
    value = next((id for id in (model.pad_token_id, model.eos_token_id) if id is not None), 0)  # it is masked in any case
    side: Any = model.padding_side if model.padding_side == "left" else None
    if padding == "max_length":
        if max_length is None or multiple_of:
            raise SpecError("padding='max_length' needs max_length, and no pad_to_multiple_of")
        return pipeline.pad(max_length, value=value, side=side)
    if padding != "longest":
        raise SpecError(f"padding={padding!r} is neither 'longest' nor 'max_length'")
    if multiple_of:
        return pipeline.pad(multiple_of=multiple_of, value=value, side=side)
    return pipeline.pad(longest=True, value=value, side=side)


# ---- what the data is ----


def _find(
    data: Any, columns: Mapping[str, str] | None, prompt: str | None, response: str | None
) -> tuple[Pipeline, _Format]:
    """The source, with the columns that are needed, and what it is."""
    if prompt is not None or response is not None:
        if columns:
            raise SpecError("columns are for known formats; prompt and response name theirs in braces")
        return _whole(data), _Format("completion", {})
    if isinstance(data, Pipeline):
        return data, _choose(list(_first(data)), columns)
    thing = held_data.recognise(data)
    if isinstance(thing, Files) and thing.columns is None:
        return _of_files(thing, columns)
    held_data.require_rows(thing)
    form = _choose(list(thing.columns or ()), columns)
    return _chosen(thing, form), form


def _whole(data: Any) -> Pipeline:
    return data if isinstance(data, Pipeline) else held_data.as_source(data)


def _chosen(thing: Any, form: _Format) -> Pipeline:
    names = list(form.columns.values())
    if form.kind == "chat":
        _refuse_tools(name for name in _TOOLS if name in thing.columns)
    if form.kind != "chat" or thing.columns[names[0]].is_text:
        return held_data.as_source(thing, names)
    return held_data.as_source(thing, [], json=names)


def _of_files(files: Files, columns: Mapping[str, str] | None) -> tuple[Pipeline, _Format]:
    """Nested columns do not show in a record: those that may be conversations are asked for by name."""
    source = files.pipeline()
    names = list(_first(source))
    if columns is None or "messages" in columns:
        wanted = (columns["messages"],) if columns else _NAMES["chat"]["messages"]
        for name in wanted:
            found, first = _as_lists(files, name, name in names)
            if first is not None:
                _refuse_tools(tool for tool in _TOOLS if _as_lists(files, tool, tool in names)[1] not in (None, "[]"))
                return found, _Format("chat", {"messages": name})
    return source, _choose(names, columns)


def _as_lists(files: Files, name: str, is_text: bool) -> tuple[Pipeline, str | None]:
    """The source with that field as JSON, and the first one's text; None: it is no array."""
    if is_text or files.source not in ("jsonl", "arrow"):
        source = files.pipeline()
    else:
        source = replace(files, arguments={**files.arguments, "fields": {name: "json"}}).pipeline()
    try:
        value = _first(source).get(name)
    except (SpecError, DataError):
        return source, None
    return source, value.strip() if isinstance(value, str) and value.lstrip().startswith("[") else None


def _refuse_tools(found: Iterable[str]) -> None:
    name = next(iter(found), None)
    if name is not None:
        raise SpecError(
            f"the column {name!r} would be lost: leat's chat templates write no tools. Put them into the content of the system "
            "message, as the template of your model writes them, or leave the column out"
        )


def _first(source: Pipeline) -> dict[str, Any]:
    rows = source.head(1)
    if not rows:
        raise DataError("there is no record in the data")
    return rows[0]


def _choose(names: Sequence[str], columns: Mapping[str, str] | None) -> _Format:
    if columns:
        return _named(names, columns)
    for kind, wanted in _NAMES.items():
        found = {meaning: next((name for name in usual if name in names), None) for meaning, usual in wanted.items()}
        if all(name is not None or meaning in _OPTIONAL for meaning, name in found.items()):
            return _Format(kind, {meaning: name for meaning, name in found.items() if name is not None})
    raise SpecError(
        f"columns {', '.join(names)} are neither messages, nor instruction and output, nor prompt and completion: "
        'say which they are, columns={"prompt": .., "completion": ..}, or give prompt and response'
    )


def _named(names: Sequence[str], columns: Mapping[str, str]) -> _Format:
    for meaning, name in columns.items():
        if name not in names:
            raise SpecError(f"columns: there is no column {name!r} for {meaning!r}; there are {', '.join(names)}")
    for kind, wanted in _NAMES.items():
        if set(columns) <= set(wanted) and set(wanted) <= set(columns) | _OPTIONAL:
            return _Format(kind, dict(columns))
    kinds = "; or ".join(", ".join(wanted) for wanted in _NAMES.values())
    raise SpecError(f"columns: {', '.join(columns)} are none of {kinds}")

"""Batches for instruction tuning: prompts with their answers, or conversations. Labels are -100 for tokens that do not count
in the loss.

    for batch in leat.instructions("alpaca.jsonl", "./model", max_length=512, batch_size=8, shuffle=True):
        model(**batch.to("torch"))      # input_ids, labels, attention_mask

The result is a pipeline of the stages `instruction` or `chat`, `tokenize`, `causal_labels`, `shuffle`, `pad` and `batch`. leat
finds the format of the data by the names of the columns and by the first record.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from . import chats
from . import pipeline as pipelines
from .data import recognise
from .data.held import Files
from .errors import DataError, SpecError
from .pipeline import Pipeline
from .tokenizer import Tokenizer, path_of
from .tokenizer.files import folder_of

_BLANK = (
    "the prompt ends with {!r}, which forms one token with the next word, so the model would not learn to answer the prompt itself. "
    "Move this blank to the start of the response"
)
SHUFFLE_BUFFER = 10_000  # records, for shuffle=True

# Usual names of columns, the most usual first. Formats are tried in this order.
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
_TOOLS = ("tools", "functions")  # beside conversations; a model's own template writes `tools`
_N_TOOL_ROWS = 100  # of a file, that are looked at for tools
# (key of the role, key of the content, names of roles)
_KEYS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("role", "content", {}),
    ("from", "value", {"human": "user", "gpt": "assistant"}),
)


@dataclass(frozen=True)
class _Format:
    """The format "chat", "dialogue", "alpaca" or "completion", and the column of each name in _NAMES. tools: the column with
    tools, if there is one."""

    kind: str
    columns: Mapping[str, str]
    tools: str | None = None

    @property
    def has_messages(self) -> bool:
        """True for conversations, in one column or ("dialogue") split into prompt and completion."""
        return self.kind in ("chat", "dialogue")


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
    """Makes a pipeline for instruction tuning. It has input_ids (int32), labels (int64; -100 for tokens that do not count in
    the loss) and, in batches, attention_mask (int32).

    data: paths, a Pipeline, a data set of Hugging Face, a data frame or a list of dicts. The data must have the columns of one
        of these formats. (1) instruction, input (optional) and output: leat writes the prompts of Alpaca. (2) prompt and
        completion: two texts that leat joins, or two lists of messages, as in TRL. (3) messages: a conversation
        [{"role": "user", "content": "Hi"}, ..], or a conversation in the format of ShareGPT.
    tokenizer: a path, a name in the local Hugging Face cache, a leat.Tokenizer, or a fast tokenizer of transformers.
    columns: the names of these columns in your data, such as {"instruction": "question", "output": "answer"}. By default, leat
        looks for usual names.
    template: the chat template of conversations. "auto" is the model's own Jinja template, and is the default if the model's
        folder has a template. Otherwise, choose one of leat.chats.TEMPLATES: the template that the model was trained with.
    prompt, response: texts with columns in braces, in place of Alpaca's prompt, such as
        prompt="Q: {question}\nA:", response=" {answer}".
    system: a system message for conversations that have none.
    roles: the names of the roles in your data, such as {"human": "user", "gpt": "assistant"}.
    eos: the token that leat adds after each response, so that the model learns to stop (default: the tokenizer's eos_token).
        "" means no token.
    loss_on: the tokens that count in the loss. "assistant" means everything that the assistant says, and is the default for
        conversations. "completion" means only the last answer of a conversation. "all" means all tokens. If prompt and
        completion are lists of messages, only the completion counts.
    without_loss: with "fail", a text is a bad record if truncation removes all tokens that count in the loss.
    max_length: the maximum number of tokens in a text. leat cuts longer texts at their end, or at the truncation_side of the
        tokenizer.
    batch_size: with None, the pipeline has no `pad` and no `batch`, so that you can add stages such as `pack(2048).batch(4)`.
    shuffle: True shuffles within a buffer of 10,000 records. A number sets the size of the buffer. `seed` chooses the order.
    padding: "longest" pads to the longest row of a batch, and rounds up to a multiple of pad_to_multiple_of. "max_length" pads
        all rows to max_length.

    Raises SpecError if the columns have no known format, or if an argument does not fit the data. Raises DataError or
    NotFoundError if there is no data.
    """
    model = Tokenizer.of(tokenizer)
    is_own = template == "auto" or template is None and _has_template(model)
    source, form = _find(data, columns, prompt, response)
    _check_tools(form, is_own)
    if not form.has_messages:
        texts = _with_texts(source, form, prompt, response, _eos_of(model, eos))
    elif is_own:
        texts = _with_own_template(source, form, folder_of(Path(path_of(tokenizer))), system, roles)
    else:
        texts = _with_chat(source, form, model, template, system, roles)
    if prompt is not None:
        _warn_of_blank(model, prompt, response or "")
    if not form.has_messages and (template or system or roles):
        raise SpecError(
            f"template, system and roles are only for conversations, but this data has the columns {', '.join(form.columns.values())}"
        )
    ids = texts.tokenize(
        path_of(tokenizer),
        input="text",
        output="input_ids",
        max_length=max_length,
        truncation_side="left" if max_length and model.truncation_side == "left" else None,
    )
    if loss_on is None or form.kind == "dialogue" and loss_on == "completion":
        loss_on = "assistant" if form.has_messages else "completion"
    labels = ids.causal_labels(input="input_ids", loss_on=loss_on, without_loss=without_loss).select(["input_ids", "labels"])
    shuffled = _shuffled(labels, shuffle, seed)
    if batch_size is None:
        if padding != "longest" or pad_to_multiple_of or drop_last:
            raise SpecError("padding, pad_to_multiple_of and drop_last are only for batches: give batch_size")
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
    """Warns if the prompt ends with a blank that forms one token with the next word: the model would not learn to answer the
    prompt."""
    blank = prompt[len(prompt.rstrip()) :]
    end = f"x{blank}"
    behind = response[:1] if response[:1] not in ("", "{") else "The"
    asked = model.encode(end, add_special_tokens=False)
    if blank and model.encode(end + behind, add_special_tokens=False)[: len(asked)] != asked:
        warnings.warn(_BLANK.format(blank), stacklevel=3)


def _braced(column: str) -> str:
    return "{" + column + "}"


def _eos_of(model: Tokenizer, eos: str | None) -> str | None:
    """The token after a response; None if the tokenizer adds it itself."""
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
    named = model.chat_template if isinstance(model.chat_template, str) else None
    name: Any = chats.choose(template or named, model.config.get("chat_template"), "template")
    column = form.columns["prompt" if form.kind == "dialogue" else "messages"]
    role, content, usual = _keys_of(source, column)
    own = (role, content) != _KEYS[0][:2]
    return source.chat(
        column,
        completion=form.columns.get("completion"),
        template=name,
        system=system,
        roles=roles or usual or None,
        role_key=role if own else None,
        content_key=content if own else None,
    )


def _has_template(model: Tokenizer) -> bool:
    """True if the model has its own template, and the caller did not set another one."""
    return model.chat_template is not None and model.chat_template == chats.own_template(model.config)


def _with_own_template(
    source: Pipeline, form: _Format, folder: Path, system: str | None, roles: Mapping[str, str] | None
) -> Pipeline:
    """Adds the stage `chat` with `template: auto`. The template then gets the messages unchanged."""
    column = form.columns["prompt" if form.kind == "dialogue" else "messages"]
    if roles or _keys_of(source, column) != _KEYS[0]:
        raise SpecError(
            "the model's own template reads messages with role and content: rename the keys and roles of your messages, or set "
            f"template to one of {', '.join(chats.TEMPLATES)}"
        )
    return source.chat(
        column,
        completion=form.columns.get("completion"),
        template="auto",
        tokenizer=str(folder.absolute()),
        tools=form.tools,
        system=system,
    )


def _keys_of(source: Pipeline, column: str) -> tuple[str, str, dict[str, str]]:
    """The keys of roles and contents in the first conversation, or the usual ones."""
    try:
        messages = json.loads(_first(source).get(column) or "null")
        keys = set(messages[0])
    except (ValueError, TypeError, LookupError):
        return _KEYS[0]
    return next((found for found in _KEYS if {found[0], found[1]} <= keys), _KEYS[0])


# ---- batches ----


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
            raise SpecError("padding='max_length' needs max_length, and does not work with pad_to_multiple_of")
        return pipeline.pad(max_length, value=value, side=side)
    if padding != "longest":
        raise SpecError(f"padding={padding!r} must be 'longest' or 'max_length'")
    if multiple_of:
        return pipeline.pad(multiple_of=multiple_of, value=value, side=side)
    return pipeline.pad(longest=True, value=value, side=side)


# ---- formats ----


def _find(
    data: Any, columns: Mapping[str, str] | None, prompt: str | None, response: str | None
) -> tuple[Pipeline, _Format]:
    """Returns the source with the needed columns, and the format of the data."""
    if prompt is not None or response is not None:
        if columns:
            raise SpecError("give either columns=, or prompt= and response= with the names of the columns in braces")
        return data if isinstance(data, Pipeline) else recognise.as_source(data), _Format("completion", {})
    if isinstance(data, Pipeline):
        return data, _of_records(_first(data), columns)
    thing = recognise.recognise(data)
    if isinstance(thing, Files) and thing.columns is None:
        return _of_files(thing, columns)
    recognise.require_rows(thing)
    form = _choose(list(thing.columns or ()), columns)
    if form.kind == "completion":
        form = _completion(form.columns, [not (thing.columns or {})[name].is_text for name in form.columns.values()])
    return _chosen(thing, form)


def _chosen(thing: Any, form: _Format) -> tuple[Pipeline, _Format]:
    names = list(form.columns.values())
    if not form.has_messages:
        return recognise.as_source(thing, names), form
    form = replace(form, tools=next((name for name in _TOOLS if name in thing.columns), None))
    names += [form.tools] if form.tools else []
    nested = [name for name in names if not thing.columns[name].is_text]
    return recognise.as_source(thing, [name for name in names if name not in nested], json=nested), form


def _completion(columns: Mapping[str, str], are_lists: Sequence[bool]) -> _Format:
    """Returns the format of prompt and completion, which must be two texts or two lists of messages."""
    if any(are_lists) and not all(are_lists):
        told = " and ".join(f"{name!r} is {'a list' if is_list else 'text'}" for name, is_list in zip(columns.values(), are_lists))
        raise SpecError(f"{told}, but prompt and completion must be two texts, or two lists of messages")
    return _Format("dialogue" if all(are_lists) else "completion", columns)


def _of_records(record: Mapping[str, Any], columns: Mapping[str, str] | None) -> _Format:
    form = _choose(list(record), columns)
    if form.kind == "completion":
        form = _of_lists(form.columns, [record[name] for name in form.columns.values()], list(record))
    return replace(form, tools=next((name for name in _TOOLS if name in record), None)) if form.has_messages else form


def _messages(value: Any) -> list[Any] | None:
    """Returns the messages in a JSON text, or None if it has none."""
    try:
        found = json.loads(value)
    except (TypeError, ValueError):
        return None
    is_list = isinstance(found, list) and found and isinstance(found[0], dict)
    return found if is_list and any(role in found[0] for role, _, _ in _KEYS) else None


def _of_files(files: Files, columns: Mapping[str, str] | None) -> tuple[Pipeline, _Format]:
    """Finds the source and the format of files. Records do not show nested columns, so leat looks for conversations under the
    usual names."""
    names = list(_first(files.pipeline()))
    for wanted in _candidates(names, columns):
        lists = [_list_of(files, name, name in names) for name in wanted.values()]
        if any(lists):
            tools = next((name for name in _TOOLS if _has_tools(files, name, name in names)), None)
            source = _with_json(files, {name: name in names for name in [*wanted.values(), *([tools] if tools else [])]})
            form = _Format("chat", wanted) if "messages" in wanted else _of_lists(wanted, lists, names)
            return source, replace(form, tools=tools)
    return files.pipeline(), _choose(names, columns)


def _of_lists(wanted: Mapping[str, str], lists: Sequence[str | None], names: Sequence[str]) -> _Format:
    """Finds the format of prompt and completion. Columns that are not in `names` are nested. A text may hold messages as
    JSON."""
    are_lists = [_messages(found) is not None for found in lists]
    nested = [name not in names for name in wanted.values()]
    if any(nested):
        return _completion(wanted, [is_list or is_nested for is_list, is_nested in zip(are_lists, nested)])
    return _Format("dialogue" if all(are_lists) else "completion", wanted)


def _candidates(names: Sequence[str], columns: Mapping[str, str] | None) -> list[Mapping[str, str]]:
    """Columns that may hold messages, the usual ones first."""
    if columns is not None:
        return [columns] if set(columns) in ({"messages"}, {"prompt", "completion"}) else []
    asked, said = (_NAMES["completion"][name] for name in ("prompt", "completion"))
    return [*({"messages": name} for name in _NAMES["chat"]["messages"]), {"prompt": asked[0], "completion": said[0]}]


def _with_json(files: Files, are_texts: Mapping[str, bool]) -> Pipeline:
    """Returns the source with these fields. Fields that are not texts become JSON."""
    if all(are_texts.values()) or files.source not in ("jsonl", "arrow"):
        return files.pipeline()
    fields = {name: "text" if is_text else "json" for name, is_text in are_texts.items()}
    return replace(files, arguments={**files.arguments, "fields": fields}).pipeline()


def _list_of(files: Files, name: str, is_text: bool) -> str | None:
    """Returns the field of the first record as JSON text if it is a list, or else None."""
    try:
        value = _first(_with_json(files, {name: is_text})).get(name)
    except (SpecError, DataError):
        return None
    return value.strip() if isinstance(value, str) and value.lstrip().startswith("[") else None


def _has_tools(files: Files, name: str, is_text: bool) -> bool:
    """True if one of the first records has tools in this field."""
    try:
        rows = _with_json(files, {name: is_text}).head(_N_TOOL_ROWS)
    except (SpecError, DataError):
        return _list_of(files, name, is_text) not in (None, "[]")
    return any(isinstance(value := row.get(name), str) and value.lstrip()[:1] in ("[", "{") and value != "[]" for row in rows)


def _check_tools(form: _Format, is_own: bool) -> None:
    """Raises SpecError if the template would leave out the tools."""
    if form.tools is None or not form.has_messages or is_own and form.tools == "tools":
        return
    why = "leat's chat templates write no tools" if not is_own else 'a model\'s own template reads the column "tools"'
    remedy = (
        "use the model's own template (template=\"auto\")"
        if not is_own
        else 'rename the column to "tools" if it has JSON schemas of tools'
    )
    raise SpecError(f"the column {form.tools!r} would be lost, because {why}: {remedy}, or leave the column out")


def _first(source: Pipeline) -> dict[str, Any]:
    rows = source.head(1)
    if not rows:
        raise DataError("the data has no record")
    return rows[0]


def _choose(names: Sequence[str], columns: Mapping[str, str] | None) -> _Format:
    if columns:
        return _named(names, columns)
    for kind, wanted in _NAMES.items():
        found = {meaning: next((name for name in usual if name in names), None) for meaning, usual in wanted.items()}
        if all(name is not None or meaning in _OPTIONAL for meaning, name in found.items()):
            return _Format(kind, {meaning: name for meaning, name in found.items() if name is not None})
    raise SpecError(
        f"the columns {', '.join(names)} are neither messages, nor instruction and output, nor prompt and completion: "
        'name your columns with columns={"prompt": .., "completion": ..}, or give prompt and response'
    )


def _named(names: Sequence[str], columns: Mapping[str, str]) -> _Format:
    for meaning, name in columns.items():
        if name not in names:
            raise SpecError(f"columns: there is no column {name!r} for {meaning!r}; the data has {', '.join(names)}")
    for kind, wanted in _NAMES.items():
        if set(columns) <= set(wanted) and set(wanted) <= set(columns) | _OPTIONAL:
            return _Format(kind, dict(columns))
    kinds = "; or ".join(", ".join(wanted) for wanted in _NAMES.values())
    raise SpecError(f"columns: {', '.join(columns)} make no known format: name {kinds}")

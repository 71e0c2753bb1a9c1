"""Writes conversations as texts, with one of leat's chat templates or with the Jinja template of a model.

The texts come from the same code as in the stage `chat` (pipeline/tokenizer/chat/ and jinja/). So at inference, a model gets
its prompts in the same form as in training.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from . import _leat
from .errors import SpecError

TEMPLATES: tuple[str, ...] = _leat.chat_templates

# A text by which you know the Jinja template of a model that one of leat's was made for.
_SIGNS = {
    "chatml": "<|im_start|>",
    "llama-3": "<|start_header_id|>",
    "gemma": "<start_of_turn>",
    "mistral": "[INST]",
    "phi-3": "<|end|>",
    "zephyr": "<|assistant|>",
}


_THOUGHTS = ("reasoning_content", "thinking", "reasoning")


def choose(name: str | None, jinja: Any = None, argument: str = "chat_template") -> str:
    """Returns `name` if one of leat's templates has this name. Raises SpecError if none has it, or if `name` is None. For
    None, the message suggests the template that is most like `jinja`, the model's own template.
    """
    if name in TEMPLATES:
        return name
    if name is not None:
        short = name if len(name) < 40 else name[:37] + "..."
        raise SpecError(f"{argument}: {short!r} is not a template of leat; give one of {', '.join(TEMPLATES)}")
    guess = guess_of(jinja)
    hint = f"; the model's own template looks like {argument}={guess!r}" if guess else ""
    raise SpecError(f"give {argument}, one of {', '.join(TEMPLATES)}{hint}")


def guess_of(jinja: Any) -> str | None:
    """Guesses which of leat's templates a model's Jinja template is most like. The two may still differ: the model's template
    may add system messages, dates and tools."""
    if not isinstance(jinja, str):
        return None
    return next((name for name, sign in _SIGNS.items() if sign in jinja and name in TEMPLATES), None)


def own_template(config: Mapping[str, Any]) -> str | dict[str, str] | None:
    """Returns the template of a tokenizer_config.json: a Jinja text, or a dict of Jinja texts by name."""
    found = config.get("chat_template")
    if isinstance(found, list):
        named = {one.get("name"): one.get("template") for one in found if isinstance(one, Mapping)}
        found = {name: text for name, text in named.items() if isinstance(name, str) and isinstance(text, str)}
    return found if isinstance(found, (str, dict)) and found else None


def find_template(asked: str | None, own: str | Mapping[str, str] | None, has_tools: bool) -> str:
    """Returns the name of one of leat's templates, or a Jinja text. The result is `asked`, or the template that `asked` names
    among the model's `own` templates. If `asked` is None, the result is the model's own template. Raises SpecError if there is
    no such template."""
    if isinstance(own, Mapping) and (asked is None or asked in own):
        usual = "tool_use" if has_tools and "tool_use" in own else "default"
        if asked is None and usual not in own:
            raise SpecError(f"the model has several chat templates: give chat_template, one of {', '.join(sorted(own))}")
        return own[asked or usual]
    found = asked if asked is not None else own
    if found is None:
        raise SpecError(f"the model has no chat template: give chat_template, a Jinja text or one of {', '.join(TEMPLATES)}")
    if not isinstance(found, str):
        raise SpecError(f"chat_template is a {type(found).__name__}, but it must be a str")
    if found not in TEMPLATES and not any(mark in found for mark in ("{{", "{%", "{#", "\n")):
        raise SpecError(f"chat_template: {found[:40]!r} is neither one of {', '.join(TEMPLATES)} nor a Jinja text")
    return found


def render(
    conversations: Sequence[Sequence[Mapping[str, Any]]], template: str, variables: Mapping[str, Any], system: str | None
) -> tuple[list[tuple[str, bytes]], bool]:
    """Writes conversations with a Jinja template, as transformers does. Returns the result of write() for each conversation,
    and True if the template marks what the assistant says. Raises SpecError or DataError if the template, a variable or a
    message is wrong."""
    now = time.localtime()
    every = [{**variables, "messages": _messages_of(one, system)} for one in conversations]
    try:
        text = json.dumps(every, allow_nan=False).encode()
    except TypeError as error:
        raise SpecError(f"a chat template accepts only texts, numbers, lists and dicts: {error}") from None
    pages, marks = _leat.render_chats(template.encode(), text, now.tm_year, now.tm_mon, now.tm_mday)
    return pages, bool(marks)


def _messages_of(conversation: Sequence[Mapping[str, Any]], system: str | None) -> list[dict[str, Any]]:
    """Returns the messages in the form of transformers 5: without members that are None, and with the model's reasoning also
    under "thinking" and "reasoning_content"."""
    messages = []
    for i, given in enumerate(conversation):
        if not isinstance(given, Mapping) or "role" not in given:
            raise SpecError(f"message {i} is {given!r:.80}, not a dict with a role")
        message = {key: value for key, value in given.items() if value is not None}
        thoughts = next((message[key] for key in _THOUGHTS if key in message), None)
        if thoughts is not None:
            message = {"thinking": thoughts, **message, "reasoning_content": thoughts}
        messages.append(message)
    if system is not None and (not messages or messages[0].get("role") != "system"):
        messages.insert(0, {"role": "system", "content": system})
    return messages


def is_batch(conversation: Sequence[Any]) -> bool:
    """Returns True for several conversations, and False for one. Raises SpecError if it is neither."""
    if isinstance(conversation, (str, bytes, Mapping)) or not isinstance(conversation, Sequence):
        raise SpecError(f"a conversation must be a list of messages, but this one is {type(conversation).__name__}")
    if not conversation:
        raise SpecError("a conversation must have at least one message")
    return not isinstance(conversation[0], Mapping)


def write(
    messages: Sequence[Mapping[str, Any]],
    template: str,
    *,
    bos: str | None = None,
    eos: str | None = None,
    system: str | None = None,
    add_generation_prompt: bool = False,
) -> tuple[str, bytes]:
    """Returns the text of a conversation, and the parts that the assistant says, as marks for _leat.Tokenizer.encode.

    Raises DataError or SpecError (both are ValueErrors) if a message is malformed, or if the template has no turn for its
    role.
    """
    kept = [{key: value for key, value in message.items() if value is not None} for message in messages]
    return _leat.chat(json.dumps(kept).encode(), template, bos, eos, system, add_generation_prompt)

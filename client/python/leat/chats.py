"""Conversations as texts, by leat's chat templates.

The code of the stage `chat` (pipeline/tokenizer/chat/) writes them, so a model is asked in the form that it was trained on.
"""

from __future__ import annotations

import json
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


def choose(name: str | None, jinja: Any = None, argument: str = "chat_template") -> str:
    """Returns the name if it is that of a template. SpecError: it is not, or None; `jinja`, the model's own template, gives a
    hint.
    """
    if name in TEMPLATES:
        return name
    if name is not None:
        short = name if len(name) < 40 else name[:37] + "..."
        raise SpecError(f"{argument}: {short!r} is not one of {', '.join(TEMPLATES)}; Jinja templates are not run")
    guess = guess_of(jinja)
    hint = f"; that of the model looks like {argument}={guess!r}" if guess else ""
    raise SpecError(f"give {argument}, one of {', '.join(TEMPLATES)}{hint}")


def guess_of(jinja: Any) -> str | None:
    """Guesses which of leat's templates a Jinja template resembles. Models add system messages, dates and tools of their
    own."""
    if not isinstance(jinja, str):
        return None
    return next((name for name, sign in _SIGNS.items() if sign in jinja and name in TEMPLATES), None)


def is_batch(conversation: Sequence[Any]) -> bool:
    """True for several conversations, False for one. SpecError: neither."""
    if isinstance(conversation, (str, bytes, Mapping)) or not isinstance(conversation, Sequence):
        raise SpecError(f"a conversation is {type(conversation).__name__}; a list of messages was expected")
    if not conversation:
        raise SpecError("a conversation is empty")
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

    DataError or SpecError (both ValueErrors): a message is malformed, or the template has no such turn.
    """
    kept = [{key: value for key, value in message.items() if value is not None} for message in messages]
    return _leat.chat(json.dumps(kept).encode(), template, bos, eos, system, add_generation_prompt)

"""The settings of a model's tokenizer that a pipeline needs, and the path of its file.

A tokenizer.json does not say how to pad, on which sides to pad and truncate, and whether the model uses token types. leat reads
these settings from the given object, or from the files next to the given path.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

LENGTH_MAX = 1 << 28  # of the stage `tokenize`; a model without a limit has 10^30


@dataclass(frozen=True)
class ModelTokenizer:
    """`path` is for the stage `tokenize`. `pad_id` is None if the model has no pad token. `max_length` is None if the model has
    no limit."""

    path: str
    pad_id: int | None
    pad_type_id: int
    padding_side: str
    truncation_side: str
    max_length: int | None
    has_token_type_ids: bool


def resolve(tokenizer: Any) -> ModelTokenizer:
    """Returns the settings of a tokenizer. It is a path, the name of a model in the local Hugging Face cache, a leat.Tokenizer, a
    fast tokenizer of transformers, or a tokenizer of the package `tokenizers`. Raises SpecError for any other object, and
    NotFoundError if there is no such model."""
    from . import tokenizer as tokenizers

    path = tokenizers.path_of(tokenizer)
    if isinstance(tokenizer, (str, os.PathLike)) or not hasattr(tokenizer, "pad_token_id"):
        tokenizer = tokenizers.Tokenizer.from_file(path)
    return ModelTokenizer(
        path=path,
        pad_id=tokenizer.pad_token_id if tokenizer.pad_token is not None else None,
        pad_type_id=tokenizer.pad_token_type_id,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        max_length=int(tokenizer.model_max_length) if tokenizer.model_max_length <= LENGTH_MAX else None,
        has_token_type_ids="token_type_ids" in tokenizer.model_input_names,
    )

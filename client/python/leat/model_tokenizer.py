"""What a pipeline has to know of the tokenizer of a model: where its file is, and what transformers would do besides.

Padding, its side, the side that is cut, and whether there are token types, are no business of a tokenizer.json: they are those
of the object that is given, and of the files beside the path that is given.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

LENGTH_MAX = 1 << 28  # of the stage `tokenize`; no model takes so many, and those of no length say 10^30


@dataclass(frozen=True)
class ModelTokenizer:
    """`path` is what the stage `tokenize` takes; pad_id is None where the model has no token for it, max_length where it takes
    texts of any length."""

    path: str
    pad_id: int | None
    pad_type_id: int
    padding_side: str
    truncation_side: str
    max_length: int | None
    has_token_type_ids: bool


def resolve(tokenizer: Any) -> ModelTokenizer:
    """Of a path, the name of a model in the local cache of Hugging Face, a leat.Tokenizer, a fast tokenizer of transformers,
    or one of `tokenizers`. Those that are no file become one. SpecError: it is no tokenizer. NotFoundError: there is none of
    that name."""
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

"""Padding and truncation of a call, by the rules of transformers. The default max_length is the model's limit. If you give only
max_length, texts are truncated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SpecError

if TYPE_CHECKING:
    from .. import _leat
    from .tokenizer import Tokenizer

TYPE_IDS = 1  # of the columns that _leat.Tokenizer.encode makes
_COLUMNS = {
    "token_type_ids": TYPE_IDS,
    "offset_mapping": 2,
    "special_tokens_mask": 4,
    "assistant_masks": 16,
    "tokens": 32,
    "word_ids": 64,
    "sequence_ids": 128,
}
_LONG = int(1e20)  # no model takes so many
_STRATEGIES = {
    True: "longest_first",
    "longest_first": "longest_first",
    "only_first": "only_first",
    "only_second": "only_second",
    False: None,
    "do_not_truncate": None,
}
_PADDINGS = {True: "longest", "longest": "longest", "max_length": "max_length", False: None, "do_not_pad": None}


class Inputs(NamedTuple):
    """The texts of a call, as _leat.Tokenizer.encode takes them."""

    texts: Sequence[str]
    pairs: Sequence[str] | None = None
    words: Sequence[bytes] | None = None  # the ends of words, in texts of joined words
    pair_words: Sequence[bytes] | None = None
    marks: Sequence[bytes] | None = None


class Lengths:
    """The padding and truncation of a call."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        padding: bool | str,
        truncation: bool | str | None,
        max_length: int | None,
        multiple_of: int | None,
        side: str | None,
    ) -> None:
        self.tokenizer = tokenizer
        self.padding = _choice("padding", padding, _PADDINGS)
        if truncation is None and max_length is not None and padding is False:
            truncation = True
        self.strategy = _choice("truncation", truncation or False, _STRATEGIES)
        self.max_length = _count("max_length", max_length)
        self.multiple_of = _count("pad_to_multiple_of", multiple_of)
        self.cuts_left = check_side("truncation_side", tokenizer.truncation_side)
        self.pads_left = check_side("padding_side", side or tokenizer.padding_side)
        self._settle(tokenizer)

    def _settle(self, tokenizer: Tokenizer) -> None:
        """Uses the model's limit as the default max_length. If the model has no limit, texts are neither truncated nor padded
        to it."""
        if self.max_length is None and tokenizer.model_max_length <= _LONG:
            if self.strategy or self.padding == "max_length":
                self.max_length = tokenizer.model_max_length
        elif self.max_length is None:
            self.strategy = None
            self.padding = None if self.padding == "max_length" else self.padding
        if self.padding and tokenizer.pad_token_id is None:
            hint = "set one, for example tokenizer.pad_token = tokenizer.eos_token"
            raise SpecError(f"{tokenizer.name_or_path} has no padding token: {hint}")
        if self.strategy and self.padding and self.multiple_of and (self.max_length or 0) % self.multiple_of:
            raise SpecError(f"max_length={self.max_length} must be a multiple of pad_to_multiple_of={self.multiple_of}")

    def encode(
        self,
        inputs: Inputs,
        wanted: list[str],
        stride: int,
        with_overflow: bool,
        adds_special: bool,
        splits_special: bool,
    ) -> _leat.Encodings:
        native = self.tokenizer.native
        self._check_room(native.n_added(inputs.pairs is not None) if adds_special else 0)
        return native.encode(
            inputs.texts,
            inputs.pairs,
            inputs.marks,
            columns=sum(_COLUMNS.get(name, 0) for name in wanted),
            max_length=self.max_length if self.strategy and self.max_length is not None else -1,
            stride=stride,
            strategy=self.strategy or "longest_first",
            cuts_left=self.cuts_left,
            with_overflow=with_overflow,
            adds_special_tokens=adds_special,
            splits_special_tokens=splits_special,
            words=inputs.words,
            pair_words=inputs.pair_words,
        )

    def _check_room(self, n_special: int) -> None:
        if self.strategy and self.max_length is not None and self.max_length < n_special:
            raise SpecError(
                f"max_length={self.max_length} is too small for the {n_special} special tokens of a row: give a larger max_length"
            )

    def fill_of(self, column: str) -> int:
        """The value that pads a column."""
        return self.tokenizer._fill_of(column)

    def width(self, encodings: _leat.Encodings) -> int:
        return self.width_of(encodings.longest)

    def width_of(self, longest: int) -> int:
        """The width to which rows are padded, or 0 for no padding."""
        if self.padding is None:
            return 0
        width = (self.max_length or 0) if self.padding == "max_length" else longest
        return -(-width // self.multiple_of) * self.multiple_of if self.multiple_of else width


def _choice(name: str, value: Any, choices: Mapping[Any, Any]) -> Any:
    value = getattr(value, "value", value)
    if value not in choices:
        raise SpecError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")
    return choices[value]


def _count(name: str, value: int | None) -> int | None:
    if value is not None and value < 0:
        raise SpecError(f"{name}={value} is below 0: give 0 or more")
    return value


def check_side(name: str, value: str) -> bool:
    """True for "left". Raises SpecError if it is neither "left" nor "right"."""
    if value not in ("left", "right"):
        raise SpecError(f"{name}={value!r} is not 'left' or 'right'")
    return value == "left"

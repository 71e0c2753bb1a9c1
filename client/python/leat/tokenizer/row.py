"""The tokens of one row and their positions in the text. Names are those of `tokenizers.Encoding`.

An encoding creates its rows at the first use, by encoding the same texts again. So rows cost nothing if you do not use them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .lengths import Inputs, Lengths

_COLUMNS = {
    "ids": "input_ids",
    "type_ids": "token_type_ids",
    "tokens": "tokens",
    "offsets": "offset_mapping",
    "attention_mask": "attention_mask",
    "special_tokens_mask": "special_tokens_mask",
    "word_ids": "word_ids",
    "sequence_ids": "sequence_ids",
}


class CharSpan(NamedTuple):
    """Characters start..end - 1 of a text."""

    start: int
    end: int


class TokenSpan(NamedTuple):
    """Tokens start..end - 1 of a row."""

    start: int
    end: int


@dataclass
class TokenEncoding:
    """The tokens of one row. Offsets count the characters of the text, or of the word if words were given."""

    ids: list[int]
    type_ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    n_sequences: int
    overflowing: list[TokenEncoding] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def words(self) -> list[int | None]:
        return self.word_ids

    def _range(self, sequence_index: int) -> range:
        """The tokens of a text of the pair, or all tokens if there is no such text."""
        if sequence_index >= self.n_sequences:
            return range(len(self))
        places = [place for place, of in enumerate(self.sequence_ids) if of == sequence_index]
        return range(places[0], places[-1] + 1) if places else range(0)

    def token_to_sequence(self, token_index: int) -> int | None:
        return self.sequence_ids[token_index]

    def token_to_word(self, token_index: int) -> int | None:
        return self.word_ids[token_index]

    def token_to_chars(self, token_index: int) -> CharSpan | None:
        if self.sequence_ids[token_index] is None:
            return None
        return CharSpan(*self.offsets[token_index])

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> TokenSpan | None:
        places = [place for place in self._range(sequence_index) if self.word_ids[place] == word_index]
        return TokenSpan(places[0], places[-1] + 1) if places else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> CharSpan | None:
        span = self.word_to_tokens(word_index, sequence_index)
        return CharSpan(self.offsets[span.start][0], self.offsets[span.end - 1][1]) if span else None

    def char_to_token(self, char_index: int, sequence_index: int = 0) -> int | None:
        for place in self._range(sequence_index):
            start, end = self.offsets[place]
            if start <= char_index < end:
                return place
        return None

    def char_to_word(self, char_index: int, sequence_index: int = 0) -> int | None:
        place = self.char_to_token(char_index, sequence_index)
        return None if place is None else self.word_ids[place]


class Source(NamedTuple):
    """The call that made an encoding."""

    asked: Lengths
    inputs: Inputs
    stride: int
    adds_special: bool
    splits_special: bool
    shows_overflow: bool

    def rows(self) -> list[TokenEncoding]:
        """Encodes the texts again, and makes the rows. If the call did not ask for overflowing tokens, they go to
        `overflowing`."""
        made = self.asked.encode(
            self.inputs, list(_COLUMNS.values()), self.stride, True, self.adds_special, self.splits_special
        )
        of, lengths = made.inputs(), made.lengths()
        is_first = [place == 0 or of[place - 1] != text for place, text in enumerate(of)]
        shown = [n for n, is_shown in zip(lengths, is_first) if is_shown or self.shows_overflow]
        width = self.asked.width_of(max(shown, default=0))
        columns = {
            name: made.lists(column, width, self.asked.fill_of(column), self.asked.pads_left)
            for name, column in _COLUMNS.items()
        }
        n_sequences = 1 if self.inputs.pairs is None else 2
        rows: list[TokenEncoding] = []
        first: TokenEncoding | None = None
        for place in range(len(of)):
            row = TokenEncoding(**{name: lists[place] for name, lists in columns.items()}, n_sequences=n_sequences)
            if first is None or is_first[place]:
                first = row
            else:
                first.overflowing.append(row)
            if row is first or self.shows_overflow:
                rows.append(row)
        return rows

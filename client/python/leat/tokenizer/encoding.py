"""The result of a tokenizer: a mapping of names to lists of numbers, or to arrays of a framework.

The extension writes arrays directly into the framework's memory, without lists of Python numbers in between.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

from ..errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._leat import Encodings
    from .row import CharSpan, Source, TokenEncoding, TokenSpan
    from .tokenizer import Tokenizer

# The names of frameworks that users give.
FRAMEWORKS = {
    "np": "numpy", "numpy": "numpy", "pt": "torch", "torch": "torch", "jax": "jax", "flax": "jax", "mlx": "mlx",
}


class Encoding(dict[str, Any]):
    """input_ids, attention_mask, ... of one text or of several texts. Entries are attributes too, as in
    transformers.BatchEncoding. encoding[0] is the TokenEncoding of row 0, and encoding[:2] is a list with those of rows 0 and
    1. """

    _tokenizer: Tokenizer | None = None
    _source: Source | None = None
    _rows: list[TokenEncoding] | None = None

    def __getitem__(self, key: Any) -> Any:
        return self._made_rows("encoding[...]")[key] if isinstance(key, (int, slice)) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this encoding has no {name!r}; it has {', '.join(map(repr, self))}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (dict(self), self._tokenizer, self._source)

    # ---- tokens, words and characters: as transformers.BatchEncoding

    def _made_rows(self, wanted: str) -> list[TokenEncoding]:
        if self._source is None:
            raise SpecError(f"{wanted} is not available, because this encoding is not the result of a call of a tokenizer")
        if self._rows is None:
            self._rows = self._source.rows()
        return self._rows

    def _ask(self, method: str, one: int, other: int | None, *more: int) -> Any:
        """Calls a method of a row with a position in the row: of row `one` with `other`, or of row 0 with `one`."""
        rows = self._made_rows(f"{method}()")
        row, place = (rows[0], one) if other is None else (rows[one], other)
        return getattr(row, method)(place, *more)

    @property
    def encodings(self) -> list[TokenEncoding] | None:
        """The TokenEncoding of each row, or None if this encoding is not the result of a call of a tokenizer."""
        return None if self._source is None else self._made_rows("encodings")

    @property
    def is_fast(self) -> bool:
        return self._source is not None

    @property
    def n_sequences(self) -> int | None:
        """2 for pairs, else 1."""
        return None if self._source is None else 1 if self._source.inputs.pairs is None else 2

    def tokens(self, batch_index: int = 0) -> list[str]:
        """Returns the tokens of a row as strings, as the vocabulary spells them or, if the vocabulary differs, as the text does."""
        return self._made_rows("tokens()")[batch_index].tokens

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """Returns for each token the text of a pair to which it belongs, 0 or 1, or None for a special token."""
        return self._made_rows("sequence_ids()")[batch_index].sequence_ids

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        """Returns for each token the word to which it belongs, or None for a special token."""
        return self._made_rows("word_ids()")[batch_index].word_ids

    def words(self, batch_index: int = 0) -> list[int | None]:
        return self.word_ids(batch_index)

    def token_to_sequence(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        found: int | None = self._ask("token_to_sequence", batch_or_token_index, token_index)
        return found

    def token_to_word(self, batch_or_token_index: int, token_index: int | None = None) -> int | None:
        found: int | None = self._ask("token_to_word", batch_or_token_index, token_index)
        return found

    def token_to_chars(self, batch_or_token_index: int, token_index: int | None = None) -> CharSpan | None:
        found: CharSpan | None = self._ask("token_to_chars", batch_or_token_index, token_index)
        return found

    def word_to_tokens(
        self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0
    ) -> TokenSpan | None:
        found: TokenSpan | None = self._ask("word_to_tokens", batch_or_word_index, word_index, sequence_index)
        return found

    def word_to_chars(
        self, batch_or_word_index: int, word_index: int | None = None, sequence_index: int = 0
    ) -> CharSpan | None:
        found: CharSpan | None = self._ask("word_to_chars", batch_or_word_index, word_index, sequence_index)
        return found

    def char_to_token(self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0) -> int | None:
        found: int | None = self._ask("char_to_token", batch_or_char_index, char_index, sequence_index)
        return found

    def char_to_word(self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0) -> int | None:
        found: int | None = self._ask("char_to_word", batch_or_char_index, char_index, sequence_index)
        return found

    def to(self, device: Any, *, non_blocking: bool = False) -> Encoding:
        """Moves its tensors of PyTorch to this device. Returns itself."""
        for name, value in self.items():
            if hasattr(value, "to") and hasattr(value, "device"):
                self[name] = value.to(device, non_blocking=non_blocking)
        return self

    def convert_to_tensors(self, tensor_type: str | None = None, prepend_batch_axis: bool = False) -> Encoding:
        """Converts lists to arrays of a framework: int64, or int32 for JAX and MLX. Returns itself."""
        for name, value in self.items() if tensor_type else ():
            self[name] = from_lists([value] if prepend_batch_axis else value, framework_of(tensor_type), name)
        return self


def restore(items: dict[str, Any], tokenizer: Tokenizer | None, source: Source | None = None) -> Encoding:
    encoding = Encoding(items)
    encoding._tokenizer, encoding._source = tokenizer, source
    return encoding


def framework_of(name: object) -> str:
    """The framework that `return_tensors` names."""
    found = FRAMEWORKS.get(str(getattr(name, "value", name)))
    if found is None:
        raise SpecError(f"return_tensors={name!r} is not one of {', '.join(map(repr, FRAMEWORKS))}")
    return found


def array_framework(value: Any) -> str | None:
    """Returns the framework of an array, or of a list of arrays. Returns None for any other value."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    module = type(value).__module__.partition(".")[0]
    return FRAMEWORKS.get("jax" if module == "jaxlib" else module) if getattr(value, "ndim", 0) else None


def as_list(value: Any) -> Any:
    """Converts arrays to numbers and nested lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        return [as_list(item) for item in value]
    return value


def make_array(framework: str, encodings: Encodings, column: str, width: int, fill: int, pads_left: bool) -> Any:
    """Makes an array of a column, [rows, width] or, for offset_mapping, [rows, width, 2], padded with `fill`."""
    shape = (len(encodings), width, 2) if column == "offset_mapping" else (len(encodings), width)

    def write(into: Any, is_wide: bool) -> None:
        encodings.fill(column, into, is_wide, width, fill, pads_left)

    return _MAKERS[framework](shape, write)


def flat_array(encodings: Encodings, column: str) -> Any:
    """Returns a column as an int32 array of NumPy, row after row."""
    n = encodings.n_tokens
    array = importlib.import_module("numpy").empty((n, 2) if column == "offset_mapping" else n, "int32")
    encodings.flat(column, array)
    return array


def row_offsets(encodings: Encodings) -> Any:
    """Returns an int64 array: where each row of a flat array starts, and where the last row ends."""
    array = importlib.import_module("numpy").empty(len(encodings) + 1, "int64")
    encodings.row_offsets(array)
    return array


def _with_numpy(shape: tuple[int, ...], write: Callable[[Any, bool], None], dtype: str = "int64") -> Any:
    array = importlib.import_module("numpy").empty(shape, dtype)
    write(array, dtype == "int64")
    return array


def _with_torch(shape: tuple[int, ...], write: Callable[[Any, bool], None]) -> Any:
    torch = importlib.import_module("torch")
    memory = bytearray(8 * math.prod(shape))
    write(memory, True)
    return torch.frombuffer(memory, dtype=torch.int64).view(shape) if memory else torch.empty(shape, dtype=torch.int64)


def _with_jax(shape: tuple[int, ...], write: Callable[[Any, bool], None]) -> Any:
    return importlib.import_module("jax.numpy").asarray(_with_numpy(shape, write, "int32"))


def _with_mlx(shape: tuple[int, ...], write: Callable[[Any, bool], None]) -> Any:
    mlx = importlib.import_module("mlx.core")
    memory = bytearray(4 * math.prod(shape))
    write(memory, False)
    return mlx.array(memoryview(memory).cast("i", shape)) if memory else mlx.zeros(shape, dtype=mlx.int32)


_MAKERS = {"numpy": _with_numpy, "torch": _with_torch, "jax": _with_jax, "mlx": _with_mlx}


def from_lists(value: Any, framework: str, name: str) -> Any:
    """Converts lists to an array. Floats stay floats. Raises SpecError if the lists have different lengths."""
    value = as_list(value)
    try:
        if framework == "torch":
            return importlib.import_module("torch").tensor(value)
        if framework == "mlx":
            return importlib.import_module("mlx.core").array(value)
        module = importlib.import_module("numpy" if framework == "numpy" else "jax.numpy")
        return module.asarray(value)
    except (ValueError, TypeError) as error:
        hint = "rows of different lengths need padding=True"
        raise SpecError(f"cannot make an array of {name!r}: {hint} ({error})") from None

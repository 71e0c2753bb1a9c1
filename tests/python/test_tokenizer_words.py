"""What is known of each token: leat.Tokenizer's encodings against those of transformers' fast tokenizers; and tokens with a
name that the vocabulary lacks."""

from __future__ import annotations

import json
import pathlib
import pickle
import struct
from typing import Any

import pytest

import leat
from leat import Tokenizer
from leat.tokenizer.encoding import Encoding

DATA = pathlib.Path(__file__).resolve().parents[1] / "tokenizer" / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.json") if path.stem != "parts")
TEXTS = [
    "Hello world",
    "",
    "The quick brown fox jumps over the lazy dog. " * 3,
    "naïve café — 日本語 🎉",
    "  a  b\n\tc ",
    "[CLS] hi </s> <|endoftext|>  [MASK] <s><unk>",
]
PAIRS = ["second", "a b c d e f g", "", "é", "What? " * 9, "y <mask> z"]
WORDS = [["Hello", "world"], [], ["", " naïve", "日本語!", "a b", "<s>"], ["don't", "x", "\n"]]
ALL = {"return_token_type_ids": True, "return_special_tokens_mask": True, "return_offsets_mapping": True}
CALLS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": True, "padding_side": "left", "truncation": True, "max_length": 9},
    {"truncation": True, "max_length": 10, "stride": 1, "return_overflowing_tokens": True},
    {"add_special_tokens": False},
]


def both(name: str) -> tuple[Any, Tokenizer]:
    transformers = pytest.importorskip("transformers")
    ours = Tokenizer.from_file(DATA / f"{name}.json")
    if ours.pad_token is None:
        ours.pad_token = next(iter(ours.get_vocab()))
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(DATA / f"{name}.json"))
    theirs.pad_token = ours.pad_token
    theirs.padding_side, theirs.truncation_side = ours.padding_side, ours.truncation_side
    return theirs, ours


def has_post_processor(name: str) -> bool:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["post_processor"] is not None


def known(row: Any, with_sequences: bool) -> dict[str, Any]:
    """All that a row says of its tokens."""
    names = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids")
    n, last = len(row), max((end for _, end in row.offsets), default=0)
    found = {name: getattr(row, name) for name in names} | {"n": n, "n_sequences": row.n_sequences}
    if with_sequences:
        found["sequence_ids"] = row.sequence_ids
        found["of tokens"] = [(row.token_to_sequence(i), row.token_to_word(i), row.token_to_chars(i)) for i in range(n)]
    for sequence in range(row.n_sequences):
        found[f"of chars {sequence}"] = [
            (row.char_to_token(i, sequence), row.char_to_word(i, sequence)) for i in range(last + 1)
        ]
        words = {word for word in row.word_ids if word is not None} | {99}
        found[f"of words {sequence}"] = [
            (row.word_to_tokens(i, sequence), row.word_to_chars(i, sequence)) for i in sorted(words)
        ]
    return found


def check(name: str, theirs: Any, ours: Any) -> None:
    assert dict(ours) == dict(theirs)
    assert len(ours.encodings) == len(theirs.encodings)
    # of a text alone, without a post-processor, `tokenizers` takes even padding for a part of the text
    with_sequences = has_post_processor(name) or theirs.n_sequences == 2
    for mine, other in zip(ours.encodings, theirs.encodings):
        if name == "albert":  # its template spells [CLS] what its vocabulary spells <cls>
            assert [token for token, of in zip(mine.tokens, mine.sequence_ids) if of is not None] == [
                token for token, of in zip(other.tokens, other.sequence_ids) if of is not None
            ]
            continue
        assert known(mine, with_sequences) == known(other, with_sequences)
    parts = ours.encodings[0].overflowing
    assert [part.ids for part in parts] == [part.ids for part in theirs.encodings[0].overflowing]
    if with_sequences and len(ours.encodings) > 0:
        last = len(ours.encodings) - 1
        assert ours.word_ids(last) == theirs.word_ids(last) and (name == "albert" or ours.tokens(last) == theirs.tokens(last))
        assert ours.sequence_ids(last) == theirs.sequence_ids(last)
        assert ours.char_to_token(last, 0) == theirs.char_to_token(last, 0) and ours.char_to_token(3) == theirs.char_to_token(3)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_words_and_characters(name: str) -> None:
    theirs, ours = both(name)
    for options in CALLS:
        for texts in [(TEXTS,), (TEXTS[3],), (TEXTS, PAIRS), (TEXTS[3], PAIRS[3])]:
            check(name, theirs(*texts, **options, **ALL), ours(*texts, **options, **ALL))
    for text in TEXTS:
        assert ours.tokenize(text) == theirs.tokenize(text)


@pytest.mark.parametrize("name", NAMES)
def test_words_that_are_given(name: str) -> None:
    theirs, ours = both(name)
    for options in CALLS:
        for words in [(WORDS,), (WORDS[2],), (WORDS, WORDS[::-1]), (WORDS[0], WORDS[2])]:
            mine = ours(*words, is_split_into_words=True, **options, **ALL)
            check(name, theirs(*words, is_split_into_words=True, **options, **ALL), mine)


def test_rows_of_an_encoding() -> None:
    theirs, ours = both("bert-uncased")
    made, other = ours(TEXTS, padding=True), theirs(TEXTS, padding=True)
    assert made[0].ids == other[0].ids and [row.ids for row in made[1:3]] == [row.ids for row in other[1:3]]
    assert (made.n_sequences, made.is_fast, ours(TEXTS, PAIRS).n_sequences) == (1, True, 2)
    again = pickle.loads(pickle.dumps(made))
    assert again.encodings == made.encodings and again.char_to_token(3, 1) == made.char_to_token(3, 1)
    with pytest.raises(KeyError):
        made["no such"]
    for lonely in (Encoding({"input_ids": [1, 2]}), ours.pad(dict(made))):
        assert lonely.encodings is None and not lonely.is_fast
        for call in (lonely.tokens, lonely.word_ids, lonely.sequence_ids, lambda: lonely[0], lambda: lonely.char_to_token(0)):
            with pytest.raises(ValueError, match="not available"):
                call()


def test_words_of_surrogates_and_wrong_ends() -> None:
    ours = Tokenizer.from_file(DATA / "gpt2.json")
    with pytest.raises(ValueError):
        ours(["\ud800"], is_split_into_words=True)
    for ends in ([1], [2, 1, 3], [9], []):
        with pytest.raises(ValueError, match="must be ends of words in ascending order"):
            ours.native.encode(["a b"], words=[struct.pack(f"={len(ends)}I", *ends)])
    parts = ours.native.encode(["aéb"], words=[struct.pack("=3I", 2, 3, 4)], columns=2)  # within the é
    assert len(parts.lists("offset_mapping")[0]) > 2


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "modernbert", "albert"])
def test_added_tokens(name: str) -> None:
    theirs, ours = both(name)
    flags = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
    shown = {id: [getattr(token, flag) for flag in flags] for id, token in theirs.added_tokens_decoder.items()}
    assert {id: list(token) for id, token in ours.added_tokens_decoder.items()} == shown
    assert list(ours.added_tokens_decoder) == list(shown)
    assert ours.added_tokens_encoder == theirs.added_tokens_encoder


def test_names_that_are_no_tokens(tmp_path: pathlib.Path) -> None:
    """A pad_token that the vocabulary lacks is not lost without a word."""
    text = (DATA / "gpt2.json").read_text(encoding="utf-8")
    for given in ({"pad_token": "[NEW]"}, {"eos_token": "[NEW]"}, {"pad_token": 3}, {"pad_token": {"content": "[NEW]"}}):
        for make in (lambda: Tokenizer.from_file(DATA / "gpt2.json", **given), lambda: Tokenizer.from_json(text, **given)):
            with pytest.raises(ValueError, match=f"{next(iter(given))} is .*, which is not a token of .*gpt2.json|tokenizer.json"):
                make()
    ours = Tokenizer.from_file(DATA / "gpt2.json")
    for wrong in ("[NEW]", 3):
        with pytest.raises(ValueError, match="pad_token"):
            ours.pad_token = wrong
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[NEW]", "mask_token": "[NEW]"}))
    with pytest.raises(leat.SpecError, match=r"tokenizer_config.json: pad_token is '\[NEW\]'"):
        Tokenizer.from_pretrained(tmp_path)
    assert Tokenizer.from_pretrained(tmp_path, pad_token="!").pad_token == "!"
    assert Tokenizer.from_pretrained(tmp_path, pad_token=None).pad_token is None


def test_a_padding_of_tokenizers_without_its_token() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(DATA / "gpt2.json"))
    theirs.enable_padding(direction="left")  # [PAD] by default, which it does not have
    assert Tokenizer.of(theirs).padding_side == "left"

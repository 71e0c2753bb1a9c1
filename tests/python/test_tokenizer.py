"""leat.Tokenizer against transformers' fast tokenizers on the small ones of tests/tokenizer/data; and what is its own: one
number per id, arrays that are written once, files, chats, what is refused, threads, signals, forks."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import pickle
import random
import signal
import struct
import threading
import warnings
from typing import Any

import pytest

import leat
from leat import Tokenizer, _leat, chats
from leat.tokenizer import model_cache, tokenizer
from leat.tokenizer.encoding import Encoding

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "tokenizer" / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.json") if path.stem != "parts")
TEXTS = [
    "Hello world",
    "",
    "The quick brown fox jumps over the lazy dog. " * 4,
    "naïve café — 日本語 🎉",
    "a  b\n\tc",
    "x" * 50,
    "[CLS] hi </s> <|endoftext|> [MASK]<s>",
]
PAIRS = ["second", "a b c d e f g", "", "é", "What? " * 20, "y", "z z"]
ALL = {
    "return_token_type_ids": True,
    "return_attention_mask": True,
    "return_special_tokens_mask": True,
    "return_offsets_mapping": True,
}


@functools.cache
def small(name: str) -> Tokenizer:
    return Tokenizer.from_file(DATA / f"{name}.json", threads=2)


def padded(name: str) -> Tokenizer:
    """One that can pad, its own."""
    made = Tokenizer.from_file(DATA / f"{name}.json")
    if made.pad_token is None:
        made.pad_token = next(iter(made.get_vocab()))
    return made


# ---- against transformers


def both(name: str) -> tuple[Any, Tokenizer]:
    transformers = pytest.importorskip("transformers")
    ours = padded(name)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(DATA / f"{name}.json"))
    theirs.pad_token = ours.pad_token
    theirs.padding_side, theirs.truncation_side = ours.padding_side, ours.truncation_side
    return theirs, ours


def shown(encoding: Any) -> dict[str, Any]:
    return {name: (str(v.dtype), v.tolist()) if hasattr(v, "tolist") else v for name, v in encoding.items()}


def run(call: Any, *args: Any, **options: Any) -> Any:
    """What it gives, or that it fails: panics of the wheel are no Exceptions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return shown(call(*args, **options))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            return "fails"


CALLS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 16, "truncation": True},
    {"padding": True, "truncation": True, "max_length": 8},
    {"max_length": 6},
    {"max_length": 6, "padding": "do_not_pad"},
    {"max_length": 6, "padding": "do_not_pad", "truncation": True},
    {"padding": True, "pad_to_multiple_of": 8},
    {"padding": True, "padding_side": "left"},
    {"padding": "max_length"},
    {"add_special_tokens": False, "truncation": True, "max_length": 5},
    {"truncation": "only_first", "max_length": 30},
    {"truncation": True, "max_length": 13},
    {"truncation": "only_second", "max_length": 40},
    {"truncation": "do_not_truncate", "max_length": 3},
    {"return_length": True, "padding": True},
    {"padding": True, "return_tensors": "np"},
    {"padding": True, "truncation": True, "max_length": 12, "return_tensors": "np", "return_length": True},
]


@pytest.mark.parametrize("name", NAMES)
def test_calls_as_transformers(name: str) -> None:
    theirs, ours = both(name)
    for options in CALLS:
        for texts in [(TEXTS,), (TEXTS[0],), (TEXTS[2],), (TEXTS[:1],)]:
            assert run(ours, *texts, **options, **ALL) == run(theirs, *texts, **options, **ALL), options
        for pair in [(TEXTS, PAIRS), (TEXTS[2], PAIRS[2]), (TEXTS[4], PAIRS[4]), (list(zip(TEXTS, PAIRS)),)]:
            assert run(ours, *pair, **options, **ALL) == run(theirs, *pair, **options, **ALL), options


@pytest.mark.parametrize("name", NAMES)
def test_what_it_knows_as_transformers(name: str) -> None:
    theirs, ours = both(name)
    assert (ours.vocab_size, len(ours)) == (theirs.vocab_size, len(theirs))
    vocab = theirs.get_vocab()
    assert ours.get_vocab() == vocab
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    assert [ours.num_special_tokens_to_add(pair) for pair in (False, True)] == [
        theirs.num_special_tokens_to_add(pair) for pair in (False, True)
    ]
    rows = [theirs(text)["input_ids"] for text in TEXTS]
    for skips in (False, True):
        assert ours.batch_decode(rows, skip_special_tokens=skips) == theirs.batch_decode(rows, skip_special_tokens=skips)
    for row in rows:
        tokens = theirs.convert_ids_to_tokens(row)
        assert ours.convert_ids_to_tokens(row) == tokens
        known = [(token, id) for token, id in zip(tokens, row) if token in vocab]  # not as the normalizer has changed it
        assert ours.convert_tokens_to_ids([token for token, _ in known]) == [id for _, id in known]
        assert ours.decode(row) == theirs.decode(row)
    pad = [dict(zip(["input_ids", "attention_mask"], [row, [1] * len(row)])) for row in rows if row]
    for options in ({}, {"pad_to_multiple_of": 16}, {"padding_side": "left"}, {"return_tensors": "np"}):
        assert run(ours.pad, pad, **options) == run(theirs.pad, pad, **options)
    numpy = pytest.importorskip("numpy")
    arrays = [{name: numpy.array(column) for name, column in row.items()} for row in pad]
    padded = ours.pad(arrays)
    assert type(padded["input_ids"]) is numpy.ndarray and padded["input_ids"].tolist() == ours.pad(pad)["input_ids"]


def test_is_taken_by_collators() -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    theirs, ours = both("bert-uncased")
    ours.model_input_names = theirs.model_input_names = ["input_ids", "attention_mask"]
    rows = [dict(ours(text)) for text in TEXTS]
    one, other = (transformers.DataCollatorWithPadding(tokenizer)(list(rows)) for tokenizer in (ours, theirs))
    assert shown(one) == shown(other)


# ---- its own ways


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2", "llama2"])
def test_overflow_has_every_token(name: str) -> None:
    ours = small(name)
    whole = ours(TEXTS, add_special_tokens=False)["input_ids"]
    for stride in (0, 1, 3):
        cut = ours(
            TEXTS, add_special_tokens=False, truncation=True, max_length=7, stride=stride, return_overflowing_tokens=True
        )
        for text, ids in enumerate(whole):
            rows = [row for row, of in zip(cut["input_ids"], cut["overflow_to_sample_mapping"]) if of == text]
            assert all(row[:stride] == before[len(before) - stride :] for before, row in zip(rows, rows[1:]))
            assert rows[0] + [id for row in rows[1:] for id in row[stride:]] == ids


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2", "llama2"])
def test_truncation_side(name: str, tmp_path: pathlib.Path) -> None:
    """Of a text, of each row of overflow, in what is saved, and of the rows of a loader."""
    ours = Tokenizer.from_file(DATA / f"{name}.json")
    whole = ours(TEXTS[2], add_special_tokens=False)["input_ids"]
    options: dict[str, Any] = {"add_special_tokens": False, "truncation": True, "max_length": 7}
    assert ours.truncation_side == "right" and ours(TEXTS[2], **options)["input_ids"] == whole[:7]
    ours.truncation_side = "left"
    assert ours(TEXTS[2], **options)["input_ids"] == whole[-7:]
    rows = ours(TEXTS[2], **options, stride=2, return_overflowing_tokens=True)["input_ids"]
    assert rows[0] == whole[-7:] and rows[1] == whole[-12:-5] and sum(map(len, rows)) == len(whole) + 2 * (len(rows) - 1)
    special = ours(TEXTS[2], truncation=True, max_length=7)["input_ids"]
    ends = 1 if name == "bert-uncased" else 0
    assert special[7 - ends - 3 : 7 - ends] == whole[-3:] and len(special) == 7
    ours.pad_token = ours.pad_token or ours.eos_token
    for side in ("left", "right"):
        ours.truncation_side = side
        cut = ours(TEXTS[2], truncation=True, max_length=7)["input_ids"]
        with leat.dataloader([{"text": TEXTS[2]}], ours, text="text", batch_size=1, max_length=7, framework="numpy") as batches:
            assert next(iter(batches))["input_ids"].tolist() == [cut] and (cut == special) == (side == "left")
    ours.truncation_side = "left"
    ours.save_pretrained(tmp_path)
    again = Tokenizer.from_pretrained(tmp_path)
    assert again.truncation_side == "left" and again(TEXTS[2], **options)["input_ids"] == whole[-7:]
    with pytest.raises(leat.SpecError, match="truncation_side"):
        ours.truncation_side = "middle"
        ours(TEXTS[2], **options)


def test_one_number_for_each_id() -> None:
    one, other = small("gpt2")([TEXTS[2], TEXTS[2]])["input_ids"]
    assert max(one) > 256  # others are shared by Python itself
    assert all(a is b for a, b in zip(one, other))


@pytest.mark.parametrize("framework", ["np", "pt", "jax", "mlx"])
def test_arrays(framework: str) -> None:
    pytest.importorskip({"np": "numpy", "pt": "torch", "jax": "jax", "mlx": "mlx.core"}[framework])
    ours = padded("bert-uncased")
    lists = ours(TEXTS, PAIRS, padding=True, return_length=True, **ALL)
    arrays = ours(TEXTS, PAIRS, padding=True, return_length=True, return_tensors=framework, **ALL)
    assert list(lists) == list(arrays)
    for name, value in arrays.items():
        rows = [list(map(list, row)) for row in lists[name]] if name == "offset_mapping" else lists[name]
        assert value.tolist() == rows
        if name != "length":
            assert str(value.dtype).split(".")[-1] == ("int64" if framework in ("np", "pt") else "int32")
    assert ours([], return_tensors=framework)["input_ids"].shape == (0, 0)
    assert tuple(ours("one", return_tensors=framework)["input_ids"].shape) == (1, len(ours("one")["input_ids"]))
    with pytest.raises(leat.SpecError, match="2 to 9 tokens, so they cannot be one array: give padding=True"):
        ours(TEXTS, truncation=True, max_length=9, return_tensors=framework)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2", "t5"])
def test_flat_arrays(name: str) -> None:
    pytest.importorskip("numpy")
    ours = small(name)
    columns = {"return_token_type_ids": True, "return_special_tokens_mask": True, "return_offsets_mapping": True}
    for texts in ((TEXTS * 400,), (TEXTS, PAIRS), ([],)):
        for options in ({}, {"truncation": True, "max_length": 5}, {"add_special_tokens": False}):
            lists = ours(*texts, return_attention_mask=False, **options, **columns)
            flat = ours.flat(*texts, **options, **columns)
            assert [*lists, "row_offsets"] == list(flat)
            ends = flat["row_offsets"].tolist()
            assert len(ends) == len(texts[0]) + 1 and flat["row_offsets"].dtype == "int64"
            for column, rows in lists.items():
                assert flat[column].dtype == "int32" and len(flat[column]) == ends[-1]
                found = [flat[column][start:end].tolist() for start, end in zip(ends, ends[1:])]
                assert found == [list(map(list, row)) if column == "offset_mapping" else row for row in rows]
    assert ours.flat(TEXTS, PAIRS).word_ids(1) == ours(TEXTS, PAIRS).word_ids(1)
    rows = ours.native.encode(["a b"])
    for call in (lambda: rows.flat("input_ids", bytearray(3)), lambda: rows.row_offsets(bytearray(8))):
        with pytest.raises(ValueError, match="the buffer has"):
            call()
    with pytest.raises(KeyError):
        ours.native.encode(["a b"], columns=32).flat("tokens", bytearray(8))


def test_arrays_are_the_callers() -> None:
    pytest.importorskip("torch")
    first = padded("gpt2")(TEXTS, padding=True, return_tensors="pt")["input_ids"]
    kept = first.clone()
    first += 1
    assert (padded("gpt2")(TEXTS, padding=True, return_tensors="pt")["input_ids"] == kept).all()


def test_an_encoding_is_a_mapping_with_attributes() -> None:
    encoding = small("bert-uncased")("hello there")
    assert encoding.input_ids is encoding["input_ids"] and not hasattr(encoding, "no_such")
    assert encoding.tokens()[0] == "[CLS]"
    again = pickle.loads(pickle.dumps(encoding))
    assert isinstance(again, Encoding) and again == encoding and again.tokens() == encoding.tokens()
    assert encoding.to("cpu") is encoding


def test_targets_become_labels() -> None:
    ours = small("t5")
    assert ours("a b", text_target="c")["labels"] == ours("c")["input_ids"]
    assert ours(text_target="c") == ours("c")


def test_many_threads_and_texts_keep_their_order() -> None:
    rng = random.Random(7)
    words = [chr(rng.randrange(97, 123)) * rng.randrange(1, 9) + rng.choice(["", "é", "水", "."]) for _ in range(500)]
    texts = [" ".join(rng.choices(words, k=rng.randrange(120))) for _ in range(1500)]
    alone = Tokenizer.from_file(DATA / "qwen.json", threads=1)
    many = Tokenizer.from_file(DATA / "qwen.json", threads=8)
    expected = [alone.encode(text) for text in texts]
    seen: list[Any] = []
    calls = [threading.Thread(target=lambda: seen.append(many(texts)["input_ids"])) for _ in range(4)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert [rows == expected for rows in seen] == [True] * 4


# ---- names, files, the cache of models


def test_names_of_tokens() -> None:
    ours = padded("bert-uncased")
    assert (ours.cls_token, ours.pad_token_id) == ("[CLS]", ours.convert_tokens_to_ids("[PAD]"))
    ours.pad_token = ours.sep_token
    assert ours.pad_token_id == ours.sep_token_id
    ours.mask_token_id = ours.cls_token_id
    assert ours.mask_token == "[CLS]" and "[CLS]" in ours.all_special_tokens
    assert ours.add_special_tokens({"pad_token": "[PAD]"}) == 0
    assert ours.get_special_tokens_mask([ours.cls_token_id, 5000], already_has_special_tokens=True) == [1, 0]
    with pytest.raises(leat.SpecError, match="there is no token '<new>'"):
        ours.eos_token = "<new>"
    ours.eos_token = None
    assert ours.eos_token_id is None and ours.convert_tokens_to_ids("no such token") == ours.unk_token_id


def test_saved_and_read_again(tmp_path: pathlib.Path) -> None:
    ours = padded("gpt2")
    ours.padding_side, ours.model_max_length = "left", 40
    ours.save_pretrained(tmp_path / "saved")
    again = Tokenizer.from_pretrained(tmp_path / "saved")
    assert (again.pad_token, again.padding_side, again.model_max_length) == (ours.pad_token, "left", 40)
    assert again(TEXTS, padding=True, truncation=True) == ours(TEXTS, padding=True, truncation=True)
    for one in (ours, again, Tokenizer.from_json((DATA / "gpt2.json").read_bytes(), pad_token=ours.pad_token)):
        other = pickle.loads(pickle.dumps(one))
        assert other(TEXTS, padding=True) == one(TEXTS, padding=True) and other.config == one.config


def test_read_by_transformers(tmp_path: pathlib.Path) -> None:
    transformers = pytest.importorskip("transformers")
    ours = padded("modernbert")
    ours.save_pretrained(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ours.model_input_names = theirs.model_input_names
    assert shown(theirs(TEXTS, padding=True)) == shown(ours(TEXTS, padding=True))
    assert theirs.special_tokens_map == ours.special_tokens_map


def make_cache(folder: pathlib.Path) -> pathlib.Path:
    model = folder / "models--org--small"
    snapshot = model / "snapshots" / ("ab" * 20)
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("ab" * 20)
    (snapshot / "tokenizer.json").symlink_to(DATA / "gpt2.json")
    (snapshot / "tokenizer_config.json").write_text(
        json.dumps({"pad_token": {"content": "!"}, "model_max_length": 9, "model_input_names": ["input_ids"]})
    )
    return snapshot


def test_names_of_models(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cache(tmp_path / "hub")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    ours = Tokenizer.from_pretrained("org/small", padding_side="left")
    assert (ours.pad_token, ours.model_max_length, ours.padding_side, ours.name_or_path) == ("!", 9, "left", "org/small")
    assert list(ours("a")) == ["input_ids"]
    assert len(ours(TEXTS[2], truncation=True)["input_ids"]) == 9
    assert Tokenizer.from_pretrained("org/small", revision="ab" * 20)("a") == ours("a")
    with pytest.raises(leat.NotFoundError, match="did you mean 'org/small'.*hf download org/smal`"):
        Tokenizer.from_pretrained("org/smal")
    for revision in ("no", "v1.0"):
        with pytest.raises(leat.NotFoundError, match="has no revision"):
            Tokenizer.from_pretrained("org/small", revision=revision)
    for name, revision in (("../x/y", "main"), ("a/b/c", "main"), ("org/small", "../../.."), ("org/small", "/etc")):
        with pytest.raises(leat.Error):
            Tokenizer.from_pretrained(name, revision=revision)
    (tmp_path / "hub" / "models--org--small" / "refs" / "main").write_text("../../../..")
    with pytest.raises(leat.NotFoundError):
        Tokenizer.from_pretrained("org/small")


def test_objects_become_files(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    theirs, ours = both("bert-uncased")
    theirs(TEXTS, padding=True, truncation=True, max_length=5)  # leaves its mark in the tokenizer
    path = tokenizer.path_of(theirs)
    assert path == tokenizer.path_of(theirs) and path.startswith(str(tmp_path))
    made = Tokenizer.of(theirs)
    assert made.pad_token == ours.pad_token and made(TEXTS, **ALL) == ours(TEXTS, **ALL)
    assert len(Tokenizer.of(theirs.backend_tokenizer)("a " * 40)["input_ids"]) == 42
    assert tokenizer.path_of(DATA / "gpt2.json") == str(DATA / "gpt2.json") == tokenizer.path_of(small("gpt2"))
    assert Tokenizer.of(ours) is ours
    with pytest.raises(leat.SpecError, match="int is not a tokenizer"):
        tokenizer.path_of(3)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"pad_token": 3, "model_max_length": "x", "model_input_names": 1}', "[" * 100000, "\xff"]
)
def test_damaged_configurations(content: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes((DATA / "gpt2.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_bytes(content.encode("latin-1"))
    try:
        assert Tokenizer.from_file(tmp_path)("hi") == small("gpt2")("hi")
    except leat.SpecError as error:
        assert "tokenizer_config.json" in str(error)


# ---- chats


def test_chats_are_those_of_the_stage() -> None:
    n_ids = 0
    for line in (ROOT / "pipeline" / "data" / "chat.jsonl").read_bytes().splitlines():
        case = json.loads(line)
        ours = small(case["tokenizer"])
        options = {"chat_template": case["template"], "add_generation_prompt": case["prompt"]}
        if "error" in case:
            with pytest.raises(ValueError):
                ours.apply_chat_template(case["messages"], **options)
            continue
        assert ours.apply_chat_template(case["messages"], tokenize=False, **options) == case["text"]
        encoding = ours.apply_chat_template(case["messages"], return_assistant_tokens_mask=True, **options)
        assert encoding["input_ids"] == case["ids"]
        if case["assistant_masks"]:
            assert encoding["assistant_masks"] == case["assistant_masks"]
        else:  # where transformers marks too much or too little
            marked = [id for id, mask in zip(encoding["input_ids"], encoding["assistant_masks"]) if mask]
            assert ours.decode(marked) == case["said"]
        n_ids += bool(case["assistant_masks"])
    assert n_ids > 100


def test_chats_of_several_conversations() -> None:
    ours = padded("qwen")
    one = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo", "tool_calls": None}]
    other = [{"role": "user", "content": "A longer question"}]
    ours.chat_template = "chatml"
    rows = ours.apply_chat_template([one, other], padding=True, return_tensors="np", system="Be kind.")["input_ids"]
    assert rows.shape[0] == 2
    text = ours.apply_chat_template(one, tokenize=False, system="Be kind.")
    assert text == (
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>\n"
    )
    assert ours.decode(rows[0], skip_special_tokens=False).startswith(text)
    kwargs = {"padding_side": "left", "pad_to_multiple_of": 64, "return_attention_mask": False, "return_offsets_mapping": True}
    told = ours.apply_chat_template(
        [one, other], padding=True, return_tensors="np", system="Be kind.", tokenizer_kwargs=kwargs
    )
    assert list(told) == ["input_ids", "offset_mapping"] and told["input_ids"].shape == (2, 64)
    assert ours.decode(told["input_ids"][0]).endswith(text)
    assert ours.apply_chat_template(one, return_dict=False) == ours.encode(
        ours.apply_chat_template(one, tokenize=False), add_special_tokens=False
    )


JINJA = """{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages -%}
<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.reasoning_content }}{{ m.content }}{{ eos_token }}{% endgeneration %}
{%- else %}{{ m.content | upper if shout else m }}{% endif %}{% endfor %}{{ '<assistant>' if add_generation_prompt }}"""
ASKED = [
    [{"role": "user", "content": "Hi", "name": None}, {"role": "assistant", "content": "Yo é🎉", "thinking": "hm"}],
    [{"role": "user", "content": "2+2? 日本"}, {"role": "assistant", "content": "4", "tool_calls": None}],
]


@pytest.fixture
def model_with_chat(tmp_path: pathlib.Path) -> Any:
    """A function that makes the folder of a model with this template."""

    def make(template: Any) -> pathlib.Path:
        (tmp_path / "tokenizer.json").write_bytes((DATA / "qwen.json").read_bytes())
        config = {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "chat_template": template}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        return tmp_path

    return make


def test_template_of_the_model(model_with_chat: Any) -> None:
    transformers = pytest.importorskip("transformers")
    folder = model_with_chat(JINJA)
    ours, theirs = Tokenizer.from_file(folder), transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    assert ours.chat_template == theirs.chat_template == JINJA
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    options: list[dict[str, Any]] = [{}, {"add_generation_prompt": True}, {"tools": tools}, {"shout": True}, {"eos_token": "!"}]
    for each in options:
        text = theirs.apply_chat_template(ASKED[0], tokenize=False, **each)
        assert ours.apply_chat_template(ASKED[0], tokenize=False, **each) == text
        assert pickle.loads(pickle.dumps(ours)).apply_chat_template(ASKED[0], tokenize=False, **each) == text
        assert ours.apply_chat_template(ASKED, tokenize=False, **each)[1] == theirs.apply_chat_template(
            ASKED[1], tokenize=False, **each
        )
        ids = theirs.apply_chat_template(ASKED[1], **each)["input_ids"]
        told = ours.apply_chat_template(ASKED[1], return_assistant_tokens_mask=True, **each)
        assert told["input_ids"] == ids
        said = ours.decode([id for id, mask in zip(ids, told["assistant_masks"]) if mask])
        assert said == ("4!" if "eos_token" in each else "4<|im_end|>")
    assert ours.apply_chat_template(ASKED[0][:1], tokenize=False, bos="B").startswith("B<user>")
    text = ours.apply_chat_template(ASKED[0][:1], tokenize=False, system="Be kind.", shout=True)
    assert text == "<|endoftext|><system>BE KIND.<user>HI"
    assert ours.apply_chat_template(ASKED[0][:1], "chatml", tokenize=False) == "<|im_start|>user\nHi<|im_end|>\n"
    assert ours.apply_chat_template(ASKED[0], "{{ messages | length }}", tokenize=False) == "2"
    assert ours.get_chat_template() == JINJA
    ours.chat_template = "chatml"
    assert ours.get_chat_template() == "chatml"


def test_templates_with_names(model_with_chat: Any) -> None:
    named = [{"name": "default", "template": "{{ 'd' }}"}, {"name": "tool_use", "template": "{{ tools | length }}"}]
    ours = Tokenizer.from_file(model_with_chat(named))
    talk = ASKED[0]
    assert ours.chat_template == {"default": "{{ 'd' }}", "tool_use": "{{ tools | length }}"}
    assert ours.apply_chat_template(talk, tokenize=False) == "d"
    assert ours.apply_chat_template(talk, tokenize=False, tools=[{}, {}]) == "2"
    assert ours.apply_chat_template(talk, "tool_use", tokenize=False, tools=[{}]) == "1"
    other = Tokenizer.from_file(model_with_chat(named[1:]))
    with pytest.raises(leat.SpecError, match="several chat templates: give chat_template, one of tool_use"):
        other.apply_chat_template(talk)


@pytest.mark.parametrize(
    ("template", "options", "match"),
    [
        ("{{ messages[0].content }}", {"return_assistant_tokens_mask": True}, "does not mark the assistant's text"),
        ("{{ 1", {}, "of the chat template"),
        ("{{ raise_exception('no') }}", {}, r"no \(line 1 of the chat template\)"),
        ("{{ messages }}", {"x": object()}, "accepts only texts, numbers, lists and dicts"),
        ("{{ messages }}", {"continue_final_message": True}, "continue_final_message is not supported"),
        ("{{ messages }}", {"x": float("nan")}, "not JSON compliant"),
    ],
)
def test_templates_that_fail(model_with_chat: Any, template: str, options: dict[str, Any], match: str) -> None:
    ours = Tokenizer.from_file(model_with_chat(template))
    with pytest.raises(ValueError, match=match):
        ours.apply_chat_template(ASKED[0], **options)
    for bad in ([{"content": "x"}], [["x"]], ["x"]):
        with pytest.raises(ValueError):
            ours.apply_chat_template(bad)


def test_chats_that_are_refused() -> None:
    ours = small("qwen")
    with pytest.raises(leat.SpecError, match="no chat template: give chat_template, a Jinja text or one of chatml, llama-3"):
        ours.apply_chat_template([{"role": "user", "content": "Hi"}])
    with pytest.raises(leat.SpecError, match="'chat' is neither one of chatml, .* nor a Jinja text"):
        ours.apply_chat_template([{"role": "user", "content": "Hi"}], chat_template="chat")
    with pytest.raises(leat.SpecError, match="leave out tools: it is only for Jinja templates, but chatml is one of leat's own"):
        ours.apply_chat_template([{"role": "user", "content": "Hi"}], "chatml", tools=[])
    with pytest.raises(leat.SpecError, match="looks like chat_template='gemma'"):
        chats.choose(None, "{{ bos }}<start_of_turn>")
    for bad in ([], "Hi", {"role": "user"}, [{"role": "user"}], [{"role": "who", "content": "x"}], [[]], 3):
        with pytest.raises((ValueError, TypeError)):
            ours.apply_chat_template(bad, chat_template="chatml")  # type: ignore[arg-type]
    with pytest.raises(leat.SpecError, match="tokenizer_kwargs has no option 'stride'; the options are padding_side"):
        ours.apply_chat_template([{"role": "user", "content": "Hi"}], "chatml", tokenizer_kwargs={"stride": 3})
    with pytest.raises(leat.SpecError, match="gemma has no place for a system message"):
        ours.apply_chat_template([{"role": "user", "content": "Hi"}], "gemma", system="x")
    with pytest.raises(leat.SpecError, match="needs return_dict=True"):
        ours.apply_chat_template(
            [{"role": "user", "content": "Hi"}], "chatml", return_dict=False, return_assistant_tokens_mask=True
        )


# ---- what is refused


def test_a_name_that_is_given_takes_no_other_away() -> None:
    """The usual spellings count where no file says otherwise, beside what is given."""
    for tokenizer in (
        Tokenizer.from_file(DATA / "llama2.json", pad_token="</s>"),
        Tokenizer.from_json((DATA / "llama2.json").read_text(), pad_token="</s>"),
    ):
        assert tokenizer.special_tokens_map == {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"}
        tokenizer.bos_token = None
        assert pickle.loads(pickle.dumps(tokenizer)).special_tokens_map == tokenizer.special_tokens_map
    assert Tokenizer.from_file(DATA / "llama2.json", eos_token=None).eos_token is None


def test_what_is_no_text() -> None:
    tokenizer = Tokenizer.from_file(DATA / "bert-uncased.json")
    for text in (5, b"a text", 1.5):
        with pytest.raises(ValueError, match="must be a str or a list of str"):
            tokenizer(text)  # type: ignore[arg-type]


def test_no_room_for_special_tokens() -> None:
    """Not more tokens than were allowed."""
    tokenizer = Tokenizer.from_file(DATA / "bert-uncased.json")
    for pair, least in ((None, 2), ("d e", 3)):
        for max_length in range(least):
            with pytest.raises(leat.SpecError, match=f"max_length={max_length} is too small for the {least} special tokens"):
                tokenizer("a b c", pair, truncation=True, max_length=max_length)
        assert len(tokenizer("a b c", pair, truncation=True, max_length=least).input_ids) == least
    without = tokenizer("a b c", add_special_tokens=False, truncation=True, max_length=1)
    assert without.input_ids == tokenizer.convert_tokens_to_ids(["a"])


def test_what_cannot_be_meant() -> None:
    ours = padded("gpt2")
    for call in (
        lambda: ours(),
        lambda: ours("a", padding="wide"),
        lambda: ours("a", truncation="never"),
        lambda: ours("a", max_length=-1),
        lambda: ours("a", truncation=True, max_length=1 << 40),
        lambda: ours("a", return_tensors="tf"),
        lambda: ours("a", ["b"]),
        lambda: ours(["a"], "b"),
        lambda: ours(["a", "b"], ["c"]),
        lambda: ours([("a", "b", "c")]),
        lambda: ours("a", is_split_into_words=True),
        lambda: ours([["a", 3]], is_split_into_words=True),
        lambda: ours(3),  # type: ignore[arg-type]
        lambda: ours("a b", truncation="only_second", max_length=1),
        lambda: ours("a", padding=True, truncation=True, max_length=5, pad_to_multiple_of=8),
        lambda: ours(TEXTS, truncation=True, max_length=4, stride=4, return_overflowing_tokens=True),
        lambda: ours("a", padding_side="up"),
        lambda: ours(["\ud800"]),
        lambda: ours.get_special_tokens_mask([1]),
        lambda: Tokenizer.from_file(DATA / "gpt2.json", threads=-1),
        lambda: Tokenizer.from_file(DATA / "gpt2.json", padding_side="up"),
    ):
        with pytest.raises(ValueError):
            call()
    for other in (lambda: ours(["a", 3]), lambda: ours.decode(["x"])):  # type: ignore[arg-type,list-item]
        with pytest.raises(TypeError):
            other()
    for wrong in ([1], 3, ["\udc80"]):
        with pytest.raises((TypeError, ValueError)):
            ours.convert_tokens_to_string(wrong)  # type: ignore[arg-type]
    assert ours.decode([-5, 1 << 40]) == "" and ours.decode([]) == ""
    without = Tokenizer.from_file(DATA / "gpt2.json")
    with pytest.raises(leat.SpecError, match="no padding token"):
        without("a", padding=True)


@pytest.mark.parametrize("name", ["bert-cased", "gpt2", "llama2", "t5", "xlnet"])
def test_tokens_that_there_are_not(name: str) -> None:
    """As the decoder of the file has it, for whatever is given to it."""
    tokenizers = pytest.importorskip("tokenizers")
    ours, theirs = Tokenizer.from_file(DATA / f"{name}.json"), tokenizers.Tokenizer.from_file(str(DATA / f"{name}.json"))
    known = ours.convert_ids_to_tokens(range(40, 60))
    for tokens in (["<unk>"], ["no such token"], [*known, "<unk>", "é", *known], ["<0xE5>", "##a", ""], []):
        assert ours.convert_tokens_to_string(tokens) == theirs.decoder.decode(tokens)


def test_errors_say_where() -> None:
    with pytest.raises(leat.SpecError) as caught:
        Tokenizer.from_json('{"model": {"type": "BPE", "vocab": 3}}', name="mine.json")
    assert caught.value.file == "mine.json" and caught.value.line == 1 and caught.value.path == "model.vocab"
    with pytest.raises(leat.NotFoundError, match="no-such"):
        Tokenizer.from_pretrained("/no-such/folder")
    with pytest.raises(leat.SpecError) as failed:
        Tokenizer.from_json(json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "?"}}))(["a", "b"])
    assert failed.value.path == "[1]"


def test_buffers_of_the_wrong_size() -> None:
    rows = small("gpt2").native.encode(TEXTS[:1] + [TEXTS[2]])
    for size, width in ((0, 1), (4 * 2 * rows.longest - 4, rows.longest), (4, -1), (8, 1 << 61)):
        with pytest.raises(ValueError):
            rows.fill("input_ids", bytearray(size), False, width)
    with pytest.raises(BufferError):
        rows.fill("input_ids", bytes(8 * rows.longest), False, rows.longest)
    for column in ("offset_mapping", "assistant_masks", "no such"):
        with pytest.raises(KeyError):
            rows.lists(column)
    assert [len(row) for row in rows.lists("input_ids", 3)] == [max(3, n) for n in rows.lengths()]


@pytest.mark.parametrize("marks", [[(0, 9)], [(2, 1)], [(1, 2), (0, 1)], [(0, 2), (1, 3)]])
def test_marks_outside_of_the_text(marks: list[tuple[int, int]]) -> None:
    packed = b"".join(struct.pack("=II", *pair) for pair in marks)
    with pytest.raises(ValueError, match="no|in ascending order"):
        small("gpt2").native.encode(["a b"], None, [packed], columns=16)
    with pytest.raises(ValueError):
        small("gpt2").native.encode(["a b"], None, [], columns=16)


def test_hostile_bytes() -> None:
    rng = random.Random(3)
    text = bytearray((DATA / "bert-uncased.json").read_bytes())
    for _ in range(60):
        damaged = bytearray(text)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            Tokenizer.from_json(bytes(damaged))(TEXTS)
        except leat.Error:
            pass
    for messages in (b"", b"[", b"[[]]", b'[{"role":1}]', b"\xff", b"[" * 5000, b'[{"role":"user","content":"\\ud800"}]'):
        with pytest.raises(ValueError):
            _leat.chat(messages, "chatml")


# ---- threads, signals, forks, memory


def test_a_signal_ends_a_long_call() -> None:
    ours = Tokenizer.from_file(DATA / "bert-uncased.json", threads=2)
    texts = ["word %d and more words" % i for i in range(200000)] * 10

    def on_alarm(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, on_alarm)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            ours.native.encode(texts)
            pytest.fail("it was not interrupted")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert ours("still here")["input_ids"]


def test_a_forked_child_may_use_it() -> None:
    ours = small("gpt2")
    expected = ours(TEXTS * 50)
    child = os.fork()
    if child == 0:
        os._exit(0 if ours(TEXTS * 50) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks() -> None:
    texts = [text * 20 for text in TEXTS]

    def use() -> None:
        ours = Tokenizer.from_file(DATA / "modernbert.json")
        for _ in range(20):
            ours(texts, texts, padding=True, **ALL)
            ours.decode(ours.encode(texts[2]))
            ours.apply_chat_template([{"role": "user", "content": "x" * 10000}], "chatml", return_assistant_tokens_mask=True)
            for bad in ([None], ["\ud800"]):
                with pytest.raises((TypeError, ValueError)):
                    ours(bad)
            with pytest.raises(leat.SpecError):
                ours(texts, truncation="only_second", max_length=3)

    for _ in range(3):
        use()
    before = resident()
    for _ in range(10):
        use()
    assert resident() - before < 4 << 20


def test_the_cache_of_models_is_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = pathlib.Path("~").expanduser()
    assert model_cache.cache_folder() == home / ".cache/huggingface/hub"
    for name, value, expected in (
        ("XDG_CACHE_HOME", "/x", "/x/huggingface/hub"),
        ("HF_HOME", "/h", "/h/hub"),
        ("HF_HUB_CACHE", "/c", "/c"),
    ):
        monkeypatch.setenv(name, value)
        assert model_cache.cache_folder() == pathlib.Path(expected)

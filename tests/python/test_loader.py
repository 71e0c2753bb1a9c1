"""leat.dataloader(): the batches of the obvious code with torch and transformers, of all that people hold; tokenized once."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from conftest import START_S  # noqa: E402
import leat  # noqa: E402
from leat import errors, frameworks  # noqa: E402
from leat.data import columns, held  # noqa: E402

WORDS = "the a cat dog sat ran on under mat tree and or not very small large red blue house".split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
TEXTS = [" ".join(WORDS[(i * 7 + j * 3) % len(WORDS)] for j in range(i * 5 % 23)) for i in range(203)]
ROWS: list[dict[str, Any]] = [{"text": text, "label": i % 3, "score": i / 4, "title": f"cat {WORDS[i % 19]}"} for i, text in enumerate(TEXTS)]


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("LEAT_SOCKET", raising=False)
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


def word_piece() -> dict[str, Any]:
    """A tokenizer.json, as of BERT, of a few words and all letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = {token: id for id, token in enumerate([*SPECIAL, *WORDS, *(f"##{letter}" for letter in letters), *letters])}
    flags = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)
    start, end = {"id": "[CLS]", "type_id": 0}, {"id": "[SEP]", "type_id": 0}
    first = [{"SpecialToken": start}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": end}]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {**end, "type_id": 1}}]
    ids = {token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab[token], "content": token, "special": True, **flags} for token in SPECIAL],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "TemplateProcessing", "single": first, "pair": first + second, "special_tokens": ids},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "tokenizer.json"
    path.write_text(json.dumps(word_piece()))
    names: dict[str, Any] = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    names |= {"model_max_length": 10**30}
    (path.parent / "tokenizer_config.json").write_text(json.dumps(names))
    return str(path)


@pytest.fixture(scope="module")
def fast(tokenizer_json: str) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=tokenizer_json, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def of_numpy(*arguments: Any, **options: Any) -> leat.DataLoader:
    return leat.dataloader(*arguments, framework="numpy", **options)


def batches_of(rows: list[dict[str, Any]], size: int, drop_last: bool = False) -> Iterator[list[dict[str, Any]]]:
    """As torch.utils.data.DataLoader makes them."""
    for first in range(0, len(rows), size):
        if not drop_last or first + size <= len(rows):
            yield rows[first : first + size]


def expected(fast: Any, rows: list[dict[str, Any]], text: Any = "text", **options: Any) -> dict[str, Any]:
    """What a collate function with that tokenizer gives for one batch."""
    texts = [[row[name] for row in rows] for name in ([text] if isinstance(text, str) else text)]
    return {name: np.array(value) for name, value in fast(*texts, **options).items()}


def assert_equal(batch: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, value in wanted.items():
        np.testing.assert_array_equal(np.asarray(batch[name]), value, err_msg=name)


def rows_seen(batches: Any) -> list[tuple[int, ...]]:
    rows = [row for batch in batches for row in zip(batch["input_ids"], batch["attention_mask"])]
    return [tuple(int(id) for id, is_there in zip(ids, mask) if is_there) for ids, mask in rows]


# ---- against torch and transformers ----


@pytest.mark.parametrize("size", [1, 32])
@pytest.mark.parametrize("drop_last", [False, True])
def test_longest(fast: Any, size: int, drop_last: bool) -> None:
    with of_numpy(ROWS, fast, batch_size=size, max_length=12, drop_last=drop_last) as batches:
        found = list(batches)
        assert len(found) == len(batches)
    wanted = list(batches_of(ROWS, size, drop_last))
    assert len(found) == len(wanted)
    for batch, rows in zip(found, wanted):
        assert set(batch) == {"input_ids", "attention_mask", "token_type_ids", "labels"}
        assert_equal(batch, expected(fast, rows, truncation=True, max_length=12, padding=True))
        assert_equal(batch, {"labels": [row["label"] for row in rows]})
    assert {name: array.dtype.name for name, array in found[0].items()} == {
        "input_ids": "int32", "attention_mask": "int32", "token_type_ids": "int32", "labels": "int64",
    }


def test_max_length_and_sides(fast: Any) -> None:
    fast.padding_side, fast.truncation_side = "left", "left"
    try:
        with of_numpy(ROWS, fast, batch_size=50, max_length=10, padding="max_length", labels=False) as batches:
            for batch, rows in zip(batches, batches_of(ROWS, 50), strict=True):
                assert batch["input_ids"].shape == (len(rows), 10) and "labels" not in batch
                assert_equal(batch, expected(fast, rows, truncation=True, max_length=10, padding="max_length"))
        options: dict[str, Any] = {"max_length": 10, "padding": "max_length", "pad_to_multiple_of": 8}
        with of_numpy(ROWS, fast, batch_size=len(ROWS), labels=False, **options) as batches:
            cut = fast([row["text"] for row in ROWS], truncation=True, max_length=10)
            assert_equal(next(iter(batches)), fast.pad(cut, padding="max_length", max_length=16))
        rows = [{"text": "a cat " * n, "labels": [7] * len(fast("a cat " * n)["input_ids"])} for n in (3, 1, 2)]
        with of_numpy(rows, fast) as batches:
            batch = next(iter(batches))
            assert (batch["labels"] == np.where(batch["attention_mask"], 7, -100)).all()
    finally:
        fast.padding_side, fast.truncation_side = "right", "right"


def test_length_of_the_model(tokenizer_json: str) -> None:
    """Where no length is said texts are cut as by a call of the tokenizer with truncation=True."""
    transformers = pytest.importorskip("transformers")
    options: dict[str, Any] = {"pad_token": "[SEP]", "model_max_length": 9}  # a pad token of another id than 0
    fast = transformers.PreTrainedTokenizerFast(tokenizer_file=tokenizer_json, **options)
    for tokenizer in (fast, leat.Tokenizer.from_file(tokenizer_json, **options)):
        for padding in ("longest", "max_length"):
            with of_numpy(ROWS, tokenizer, text="text", batch_size=len(ROWS), padding=padding) as batches:
                assert_equal(next(iter(batches)), expected(fast, ROWS, padding=padding, truncation=True))


def test_pairs_templates_and_multiples(fast: Any) -> None:
    with of_numpy(ROWS, fast, text=("title", "text"), max_length=16, pad_to_multiple_of=8) as batches:
        for batch, rows in zip(batches, batches_of(ROWS, 32), strict=True):
            cut = {"truncation": True, "max_length": 16, "padding": True, "pad_to_multiple_of": 8}
            assert_equal(batch, expected(fast, rows, ("title", "text"), **cut))
    with of_numpy(ROWS, fast, text="{{{title}}} and {text}", token_type_ids=False) as batches:
        for batch, rows in zip(batches, batches_of(ROWS, 32), strict=True):
            assert "token_type_ids" not in batch
            joined = [{"text": f"{{{row['title']}}} and {row['text']}"} for row in rows]
            assert_equal(batch, expected(fast, joined, padding=True, return_token_type_ids=False))


def test_tokenizer_state_is_left_alone(fast: Any) -> None:
    fast(["a cat", "a"], truncation=True, max_length=3, padding="max_length")  # stays in the backend
    before = fast.backend_tokenizer.to_str()
    with of_numpy(ROWS, fast, batch_size=203) as batches:
        assert_equal(next(iter(batches)), expected(fast, ROWS, padding=True))
    fast(["a cat", "a"], truncation=True, max_length=3, padding="max_length")
    assert fast.backend_tokenizer.to_str() == before
    fast.add_tokens(["zebra"])
    rows = [{"text": "a zebra sat"}]
    with of_numpy(rows, fast) as batches:
        assert_equal(next(iter(batches)), expected(fast, rows))


def test_tokenizers_of_all_kinds(fast: Any, tokenizer_json: str) -> None:
    wanted = expected(fast, ROWS[:32], padding=True, return_token_type_ids=False)
    folder, own = pathlib.Path(tokenizer_json).parent, leat.Tokenizer.from_file(tokenizer_json)
    for tokenizer in (tokenizer_json, folder, own, fast.backend_tokenizer):
        with of_numpy(ROWS, tokenizer) as batches:
            assert_equal(next(iter(batches)), wanted)
    with pytest.raises(errors.NotFoundError):
        leat.dataloader(ROWS, "no/such-model")
    with pytest.raises(errors.SpecError):
        leat.dataloader(ROWS, 3)


def test_torch_data_loader(fast: Any) -> None:
    """The same loop, over tensors of torch, of the same data set."""
    torch = pytest.importorskip("torch")

    class Reviews(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return len(ROWS)

        def __getitem__(self, at: int) -> tuple[str, int]:
            return ROWS[at]["text"], ROWS[at]["label"]

    def collate(rows: list[tuple[str, int]]) -> dict[str, Any]:
        texts, labels = zip(*rows)
        encoded = fast(list(texts), truncation=True, max_length=16, padding=True, return_tensors="pt")
        return {**encoded, "labels": torch.tensor(labels)}

    theirs = torch.utils.data.DataLoader(Reviews(), batch_size=16, collate_fn=collate)
    ours = leat.dataloader(Reviews(), fast, batch_size=16, max_length=16)
    assert ours.framework == "torch" and len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert {name: torch.equal(mine[name].long(), other[name]) for name in other} == dict.fromkeys(mine, True)
        mine["input_ids"] += 1  # is one's own
    ours.close()


# ---- all that people hold ----


def csv_file(folder: pathlib.Path) -> str:
    with open(folder / "rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(ROWS)
    return str(folder / "rows.csv")


def jsonl_file(folder: pathlib.Path) -> pathlib.Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder / "rows.jsonl"


def dataset() -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(ROWS)


def saved(folder: pathlib.Path) -> Any:
    dataset().save_to_disk(folder / "saved")
    return pytest.importorskip("datasets").load_from_disk(folder / "saved")


def saved_folder(folder: pathlib.Path) -> pathlib.Path:
    saved(folder)
    return folder / "saved"


def parquet_file(folder: pathlib.Path) -> pathlib.Path:
    dataset().to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


HOLDERS: dict[str, Callable[[pathlib.Path], Any]] = {
    "csv": csv_file,
    "jsonl": jsonl_file,
    "generator": lambda _: (row for row in ROWS),
    "pairs": lambda _: [(row["text"], row["label"]) for row in ROWS],
    "pandas": lambda _: pytest.importorskip("pandas").DataFrame(ROWS),
    "polars": lambda _: pytest.importorskip("polars").DataFrame(ROWS),
    "pyarrow": lambda _: pytest.importorskip("pyarrow").Table.from_pylist(ROWS),
    "datasets": lambda _: dataset(),
    "datasets, mapped files": saved,
    "datasets, with indices": lambda folder: saved(folder).select([*range(202, -1, -1)]).select([*range(202, -1, -1)]),
    "datasets, for torch": lambda folder: (pytest.importorskip("torch"), saved(folder).with_format("torch"))[1],
    "datasets, iterable": lambda folder: saved(folder).to_iterable_dataset(),
    "parquet": parquet_file,
    "folder": saved_folder,
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_held_in_all_ways(fast: Any, tmp_path: pathlib.Path, holder: str) -> None:
    wanted = [
        {**expected(fast, rows, truncation=True, max_length=12, padding=True), "labels": [row["label"] for row in rows]}
        for rows in batches_of(ROWS, 64)
    ]
    with of_numpy(HOLDERS[holder](tmp_path), fast, text="text", batch_size=64, max_length=12) as batches:
        found = list(batches)
    assert len(found) == len(wanted)
    for batch, other in zip(found, wanted):
        assert_equal(batch, other)


def test_without_pyarrow(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "has_pyarrow", lambda: False)
    with of_numpy(ROWS, fast, text="text") as batches:
        assert batches.pipeline.spec["source"][0] == "jsonl"
        assert_equal(next(iter(batches)), expected(fast, ROWS[:32], padding=True))


# ---- columns ----


def test_labels_and_columns(fast: Any) -> None:
    more = [{"kind": "xyz"[row["label"]], "ok": row["label"] == 0, "tags": [1] * (row["label"] + 1)} for row in ROWS]
    rows = [{**row, **added, "vector": [0.5, row["score"]]} for row, added in zip(ROWS, more)]
    with of_numpy(rows, fast, text="text", labels="score", columns=["ok", "vector", "label"]) as batches:
        batch = next(iter(batches))
        assert {name: (batch[name].dtype.name, batch[name].shape) for name in ("labels", "ok", "vector", "label")} == {
            "labels": ("float32", (32,)), "ok": ("bool", (32,)), "vector": ("float32", (32, 2)), "label": ("int64", (32,)),
        }
        assert_equal(batch, {"labels": [row["score"] for row in rows[:32]], "vector": [row["vector"] for row in rows[:32]]})
    with of_numpy(rows, fast, text="text", labels="kind", classes=["x", "y", "z"]) as batches:
        assert_equal(next(iter(batches)), {"labels": [row["label"] for row in rows[:32]]})
    with of_numpy(rows, fast, text="text", labels={"tags": "tags", "ok": "is_ok"}) as batches:
        batch = next(iter(batches))
        assert batch["is_ok"].dtype == np.int64
        assert batch["tags"].tolist() == [row["tags"] + [-100] * (3 - len(row["tags"])) for row in rows[:32]]
    with of_numpy(rows, None, labels="label", batch_size=4) as batches:
        assert set(next(iter(batches))) == {"labels", "score", "ok", "vector", "tags"}


def test_categoricals(fast: Any) -> None:
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    frame["label"] = pd.Categorical(["xyz"[label] for label in frame["label"]])
    with of_numpy(frame, fast, text="text") as batches:
        assert_equal(next(iter(batches)), {"labels": [row["label"] for row in ROWS[:32]]})
    assert batches.classes == ("x", "y", "z")


@pytest.mark.parametrize(
    ("rows", "options", "text"),
    [
        ([{"a": "x", "b": "y"}], {}, "several columns of texts, a, b: choose one of them, for example text='a'"),
        ([{"a": 1, "b": 0.5}], {}, r"no column of texts; it has a \(int64\), b \(float64\)"),
        ([{"a": "x"}], {"text": "b"}, "no column 'b'; the data has a"),
        ([{"a": "x"}], {"text": "{b}"}, "no column 'b'"),
        ([{"a": "x"}], {"text": "{a!r}"}, "braces must contain only the name of a column, but they contain 'a'"),
        ([{"a": "x"}], {"text": "{a"}, "the text '{a' is malformed"),
        ([{"a": "x"}], {"text": "{}"}, "the text '{}' is malformed"),
        ([{"a": "x"}], {"text": ("a", "a", "a")}, "one or two columns, but you gave 3"),
        ([{"a": "x"}], {"labels": "b"}, "no column 'b'"),
        ([{"a": "x", "label": "y"}], {"text": "a"}, "labels in 'label' are texts: set `classes`"),
        ([{"a": "x", "b": "y"}], {"text": "a", "columns": ["b"]}, "'b' has texts, which cannot be in a batch"),
        ([{"a": "x"}], {"padding": "max_length"}, "needs `max_length`"),
        ([{"a": "x"}], {"padding": True}, "padding is True"),
        ([{"a": "x"}], {"epochs": 0}, "epochs is 0"),
        ([{"a": "x"}], {"framework": "tf"}, "tf"),
    ],
)
def test_refused(tokenizer_json: str, rows: list[dict[str, Any]], options: dict[str, Any], text: str) -> None:
    with pytest.raises((errors.SpecError, ValueError), match=text):
        leat.dataloader(rows, tokenizer_json, **options)
    with pytest.raises(errors.SpecError, match="`text` needs a tokenizer"):
        leat.dataloader(rows, None, text="a")


def test_bad_label_is_told(tokenizer_json: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.csv").write_text("text,label\na cat,1\na dog,many\n")
    with of_numpy(tmp_path / "bad.csv", tokenizer_json) as batches:
        with pytest.raises(errors.Error, match=r"bad\.csv:3.*many"):
            list(batches)
    with of_numpy(tmp_path / "bad.csv", tokenizer_json, options={"on_error": "skip"}) as batches:
        assert [batch["labels"].tolist() for batch in batches] == [[1]]


def test_what_is_missing(fast: Any) -> None:
    rows = [{"text": None, "label": 1}, {"text": "a cat", "label": None}, {"text": "a dog", "label": 0}]
    with of_numpy(rows, fast) as batches, pytest.raises(errors.Error, match=r"arrow.*label"):
        list(batches)
    with of_numpy(rows, fast, options={"on_error": "skip"}) as batches:
        batch = next(iter(batches))
        assert batch["labels"].tolist() == [1, 0]
        assert_equal(batch, expected(fast, [{"text": ""}, {"text": "a dog"}], padding=True))


def test_types_of_arrow_files(fast: Any, tmp_path: pathlib.Path) -> None:
    """As they are, with columns that are no numbers beside them."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "when": pa.array([0, 1], pa.timestamp("s")),
            "text": pa.array(["a cat", "a dog"], pa.large_string()),
            "label": pa.array([1, 0], pa.int8()),
            "half": pa.array([0.5, 1.5], pa.float16()),
            "vector": pa.array([[1, 2], [3, 4]], pa.list_(pa.float64(), 2)),
            "a.b": pa.array([7, 8], pa.uint16()),
            "picture": pa.array([b"x", b"y"]),
            "flag": pa.array([True, False]),
        }
    )
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as file:
        file.write_table(table)
    with of_numpy(tmp_path / "a.arrow", fast, columns=["half", "vector", "a.b", "flag"], text="text") as batches:
        assert batches.pipeline.spec["source"][1]["paths"] == [str(tmp_path / "a.arrow")]
        batch = next(iter(batches))
    assert {name: batch[name].tolist() for name in ("labels", "half", "vector", "a.b", "flag")} == {
        "labels": [1, 0], "half": [0.5, 1.5], "vector": [[1, 2], [3, 4]], "a.b": [7, 8], "flag": [True, False],
    }
    assert_equal(batch, expected(fast, [{"text": "a cat"}, {"text": "a dog"}]))


# ---- order, epochs, positions ----


def test_shuffles(fast: Any) -> None:
    in_order = rows_seen([expected(fast, ROWS, padding=True)])
    for shuffle in (True, 50):
        with of_numpy(ROWS, fast, shuffle=shuffle, seed=3) as batches:
            first, second = rows_seen(batches), rows_seen(batches)
            batches.set_epoch(0)
            again = rows_seen(batches)
        assert first == again and first != second and first != in_order
        assert sorted(first) == sorted(second) == sorted(in_order)
        with of_numpy(ROWS, fast, shuffle=shuffle, seed=4) as batches:
            assert rows_seen(batches) != first


def test_a_buffer_moves_rows_no_further_than_its_size(fast: Any) -> None:
    rows = [{"text": "a cat", "label": i} for i in range(203)]
    with of_numpy(rows, fast, shuffle=5, seed=3) as batches:
        order = [int(label) for batch in batches for label in batch["labels"]]
    assert sorted(order) == list(range(203)) != order
    assert max(row - place for place, row in enumerate(order)) == 4


def test_loops_left_early(fast: Any) -> None:
    with of_numpy(ROWS, fast, shuffle=True) as batches:
        whole = [rows_seen(batches) for _ in range(3)]
    with of_numpy(ROWS, fast, shuffle=True) as batches:
        peeked = iter(batches)
        next(peeked)
        assert rows_seen(batches) == whole[1]
        for _ in batches:
            break
        batches.set_epoch(2)
        assert rows_seen(batches) == whole[2]


def test_two_loops_at_a_time(fast: Any) -> None:
    with of_numpy(ROWS, fast, batch_size=50) as batches:
        first, second = iter(batches), iter(batches)
        next(first)
        assert len(list(second)) == 5 and len(list(first)) == 4
        assert len(list(zip(batches, batches))) == 5


def test_ranks_share_each_epoch(fast: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(rank: int) -> list[list[int]]:
        monkeypatch.setenv("LEAT_RANK", str(rank))
        monkeypatch.setenv("LEAT_WORLD_SIZE", "2")
        rows = [{"text": "a cat", "label": i} for i in range(100)]
        with of_numpy(rows, fast, batch_size=5, shuffle=True) as batches:
            assert len(batches) == 10
            peeked = [next(iter(batches))]
            epochs = [[*batches], [*batches], peeked]
            return [[int(label) for batch in epoch for label in batch["labels"]] for epoch in epochs]

    ranks = [seen(rank) for rank in range(2)]
    for one, other in list(zip(*ranks))[:2]:
        assert sorted(one + other) == list(range(100))
    assert not set(ranks[0][2]) & set(ranks[1][2])


def test_length_of_what_was_not_counted(tokenizer_json: str, tmp_path: pathlib.Path) -> None:
    """How many batches a compressed file makes is known once an epoch was seen."""
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS)
    with of_numpy(tmp_path / "a.jsonl.gz", tokenizer_json, text="text", batch_size=10, epochs=2) as batches:
        with pytest.raises(TypeError, match="not counted the records yet"):
            len(batches)
        next(iter(batches))
        with pytest.raises(TypeError, match="not counted the records yet"):
            len(batches)
        assert len(list(batches)) == 42 == len(batches)


@pytest.mark.parametrize(("world_size", "drop_last", "uneven", "n"), [(1, False, "drop", 21), (1, True, "drop", 20), (2, False, "pad", 11)])
def test_length_by_the_number_of_rows(
    tokenizer_json: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, world_size: int, drop_last: bool, uneven: str, n: int
) -> None:
    """The stream does not know its length yet, but the loader knows the number of rows."""
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in ROWS[n:] + ROWS[:n])  # data that no other test reads
    monkeypatch.setenv("LEAT_RANK", "0")
    monkeypatch.setenv("LEAT_WORLD_SIZE", str(world_size))
    options: dict[str, Any] = {"batch_size": 10, "drop_last": drop_last, "options": {"uneven": uneven}, "cache": False}
    with of_numpy(tmp_path / "a.jsonl.gz", tokenizer_json, text="text", **options) as batches:
        with pytest.raises(TypeError, match="not counted the records yet"):
            len(batches)
        batches.n_rows = len(ROWS)
        assert len(batches) == n
        batches.n_rows = None
        assert len(list(batches)) == n == len(batches)


@pytest.mark.parametrize("rows", [[], (row for row in ROWS[:0]), {"text": []}, np.empty(0, str)])
def test_no_rows(tokenizer_json: str, rows: Any) -> None:
    with pytest.raises(errors.DataError, match="the data has no rows"):
        leat.dataloader(rows, tokenizer_json)


def test_no_rows_of_others(tokenizer_json: str) -> None:
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    features = datasets.Features({"text": datasets.Value("string")})
    nothing = datasets.IterableDataset.from_generator(lambda: iter(()), features=features)
    for rows in (pandas.DataFrame({"text": []}), datasets.Dataset.from_dict({"text": []}), nothing):
        with pytest.raises(errors.DataError, match="the data has no rows"):
            leat.dataloader(rows, tokenizer_json)


def test_labels_that_cannot_be_read(fast: Any) -> None:
    """Are told, and not left out; where there are none yet, there are none in the batches."""
    rows: list[dict[str, Any]] = [{"text": "a cat", "label": 1}, {"text": "a dog", "label": "x"}]
    with pytest.raises(errors.SpecError, match="cannot read the labels in 'label'.*different kinds.*labels=False"):
        leat.dataloader(rows, fast)
    for given, options in ((rows, {"labels": False}), ([{"text": "a cat", "label": None}], {})):
        with of_numpy(given, fast, **options) as batches:
            assert "labels" not in next(iter(batches))


@pytest.mark.parametrize("is_ahead", [False, True])
def test_epochs_and_positions(fast: Any, is_ahead: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a batch is under way while the step computes, as towards a GPU."""
    monkeypatch.setattr(frameworks.Converted, "_is_ahead", lambda _: is_ahead)

    def make() -> leat.DataLoader:
        return of_numpy(ROWS, fast, shuffle=True, epochs=2)

    with make() as batches:
        assert len(batches) == 14
        whole = list(batches)
        following = rows_seen(batches)
    assert len(whole) == 14
    for at in (0, 3, 7, 10):
        with make() as batches:
            loop = iter(batches)
            for _ in range(at):
                time.sleep(0.01 * is_ahead)  # by then it is there
                next(loop)
            state = json.loads(json.dumps(batches.state_dict()))
        with make() as batches:
            batches.load_state_dict(state)
            batches.set_epoch(batches.stream.epoch)  # which continues there
            assert rows_seen(batches) == rows_seen(whole[at:])
            assert rows_seen(batches) == following
    with of_numpy(ROWS[1:], fast, shuffle=True) as batches, pytest.raises(errors.PositionError):
        batches.load_state_dict(state)
        next(iter(batches))


def test_state_of_an_iterator_at_its_end(fast: Any) -> None:
    with of_numpy(ROWS, fast, shuffle=True) as batches:
        loop = iter(batches)
        assert rows_seen(loop)
        state = loop.state_dict()
        assert state == batches.state_dict()
        following = rows_seen(batches)
    with of_numpy(ROWS, fast, shuffle=True) as batches:
        batches.load_state_dict(state)
        assert rows_seen(batches) == following
        for wrong in (-1, "2", None, 0.5):
            with pytest.raises(errors.PositionError, match="epochs_left is"):
                batches.load_state_dict({**state, "epochs_left": wrong})


# ---- the cache ----

SECOND = """
    import json, os, sys
    import leat
    from leat import daemon, programs
    path, tokenizer = sys.argv[1:]
    rows = [json.loads(line) for line in open(path)]
    batches = leat.dataloader(rows, tokenizer, text="text", batch_size=50, shuffle=True, framework="numpy")
    n_rows = sum(len(batch["labels"]) for _ in range(2) for batch in batches)
    os.environ["LEAT_SOCKET"] = daemon.for_built().address
    stream, = json.loads(programs.leatctl("stats", "--json"))
    done = {stage["name"]: stage["n_records"] for stage in stream["stages"]}
    told = {"rows": n_rows, "read": stream["n_source_bytes"], "tokenized": done["tokenize"]}
    print(json.dumps({**told, "spec": batches.pipeline.spec["source"]}))
"""


def run_second(path: pathlib.Path, tokenizer: str) -> dict[str, Any]:
    command = [sys.executable, "-c", textwrap.dedent(SECOND), str(path), tokenizer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_second_process_touches_no_text(tokenizer_json: str, tmp_path: pathlib.Path) -> None:
    rows = [{"text": f"{row['text']} a second time", "label": row["label"]} for row in ROWS]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    first = run_second(tmp_path / "rows.jsonl", tokenizer_json)
    assert first["rows"] == 2 * len(ROWS) and first["tokenized"] == len(ROWS) and first["read"] > 0
    second = run_second(tmp_path / "rows.jsonl", tokenizer_json)
    assert second == {**first, "tokenized": 0, "read": 0}


def test_cache_option(tokenizer_json: str, tmp_path: pathlib.Path, _cache: pathlib.Path) -> None:
    def option(cache: Any) -> Any:
        return leat.dataloader(ROWS, tokenizer_json, text="text", cache=cache).pipeline.spec["options"].get("cache")

    assert option(True) == {"path": str(_cache / "leat" / "tokens")}
    assert option(tmp_path) == {"path": str(tmp_path)}
    assert option({"max_size": "1GiB"}) == {"path": str(_cache / "leat" / "tokens"), "max_size": "1GiB"}
    assert option(False) is None
    os.mkfifo(tmp_path / "pipe.jsonl")
    files = held.Files("jsonl", (str(tmp_path / "pipe.jsonl"),), columns={"text": columns.Column("text", "text")})
    assert "cache" not in leat.dataloader(files, tokenizer_json).pipeline.spec["options"]


def test_gaps_and_what_can_be_done(tmp_path: pathlib.Path) -> None:
    rows = [{"text": "a cat", "n": 1}, {"text": "a dog", "n": None}, {"text": "a tree", "n": 3}]
    file = tmp_path / "gaps.csv"
    file.write_text("text,n\na cat,1\na dog,\na tree,3\n")
    data: list[Any] = [rows, file]
    for one in data:
        with pytest.raises(errors.DataError) as caught:
            list(leat.dataloader(one, None, columns=["n"], labels=False, batch_size=2))
        assert "'n' has no value in this row: fill the column first" in str(caught.value) and "default" not in str(caught.value)
        assert (caught.value.line, caught.value.file is not None) == (3 if one is file else 2, True)
        skip = {"on_error": "skip"}
        batches = list(leat.dataloader(one, None, columns=["n"], labels=False, batch_size=2, options=skip))
        assert [batch["n"].tolist() for batch in batches] == [[1, 3]]

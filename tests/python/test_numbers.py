"""Numbers arrive as they are in the data: whole numbers as int64, fractions as float32, and what would be rounded is told."""

from __future__ import annotations

import decimal
import json
import pathlib
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from test_loader import word_piece  # noqa: E402

import leat  # noqa: E402
from leat import errors  # noqa: E402
from leat.data import columns, recognise  # noqa: E402

BIG = 2**24 + 1  # which float32 rounds
HUGE = 2**53 + 1  # which float64 rounds


def load(source: Any, framework: Any = "numpy", tokenizer: Any = None, **options: Any) -> dict[str, Any]:
    """The only batch."""
    with leat.dataloader(source, tokenizer, framework=framework, cache=False, **options) as batches:
        (batch,) = batches
    return batch


@pytest.fixture
def csv(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "ids.csv"
    path.write_text(f"id,price,sold,name\n{BIG},0.5,true,ann\n-{HUGE},2,false,7\n")
    return str(path)


def of(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: (array.dtype.name, array.tolist()) for name, array in batch.items()}


def test_numbers_of_csv_keep_their_values(csv: str) -> None:
    whole = {"id": ("int64", [BIG, -HUGE])}
    assert of(load(csv, columns=["id"])) == whole
    assert of(load(csv)) == {**whole, "price": ("float32", [0.5, 2.0]), "sold": ("bool", [True, False])}
    assert of(load(csv, columns={"id": np.float64, "price": "float64"})) == {
        "id": ("float64", [BIG, -HUGE + 1]), "price": ("float64", [0.5, 2.0]),
    }
    with pytest.raises(errors.SpecError, match="'name' has texts"):
        load(csv, columns=["name"])


@pytest.mark.parametrize(("label", "wanted"), [
    ("id", ("int64", [BIG, -HUGE])), ("price", ("float32", [0.5, 2.0])), ("sold", ("int64", [1, 0])),
])
def test_labels_of_csv(csv: str, label: str, wanted: Any) -> None:
    assert of(load(csv, labels=label, columns=[label]))["labels"] == wanted


def test_what_would_be_rounded_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mixed.csv").write_text(f"x\n0.5\n{BIG}\n")
    (tmp_path / "late.csv").write_text("x\n" + "1\n" * 120 + "0.5\n")
    (tmp_path / "huge.csv").write_text(f"x\n{2**63}\n")
    rows = [{"x": 0.5}, {"x": float(BIG)}]
    for source, line in ((tmp_path / "mixed.csv", 3), (rows, 2)):
        with pytest.raises(errors.DataError, match=rf"float32 would round {BIG}\S*: to keep the exact number, set columns=\{{'x': 'float64'\}}") as caught:
            load(source)
        assert caught.value.line == line
        assert of(load(source, columns={"x": "float64"})) == {"x": ("float64", [0.5, float(BIG)])}
        assert of(load(source, columns={"x": "float32"})) == {"x": ("float32", [0.5, float(BIG - 1)])}
    with pytest.raises(errors.DataError, match=r'late.csv:122: .*"0.5" is not a value of type int64: for fractions, set columns=\{\'x\': \'float32\'\}'):
        load(tmp_path / "late.csv", batch_size=200)
    with pytest.raises(errors.SpecError, match="'x' has texts.*float32"):
        load(tmp_path / "huge.csv", columns=["x"])


def test_integers_beside_fractions_of_python() -> None:
    with pytest.raises(errors.DataError, match=f"row 1 is {HUGE}, which float64 would round"):
        load([{"x": 0.5}, {"x": HUGE}])
    with pytest.raises(errors.DataError, match=f"row 0 is {2**63}, which does not fit into a 64-bit integer"):
        load([{"x": [1, 2**63]}])
    assert of(load([{"x": decimal.Decimal(HUGE)}])) == {"x": ("int64", [HUGE])}


def test_decimals_of_arrow_without_fractions_are_integers() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": pa.array([decimal.Decimal(HUGE)], pa.decimal128(20, 0))})
    assert of(load(table)) == {"id": ("int64", [HUGE])}
    assert columns.of_arrow_type("x", pa.decimal128(20, 2)).kind == "float64"


def test_jax_wraps_no_number_around() -> None:
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("JAX has int64 here")
    assert load([{"x": 2**31 - 1}], "jax")["x"].tolist() == [2**31 - 1]
    with pytest.raises(errors.DataError, match=f"x: {2**31} does not fit into int32.*jax_enable_x64"):
        load([{"x": 2**31}], "jax")


def test_a_text_of_digits_is_a_text(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,label\n1984,0\n2001,1\n")
    assert data_columns(path) == {"text": "int64", "label": "int64"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(word_piece()))
    assert list(load(path, tokenizer=str(tmp_path / "tokenizer.json"), token_type_ids=False)) == ["input_ids", "attention_mask", "labels"]


def data_columns(path: pathlib.Path) -> dict[str, str]:
    return {name: column.kind for name, column in (recognise.find_columns(recognise.recognise(str(path))).columns or {}).items()}


@pytest.mark.parametrize("order", ["labels of pack", "causal_labels, pack", "pack, causal_labels"])
def test_a_loss_takes_packed_labels(tmp_path: pathlib.Path, order: str) -> None:
    torch = pytest.importorskip("torch")
    (tmp_path / "tokenizer.json").write_text(json.dumps(word_piece()))
    (tmp_path / "texts.jsonl").write_text('{"text": "a cat sat"}\n{"text": "a dog"}\n{"text": "the tree"}\n')
    ids = leat.jsonl(tmp_path / "texts.jsonl").tokenize(tmp_path / "tokenizer.json", add_special_tokens=False)
    packed = {
        "labels of pack": lambda: ids.pack(8, value=0, how="concat", labels="labels", segment_ids="documents"),
        "causal_labels, pack": lambda: ids.causal_labels().pack(8, value=0, how="concat", segment_ids="documents"),
        "pack, causal_labels": lambda: ids.pack(8, value=0, how="concat", segment_ids="documents").causal_labels(),
    }[order]()
    with packed.batch(1) as batches:
        (batch,) = batches.to("torch")
    tokens, labels, documents = batch["input_ids"][0], batch["labels"][0], batch["documents"][0]
    starts = torch.cat([torch.ones(1, dtype=torch.bool), documents[1:] != documents[:-1]])
    assert labels.dtype == torch.int64
    assert labels.tolist() == torch.where(starts | (documents == 0), -100, tokens).tolist()
    torch.nn.functional.cross_entropy(torch.randn(8, 100), labels)


# ---- what is padded with ----


def only(pipeline: Any) -> list[list[int]]:
    with pipeline.batch(8) as batches:
        (batch,) = batches
        return batch["input_ids"].tolist()  # type: ignore[no-any-return]


def test_a_tokenizer_has_one_padding_token(tmp_path: pathlib.Path) -> None:
    file, texts = tmp_path / "tokenizer.json", tmp_path / "texts.jsonl"
    model = word_piece()
    texts.write_text('{"text": "a cat"}\n')
    ids = leat.jsonl(texts).tokenize(file, add_special_tokens=False)

    def check(text: str, wanted: str) -> None:
        file.write_text(text)
        tokenizer = leat.Tokenizer.from_file(file)
        assert tokenizer.pad_token == wanted and tokenizer.pad_token_id == tokenizer.native.pad_id
        assert only(ids.pad(3))[0][2] == only(ids.pack(3))[0][2] == tokenizer.pad_token_id

    check(json.dumps(model), "[PAD]")
    padding = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_type_id": 0}
    check(json.dumps({**model, "padding": {**padding, "pad_id": 3, "pad_token": "[SEP]"}}), "[SEP]")
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "[CLS]"}')
    check(json.dumps(model), "[CLS]")
    (tmp_path / "tokenizer_config.json").write_text('{"cls_token": "[CLS]"}')
    check(json.dumps(model), "[PAD]")
    model["added_tokens"] = [token for token in model["added_tokens"] if token["content"] != "[PAD]"]
    file.write_text(json.dumps(model))
    assert leat.Tokenizer.from_file(file).pad_token is None
    with pytest.raises(errors.SpecError, match=r'has no padding token: set `value` to a number, or to a token such as "\[PAD\]"'):
        ids.pad(3).batch(1).check()


def test_a_token_is_named(tmp_path: pathlib.Path) -> None:
    file, texts = tmp_path / "tokenizer.json", tmp_path / "texts.jsonl"
    file.write_text(json.dumps(word_piece()))
    texts.write_text('{"text": "a cat"}\n')
    source = leat.jsonl(texts)
    tokenizer = leat.Tokenizer.from_file(file)
    ids, end = source.tokenize(file, add_special_tokens=False), tokenizer.convert_tokens_to_ids("[SEP]")
    assert only(ids.pad(3, value="[SEP]"))[0][2] == only(ids.pack(3, value="[SEP]"))[0][2] == end
    with leat.from_yaml(write(tmp_path, ids.pad(3, value="[SEP]").batch(1))) as again:
        assert next(iter(again))["input_ids"].tolist()[0][2] == end
    tokenizer.pad_token = "[SEP]"
    assert only(source.tokenize(tokenizer, add_special_tokens=False).pad(3))[0][2] == end
    with pytest.raises(errors.SpecError, match='the tokenizer of "input_ids" has no token "<eos>"'):
        ids.pad(3, value="<eos>").batch(1).check()


def write(folder: pathlib.Path, pipeline: Any) -> pathlib.Path:
    path = folder / "stream.yaml"
    path.write_text(pipeline.to_yaml())
    return path


# ---- dtypes and names as people write them ----


@pytest.mark.parametrize("package", ["torch", "jax.numpy", "mlx.core"])
def test_dtype_of_a_framework(package: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("n\n7\n")
    made = leat.csv(path).cast("n", dtype=pytest.importorskip(package).int64)
    assert made.stages[0][1]["dtype"] == "int64"


def test_dtypes_as_people_write_them(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("n\n7\n")
    for dtype in ("int64", np.int64, np.dtype("int64"), np.dtype(">i8"), int):
        made = leat.csv(path).cast("n", dtype=dtype)
        assert made.stages[0][1]["dtype"] == "int64", dtype
    pipeline = leat.csv(path)
    for dtype in ("float64", "int8", "int16"):
        pipeline = pipeline.cast("n", dtype, dtype=dtype)
    with pipeline.batch(1) as batches:
        (batch,) = batches
        assert {name: (tensor.dtype, tensor.tolist()) for name, tensor in batch.items()} == {
            "float64": ("float64", [7.0]), "int8": ("int8", [7]), "int16": ("int16", [7]),
        }
    with pytest.raises(errors.SpecError, match='"float8" is not one of'):
        leat.csv(path).cast("n", dtype="float8").batch(1).check()


def test_fields_one_by_one() -> None:
    source = leat.csv("x.csv")
    wanted = source.select(["a", "b"]).spec
    assert source.select("a", "b").spec == source.select(["a"], "b").spec == source.select(fields=["a", "b"]).spec == wanted


# ---- what a source does not read ----


def test_what_is_left_out_is_told(tmp_path: pathlib.Path, recwarn: pytest.WarningsRecorder) -> None:
    path = tmp_path / "chats.jsonl"
    path.write_text('{"n": 1, "tags": ["a"], "messages": [{"role": "user"}], "v": [1, 2], "meta": {"a": 3}}\n')

    def told() -> list[str]:
        found = [str(warning.message) for warning in recwarn.list if warning.category.__name__ == "LeftOutWarning"]
        recwarn.clear()
        return found

    def names(source: Any) -> set[str]:
        with source.batch(1) as batches:
            return set(batches.schema)

    assert names(leat.jsonl(path).pad(input="v", length=2, value=0)) == {"n", "v", "meta.a"}
    (words,) = told()
    assert '"tags": it contains lists of texts' in words and '"messages": it contains lists of objects' in words
    with pytest.raises(errors.SpecError, match='"tags" is not a field here: it contains lists of texts.*declare this field as json'):
        leat.jsonl(path).select("tags").batch(1).check()
    assert names(leat.jsonl(path, fields={"n": "int64", "v": "int64[2]"})) == {"n", "v"}
    assert told() == []


def test_one_notation_of_types(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text('{"v": [1, 2]}\n{"v": [3, 4]}\n')
    for kind in ("float32[2]", "float32[<=2]", "float32[]", "list<float32>"):
        source = leat.jsonl(path, fields={"v": kind})
        made = source.map(lambda record: {"w": record["v"]}, schema={"w": kind}, warn=False)
        made = made if kind == "float32[2]" else made.pad(input="v", length=2, value=0).pad(input="w", length=2, value=0)
        with made.batch(2) as batches:
            assert batches.schema == {"v": ("float32", (-1, 2)), "w": ("float32", (-1, 2))}
            assert next(iter(batches))["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(errors.SpecError, match=r'"float32\[0\]" is not a type'):
        leat.jsonl(path, fields={"v": "float32[0]"}).batch(1).check()

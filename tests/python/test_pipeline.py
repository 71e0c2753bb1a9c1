"""Pipelines in Python: what is meant by what is left out, the same batches as the same stream in YAML, records, declared
streams.
"""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import pathlib
import pickle
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

import leat
from leat import daemon, errors, programs
from shared_pipelines import PARTS, digest_of, lay_out, leatctl_digest


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield
    leat.connect(None)


def titanic() -> leat.Pipeline:
    return (
        leat.csv("train.csv")
        .template(PARTS)
        .tokenize("./modernbert")
        .pad(128)
        .cast("Survived", "labels", dtype="int64")
        .shuffle(1000, seed=42)
        .batch(32)
        .prefetch(4)
    )


YAML = """
streams:
  titanic:
    source: { csv: { paths: [train.csv] } }
    stages:
      - template: { output: text, parts: ["Name: {Name}", "Sex: {Sex}", "Age: {Age}"] }
      - tokenize: { input: text, output: input_ids, tokenizer: modernbert }
      - pad: { input: input_ids, length: 128, mask: attention_mask }
      - cast: { input: Survived, output: labels, dtype: int64 }
      - select: { fields: [input_ids, attention_mask, labels] }
      - shuffle: { buffer_size: 1000, seed: 42 }
      - batch: { batch_size: 32 }
      - prefetch: { prefetch_size: 4 }
"""


def test_the_same_batches_as_in_yaml(tmp_path: pathlib.Path) -> None:
    (tmp_path / "by_hand.yaml").write_text(YAML)
    (tmp_path / "written.yaml").write_text(titanic().to_yaml("written"))
    pipeline = titanic()
    digest = digest_of(_epochs(pipeline, 2))
    assert digest == leatctl_digest(tmp_path / "by_hand.yaml", "--epochs", "2")
    assert digest == leatctl_digest(tmp_path / "written.yaml", "--epochs", "2")
    assert digest == digest_of(_epochs(leat.from_yaml("by_hand.yaml"), 2))
    assert digest != digest_of(_epochs(titanic(), 1))


def _epochs(pipeline: Any, n: int) -> Iterator[Any]:
    for _ in range(n):
        yield from pipeline


def test_a_batch() -> None:
    with titanic() as pipeline:
        for batch in pipeline:
            assert {name: (tensor.dtype, tensor.shape) for name, tensor in batch.items()} == {
                "input_ids": ("int32", (32, 128)),
                "attention_mask": ("int32", (32, 128)),
                "labels": ("int64", (32,)),
            }
            break
        assert pipeline.stream.step == 1
        assert pipeline.schema["labels"] == ("int64", (-1,))
        assert sum(batch.n_rows for batch in pipeline) == 891  # of the next epoch
        assert sum(batch.n_rows for batch in pipeline) == 891


def test_it_is_a_value() -> None:
    base = leat.csv("train.csv")
    taken = base.take(5)
    assert base.stages == () and taken.stages == (("take", {"count": 5}),)
    assert base.take(5).spec == taken.spec
    assert pickle.loads(pickle.dumps(titanic())).spec == titanic().spec
    assert copy.deepcopy(taken).spec == taken.spec
    with pytest.raises(TypeError):
        taken.stages[0][1]["count"] = 6  # type: ignore[index]
    assert repr(taken) == f"leat.csv(paths={os.getcwd() + '/train.csv'!r}).take(count=5)"
    assert titanic().named("mine").spec["name"] == "mine"


def test_whatever_is_a_tokenizer(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def path(tokenizer: Any) -> Any:
        return leat.text("a.txt").tokenize(tokenizer).stages[-1][1]["tokenizer"]

    snapshot = tmp_path / "hub" / "models--some--model" / "snapshots" / "main"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes((tmp_path / "modernbert" / "tokenizer.json").read_bytes())
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert path("some/model") == str(snapshot)
    assert path(leat.Tokenizer.from_file("modernbert")) == path("./modernbert") == str(tmp_path / "modernbert")
    assert path("not/here") == str(tmp_path / "not" / "here")  # the daemon may see it
    with pytest.raises(errors.SpecError, match="object is not a tokenizer"):
        path(object())


def test_what_pad_means() -> None:
    made = leat.text("a.txt").tokenize("t", return_token_type_ids=True, return_offsets_mapping=True)
    assert [stage for stage in made.pad(8, value=7).stages if stage[0] == "pad"] == [
        ("pad", {"input": "input_ids", "length": 8, "mask": "attention_mask", "value": 7}),
        ("pad", {"input": "token_type_ids", "length": 8}),
        ("pad", {"input": "offset_mapping", "length": 16}),
    ]
    assert made.pad(8, input="input_ids").stages[-1][1] == {"length": 8, "input": "input_ids"}
    two = leat.text("a.txt").tokenize("t").tokenize("u", output="other").pad(longest=True)
    assert [given["mask"] for kind, given in two.stages if kind == "pad"] == ["attention_mask", "other_mask"]
    assert two.pad(4, input="x").stages[-1][1]["input"] == "x"
    with pytest.raises(errors.SpecError, match=r"pad.input: no earlier stage makes a list of tokens"):
        two.pad(8)
    assert leat.text("a.txt").tokenize("t").pad(8, mask="").stages[-1][1] == {"input": "input_ids", "length": 8}
    renamed = leat.text("a.txt").tokenize("t").rename({"input_ids": "ids"}).pad(8)
    assert renamed.stages[-1][1] == {"input": "ids", "length": 8, "mask": "attention_mask"}
    labelled = leat.text("a.txt").tokenize("t", output="ids").causal_labels().pad(multiple_of=8)
    assert [given.get("input") for _, given in labelled.stages] == [None, "ids", "ids", "labels"]


def test_what_others_mean() -> None:
    made = leat.text("a.txt").tokenize("t", return_offsets_mapping=True).causal_labels()
    assert made.pack(64).stages[-1][1] == {"fields": ["input_ids", "labels"], "length": 64}
    assert made.chunk(64, stride=32).stages[-1][1]["fields"] == ["input_ids", "labels"]
    assert made.bucket([16, 32]).stages[-1][1]["input"] == "input_ids"
    for call in (lambda p: p.pack(4), lambda p: p.chunk(4), lambda p: p.bucket(window=4)):
        with pytest.raises(errors.SpecError, match="no earlier stage makes a list of tokens"):
            call(leat.csv("train.csv"))


def test_texts_do_not_go_into_batches() -> None:
    numbers = leat.csv("train.csv").cast("Age", "age", dtype="float32", default="nan").cast("SibSp", dtype="uint8").batch(100)
    assert list(numbers.stream.schema) == ["SibSp", "age"]
    numbers.close()
    chosen = leat.csv("train.csv").cast("Age", "age", dtype="float32", default="nan").select(["age"]).batch(100)
    assert ["tensors", {}] not in chosen.spec["stages"]
    with pytest.raises(errors.SpecError, match="tensors: all fields are texts"):
        leat.csv("train.csv").batch(2).open()


def test_records() -> None:
    np = pytest.importorskip("numpy")
    pipeline = leat.csv("train.csv").cast("Age", "age", dtype="float32", default="nan")
    pipeline = pipeline.one_hot("Sex", categories=["male", "female"])
    pipeline = pipeline.template("{Name}|é", output="name").tokenize("modernbert", input="Name", output="ids").take(20)
    records = list(pipeline)
    assert len(records) == 20 and records[0]["name"] == records[0]["Name"] + "|é"
    assert isinstance(records[0]["age"], np.float32) and records[0]["Survived"] in ("0", "1")
    assert all(record["Sex"].dtype == np.float32 and record["Sex"].tolist() in ([1, 0], [0, 1]) for record in records)
    assert {record["ids"].dtype for record in records} == {np.dtype("int32")} and len({len(r["ids"]) for r in records}) > 1
    assert any(math.isnan(record["age"]) for record in records)
    records[0]["ids"][0] = 7  # the caller's own
    assert [record["PassengerId"] for record in pipeline] == [record["PassengerId"] for record in records]
    with pytest.raises(errors.SpecError, match="yields batches, not records: loop over"):
        titanic().records()


def test_numbers_that_are_called_as_texts(tmp_path: pathlib.Path) -> None:
    """The name alone makes no text of them."""
    (tmp_path / "a.jsonl").write_text('{"a.utf8": 7, "b": "\\u00e9"}\n')
    assert list(leat.jsonl(tmp_path / "a.jsonl")) == [{"a.utf8": 7, "b": "\u00e9"}]


def test_head_explain_check() -> None:
    assert titanic().head(2, after="template")[1]["text"].startswith("Name: ")
    assert "PassengerId" in titanic().head(1, after="source")[0]
    assert "tokenize" in titanic().explain(measure=False)
    assert titanic().explain("svg", measure=False).startswith("<svg") or "<svg" in titanic().explain("svg", measure=False)
    titanic().check()
    wrong = leat.csv("train.csv").cast("Agee", "age", dtype="int32").batch(4)
    for ask in (wrong.check, wrong.explain, wrong.open, wrong.head):
        with pytest.raises(errors.SpecError) as caught:
            ask()
        assert 'there is no field "Agee" here; did you mean "Age"?' in caught.value.message
        assert caught.value.path is not None and caught.value.path.endswith("stages[0].cast.input")
        assert caught.value.file is None and caught.value.line is None
    with pytest.raises(errors.Error, match="nowhere"):
        leat.csv("nowhere.csv").batch(1).check()


def test_wrong_questions() -> None:
    with pytest.raises(errors.SpecError, match='^leatctl head: --records: "0" is not'):  # and it says so once
        titanic().head(0)


def test_asking_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is killed meanwhile: there never is one."""
    folder = pathlib.Path("empty")
    folder.mkdir(mode=0o500)
    for name in ("TMPDIR", "TMP", "TEMP"):
        monkeypatch.setenv(name, str(folder))
    seen: list[list[str]] = []

    def spy(*arguments: str, **options: Any) -> str:
        seen.append([*arguments, *os.listdir(folder)])
        return ask(*arguments, **options)

    ask = programs.leatctl
    monkeypatch.setattr(programs, "leatctl", spy)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    titanic().check()
    assert len(titanic().head(2)) == 2
    assert [os.path.dirname(arguments[1]) for arguments in seen] == ["/proc/self/fd"] * 2


def test_positions() -> None:
    whole = [memoryview(batch["labels"]).tolist() for batch in titanic()]
    first = titanic()
    for _, batch in zip(range(10), first):
        batch.release()
    state = first.state_dict()
    second = titanic()
    second.load_state_dict(state)
    assert [memoryview(batch["labels"]).tolist() for batch in second] == whole[10:]
    for begun_elsewhere in (titanic().opened_with(first_epoch=3), titanic().opened_with(first_epoch=0, first_step=2)):
        begun_elsewhere.load_state_dict(state)
        assert [memoryview(batch["labels"]).tolist() for batch in begun_elsewhere] == whole[10:]
        begun_elsewhere.load_state_dict(state)
        assert memoryview(next(iter(begun_elsewhere))["labels"]).tolist() == whole[10]
    second.load_state_dict(state)  # also once it is open
    assert memoryview(next(iter(second))["labels"]).tolist() == whole[10]
    with pytest.raises(errors.PositionError, match="was 1000, is 500"):
        leat.from_yaml(_written(titanic(), "buffer_size: 1000", "buffer_size: 500")).load_state_dict(state)


def _written(pipeline: leat.Pipeline, old: str, new: str) -> str:
    text = pipeline.to_yaml()
    assert old in text
    pathlib.Path("changed.yaml").write_text(text.replace(old, new))
    return "changed.yaml"


def test_ranks() -> None:
    parts = [[batch.step for batch in titanic().open(rank=rank, world_size=3, epochs=1)] for rank in range(3)]
    assert parts == [list(range(rank, 27, 3)) for rank in range(3)]
    half = titanic().opened_with(rank=1, world_size=2)
    assert next(iter(half)).step == 1


def test_options() -> None:
    pipeline = titanic().options(seed=5, on_error="skip", cache="cache", max_tokens=1000)
    cache = {"path": os.getcwd() + "/cache"}
    assert pipeline.spec["options"] == {"seed": 5, "on_error": "skip", "cache": cache, "max_tokens": 1000}
    assert pipeline.options(seed=6).spec["options"]["seed"] == 6
    assert digest_of(pipeline) == digest_of(titanic().opened_with(seed=5))
    deadline = time.monotonic() + 120
    while any(name.endswith(".partial") for name in os.listdir("cache")):
        assert time.monotonic() < deadline, "the cache is not complete"
        time.sleep(0.01)
    assert len(pipeline.opened_with(rank=0, world_size=2)) == 14  # the cache has counted the rows
    wrong: list[tuple[Any, str]] = [
        ({"window": 100000}, "max_window"),
        ({"open_timeout": -1}, "seconds"),
        ({"epochs": 0}, "epochs: 0 is not allowed: give 1 or more"),
        ({"steps": 0}, "steps: 0 is not allowed: give 1 or more"),
        ({"window": 0}, "window: 0 is not allowed: give 1 or more"),
        ({"nonsense": 1}, "there is no option"),
    ]
    for options, says in wrong:
        with pytest.raises(errors.SpecError, match=says):
            titanic().open(**options)


def test_len() -> None:
    """Small data is counted when a stream is opened; where rows depend on what they hold, the reason is told."""
    assert len(titanic()) == 28 and len(titanic().opened_with(rank=1, world_size=3)) == 9
    assert len(leat.csv("train.csv").cast("PassengerId", dtype="int64").skip(890)) == 1
    with pytest.raises(TypeError, match="not counted the records yet"):
        len(leat.csv("train.csv").cast("PassengerId", dtype="int64").filter("PassengerId", min=3).batch(2))
    assert leat.csv("nowhere.csv")  # is true, without being looked at


def test_wrong_arguments() -> None:
    for what, says in (
        (lambda: leat.csv(object()), "csv.paths"),  # type: ignore[arg-type]
        (lambda: leat.csv("-"), "standard input"),
        (lambda: leat.source("cvs"), 'no source "cvs"'),
        (lambda: leat.csv("a").stage("pad", {"input": b"x"}), "pad.input"),
        (lambda: leat.concat(leat.csv("a").take(1)), "move `take`, and the stages after it, behind concat"),
        (lambda: leat.mix([leat.csv("a").options(seed=1)], weights=[1]), r"without options \(seed\)"),
        (lambda: leat.mix("a.csv"), "takes pipelines"),  # type: ignore[arg-type]
        (lambda: leat.csv("a").replace("x", "\ud800", "").to_yaml(), "surrogate"),
    ):
        with pytest.raises(errors.SpecError, match=says):
            what()
    calls: list[Any] = [
        lambda: leat.csv(),
        lambda: leat.csv("a").take(),
        lambda: leat.csv("a").cast("x", "y", "int32"),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()


def test_yaml_of_any_text(tmp_path: pathlib.Path) -> None:
    """What is written in YAML is read back as it was."""
    texts = ["", " ", "true", "no", "null", "~", "1", "-", "a: b", "# no", "'", '"', "\\", "\n\t\r", "{x}"]
    texts += ["é\u2028\x85\ufeff😀", "\x01\x7f", "a\n\n b "]
    pipeline = leat.csv("train.csv", names=["n", "yes"], header=False)
    for text in texts:
        pipeline = pipeline.strip("n", output="out", chars=text or " ").replace("n", text or "x", text)
    pipeline = pipeline.cast("n", "m", dtype="float32", map={"yes": 1, "no": 2.5, "": "-inf"})
    pipeline = pipeline.clip("m", min=-1e300, max=float("inf"))
    (tmp_path / "x.yaml").write_text(pipeline.to_yaml(), encoding="utf-8")
    read = leat.from_yaml("x.yaml")
    assert read.stages[: 2 * len(texts)] == pipeline.stages[: 2 * len(texts)]
    assert read.stages[2 * len(texts)][1]["map"] == {"yes": "1", "no": "2.5", "": "-inf"}
    assert read.stages[2 * len(texts) + 1][1]["max"] == math.inf
    assert read.spec["source"] == pipeline.spec["source"]


def test_from_yaml_with_what_there_is_not(tmp_path: pathlib.Path) -> None:
    """It is told at once, and where; files that there are not, when they are opened."""
    for source, stage, place, text in (
        ("csv", "batchh: {batch_size: 2}", (6, 9, "streams.x.stages[0].batchh"), 'unknown stage "batchh"; did you mean "batch"?'),
        ("csv", "batch: {size: 2}", (6, 17, "streams.x.stages[0].batch"), 'unknown key "size"'),
        ("csv", "batch: {batch_size: 0}", (6, 29, "streams.x.stages[0].batch.batch_size"), "0 is outside"),
        ("cvs", "batch: {batch_size: 2}", (4, 7, "streams.x.source.cvs"), 'unknown source "cvs"; did you mean "csv"?'),
    ):
        (tmp_path / "bad.yaml").write_text(
            f"streams:\n  x:\n    source:\n      {source}: {{paths: [nofile.csv]}}\n    stages:\n      - {stage}\n"
        )
        with pytest.raises(errors.SpecError, match=re.escape(text)) as caught:
            leat.from_yaml("bad.yaml")
        assert (caught.value.file, caught.value.line, caught.value.column, caught.value.path) == (os.path.abspath("bad.yaml"), *place)
    (tmp_path / "good.yaml").write_text("streams: { x: { source: { csv: { paths: [nofile.csv] } } } }\n")
    assert leat.from_yaml("good.yaml").name == "x"


def test_from_yaml_with_several(tmp_path: pathlib.Path) -> None:
    (tmp_path / "two.yaml").write_text(
        "streams:\n  a: { source: { text: { paths: b/*.txt } } }\n"
        "  b:\n    source: { concat: { sources: [ { csv: { paths: [train.csv], header: yes } } ] } }\n"
        "    cache: { path: c }\n    index: off\n"
    )
    with pytest.raises(errors.Error, match="2 streams"):
        leat.from_yaml("two.yaml")
    with pytest.raises(errors.Error, match="nowhere.yaml"):
        leat.from_yaml("nowhere.yaml")
    folder = os.getcwd()
    assert leat.from_yaml("two.yaml", "a").spec["source"] == ["text", {"paths": folder + "/b/*.txt"}]
    read = leat.from_yaml("two.yaml", "b")
    assert read.spec["source"] == ["concat", {"sources": [{"csv": {"paths": [folder + "/train.csv"], "header": True}}]}]
    assert read.spec["options"] == {"cache": {"path": folder + "/c"}, "index": "off"}


def test_several_sources(tmp_path: pathlib.Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"Name": "x"}\n{"Name": "y"}\n')
    both = leat.concat(leat.csv("train.csv"), leat.jsonl("b.jsonl"))
    assert [record["Name"] for record in both][-2:] == ["x", "y"]
    mixed = leat.mix(leat.csv("train.csv"), leat.jsonl("b.jsonl"), weights=[1, 1], exhausted="stop", seed=1)
    assert len(list(mixed)) < 20
    listed = leat.mix([leat.csv("train.csv"), leat.jsonl("b.jsonl")], weights=[1, 1], exhausted="stop", seed=1)
    assert listed.spec == mixed.spec


def test_sources_with_stages(tmp_path: pathlib.Path) -> None:
    """Files with other columns are made alike first; what is inferred behind them knows what they make."""
    (tmp_path / "b.jsonl").write_text('{"who": "X", "n": 1}\n{"who": "Y", "n": 2}\n{"who": "Z", "n": 3}\n')
    passengers = leat.csv("train.csv").lower("Name", output="text").cast("PassengerId", "id", dtype="int64")
    others = leat.jsonl("b.jsonl").filter("n", max=2).rename({"who": "text", "n": "id"})
    both = leat.concat(passengers, others).select(["text", "id"])
    records = list(both)
    assert [(record["text"], record["id"]) for record in records[-2:]] == [("X", 1), ("Y", 2)]
    assert records[0]["text"] == records[0]["text"].lower()
    (tmp_path / "both.yaml").write_text(both.to_yaml(), encoding="utf-8")
    assert leat.from_yaml("both.yaml").spec["source"] == both.spec["source"]
    assert list(leat.from_yaml("both.yaml")) == records
    tokens = [each.tokenize("./modernbert", input="text") for each in (passengers, others)]
    mixed = leat.mix(tokens, weights=[1, 1])
    batch = next(iter(mixed.select(["input_ids", "id"]).pad(64).batch(4)))
    assert set(batch) == {"input_ids", "attention_mask", "id"} and batch["input_ids"].shape == (4, 64)


def test_sources_with_tokens(tmp_path: pathlib.Path) -> None:
    """What a stage says of its field (labels, where there is loss, special tokens) holds behind the sources, too."""
    for name, answers in (("a", "abc"), ("b", "de")):
        lines = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": text * 3}] for text in answers]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"messages": line}) + "\n" for line in lines))
    sources = [leat.jsonl(f"{name}.jsonl", fields={"messages": "json"}) for name in "ab"]
    chats = [each.chat(messages="messages", template="chatml") for each in sources]
    tokens = [each.tokenize("./modernbert") for each in chats]
    labels = [each.causal_labels(loss_on="assistant") for each in tokens]
    behind = [
        leat.concat(sources).chat(messages="messages", template="chatml").tokenize("./modernbert"),
        leat.concat(chats).tokenize("./modernbert"),
        leat.concat(tokens),
    ]
    every = [each.causal_labels(loss_on="assistant") for each in behind] + [leat.concat(labels)]
    digests = [digest_of(each.pack(128, fields=["input_ids", "labels"], value=0).batch(2)) for each in every]
    assert digests == digests[:1] * 4


def test_asyncio() -> None:
    async def count() -> int:
        return sum([batch.n_rows async for batch in titanic()])

    assert asyncio.run(count()) == 891


# ---- streams of the operator


DECLARED = """
streams:
  titanic:
    source: { csv: { paths: [train.csv] } }
    stages:
      - split: { train: 0.9, validation: 0.1, part: train }
      - cast: { input: PassengerId, output: id, dtype: int64 }
      - select: { fields: [id] }
      - shuffle: { buffer_size: 100 }
      - batch: { batch_size: 10 }
  other:
    source: { csv: { paths: [train.csv] } }
    stages: [ { cast: { input: PassengerId, output: id, dtype: int64 } }, { select: { fields: [id] } }, { batch: { batch_size:
        10 } } ]
  other.validation:
    source: { csv: { paths: [train.csv] } }
    stages: [ { cast: { input: PassengerId, output: id, dtype: int64 } }, { select: { fields: [id] } }, { take: { count: 7 } },
              { batch: { batch_size: 10 } } ]
"""


@pytest.fixture
def operator(tmp_path: pathlib.Path) -> Iterator[str]:
    (tmp_path / "leatd.yaml").write_text(DECLARED)
    sockets = tmp_path / "sockets"
    command = [programs.find("leatd"), "--config", "leatd.yaml", "--socket-dir", str(sockets)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (sockets / "control.sock").exists():
        assert process.poll() is None
        time.sleep(0.01)
    yield str(sockets)
    process.terminate()
    process.wait()


def ids(stream: Any) -> list[int]:
    with stream:
        return [value for batch in stream for value in memoryview(batch["id"]).tolist()]


def test_declared(operator: str) -> None:
    assert leat.connect(operator) is None
    train = ids(leat.open("titanic"))
    assert train == ids(leat.open("titanic", split="train", shuffle=True)) != sorted(train)
    validation = ids(leat.open("titanic", split="validation", shuffle=False))
    assert validation == sorted(validation) and sorted(train + validation) == list(range(1, 892))
    assert ids(leat.open("titanic", shuffle=False)) == sorted(train)
    assert ids(leat.open("other", split="validation")) == [1, 2, 3, 4, 5, 6, 7]
    assert leat.open("titanic", split="validation", shuffle=False).name == "titanic.validation.unshuffled"
    for call, says in (
        (lambda: leat.open("titanc"), 'did you mean "titanic"'),
        (lambda: leat.open("other", split="test"), "no stage `split`"),
        (lambda: leat.open("other", shuffle=True), "no stage `shuffle`"),
        (lambda: leat.open("titanic", split="nonsense"), "nonsense"),
    ):
        with pytest.raises(errors.Error, match=says):
            call()
    assert ids(titanic_ids()) == list(range(1, 21))  # built ones go there, too
    assert leat.connect(None) == operator


def titanic_ids() -> Any:
    return leat.csv("train.csv").cast("PassengerId", "id", dtype="int64").take(20).batch(8).open()


def test_positions_of_variants(operator: str) -> None:
    leat.connect(operator)
    stream = leat.open("titanic", split="validation", shuffle=False)
    batches = iter(stream)
    first = memoryview(next(batches)["id"]).tolist()
    state = stream.state_dict()
    rest = [int(number) for batch in batches for number in memoryview(batch["id"]).tolist()]
    again = leat.open("titanic", split="validation", shuffle=False, position=state["position"])
    assert first + ids(again) == first + rest
    with pytest.raises(errors.PositionError, match="split.part|part was"):
        leat.open("titanic", shuffle=False, position=state["position"])


def test_the_users_own_daemon(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that answers at $LEAT_SOCKET is taken, and no other is started."""
    monkeypatch.setenv("LEAT_SOCKET", operator)
    leat.shutdown()
    assert ids(titanic_ids()) == list(range(1, 21))
    assert daemon._embedded is None
    assert len(ids(leat.open("titanic"))) > 700

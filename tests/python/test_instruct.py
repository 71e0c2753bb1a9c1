"""leat.instructions: what the data is, by its columns; ids and labels against transformers; what is refused."""

from __future__ import annotations

import csv
import json
import pathlib
import shutil
import warnings
from typing import Any

import pytest

from leat import DataError, Error, SpecError, Tokenizer, instructions, jsonl
from leat.data import held
from leat.tokenizer import path_of

np = pytest.importorskip("numpy")

DATA = pathlib.Path(__file__).resolve().parents[1] / "tokenizer" / "data"
QWEN, LLAMA, GPT2 = (str(DATA / f"{name}.json") for name in ("qwen", "llama2", "gpt2"))
ALPACA = (
    "Below is an instruction that describes a task{}. Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{}\n\n{}### Response:\n"
)
CHATML = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}{% generation %}"
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}{{ '\n' }}{% else %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endif %}{% endfor %}"
)
TASKS = [
    {"instruction": f"Add {i} to it.", "input": "" if i % 3 else f"It is {i}.", "output": f"That is {2 * i}."} for i in range(20)
]
ASKED = [{"prompt": f"What is {i} + {i}?", "completion": f" {2 * i}, of course"} for i in range(20)]
TALKS = [
    [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": f"Number {i}?"},
        {"role": "assistant", "content": f"Yes {i}"},
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": f"Then {i + 1}"},
    ][i % 2 :]
    for i in range(20)
]


def write(folder: pathlib.Path, rows: list[Any], name: str = "data.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def rows_of(batches: Any) -> list[tuple[list[int], list[int]]]:
    """The rows of an epoch, (ids, labels), without their padding, which must have no label."""
    rows: list[tuple[list[int], list[int]]] = []
    for batch in batches:
        ids, labels, mask = (np.asarray(batch[name]) for name in ("input_ids", "labels", "attention_mask"))
        assert (ids.dtype, labels.dtype, mask.dtype) == (np.int32, np.int64, np.int32)
        assert (labels[mask == 0] == -100).all()
        rows += [(ids[row][mask[row] == 1].tolist(), labels[row][mask[row] == 1].tolist()) for row in range(len(ids))]
    return rows


def fast(path: str) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.PreTrainedTokenizerFast(tokenizer_file=path)


def expected_row(tokenizer: Any, prompt: str, said: str) -> tuple[list[int], list[int]]:
    """The text at a stretch, as the tokenizer of transformers has it, with labels for what overlaps what is said."""
    encoding = tokenizer(prompt + said, return_offsets_mapping=True)
    labels = [id if end > len(prompt) else -100 for id, (_, end) in zip(encoding["input_ids"], encoding["offset_mapping"])]
    return encoding["input_ids"], labels


def alpaca(row: dict[str, str]) -> str:
    if not row["input"]:
        return ALPACA.format("", row["instruction"], "")
    with_input = ", paired with an input that provides further context"
    return ALPACA.format(with_input, row["instruction"], f"### Input:\n{row['input']}\n\n")


def test_instruction_input_output(tmp_path: pathlib.Path) -> None:
    expected = [expected_row(fast(LLAMA), alpaca(row), row["output"] + "</s>") for row in TASKS]
    assert rows_of(instructions(write(tmp_path, TASKS), LLAMA, batch_size=6)) == expected
    renamed = [{"question": row["instruction"], "hint": row["input"], "reply": row["output"]} for row in TASKS]
    names = {"instruction": "question", "input": "hint", "output": "reply"}
    assert rows_of(instructions(write(tmp_path, renamed), LLAMA, columns=names, batch_size=7)) == expected
    with open(tmp_path / "data.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ["instruction", "context", "response"])
        table.writeheader()
        table.writerows(dict(zip(table.fieldnames, row.values())) for row in TASKS)
    assert rows_of(instructions(tmp_path / "data.csv", LLAMA, batch_size=20)) == expected


def test_prompt_and_completion(tmp_path: pathlib.Path) -> None:
    expected = [expected_row(fast(GPT2), row["prompt"], row["completion"] + "<|endoftext|>") for row in ASKED]
    path = write(tmp_path, ASKED)
    assert rows_of(instructions(path, GPT2, batch_size=5)) == expected
    assert rows_of(instructions(jsonl(path), Tokenizer.from_file(GPT2), batch_size=5)) == expected
    assert rows_of(instructions(path, fast(GPT2), eos="<|endoftext|>", batch_size=5)) == expected
    without = [expected_row(fast(GPT2), row["prompt"], row["completion"]) for row in ASKED]
    assert rows_of(instructions(path, GPT2, eos="", batch_size=5)) == without
    own = [expected_row(fast(GPT2), f"Q: {row['prompt']}\nA:", row["completion"] + "<|endoftext|>") for row in ASKED]
    assert rows_of(instructions(path, GPT2, prompt="Q: {prompt}\nA:", response="{completion}", batch_size=5)) == own
    everywhere = rows_of(instructions(path, GPT2, loss_on="all", batch_size=5))
    assert [ids for ids, _ in everywhere] == [labels for _, labels in everywhere] == [ids for ids, _ in expected]


@pytest.mark.parametrize("loss_on", [None, "completion"])
def test_conversations(tmp_path: pathlib.Path, loss_on: Any) -> None:
    pytest.importorskip("jinja2")
    theirs = fast(QWEN)
    expected = []
    for talk in TALKS:
        told = theirs.apply_chat_template(talk, chat_template=CHATML, return_assistant_tokens_mask=True)
        ids, mask = told["input_ids"], list(told["assistant_masks"])
        if loss_on:
            before = theirs.apply_chat_template(talk[:-1], chat_template=CHATML)["input_ids"]
            mask[: len(before)] = [0] * len(before)
        expected.append((ids, [id if said else -100 for id, said in zip(ids, mask)]))
    path = write(tmp_path, [{"id": i, "messages": talk} for i, talk in enumerate(TALKS)])
    assert rows_of(instructions(path, QWEN, template="chatml", loss_on=loss_on, batch_size=6)) == expected
    named = Tokenizer.from_file(QWEN)
    named.chat_template = "chatml"
    assert rows_of(instructions(path, named, loss_on=loss_on, columns={"messages": "messages"}, batch_size=6)) == expected
    roles = {"user": "human", "assistant": "gpt", "system": "system"}
    shared = [{"conversations": [{"from": roles[m["role"]], "value": m["content"]} for m in talk]} for talk in TALKS]
    assert rows_of(instructions(write(tmp_path, shared), QWEN, template="chatml", loss_on=loss_on, batch_size=6)) == expected


def test_tools(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's own template writes the column `tools`, which some records lack."""
    pytest.importorskip("jinja2")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    shutil.copy(QWEN, model / "tokenizer.json")
    (model / "chat_template.jinja").write_text("{{ tools | tojson if tools else 'no tools' }}" + CHATML)
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    rows: list[dict[str, Any]] = [{"messages": talk, "tools": tools if i else None} for i, talk in enumerate(TALKS)]
    expected = []
    for row in rows:
        template = (model / "chat_template.jinja").read_text()
        told = fast(QWEN).apply_chat_template(
            row["messages"], chat_template=template, tools=row["tools"], return_assistant_tokens_mask=True
        )
        ids = told["input_ids"]
        expected.append((ids, [id if said else -100 for id, said in zip(ids, told["assistant_masks"])]))
    path = write(tmp_path, rows)
    texts = write(tmp_path, [{**row, "tools": json.dumps(row["tools"])} for row in rows], "texts.jsonl")
    lacking = write(tmp_path, [row if row["tools"] else {"messages": row["messages"]} for row in rows], "lacking.jsonl")
    declared = jsonl(path, fields={"messages": "json", "tools": "json"})
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for data in (path, texts, lacking, rows, declared, str(tmp_path / "rows.parquet")):
        assert rows_of(instructions(data, model, batch_size=6)) == expected
    with pytest.raises(SpecError, match="'functions' would be lost, because a model's own template reads the column .tools."):
        instructions([{"messages": row["messages"], "functions": tools} for row in rows], model)


@pytest.mark.parametrize("loss_on", [None, "completion"])
def test_template_of_the_model(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, loss_on: Any) -> None:
    """A folder with a template of its own needs no `template`; "auto" says the same."""
    pytest.importorskip("jinja2")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = tmp_path / "model"
    model.mkdir()
    shutil.copy(QWEN, model / "tokenizer.json")
    (model / "chat_template.jinja").write_text(CHATML)
    path = write(tmp_path, [{"messages": talk} for talk in TALKS])
    expected = rows_of(instructions(path, QWEN, template="chatml", loss_on=loss_on, batch_size=6))
    for tokenizer in (model, Tokenizer.from_file(model)):
        assert rows_of(instructions(path, tokenizer, loss_on=loss_on, batch_size=6)) == expected
        assert rows_of(instructions(path, tokenizer, template="auto", loss_on=loss_on, batch_size=6)) == expected
    assert rows_of(instructions(path, model, template="chatml", loss_on=loss_on, batch_size=6)) == expected
    shared = [{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]}]
    with pytest.raises(SpecError, match="reads messages with role and content"):
        instructions(write(tmp_path, shared), model)
    with pytest.raises(Error, match="template"):
        instructions(path, QWEN, template="auto", batch_size=6).check()


def test_prompt_and_completion_of_messages(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As TRL has them: the loss is on the last answer, which is all of the completion."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    talks = write(tmp_path, [{"messages": talk} for talk in TALKS], "talks.jsonl")
    expected = rows_of(instructions(talks, QWEN, template="chatml", loss_on="completion", batch_size=6))
    rows = [{"prompt": talk[:-1], "completion": talk[-1:]} for talk in TALKS]
    path = write(tmp_path, rows)
    texts = [{name: json.dumps(value) for name, value in row.items()} for row in rows]
    named = [{"p": row["prompt"], "c": row["completion"], "x": 1} for row in rows]
    names = {"prompt": "p", "completion": "c"}
    for data, options in (
        (path, {}),
        (rows, {}),
        (jsonl(path, fields={"prompt": "json", "completion": "json"}), {}),
        (write(tmp_path, texts, "texts.jsonl"), {"loss_on": "completion"}),
        (write(tmp_path, named, "named.jsonl"), {"columns": names, "loss_on": "assistant"}),
        (named, {"columns": names}),
    ):
        assert rows_of(instructions(data, QWEN, template="chatml", batch_size=6, **options)) == expected
    mixed = [{"prompt": row["prompt"], "completion": "Yes"} for row in rows]
    for data in (mixed, write(tmp_path, mixed, "mixed.jsonl")):
        with pytest.raises(SpecError, match="'prompt' is a list and 'completion' is text, but prompt and completion must be two"):
            instructions(data, QWEN, template="chatml")
    lists = [{"prompt": "[1] is", "completion": "[2]"}]
    assert len(rows_of(instructions(write(tmp_path, lists, "lists.jsonl"), GPT2, batch_size=1))) == 1


@pytest.mark.parametrize("has_arrow", [True, False])
def test_data_that_is_held(has_arrow: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if has_arrow:
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr(held, "has_pyarrow", lambda: False)
    talks = [{"id": i, "messages": talk} for i, talk in enumerate(TALKS)]
    for rows, tokenizer, options in ((ASKED, GPT2, {}), (TASKS, LLAMA, {}), (talks, QWEN, {"template": "chatml"})):
        of_file = rows_of(instructions(write(tmp_path, rows), tokenizer, batch_size=4, **options))
        assert rows_of(instructions(rows, tokenizer, batch_size=4, **options)) == of_file


def test_data_sets_and_their_files(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    datasets = pytest.importorskip("datasets")
    talks = [{"id": i, "messages": talk} for i, talk in enumerate(TALKS)]
    for rows, tokenizer, options in ((ASKED, GPT2, {}), (talks, QWEN, {"template": "chatml"})):
        of_file = rows_of(instructions(write(tmp_path, rows), tokenizer, batch_size=4, **options))
        data = datasets.Dataset.from_list(rows)
        assert rows_of(instructions(data, tokenizer, batch_size=4, **options)) == of_file
        data.save_to_disk(tmp_path / tokenizer[-9:])
        arrow = next((tmp_path / tokenizer[-9:]).glob("*.arrow"))
        assert rows_of(instructions(arrow, tokenizer, batch_size=4, **options)) == of_file


def test_the_same_rows_in_another_order(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, ASKED)
    plain = rows_of(instructions(path, GPT2, batch_size=4))
    for shuffle in (True, 5):
        one, same, other = (rows_of(instructions(path, GPT2, batch_size=4, shuffle=shuffle, seed=seed)) for seed in (1, 1, 2))
        assert one == same and one != other and one != plain
        assert sorted(one) == sorted(plain) == sorted(other)
    assert len(rows_of(instructions(path, GPT2, batch_size=8, drop_last=True))) == 16


def test_widths(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, ASKED + [{"prompt": "word " * 200, "completion": "never seen"}])
    for options, allowed in (
        ({"max_length": 64}, range(1, 65)),
        ({"max_length": 64, "pad_to_multiple_of": 32}, (32, 64)),
        ({"max_length": 70, "padding": "max_length"}, (70,)),
    ):
        batches = instructions(path, GPT2, batch_size=4, **options)
        assert {np.asarray(batch["input_ids"]).shape[1] for batch in batches} <= set(allowed)
        assert {np.asarray(batch["labels"]).shape[1] for batch in batches} <= set(allowed)
    cut = instructions(path, GPT2, batch_size=4, max_length=64, without_loss="fail")
    with pytest.raises(Error, match="data.jsonl:21:.*none of the .* tokens has loss"):
        rows_of(cut)
    assert len(rows_of(cut.options(on_error="skip"))) == len(ASKED)


def test_stages_behind_it(tmp_path: pathlib.Path) -> None:
    packed = instructions(write(tmp_path, ASKED), GPT2).pack(128, value=0).batch(2)
    batch = next(iter(packed))
    assert np.asarray(batch["input_ids"]).shape == np.asarray(batch["labels"]).shape == (2, 128)
    assert batch["labels"].dtype == "int64"
    records = list(instructions(write(tmp_path, ASKED), GPT2))
    assert len(records) == len(ASKED) and set(records[0]) == {"input_ids", "labels"}


def test_a_blank_at_the_end_of_a_prompt(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, ASKED)
    with pytest.warns(UserWarning, match="the prompt ends with ' '"):
        instructions(path, GPT2, prompt="Q: {prompt} A: ", response="{completion}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instructions(path, GPT2, prompt="Q: {prompt} A:", response=" {completion}")
        instructions(path, GPT2, prompt="Q: {prompt}\n", response="{completion}")


def test_what_is_refused(tmp_path: pathlib.Path) -> None:
    path = write(tmp_path, ASKED)
    other = write(tmp_path, [{"a": "x", "b": "y"}], "other.jsonl")
    talks = write(tmp_path, [{"messages": talk} for talk in TALKS], "talks.jsonl")
    for match, data, options in (
        ("columns a, b are neither messages", other, {}),
        ("no column 'q' for 'prompt'; the data has prompt", path, {"columns": {"prompt": "q", "completion": "prompt"}}),
        ("make no known format: name messages", path, {"columns": {"prompt": "prompt"}}),
        ("give template, one of chatml", talks, {}),
        ("'mine' is not a template of leat; give one of chatml", talks, {"template": "mine"}),
        ("are only for conversations", path, {"template": "chatml"}),
        ("give batch_size", path, {"drop_last": True}),
        ("needs max_length", path, {"batch_size": 2, "padding": "max_length"}),
        ("must be 'longest' or", path, {"batch_size": 2, "padding": "wide"}),
        ("the names of the columns in braces", path, {"prompt": "{prompt}", "columns": {"prompt": "prompt"}}),
    ):
        with pytest.raises(SpecError, match=match):
            instructions(data, QWEN, **options)
    with pytest.raises(Error, match="there is no field"):
        instructions(path, QWEN, prompt="{prompt} {nothing}", response="{completion}", batch_size=2).check()
    with pytest.raises(Error, match="is empty"):
        instructions(write(tmp_path, [], "empty.jsonl"), QWEN)
    with pytest.raises(DataError, match="the data has no rows"):
        instructions([], QWEN)
    assert path_of(QWEN) == QWEN


def test_what_would_be_lost(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    called = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": calls}]
    rows = [{"messages": talk} for talk in [*TALKS, called]]
    path = write(tmp_path, rows)
    with pytest.raises(DataError, match=r'message 1: "tool_calls" would be lost.*remove it') as caught:
        rows_of(instructions(path, QWEN, template="chatml", batch_size=6))
    column = json.dumps(rows[-1]).index("[" + json.dumps(calls[0])) + 1
    assert (caught.value.file, caught.value.line, caught.value.column) == (path, len(rows), column)
    with pytest.raises(DataError, match='"tool_calls" would be lost'):
        rows_of(instructions(rows, QWEN, template="chatml", batch_size=6))
    named = Tokenizer.from_file(QWEN)
    named.chat_template = "chatml"
    with pytest.raises(SpecError, match='"tool_calls" would be lost'):
        named.apply_chat_template(called)
    tools: list[Any] = [{"messages": talk, "tools": calls} for talk in TALKS]
    for data in (tools, write(tmp_path, tools, "tools.jsonl")):
        with pytest.raises(SpecError, match="the column 'tools' would be lost"):
            instructions(data, QWEN, template="chatml")
    for nothing in (None, []):
        none = write(tmp_path, [{"messages": talk, "tools": nothing} for talk in TALKS], "none.jsonl")
        assert len(rows_of(instructions(none, QWEN, template="chatml", batch_size=6))) == len(TALKS)

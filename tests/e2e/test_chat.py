#!/usr/bin/env python3
"""config/chat.yaml: what has labels is what the assistant says, whatever runs the stream.

    test_chat.py BIN [PATTERN]
"""
import json
import subprocess

import data
import leat_harness
from leat_harness import BIN, ROOT, Daemon, ctl, find_digest

CONFIG = ROOT / "config" / "chat.yaml"


def decode(ids):
    line = " ".join(map(str, ids)).encode() + b"\n"
    done = subprocess.run([BIN / "leatctl", "tokenizer", "decode", ROOT / "config" / "chat"], input=line,
                          capture_output=True, timeout=leat_harness.HANG_S, check=True)
    return done.stdout.decode().removesuffix("\n")


def head(stream, *args):
    return [json.loads(line) for line in ctl("head", CONFIG, stream, "-n", 100, "--json", *args).stdout.splitlines()]


def labelled(row):
    assert len(row["labels"]) == len(row["input_ids"])
    assert all(label in (-100, number) for label, number in zip(row["labels"], row["input_ids"]))
    return decode([label for label in row["labels"] if label != -100])


def test_talks(_folder):
    rows = head("talks", "--after", "causal_labels")
    assert len(rows) == 5
    for row in rows:
        messages = json.loads(row["messages"])
        said = "".join(message["content"] + "<|im_end|>" for message in messages if message["role"] == "assistant")
        assert labelled(row) == said, (labelled(row), said)
        assert [label != -100 for label in row["labels"]] == [mask == 1 for mask in row["assistant_masks"]]
        assert decode(row["input_ids"]) == row["text"]


def test_tasks(_folder):
    for row in head("tasks", "--after", "causal_labels"):
        assert labelled(row) == row["output"] + "<|im_end|>"
        assert row["text"].endswith("### Response:\n" + labelled(row))


def test_digests(folder):
    with Daemon(folder, CONFIG) as daemon:
        for stream in ("talks", "tasks"):
            alone = find_digest(ctl("run", CONFIG, stream, "--digest", "--no-daemon", "--epochs", 2).stdout)
            assert daemon.digest(stream, "--epochs", 2) == alone


MARKED = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}
{{ '' }}
{% endfor %}"""
UNMARKED = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
OTHERWISE = """{% set ns = namespace(text='') %}{% for m in messages %}{% set ns.text = ns.text ~ m.content ~ ('!' if loop.last else '') %}{% endfor %}
{{ ns.text }}"""
INVITING = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}"
# As Qwen3: only the last answer has thoughts, and the model is invited to think.
THOUGHTS = """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and loop.last %}<think>

</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% else %}<|im_end|>{% endif %}"""


def auto(folder, template):
    """The rows of the stream `talks` with this template in place of chatml."""
    (folder / "own.jinja").write_text(template)
    spec = CONFIG.read_text().replace("template: chatml, injection: fail", f"template: auto, template_file: {folder}/own.jinja")
    config = folder / "auto.yaml"
    config.write_text(spec.replace("[talks.jsonl]", f"[{CONFIG.parent}/talks.jsonl]").replace("tokenizer: chat\n", f"tokenizer: {CONFIG.parent}/chat\n"))
    done = ctl("head", config, "talks", "-n", 100, "--json", "--after", "causal_labels")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_template_of_a_model(folder):
    """The same text and labels as by leat's own ChatML, if the template marks what the assistant says."""
    wanted, got = head("talks", "--after", "causal_labels"), auto(folder, MARKED)
    assert len(got) >= len(wanted) == 5
    by_text = {row["text"]: row for row in got}
    for row in wanted:
        assert by_text[row["text"]]["labels"] == row["labels"], (by_text[row["text"]], row)


def test_turns_without_marks(folder):
    """Without marks the whole turns are labelled, but not what invites to the next answer."""
    for template in (UNMARKED, INVITING):
        rows = auto(folder, template)
        assert rows
        for row in rows:
            messages = json.loads(row["messages"])
            said = "".join(message["content"] + "<|im_end|>\n" for message in messages if message["role"] == "assistant")
            assert labelled(row) == said, (labelled(row), said)


def test_thoughts_of_the_last_answer(folder):
    """A turn that is written otherwise if more follow is found by what the loop prints for it."""
    rows = auto(folder, THOUGHTS)
    n_long = 0
    for row in rows:
        said = [message["content"] + "<|im_end|>\n" for message in json.loads(row["messages"]) if message["role"] == "assistant"]
        if not said:
            continue
        n_long += len(said) > 1
        # the first line of the thoughts is part of the invitation
        assert labelled(row) == "".join(said[:-1]) + "\n</think>\n\n" + said[-1] + "<|im_end|>", (labelled(row), said)
    assert n_long, "no conversation has several answers"


def test_turns_that_change(folder):
    """A template that writes an answer otherwise once more follows gives no labels that are wrong."""
    assert all(len(json.loads(row["messages"])) <= 1 for row in auto(folder, OTHERWISE))


def test_turns_that_nobody_reads(folder):
    """Turns are looked for only if labels are made of them."""
    (folder / "own.jinja").write_text(OTHERWISE)
    stages = [{"chat": {"messages": "messages", "template": "auto", "template_file": str(folder / "own.jinja")}},
              {"tokenize": {"input": "text", "output": "ids", "tokenizer": str(CONFIG.parent / "chat")}}, {"select": {"fields": ["ids"]}},
              {"pad": {"input": "ids", "multiple_of": 8, "value": 0}}, {"batch": {"batch_size": 1}}]
    source = {"jsonl": {"paths": [str(CONFIG.parent / "talks.jsonl")], "fields": {"messages": "json"}}}
    config = folder / "ids.yaml"
    config.write_text(json.dumps({"streams": {"ids": {"source": source, "stages": stages}}}))
    n_talks = len((CONFIG.parent / "talks.jsonl").read_text().splitlines())
    assert len(ctl("dump", config, "ids").stdout.splitlines()) == n_talks
    for args in (("--after", "chat"), ("--after", "tokenize"), ()):
        assert len(ctl("head", config, "ids", "-n", 100, "--json", *args).stdout.splitlines()) == n_talks, args


def test_sources_that_are_joined(folder):
    """Each row of instructions of two kinds in one stream has the labels that it has alone: what is marked goes along with its text."""
    tail = [{"tokenize": {"input": "text", "output": "input_ids", "tokenizer": str(ROOT / "config" / "chat"), "max_length": 96}},
            {"causal_labels": {"input": "input_ids", "output": "labels", "loss_on": "assistant", "ignore_index": -100}},
            {"select": {"fields": ["input_ids", "labels"]}}, {"pad": {"input": "input_ids", "length": 96}}, {"pad": {"input": "labels", "length": 96}},
            {"batch": {"batch_size": 1}}]
    source = {"jsonl": {"paths": [str(ROOT / "config" / "tasks.jsonl")]}}
    own = {"prompt": "Q: {instruction}\\nA: ", "response": "{output}"}
    parts = [(source, [{"instruction": {"eos": "<|im_end|>", **way}}]) for way in ({"preset": "alpaca"}, own)]
    streams = {str(i): {"source": source, "on_error": "skip", "stages": [*stages, *tail]} for i, (source, stages) in enumerate(parts)}
    keep = {"select": {"fields": ["text"]}}
    for kind, more in (("mix", {"proportions": [1, 1], "exhausted": "drop"}), ("concat", {})):
        sources = [{**source, "stages": [*stages, keep]} for source, stages in parts]
        streams[kind] = {"source": {kind: {"sources": sources, **more}}, "on_error": "skip", "stages": tail}
    file = folder / "s.yaml"
    file.write_text(data.yaml_text(streams))

    def rows(stream):
        lines = map(json.loads, ctl("dump", file, stream, "--format", "jsonl").stdout.splitlines())
        return sorted((line["input_ids"], line["labels"]) for line in lines)
    alone = rows("0") + rows("1")
    assert len(alone) > 4 and all(any(label >= 0 for label in labels) and -100 in labels[:8] for _, labels in alone), alone
    assert rows("concat") == sorted(alone) and rows("mix") == sorted(alone)


if __name__ == "__main__":
    leat_harness.main(globals())

#!/usr/bin/env python3
"""chat_bench.py: conversations to token ids by chat templates of models: leat beside transformers' apply_chat_template.

    chat_bench.py BIN [--templates FOLDER] [--tokenizer tokenizer.json] [--conversations N] [--rounds N] [--json FILE]

FOLDER holds templates (*.jinja); without one, the two templates of this program are measured. Both sides have the same tokenizer
and the same conversations of some turns each, on one thread. For each template the ids of all conversations must be equal first;
templates that take none of these conversations are named and left out. Then transformers' `apply_chat_template(tokenize=True)`
and a stream of leat (JSON Lines, `chat`, `tokenize`, batches) run by turns. Figures are CPU time, the least of all rounds, of leat
less what one conversation takes. Needs a Python with transformers.
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
DATE = "2025-03-09"
OWN = {
    "chatml": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}",
    "turns": """{{- bos_token }}{%- set ns = namespace(n=0) -%}
{%- for message in messages -%}
    {%- if message.role == 'user' -%}{%- set ns.n = ns.n + 1 -%}
[{{ ns.n }}] <|user|>{{ message.content | trim }}
    {%- elif message.role == 'assistant' -%}
        {%- set content = message.content.split('</think>')[-1].lstrip('\\n') if '</think>' in message.content else message.content -%}
<|assistant|>{{ content }}{{ eos_token }}
    {%- else -%}<|{{ message.role | upper }}|>{{ message.content }}{%- endif %}
{% endfor %}""",
}


def conversations(n, rng):
    """Turns of some words each; no system message, which some templates refuse."""
    words = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split()

    def text(mean):
        return " ".join(rng.choices(words, k=max(1, int(rng.lognormvariate(math.log(mean), 0.8)))))

    return [[{"role": role, "content": text(mean)} for _ in range(rng.randint(1, 4)) for role, mean in (("user", 15), ("assistant", 60))]
            for _ in range(n)]


def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


class Leat:
    def __init__(self, binaries, folder):
        self.leatctl, self.folder, self.config = binaries / "leatctl", folder, folder / "stream.json"
        chat = {"messages": "messages", "template": "auto", "tokenizer": str(folder / "model"), "date": DATE}
        stages = [{"chat": chat}, {"tokenize": {"input": "text", "output": "ids", "tokenizer": str(folder / "model")}},
                  {"select": {"fields": ["ids"]}}, {"pad": {"input": "ids", "multiple_of": 8, "value": 0, "mask": "mask"}}, {"batch": {"batch_size": 64}}]
        source = {"fields": {"messages": "json"}}
        streams = {name: {"source": {"jsonl": {"paths": [f"{folder}/{name}.jsonl"], **source}}, "stages": stages} for name in ("all", "one")}
        self.config.write_text(json.dumps({"streams": streams}))

    def ids(self, n):
        """Of each conversation; None if the template refuses one."""
        done = subprocess.run([self.leatctl, "dump", self.config, "all"], capture_output=True, text=True, check=False)
        rows = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
        rows = [row["ids"][:sum(row["mask"])] for row in rows]
        return (rows, "") if len(rows) == n else (None, done.stderr.strip().splitlines()[-1:] or [f"{len(rows)} rows"])

    def seconds(self, name):
        before = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run([self.leatctl, "run", self.config, name, "--no-daemon"], capture_output=True, check=True)
        return cpu(resource.RUSAGE_CHILDREN) - before


class Peer:
    def __init__(self, tokenizer):
        from transformers import PreTrainedTokenizerFast

        self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer), **TOKENS)

    def ids(self, talks):
        try:
            return [self.tokenizer.apply_chat_template(talk, tokenize=True, return_dict=False) for talk in talks], ""
        except Exception as failure:
            return None, str(failure).splitlines()[:1]

    def seconds(self, talks, tokenize=True):
        before = time.process_time()
        for talk in talks:
            self.tokenizer.apply_chat_template(talk, tokenize=tokenize, return_dict=False)
        return time.process_time() - before


def measure(leat, peer, talks, rounds):
    whole, text, ours, one = [], [], [], []
    for _ in range(rounds):
        whole.append(peer.seconds(talks))
        text.append(peer.seconds(talks, False))
        ours.append(leat.seconds("all"))
        one.append(leat.seconds("one"))
    n, mine = len(talks), min(ours) - min(one)
    if mine <= 0:
        sys.exit("the conversations take no more time than one of them: give more --conversations or --rounds")
    return {"us": round(mine / n * 1e6, 2), "transformers_us": round(min(whole) / n * 1e6, 2),
            "transformers_text_us": round(min(text) / n * 1e6, 2), "ratio": round(min(whole) / mine, 2)}


def fix_date():
    """strftime_now() of transformers has the date that leat is given."""
    import datetime

    from transformers.utils import chat_template_utils

    class Fixed(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromisoformat(DATE).replace(tzinfo=tz)

    chat_template_utils.datetime = Fixed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--templates", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, default=ROOT / "config/sentences/tokenizer.json")
    parser.add_argument("--conversations", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    templates = {file.stem: file.read_bytes().decode() for file in sorted(args.templates.glob("*.jinja"))} if args.templates else OWN
    talks = conversations(args.conversations, random.Random(1))
    found, left_out = {}, {}
    fix_date()
    peer = Peer(args.tokenizer)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peer.tokenizer.save_pretrained(folder / "model")  # with bos and eos as tokens of its own
        for file, some in (("all", talks), ("one", talks[:1])):
            (folder / f"{file}.jsonl").write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in some), encoding="utf-8")
        leat = Leat(args.binaries, folder)
        for template, source in templates.items():
            (folder / "model/tokenizer_config.json").write_text(json.dumps({"chat_template": source, **TOKENS}))
            peer.tokenizer.chat_template = source
            (theirs, why), (ours, why_not) = peer.ids(talks), leat.ids(len(talks))
            if theirs is None or ours is None:
                left_out[template] = {"transformers": why or "takes them", "leat": why_not or "takes them"}
                continue
            if ours != theirs:
                sys.exit(f"{template}: ids of conversation {next(i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b)} differ")
            found[template] = measure(leat, peer, talks, args.rounds)
            print(template, found[template], file=sys.stderr, flush=True)
    ratios = [each["ratio"] for each in found.values()]
    answer = {"templates": len(found), "text_bytes": sum(len(turn["content"].encode()) for talk in talks for turn in talk),
              "of_all": round(sum(each["transformers_us"] for each in found.values()) / sum(each["us"] for each in found.values()), 2),
              "median": statistics.median(ratios), "least": min(ratios), "most": max(ratios), "left_out": left_out}
    print(json.dumps(answer))
    if args.json:
        args.json.write_text(json.dumps({**answer, "each": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()

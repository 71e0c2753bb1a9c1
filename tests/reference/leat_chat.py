"""Conversations and instructions as texts, tokens between blanks, and labels, for leat_reference.py: `chat`,
`instruction`, `tokenize: {tokenizer: ...}` of a WordLevel model behind WhitespaceSplit, `causal_labels`.

A text is a list of (text, whether the model is to say it); `said` on its column tells the tokens.
"""
import json
import re

from leat_elements import BadRecord, text_of

BLANKS = " \t\n\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
STRIPPED = BLANKS + "\x1c\x1d\x1e\x1f"  # by Python and templates

ROLES = {"gemma": {"user", "assistant"}, "mistral": {"system", "user", "assistant"}, "phi-3": {"system", "user", "assistant"},
         "zephyr": {"system", "user", "assistant"}, "chatml": {"system", "user", "assistant", "tool"},
         "llama-3": {"system", "user", "assistant", "tool"}}
BOS = {"llama-3": "<|begin_of_text|>", "mistral": "<s>", "gemma": "<bos>"}
EOS = {"mistral": "</s>", "phi-3": "<|endoftext|>", "zephyr": "</s>"}


def frame(template, role, content, eos):
    """(before, content, behind) of a message: what the model says, if it is the assistant's, is the content."""
    if template == "chatml":
        return f"<|im_start|>{role}\n", content + "<|im_end|>", "\n"
    if template == "llama-3":
        return f"<|start_header_id|>{role}<|end_header_id|>\n\n", content.strip(STRIPPED) + "<|eot_id|>", ""
    if template == "mistral":
        return ("", f" [INST] {content} [/INST]", "") if role == "user" else ("", f" {content}{eos}", "")
    if template == "gemma":
        return f"<start_of_turn>{role.replace('assistant', 'model')}\n", content.strip(STRIPPED) + "<end_of_turn>", "\n"
    if template == "phi-3":
        return f"<|{role}|>\n", content + "<|end|>", "\n"
    return f"<|{role}|>\n", content + eos, "\n"


def check_turns(messages):
    turns = [role for role, _ in messages[messages[0][0] == "system":]]
    if not turns or any(role != ("user", "assistant")[i % 2] for i, role in enumerate(turns)):
        raise BadRecord("roles do not alternate")


def join_system(messages):
    if messages[0][0] != "system":
        return messages
    return [("user", messages[0][1] + "\n\n" + messages[1][1])] + messages[2:]


def read_messages(text, args, roles):
    try:
        parsed = json.loads(text.decode())
    except ValueError:
        raise BadRecord("no JSON") from None
    if not isinstance(parsed, list) or not parsed:
        raise BadRecord("no messages")
    messages = []
    for message in parsed:
        role, content = (message.get(args.get(key, name)) if isinstance(message, dict) else None
                         for key, name in (("role_key", "role"), ("content_key", "content")))
        role = args.get("roles", {}).get(role, role)
        if role not in roles or not isinstance(content, str):
            raise BadRecord("not a message of the template")
        messages.append((role, content))
    if "system" in args and messages[0][0] != "system":
        messages.insert(0, ("system", args["system"]))
    return messages


def write_chat(text, args):
    """[(text, whether it is said)] of a conversation."""
    template = args.get("template")
    prefixes = args.get("prefixes", {})
    messages = read_messages(text, args, ROLES[template] if template else prefixes)
    bos, eos = args.get("bos", BOS.get(template, "")), args.get("eos", EOS.get(template, ""))
    if template in ("mistral", "gemma"):
        check_turns(messages)
    if template == "mistral":
        messages = join_system(messages)

    def parts_of(role, content):
        if template:
            return frame(template, role, content, eos)
        return prefixes[role], content + args.get("suffixes", {}).get(role, ""), args.get("separator", "")
    parts = [(bos, False)]
    for role, content in messages:
        before, content, behind = parts_of(role, content)
        parts += [(before, False), (content, role == "assistant"), (behind, False)]
    if args.get("add_generation_prompt"):
        parts.append((parts_of("assistant", "")[0], False))
    elif template == "phi-3":
        parts.append((eos, False))
    return parts


def write_text(row, column, parts):
    """The text of the parts, with the byte ranges of those that the model is to say."""
    row[column], row[column.said] = b"", []
    for part, is_said in parts:
        start = len(row[column])
        row[column] += part if isinstance(part, bytes) else part.encode()
        if is_said and len(row[column]) > start:
            row[column.said].append((start, len(row[column])))


def add_text(plan, name):
    column = plan.columns[name] = plan.new_column("text")
    column.said = object()
    return column


def stage_chat(plan, args):
    source = plan.columns[args["messages"]]
    output = add_text(plan, args.get("output", "text"))
    plan.steps.append(lambda row, _context: write_text(row, output, write_chat(row[source], args)))


def stage_instruction(plan, args):
    columns = dict(plan.columns)
    names = args.get("fields", {})
    has_input = "input" in columns or "input" in names
    output = add_text(plan, args.get("output", "text"))

    def fill(text, row):
        def field(found):
            if found[0] in ("{{", "}}"):
                return found[0][0]
            value = row[columns[names.get(found[1], found[1])]]
            return value.decode() if isinstance(value, bytes) else text_of(value)
        return re.sub(r"\{\{|\}\}|\{([^}]*)\}", field, text)

    def prompt_of(row):
        if "prompt" in args:
            return fill(args["prompt"], row)
        given = fill("{input}", row) if has_input else ""
        return ("Below is an instruction that describes a task"
                + (", paired with an input that provides further context" if given else "")
                + ". Write a response that appropriately completes the request.\n\n### Instruction:\n"
                + fill("{instruction}", row) + ("\n\n### Input:\n" + given if given else "") + "\n\n### Response:\n")

    def step(row, _context):
        response = fill(args.get("response", "{output}"), row) + args.get("eos", "")
        write_text(row, output, [(prompt_of(row), False), (response, True)])
    plan.steps.append(step)


def tokenize_words(plan, args):
    """A tokenizer that has a number for words between blanks, and one for all others."""
    source = plan.columns[args["input"]]
    output = plan.columns[args["output"]] = plan.new_column("int32", True)
    model = json.loads((plan.directory / args["tokenizer"]).read_text(encoding="utf-8"))["model"]
    unknown = model["vocab"][model["unk_token"]]
    room = args.get("max_length", 2**62)
    output.said = object() if source.said else None

    def turn_of(row, start, end):
        parts = row[source.said]
        turns = [len(parts) - i for i, (first, last) in enumerate(parts) if start < last and first < end]
        return turns[0] if turns else 0  # 1: the last part

    def step(row, _context):
        text = row[source].decode()
        words = [(found[0], len(text[:found.start()].encode()), len(text[:found.end()].encode()))
                 for found in re.finditer(f"[^{BLANKS}]+", text)]
        words = words[max(len(words) - room, 0):] if args.get("truncation_side") == "left" else words[:room]
        row[output] = [model["vocab"].get(word, unknown) for word, _, _ in words]
        if output.said:
            row[output.said] = [turn_of(row, start, end) for _, start, end in words]
    plan.steps.append(step)


def stage_causal_labels(plan, args):
    source = plan.columns[args.get("input", "input_ids")]
    output = plan.columns[args.get("output", "labels")] = plan.new_column(args.get("dtype", "int64"), True)
    ignored = args.get("ignore_index", -100)
    output.pad_value, output.are_labels = ignored, True
    if source.pad:
        output.pad = dict(source.pad, value=ignored)
    on = {"all": lambda _turn: True, "completion": lambda turn: turn == 1, "assistant": lambda turn: turn > 0}[args.get("loss_on", "all")]

    def step(row, _context):
        turns = row[source.said] if source.said else [0] * len(row[source])
        row[output] = [number if on(turn) else ignored for number, turn in zip(row[source], turns)]
        if args.get("without_loss") == "fail" and not any(map(on, turns)):
            raise BadRecord("no token with loss")
    plan.steps.append(step)


STAGES = {name[len("stage_"):]: function for name, function in globals().items() if name.startswith("stage_")}

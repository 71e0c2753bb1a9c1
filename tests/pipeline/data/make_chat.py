"""Writes chat.jsonl: what transformers' apply_chat_template makes of conversations: the text, the ids
and the mask of the assistant's tokens. Needs transformers and jinja2; the result is committed.

    python3 make_chat.py > chat.jsonl

A line is a conversation with the template and the tokenizer (of tests/tokenizer/data). The templates
are those that come with the models; {% generation %} is put in where the model's own has none, which
must not change the text. `assistant_masks` is null where transformers looks for the token at an end of what
the assistant says and finds none: it then marks all that follows, or nothing more.
"""
import json
import pathlib
import random
import sys
import unicodedata

from transformers import PreTrainedTokenizerFast

TOKENIZERS = pathlib.Path(__file__).resolve().parents[2] / "tokenizer" / "data"
RNG = random.Random(11)

# name: (tokenizer, bos_token, eos_token, official template, what is replaced to mark generation)
TEMPLATES = {
    "chatml": (
        "qwen", "<|endoftext|>", "<|im_end|>",
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        ("{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}",
         "{{'<|im_start|>' + message['role'] + '\n'}}{% if message['role'] == 'assistant' %}{% generation %}"
         "{{ message['content'] + '<|im_end|>' }}{% endgeneration %}{% else %}{{ message['content'] + '<|im_end|>' }}"
         "{% endif %}{{ '\n' }}")),
    "llama-3": (
        "llama3", "<|begin_of_text|>", "<|eot_id|>",
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
        "message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
        "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
        ("{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + "
         "'<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}",
         "{% if loop.index0 == 0 %}{{ bos_token }}{% endif %}{{ '<|start_header_id|>' + message['role'] + "
         "'<|end_header_id|>\n\n' }}{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] | trim + "
         "'<|eot_id|>' }}{% endgeneration %}{% else %}{{ message['content'] | trim + '<|eot_id|>' }}{% endif %}")),
    "mistral": (
        "mistral", "<s>", "</s>",
        "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content'] %}\n"
        "    {%- set loop_messages = messages[1:] %}\n{%- else %}\n    {%- set loop_messages = messages %}\n{%- endif %}\n\n"
        "{{- bos_token }}\n{%- for message in loop_messages %}\n"
        "    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\n"
        "        {{- raise_exception('After the optional system message, conversation roles must alternate "
        "user/assistant/user/assistant/...') }}\n    {%- endif %}\n    {%- if message['role'] == 'user' %}\n"
        "        {%- if loop.first and system_message is defined %}\n"
        "            {{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}\n        {%- else %}\n"
        "            {{- ' [INST] ' + message['content'] + ' [/INST]' }}\n        {%- endif %}\n"
        "    {%- elif message['role'] == 'assistant' %}\n        {{- ' ' + message['content'] + eos_token}}\n    {%- else %}\n"
        "        {{- raise_exception('Only user and assistant roles are supported, with the exception of an initial "
        "optional system message!') }}\n    {%- endif %}\n{%- endfor %}\n",
        ("{{- ' ' + message['content'] + eos_token}}",
         "{%- generation -%}{{- ' ' + message['content'] + eos_token}}{%- endgeneration -%}")),
    "gemma": (
        "gemma", "<bos>", "<eos>",
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
        "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
        "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
        ("{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}",
         "{{ '<start_of_turn>' + role + '\n' }}{% if role == 'model' %}{% generation %}{{ message['content'] | trim + "
         "'<end_of_turn>' }}{% endgeneration %}{% else %}{{ message['content'] | trim + '<end_of_turn>' }}{% endif %}"
         "{{ '\n' }}")),
    "phi-3": (
        "phi3", "<s>", "<|endoftext|>",
        "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
        "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"
        "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
        ("{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}",
         "{{'<|assistant|>\n'}}{% generation %}{{ message['content'] + '<|end|>' }}{% endgeneration %}{{ '\n' }}")),
    "zephyr": (
        "tinyllama", "<s>", "</s>",
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
        "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
        ("{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n",
         "{{ '<|assistant|>\n' }}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{{ '\n' }}")),
}

WORDS = ["the", "miller", "opened", "a", "sluice", "Is it so?", "No.", "café", "水車", "été", "e\u0301", "🙂👍🏽", "x = {1, 2}", "don't",
         "\n", "\n\n", "  ", "\t", "1234567", "\"quoted\"", "<b>", "[INST", "a\\b", "\u2028", "ß"]


def words(n):
    return " ".join(RNG.choices(WORDS, k=n))


def made(*roles):
    return [{"role": role, "content": words(RNG.randrange(1, 9))} for role in roles]


def conversations():
    user, assistant, system, tool = "user", "assistant", "system", "tool"
    for n in range(1, 5):
        yield made(*[user, assistant] * n)
        yield made(system, *[user, assistant] * n)
        yield made(*[user, assistant] * n, user)
    yield made(system, user)
    yield [{"role": user, "content": ""}, {"role": assistant, "content": ""}]
    yield [{"role": user, "content": " \n\u3000a\x1f "}, {"role": assistant, "content": "\u2003\x1c b \n\n"}]
    yield [{"role": user, "content": "Hi"}, {"role": assistant, "content": "Hello"}]
    yield [{"role": user, "content": "Hi"}, {"role": assistant, "content": "Bye 🙂"}]
    yield [{"role": user, "content": "Hi"}, {"role": assistant, "content": "Bye\n"}]
    yield [{"role": user, "content": "a<|im_end|><|eot_id|></s><end_of_turn><|end|>b"}, {"role": assistant, "content": "<s>c"}]
    yield [{"content": "keys in", "extra": [1, {"role": "x"}], "role": user}, {"content": "another order", "name": None, "role": assistant}]
    # what some of the templates refuse
    yield made(system)
    yield made(assistant, user)
    yield made(user, user)
    yield made(user, assistant, assistant)
    yield made(user, system, assistant)
    yield made(user, assistant, system, user)
    yield made(user, tool, assistant)
    yield made(user, assistant, tool)


def refuses(name, messages):
    """What leat takes for bad although the model's template does not look at it: roles that it has not."""
    roles = {m["role"] for m in messages}
    return "tool" in roles and name not in ("chatml", "llama-3") or name == "gemma" and "system" in roles


def is_clear(encoding, spans):
    """Whether the tokens at both ends of all spans are found, and are the outermost."""
    for start, end in spans:
        first, last = encoding.char_to_token(start), encoding.char_to_token(end - 1)
        if first is None or not last:
            return False
        if last + 1 < len(encoding.ids) and encoding.offsets[last + 1][0] < end and encoding.offsets[last + 1][1] > start:
            return False
    return True


def spans_of(template, tokenizer, messages, prompt):
    from transformers.utils.chat_template_utils import render_jinja_template
    _, spans = render_jinja_template([messages], chat_template=template, return_assistant_tokens_mask=True,
                                     add_generation_prompt=prompt, **tokenizer.special_tokens_map)
    return spans[0]


def case(name, tokenizer, official, marked, messages, prompt):
    line = {"template": name, "tokenizer": TEMPLATES[name][0], "prompt": prompt, "messages": messages}
    try:
        text = tokenizer.apply_chat_template(messages, chat_template=official, tokenize=False, add_generation_prompt=prompt)
        out = tokenizer.apply_chat_template(messages, chat_template=marked, tokenize=True, return_dict=True,
                                            return_assistant_tokens_mask=True, add_generation_prompt=prompt)
    except Exception as error:
        assert "raise_exception" not in str(error) and type(error).__name__ in ("TemplateError", "UndefinedError"), error
        return line | {"error": str(error)}
    if refuses(name, messages):
        return line | {"error": "a role that the template has not"}
    if name == "mistral" and messages[-1]["role"] == "system":
        return line | {"error": "no message but that of the system"}
    again = tokenizer.apply_chat_template(messages, chat_template=marked, tokenize=False, add_generation_prompt=prompt)
    assert again == text, (name, text, again)
    encoding = tokenizer._tokenizer.encode(text, add_special_tokens=False)
    assert encoding.ids == out["input_ids"], name
    line |= {"text": text, "ids": out["input_ids"]}
    spans = spans_of(marked, tokenizer, messages, prompt)
    if is_clear(encoding, spans):
        return line | {"assistant_masks": out["assistant_masks"]}
    return line | {"assistant_masks": None, "said": unicodedata.normalize("NFC", "".join(text[a:b] for a, b in spans))}


def main():
    n, n_clear, n_errors = 0, 0, 0
    for name, (file, bos, eos, official, (old, new)) in TEMPLATES.items():
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZERS / f"{file}.json"), bos_token=bos, eos_token=eos)
        assert old in official, name
        marked = official.replace(old, new)
        RNG.seed(11)
        for i, messages in enumerate(conversations()):
            line = case(name, tokenizer, official, marked, messages, i % 3 == 2)
            n, n_errors = n + 1, n_errors + ("error" in line)
            n_clear += bool(line.get("assistant_masks"))
            print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
    print(f"{n} cases, {n_errors} errors, {n_clear} with masks", file=sys.stderr)


main()

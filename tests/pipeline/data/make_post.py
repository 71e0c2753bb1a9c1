"""Writes post.jsonl: what Hugging Face `tokenizers` makes of random texts with random
post-processors, truncation and padding. Needs the wheel, 0.23.3; the result is committed.

    python3 make_post.py [N] > post.jsonl
"""

import json
import random
import sys

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers


def base_tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "n"), ("Ġ", "Ġ"), ("ĠĠ", "Ġ"),
              ("e", "r"), ("Ġ", "a"), ("a", "Ġ"), ("ĉ", "ĉ"), ("Ã", "©")]
    vocab = {}
    for token in alphabet + [a + b for a, b in merges]:
        vocab.setdefault(token, len(vocab))
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["[CLS]", "[SEP]", AddedToken("<m>", lstrip=True)])
    tokenizer.add_tokens(["   ", " x ", "\u3000", "\u00a0y"])
    return json.loads(tokenizer.to_str())


def random_template(rng):
    def pieces(texts):
        items = [{"Sequence": {"id": t, "type_id": rng.randrange(3)}} for t in texts]
        for _ in range(rng.randrange(4)):
            special = {"id": rng.choice(["[CLS]", "both"]), "type_id": rng.randrange(4)}
            items.insert(rng.randrange(len(items) + 1), {"SpecialToken": special})
        return items

    special_tokens = {"[CLS]": {"id": "[CLS]", "ids": [300], "tokens": ["[CLS]"]},
                      "both": {"id": "both", "ids": [301, 302], "tokens": ["b", "c"]}}
    return {"type": "TemplateProcessing", "single": pieces(rng.choice(["A", "A", "A", "AA"])),
            "pair": pieces(rng.choice(["AB", "AB", "AB", "BA", "A", "ABA"])),
            "special_tokens": special_tokens}


def random_byte_level(rng):
    return {"type": "ByteLevel", "add_prefix_space": rng.random() < .5,
            "trim_offsets": rng.random() < .8, "use_regex": True}


def random_post(rng):
    kind = rng.randrange(7)
    ends = {"sep": ["[SEP]", 301], "cls": ["[CLS]", 300]}
    if kind == 0:
        return None
    if kind == 1:
        return {"type": "BertProcessing", **ends}
    if kind == 2:
        return {"type": "RobertaProcessing", **ends, "trim_offsets": rng.random() < .7,
                "add_prefix_space": rng.random() < .5}
    if kind == 3:
        return random_byte_level(rng)
    if kind == 4:
        return {"type": "Sequence",
                "processors": [random_byte_level(rng), random_template(rng), random_byte_level(rng)]}
    return random_template(rng)


def random_truncation(rng):
    if rng.random() < .2:
        return None
    stride = rng.choice([0, 0, 1, 2])
    return {"direction": rng.choice(["Left", "Right"]), "max_length": rng.randrange(0, 16),
            "strategy": rng.choice(["LongestFirst"] * 3 + ["OnlyFirst", "OnlySecond"]),
            "stride": stride}


def random_padding(rng):
    if rng.random() < .5:
        return None
    return {"strategy": rng.choice(["BatchLongest", {"Fixed": rng.randrange(1, 20)}]),
            "direction": rng.choice(["Left", "Right"]),
            "pad_to_multiple_of": rng.choice([None, 4, 7]), "pad_id": rng.randrange(9),
            "pad_type_id": rng.randrange(4), "pad_token": "p"}


def random_texts(rng):
    """Two texts, or one that counts for both: so characters and bytes relate alike in both."""
    ascii_words = ["the", " the", "  in", "\t\t", " a ", "\n", "   ", " x ", "<m>", " <m>", "[CLS]",
                   "her", "  "]
    words = ascii_words + ["\u3000", "\u00a0y", "é", " é", "\u3000<m>"]
    is_ascii = rng.random() < .5
    texts = ["".join(rng.choice(ascii_words if is_ascii else words) for _ in range(rng.randrange(8)))
             for _ in range(2)]
    return texts if is_ascii else [texts[0], texts[0]]


def byte_offsets(text, offsets):
    starts = [0]
    for char in text:
        starts.append(starts[-1] + len(char.encode()))
    return [[starts[a], starts[b]] for a, b in offsets]


def input_tokens(base, text):
    """What the model gives."""
    plain = Tokenizer.from_str(json.dumps({**base, "post_processor": None, "padding": None,
                                           "truncation": None}))
    encoding = plain.encode(text)
    return [[i, token, *offsets] for i, token, offsets in
            zip(encoding.ids, encoding.tokens, byte_offsets(text, encoding.offsets))]


def columns(encoding, text):
    return {"ids": encoding.ids, "type_ids": encoding.type_ids,
            "offsets": byte_offsets(text, encoding.offsets),
            "special": encoding.special_tokens_mask, "attention": encoding.attention_mask}


def make_case(base, rng):
    case = {"post_processor": random_post(rng), "truncation": random_truncation(rng),
            "padding": random_padding(rng)}
    both = random_texts(rng)
    texts = both[:rng.choice([1, 2])]
    longer = max(both, key=len)
    if not longer.isascii() and json.dumps(case).count('"trim_offsets": true') > 1:
        return None  # a second trim would count bytes where HF counts characters
    tokenizer = Tokenizer.from_str(json.dumps({**base, **case}))
    case["adds_special_tokens"] = rng.random() < .7
    case["texts"] = [input_tokens(base, text) for text in texts]
    try:
        encoding = tokenizer.encode(*texts, add_special_tokens=case["adds_special_tokens"])
    except BaseException:
        return {**case, "expected": None}
    if len(encoding.overflowing) > 40:
        return None
    return {**case, "expected": [columns(e, longer) for e in [encoding] + encoding.overflowing]}


def main():
    rng = random.Random(3)
    base = base_tokenizer()
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    while n:
        case = make_case(base, rng)
        if case:
            print(json.dumps(case, ensure_ascii=False, separators=(",", ":")))
            n -= 1


if __name__ == "__main__":
    main()

"""Writes normalizer.jsonl: what the normalizers of Hugging Face `tokenizers` make of random texts,
and where each character comes from. Needs the wheel; the result is committed.

    python3 make_normalizer.py [N] > normalizer.jsonl

A line: {"normalizer": {...}, "cases": [[text, result, [start, end, ...]], ...]} where start and end,
in bytes of the text, are of each character of the result.
"""

import base64
import json
import random
import struct
import sys

from tokenizers import Tokenizer


def units_of(rules):
    """A trie as darts-clone lays it out: the children of a node at p are at p ^ offset ^ label."""
    units, taken = {0: 0}, {0}

    def place(at, prefix):
        labels = sorted({key[len(prefix)] for key in rules if key[:len(prefix)] == prefix != key})
        leaf = [0] if prefix in rules else []
        offset = next(o for o in range(1, 1 << 20)
                      if not any((at ^ o ^ label) in taken for label in leaf + labels))
        units[at] |= offset << 10 | (1 << 8 if leaf else 0)
        for label in leaf + labels:
            taken.add(at ^ offset ^ label)
        if leaf:
            units[at ^ offset] = 1 << 31 | rules[prefix]
        for label in labels:
            units[at ^ offset ^ label] = label
        for label in labels:
            place(at ^ offset ^ label, prefix + bytes([label]))

    place(0, b"")
    return [units.get(i, 0xFF) for i in range((max(units) | 0xFF) + 1)]


def charsmap(rules):
    text, starts = b"", {}
    for key, to in rules.items():
        starts[key.encode()] = len(text)
        text += to.encode() + b"\0"
    units = units_of(starts)
    trie = struct.pack(f"<{len(units)}I", *units)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + text).decode()


RULES = {"\n": " ", "\r": " ", "\t": " ", "\x01": "", "\u00a0": " ", "\u2026": "...", "\ufb01": "fi",
         "u\u0308": "\u00fc", "e\u0301": "\u00e9", "\u0301": "", "\u2460": "1", "\uff21": "A",
         "\u304b\u3099": "\u304c", "\u200d": "", "\u00a9": "(c)", "\u0600": "#", "\u3042": "a",
         "\uac00": "ga"}


def bert(clean, chinese, strip, lower):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese,
            "strip_accents": strip, "lowercase": lower}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def strip(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


PRECOMPILED = {"type": "Precompiled", "precompiled_charsmap": charsmap(RULES)}
PREPEND = {"type": "Prepend", "prepend": "\u2581"}
NORMALIZERS = [{"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents",
                                           "Nmt", "ByteLevel")] + [
    bert(True, True, None, True), bert(True, True, False, False), bert(True, False, False, True),
    bert(False, True, True, False), PRECOMPILED, strip(True, True), strip(True, False),
    strip(False, True), PREPEND, {"prepend": "<\u00e9>"}, replace(" ", "\u2581"),
    replace("ab", "XYZ\u00e9"), replace("a", ""), replace("\u00e9", "e"), replace("", "-"),
    replace("a", "a string of more than sixteen bytes"), replace(r"\s+", " ", "Regex"),
    replace(" {2,}", "\u2581", "Regex"), replace(r"(?=a)|b*", "-", "Regex"),
    replace(r"[\p{L}\p{M}]+", "L", "Regex"), sequence(PREPEND, replace(" ", "\u2581")),
    sequence({"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, PRECOMPILED),
    sequence(PRECOMPILED, strip(False, True), replace(" {2,}", "\u2581", "Regex")),
    sequence({"type": "NFC"}, replace(r"\s+", " ", "Regex"), {"type": "Lowercase"}), sequence()]

POOLS = [list("abc ABC xyz.,!"), list(" \t\n\r\x0b\x85\u00a0\u2003\u200b\u3000\u2028"),
         list("\u0301\u0308\u0323\u0302\u0345\u0334\u05b0\u3099\u093c\u0f71\u0f74\u1d165\u0340\u0344"),
         list("\u00e9\u00c9\u0130\u03a3\u1e9e\u01c5\u2126\u212b\u1e69\u1ead\ufb01\u2026\u2460\uff21"),
         list("\uac00\uac01\ud7a3\u1100\u1161\u11a8\u4e2d\u6587\uf900\ufa0c\U0002b920\u304b\u3042"),
         list("\x00\x01\x7f\u00ad\u200d\u0600\u06dd\ufffd\ufeff\ue000\U000e0001\u0378\u2581"),
         list("\u00a9\u231a\u2764\ufe0f\U0001f468\U0001f1e6\u0915\u094d\u0937\u0c4d"),
         ["ab", "  ", "u\u0308", "e\u0301", "a\u0323\u0307", "\r\n", "Lorem ipsum dolor sit amet, "]]


def random_text(rng):
    pools = rng.sample(POOLS, rng.randrange(1, 4))
    return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.choice([0, 1, 2, 3, 5, 9, 16])))


def tokenizer_of(normalizer):
    each = {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False}
    model = {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}
    return Tokenizer.from_str(json.dumps(
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
         "normalizer": normalizer, "pre_tokenizer": each, "post_processor": None, "decoder": None,
         "model": model}))


def case_of(tokenizer, text):
    starts = [0]
    for c in text:
        starts.append(starts[-1] + len(c.encode()))
    origins = [starts[i] for pair in tokenizer.encode(text).offsets for i in pair]
    return [text, tokenizer.normalizer.normalize_str(text), origins]


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    rng = random.Random(9)
    for normalizer in NORMALIZERS:
        tokenizer = tokenizer_of(normalizer)
        cases = [case_of(tokenizer, random_text(rng)) for _ in range(n)]
        print(json.dumps({"normalizer": normalizer, "cases": cases}, ensure_ascii=True,
                         separators=(",", ":")))


if __name__ == "__main__":
    main()

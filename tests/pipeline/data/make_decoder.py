"""Writes decoder.jsonl: what the decoders of Hugging Face `tokenizers` make of random tokens. Needs
the wheel; the result is committed.

    python3 make_decoder.py [N [TYPE]] > decoder.jsonl
"""

import functools
import json
import random
import sys

from tokenizers import Tokenizer, models

PARTS = {
    "ByteLevel": ["Ġ", "a", "é", "Ã", "©", "ðŁ", "ĺ", "Ģ", "â", "Ń", "¢", "ÿ", "[P D]", "Ċ", "\u00ad",
                  "Ń", "Ġthe", "ł", "í", "ł", "Ģ", "ô", "ı", "À", "�", " ", ""],
    "WordPiece": ["##", "a", "##b", ".", " .", "n't", "do", "not", " do not", "'", " ' ", "'s", "'m", "é",
                  " ", "?", "!", ",", "'re", "'ve", "", "#"],
    "Metaspace": ["▁", "a", "▁▁b", "_", " ", "é", "", "\u2580"],
    "BPEDecoder": ["</w>", "a", "b</w>", "</", "w>", "é", "", "__", "_"],
    "CTC": ["<pad>", "|", "a", "a", "b", " .", " do", " not", "", "é", "<", "pad>", " '", "s"],
    "Replace": ["a", "aa", "b", "▁", "\\d", "1", "23", ".", " ", "  ", "é", "", "$1", "\n", "\u00a0"],
    "Fuse": ["a", "", "é", " "],
    "Strip": [" ", "  ", "é", "a", "ééé", "", "H"],
    "ByteFallback": ["<0x61>", "<0xE5>", "<0x8F>", "<0xab>", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "a",
                     "<0x", "<0x+1>", "<0x1+>", "<0xgg>", "<0xé>", "", "<0xED>", "<0xA0>", "<0x00>"],
}


def leaf(rng, kind):
    pick = rng.choice
    fields = {
        "ByteLevel": lambda: {"add_prefix_space": pick([True, False]), "trim_offsets": True},
        "WordPiece": lambda: {"prefix": pick(["##", "##", "", "é", "#"]), "cleanup": pick([True, False])},
        "Metaspace": lambda: {"replacement": pick("▁▁_é"), "split": True,
                              "prepend_scheme": pick(["always", "first", "never"])},
        "BPEDecoder": lambda: {"suffix": pick(["</w>", "</w>", "", "é", "__"])},
        "CTC": lambda: {"pad_token": pick(["<pad>", "<pad>", "", "a"]), "cleanup": pick([True, False]),
                        "word_delimiter_token": pick(["|", "|", "", "é"])},
        "Replace": lambda: {"content": pick(["", " ", "x", "$1", "éa"]),
                            "pattern": {pick(["String", "Regex"]): pick(
                                ["a", "aa", "▁", ".", "é", "a+", "x*", " {2,}", "\\s", "\\d+", "a|b", ""])}},
        "Fuse": dict,
        "Strip": lambda: {"content": pick(" éH"), "start": rng.randrange(4), "stop": rng.randrange(4)},
        "ByteFallback": dict,
    }
    return {"type": kind, **fields[kind]()}


def random_decoder(rng, kind):
    if kind == "none":
        return None
    if kind != "Sequence":
        return leaf(rng, kind)
    kinds = [rng.choice(sorted(PARTS)) for _ in range(rng.randrange(5))]
    steps = [leaf(rng, k) for k in kinds]
    if rng.random() < .2:
        steps.append({"type": "Sequence", "decoders": [leaf(rng, "Fuse"), leaf(rng, "Strip")]})
    return {"type": "Sequence", "decoders": steps}


def random_tokens(rng, kind):
    parts = PARTS.get(kind) or [part for parts in PARTS.values() for part in parts]
    return ["".join(rng.choice(parts) for _ in range(rng.choice([1, 1, 2, 3])))
            for _ in range(rng.randrange(8))]


def may_panic(decoder):
    """HF stops where a token is shorter than what is taken off both ends."""
    steps = decoder["decoders"] if decoder and "decoders" in decoder else [decoder]
    return any(step and step["type"] in ("Strip", "Sequence") for step in steps)


@functools.lru_cache
def load(decoder):
    document = Tokenizer(models.BPE()).to_str()
    return Tokenizer.from_str(document.replace('"decoder":null', '"decoder":' + decoder)).decoder


def decode(decoder, tokens):
    if decoder is None:
        return " ".join(tokens)
    try:
        return load(json.dumps(decoder)).decode(tokens)
    except BaseException:
        if may_panic(decoder):
            return None
        raise


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    kinds = sys.argv[2:] or sorted(PARTS) + ["Sequence", "none"]
    rng = random.Random(5)
    while n:
        kind = kinds[n % len(kinds)]
        decoder, tokens = random_decoder(rng, kind), random_tokens(rng, kind)
        text = decode(decoder, tokens)
        if text is not None:
            print(json.dumps({"decoder": decoder, "tokens": tokens, "text": text}, ensure_ascii=False,
                             separators=(",", ":")))
            n -= 1


if __name__ == "__main__":
    main()

"""Writes splitter.jsonl and regex.jsonl: the words that the pre-tokenizers of Hugging Face
`tokenizers` cut texts into, and what its regexes match. Needs the wheel; the results are committed.
Offsets are in bytes.

    python3 make_splitter.py DIRECTORY
"""

import json
import random
import sys

from tokenizers import Regex, Tokenizer, pre_tokenizers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = CL100K.replace("{1,3}", "")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
          r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
KANA = "[一-龥぀-ゟ゠-ヿ]+"
DEEPSEEK = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
            "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(prefix=False, regex=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True,
            "use_regex": regex}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


def metaspace(scheme="always", cuts=True, replacement="▁"):
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme,
            "split": cuts}


def digits(single):
    return {"type": "Digits", "individual_digits": single}


SPACES = {"type": "WhitespaceSplit"}
RUNS = {"type": "Punctuation", "behavior": "Contiguous"}
SPLITTERS = [
    byte_level(False, True), byte_level(True, True), sequence(split(GPT2), byte_level()),
    sequence(split(CL100K), byte_level()), sequence(split(CL100K, "Removed", True), byte_level()),
    sequence(split(QWEN2), byte_level()), sequence(split(QWEN35), byte_level()),
    sequence(split(O200K), byte_level()), sequence(split(TEKKEN), byte_level()),
    sequence(split(r"\p{N}{1,3}"), split(KANA), split(DEEPSEEK), byte_level()), split(DEEPSEEK),
    split(KANA), split(r"\p{N}"), split("[0-9][0-9][0-9]"),
    sequence(RUNS, byte_level(False, True), digits(False), split("[0-9][0-9][0-9]")),
    sequence(digits(True), byte_level(False, True)), sequence(byte_level(), digits(True)),
    sequence(split(CLIP, "Removed", True), byte_level(False, True)),
    {"type": "BertPreTokenizer"}, {"type": "Whitespace"}, SPACES, {"type": "UnicodeScripts"},
    {"type": "FixedLength", "length": 3}, {"type": "FixedLength"}, {"type": "Punctuation"},
    {"type": "CharDelimiterSplit", "delimiter": "é"}, digits(False), digits(True),
    metaspace(), metaspace("first"), metaspace("never"), metaspace("always", False),
    metaspace("first", False), metaspace("always", True, "_"), sequence(SPACES, metaspace()),
    sequence(SPACES, metaspace("first")), sequence(metaspace("always", False), RUNS),
    split("▁", "MergedWithNext", False, "String"), split(" ", "MergedWithPrevious", False, "String"),
    split("", "Isolated", False, "String"), split("^|$", "MergedWithNext"), sequence(),
    sequence(byte_level(True), split("Ġ", "MergedWithNext", False, "String")),
    sequence(split(CL100K), byte_level(True)), sequence(byte_level(False, True), byte_level(True)),
    sequence(sequence(split(QWEN2)), sequence(byte_level())), split(CL100K, "MergedWithNext"),
] + [{"type": "Punctuation", "behavior": b} for b in BEHAVIORS] \
  + [split(r"\s+|-|\p{Lu}*(?=a)", b, i) for b in BEHAVIORS for i in (False, True)] \
  + [split("a ", b, i, "String") for b in BEHAVIORS for i in (False, True)]

PIECES = ["a", "b", "C", "D", " ", " ", "\n", "\r", "\t", "'", "'s", "'LL", "'re", "1", "2", "3", "!",
          "-", "/", "(", "é", "漢字", "カ", "\u00a0", "\u3000", "ſ", "\u0301", "½", "hello", "World",
          "  ", "\n\n", "12345", "\x01", "don't", "▁", "_", "\u2028", "...", "ǅ", "ª", "😀", "Ж", "ا",
          "$", "Ġ", "a ", "\u0378", "İ", "\x85", "²", "Ⅷ"]


def text(rng):
    pieces = rng.sample(PIECES, rng.randint(2, 12))
    return "".join(rng.choice(pieces) for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 30])))


def to_bytes(string, offsets):
    return [len(string[:i].encode()) for i in offsets]


def write_splitters(path):
    rng = random.Random(3)
    base = {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"},
            "added_tokens": []}
    with open(path, "w", encoding="utf-8") as out:
        for spec in SPLITTERS:
            tokenizer = Tokenizer.from_str(json.dumps({**base, "pre_tokenizer": spec}))
            texts = [text(rng) for _ in range(8)]
            found = [tokenizer.pre_tokenizer.pre_tokenize_str(t) for t in texts]
            cases = [{"text": t, "words": [w for w, _ in words],
                      "offsets": [to_bytes(t, place) for _, place in words]}
                     for t, words in zip(texts, found)]
            out.write(json.dumps({"pre_tokenizer": spec, "cases": cases}, ensure_ascii=False,
                                 separators=(",", ":")) + "\n")


REGEXES = [
    (r"a{2}+", "aaaaaaa"), (r"a{2}?", "aaaaa"), (r"a{,2}", "aaaaa"), (r"a{1,2}?", "aaa"),
    (r"a{1,2}+", "aaaa"), ("a{1", "a{1"), ("{", "{"), ("]", "]"), ("a++a", "aaa"),
    ("(?>a|ab)c", "abc ac"), ("a(?i)b|c", "aB abAC c C"), ("(?i)k", "kK\u212a"),
    ("(?i:'s)", "'s 'S 'ſ"), ("(?i)[^s]+", "sSſab"), (r"(?i)\p{Lu}", "aA"), ("^.", "a\nb\n"),
    (".$", "a\nb"), ("^", "a\nb\n"), ("$", "a\nb\n"), (r".\Z", "a\nb\n"), (r"\Aa", "aa"),
    (r"\Ga", "aab"), (r"\b\w+\b", "aé b½"), (r"\B", "ab c"), (".+", "a\nb\rc"), ("(?m:.)+", "a\nb"),
    (r"\N+", "a\nb"), (r"\O+", "a\nb"), (r"\Rx", "\r\nx\nx"), (r"\h+", "zzaf09G"),
    (r"[\h&&[^a]]+", "zzaf09"), ("[[:alpha:]]+", "zzé1"), ("[[:^alpha:]]+", "ab1-"),
    ("[[:punct:]]+", "a$-€"), (r"\p{Punct}+", "a$-"), ("[]a]+", "]ab"), ("[^]a]+", "]ab"),
    ("[a-c-e]+", "abcd-e"), (r"[\w-]+", "a-b!"), ("[a&&]", "a&"), ("[^a&&b]+", "abc"),
    ("[[a]-c]+", "abc-"), (r"\w", "½_"), (r"[\w]", "½_"), (r"\s+", "\u180e\u200b\x85\u00a0 \u3000"),
    (r"\d+", "1٣½"), (r"\p{Greek}+", "αa"), (r"\p{^Greek}+", "αab"), (r"\P{^L}+", "ab1"),
    (r"\p{uppercase letter}", "aA"), (r"\pL", "pLa"), ("(?<=a|bc)d", "bcdad"), ("(?<!a)b", "ab b"),
    ("x(?=y)", "xyx"), ("x(?!y)", "xyx"), ("(?x) a # c\n b", "ab a b"), ("a(?#x)b", "ab"),
    ("(?<n>a)b", "ab"), ("(?'n'a)b", "ab"), ("", "aé"), ("a|", "ab"), ("a*", "baac"),
    (r"\u00e9|\x{6f22}|\x41|\o{102}", "é漢AB"), (r"[\101\x42]+", "ABC"), (r"\-\#\&\~\/", "-#&~/"),
    (r"\p{N}{1,3}", "1234½٣"), (r"\s+(?!\S)|\s+", "a  b \n"), (r"\x", "x"), (r"[[:^digit:]a]+", "a1b"),
    (r"(?:(?:a|b)c)+?d", "acbcd"), (r"(a|b)+", "abc"), (r"\p{Han}+", "漢字カ"), (r"[^\p{L}]", "漢1"),
    (r"(.)\1", "aabbcd́́ ééе"), (r"[\(\)\[\]\{\}]|([!\"\#\$\%\&'\*\+\,\-\.\/\:\;\<\=\>\?\\\^\_\`\|\~])\1*", "a!!?!(([--])...é==="),
    (r"\101", "xAy"), (r"(a)\1\101", "aaA"), (r"\81", "x81y8"), (r"\11", "x\ty"), (r"(a)\10", "aa\x08"),
    ("(a)" * 10 + r"\10", "a" * 11), (r"\2(a)(b)", "ab"), (r"(?<n>é)\k<n>+", "aéééb"), (r"(?<n>a)\k'n'", "aab"),
    (r"(?<n>a)(b)\k<n>", "abaab"), (r"(a)(b)\k<-1>", "abb"), (r"(a)(b)\k<-2>\k<1>", "abaab"),
    (r"(?<n>a)|(?<n>b)\k<n>", "bba"), (r"(?:(?<n>a)|(?<n>b))+\k<n>", "abbaba"), (r"(?:(a)|b)*\1", "abab"),
    (r"(a)?\1b", "b ab aab"), (r"(?=(a))\1b", "ab"), (r"(?!(a))\1b", "ab"), (r"(?i:(a))\1", "aA AA"),
    (r"(?<=(a))\1", "aaa"), (r"(?>(a|b))\1", "aabba"), (r"(())\2", "aé"), (r"(\p{L}+) \1", "the the then, 漢 漢字"),
    (r"(?<a>.)(?<b>.)\k<b>\k<a>", "abba xéé"), (r"(\W)\1{2,}", "---!!...."), (r"([^a])\1|\k", "kbb\n\n"),
]


def write_regexes(path):
    with open(path, "w", encoding="utf-8") as out:
        for pattern, subject in REGEXES:
            places = [[place for _, place in pre_tokenizers.Split(Regex(pattern), behavior, invert)
                       .pre_tokenize_str(subject)]
                      for behavior, invert in (("isolated", False), ("removed", True))]
            out.write(json.dumps({"regex": pattern, "text": subject,
                                  "isolated": [to_bytes(subject, p) for p in places[0]],
                                  "matches": [to_bytes(subject, p) for p in places[1]]},
                                 ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write_splitters(sys.argv[1] + "/splitter.jsonl")
    write_regexes(sys.argv[1] + "/regex.jsonl")

#!/usr/bin/env python3
"""Makes the test data of the tokenizer: data/NAME.json (small tokenizers in the manner of the
world's, kinds.py), data/parts.json (one for every component, parts.py) and data/cases.jsonl.xz:
texts and what the oracle makes of them. Needs tokenizers==0.23.3, sentencepiece and protobuf.

    make_data.py [FOLDER]

A line of cases.jsonl.xz is one case: {"of": tokenizer, ...} with either
  "t", and "pair" and "special" where they are given: text -> "ids", "type_ids", "off" (characters),
  "d", and "skip_special": ids -> "text",
  or "refused" in the place of an answer: the oracle fails. A case with no "t" and no "d" but
  "refused" says that the tokenizer does not load.
"""
import json
import lzma
import pathlib
import random
import sys
import tempfile

import kinds
import oracle
import parts
import texts
import vocab_files

N_SHARED, N_OWN, N_PART = 50, 30, 20
FIXED = ["", " ", "  ", "\n", "a", "Hello, world!", "  Hello  world  ", "don't you've I'LL we'Re 'ſ", "a\r\n\r\n b\n \tc", "éÅﬁ½²Ⅷ", "日本語テスト 你好,世界", "👩‍👩‍👧‍👦 ok",
         "the-final--countdown", "aaaaabababcabcab", "1234567 12 3", "x" * 130, "\x00\x01a\ufffdb\u00adc", "שָׁלוֹם عَرَبِيّ हिन्दी ไทย", "foo_bar HTTPServer2 isn't"]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode_cases(judge, name, all_texts, rng):
    for number, text in enumerate(all_texts):
        case = {"of": name, "t": text}
        if number % 3 == 1:
            case["special"] = True
        if number % 5 == 2:
            case["pair"] = rng.choice(all_texts)
        try:
            answer = judge.encode(case)
        except oracle.Refused:
            yield {**case, "refused": True}
            continue
        yield {**case, **answer}


def decode_cases(judge, name, encoded, rng, n):
    samples = [case["ids"] for case in encoded if case.get("ids")]
    for number in range(n):
        if number % 2 and samples:
            ids = rng.choice(samples)[:60]
        else:
            ids = [rng.randrange(judge.n_ids + (number % 10 == 0)) for _ in range(rng.randint(0, 12))]
        case = {"of": name, "d": ids, "skip_special": number % 3 != 0}
        try:
            yield {**case, "text": judge.decode({"ids": ids, "skip_special": case["skip_special"]})["t"]}
        except oracle.Refused:
            yield {**case, "refused": True}


def words_of(judge):
    return [judge.tokenizer.id_to_token(number) or "" for number in range(0, judge.n_ids, 3)]


def cases_of(name, text, shared, n_own):
    rng = random.Random(f"leat {name}")
    try:
        judge = oracle.Oracle(text)
    except oracle.Refused:
        yield {"of": name, "refused": True}
        return
    tokens = [token["content"] for token in json.loads(text)["added_tokens"]]
    maker = texts.Texts(rng, tokens, words_of(judge))
    own = [maker.text()[:300] for _ in range(n_own)]
    encoded = list(encode_cases(judge, name, shared + own, rng))
    yield from encoded
    yield from decode_cases(judge, name, encoded, rng, 10 + n_own // 3 if "decoder" not in name else 40)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data")
    folder.mkdir(exist_ok=True)
    oracle.require()
    rng = random.Random("leat shared")
    maker = texts.Texts(rng, ["<s>", "</s>", "<|endoftext|>", "[MASK]"], ["Ġthe", "▁in", "##ing"])
    shared = FIXED + [maker.text()[:300] for _ in range(N_SHARED)]
    files = {}
    for name, make in kinds.KINDS.items():
        files[name] = compact(make())
        (folder / f"{name}.json").write_text(files[name] + "\n", encoding="utf-8")
    collection = parts.parts()
    tokenizers = {name: compact(made) for name, made in collection["tokenizers"].items()}
    models = ",\n".join(f"{compact(name)}:{compact(made)}" for name, made in collection["models"].items())
    rows = ",\n".join(f"{compact(name)}:{text}" for name, text in tokenizers.items())
    (folder / "parts.json").write_text(f'{{"models":{{\n{models}}},\n"tokenizers":{{\n{rows}}}}}\n', encoding="utf-8")
    cases = []
    for name, text in files.items():
        cases += cases_of(name, text, shared, N_OWN)
    for name in tokenizers:
        cases += cases_of(name, compact(parts.compose(collection, name)), FIXED, N_PART)
    with tempfile.TemporaryDirectory() as temporary:
        for name in vocab_files.WRITERS:
            cases += cases_of(name, vocab_files.oracle_text(temporary, name), shared, N_PART)
    data = "".join(compact(case) + "\n" for case in cases).encode()
    (folder / "cases.jsonl.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(files)} tokenizers, {len(tokenizers)} parts, {len(cases)} cases ({sum('refused' in case for case in cases)} refused), {len(data)} bytes")


if __name__ == "__main__":
    main()

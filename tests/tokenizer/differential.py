#!/usr/bin/env python3
"""Differential fuzzing of the tokenizer against the oracle: random texts that tokenizers get wrong
(texts.py), through every shipped tokenizer and those given. What differs is made as small as it gets.

    differential.py BIN [--seconds N | --rounds N] [--seed N] [--only WORD] [TOKENIZER.json ...]

BIN is the folder of leatctl. With --rounds what is tried depends on the seed alone. With TOKENIZER.json only those are tried; --only takes the shipped ones
whose name holds the word. Status 1: something differs; 77: the oracle is not here.
"""
import argparse
import json
import math
import os
import pathlib
import random
import sys
import tempfile
import time

import leat_tokenize
import oracle
import parts
import texts
from leat_tokenize import DATA, Failed

N_BATCH = 150
MAX_SHOWN = 3


class Subject:
    """A tokenizer in both implementations."""

    def __init__(self, name, file):
        self.name = name
        self.file = file
        text = pathlib.Path(file).read_text(encoding="utf-8")
        self.judge = oracle.Oracle(text)
        self.tokens = [token["content"] for token in json.loads(text).get("added_tokens") or []]
        vocabulary = self.judge.vocabulary
        self.words = vocabulary[::max(1, len(vocabulary) // 5000)]

    def texts(self, rng):
        return texts.Texts(rng, self.tokens, self.words)


class Encode:
    """Texts and pairs, everything asked for."""

    def make(self, maker, rng):
        case = {"t": maker.text()}
        if rng.random() < 0.02:
            case["t"] = maker.long_text(rng.choice([1000, 5000, 20000]))
        if rng.random() < 0.3:
            case["special"] = True
        if rng.random() < 0.15:
            case["pair"] = maker.text()
        return case

    def oracle(self, subject, case):
        return subject.judge.encode(case)

    def leat(self, subject, cases):
        return leat_tokenize.encode(subject.file, cases)

    def smaller(self, case):
        if "pair" in case:
            yield {key: value for key, value in case.items() if key != "pair"}
            yield from ({**case, "pair": text} for text in shorter(case["pair"]))
        if "special" in case:
            yield {key: value for key, value in case.items() if key != "special"}
        yield from ({**case, "t": text} for text in shorter(case["t"]))


class Ids(Encode):
    """Only ids, which may take another way through the code; now and then a long text."""

    def make(self, maker, rng):
        text = maker.long_text(rng.choice([3000, 30000])) if rng.random() < 0.03 else maker.text()
        return {"t": text}

    def oracle(self, subject, case):
        return {"ids": subject.judge.encode(case)["ids"]}

    def leat(self, subject, cases):
        return [{"ids": ids} for ids in leat_tokenize.encode_ids(subject.file, [case["t"] for case in cases])]


class Lines:
    """Bytes that are no UTF-8: what is not becomes U+FFFD."""

    def make(self, maker, _rng):
        return {"bytes": maker.damaged_bytes().hex()}

    def oracle(self, subject, case):
        return {"ids": subject.judge.encode({"t": bytes.fromhex(case["bytes"]).decode(errors="replace")})["ids"]}

    def leat(self, subject, cases):
        return [{"ids": ids} for ids in leat_tokenize.encode_lines(subject.file, [bytes.fromhex(case["bytes"]) for case in cases])]

    def smaller(self, case):
        data = bytes.fromhex(case["bytes"])
        yield from ({"bytes": part.hex()} for part in shorter(data))


class Decode:
    def make(self, maker, rng):
        n = self.n_ids + rng.choice([0, 0, 3])
        ids = [rng.randrange(n) for _ in range(rng.randint(0, 16))]
        if rng.random() < 0.5:
            ids = self.judge.encode({"t": maker.text(), "special": rng.random() < 0.3})["ids"]
        return {"ids": ids, "skip_special": rng.random() < 0.5}

    def oracle(self, subject, case):
        return subject.judge.decode(case)

    def leat(self, subject, cases):
        return [{"t": text} for text in leat_tokenize.decode(subject.file, cases)]

    def smaller(self, case):
        yield from ({**case, "ids": ids} for ids in shorter(case["ids"]))

    def __init__(self, subject):
        self.judge = subject.judge
        self.n_ids = subject.judge.n_ids


def shorter(sequence):
    """Parts left out: halves first, then ever smaller ones."""
    size = max(1, len(sequence) // 2)
    while True:
        for start in range(0, len(sequence), size):
            yield sequence[:start] + sequence[start + size:]
        if size == 1:
            return
        size //= 2


def judged(way, subject, cases):
    """(case, what the oracle says) of those that it answers."""
    for case in cases:
        try:
            yield case, way.oracle(subject, case)
        except oracle.Refused:
            continue


def differs(way, subject, case):
    """The difference as a text, or None."""
    try:
        wanted = way.oracle(subject, case)
    except oracle.Refused:
        return None
    try:
        found = way.leat(subject, [case])[0]
    except Failed as failed:
        return f"leat fails: {failed}"
    except Exception as error:  # noqa: an answer that is none
        return f"leat's answer: {error!r}"
    return None if all(found.get(key) == wanted[key] for key in wanted) else f"leat {found}\n      oracle {wanted}"


def shrink(way, subject, case, seconds=20):
    """The smallest case that still differs."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in way.smaller(case):
            if time.monotonic() > end:
                break
            if smaller != case and differs(way, subject, smaller):
                case, progress = smaller, True
                break
    return case


def failing(way, subject, cases):
    """The cases that differ."""
    known = list(judged(way, subject, cases))
    try:
        answers = way.leat(subject, [case for case, _ in known])
    except Exception:  # noqa: one of them is the reason; halve
        if len(known) == 1:
            return [known[0][0]]
        half = len(known) // 2
        return failing(way, subject, [case for case, _ in known[:half]]) + failing(way, subject, [case for case, _ in known[half:]]) if known else []
    return [case for (case, wanted), answer in zip(known, answers) if any(answer.get(key) != wanted[key] for key in wanted)]


def try_batch(subject, rng, n):
    """One batch of one way through; the failing cases with their way."""
    way = rng.choice([Encode, Encode, Ids, Lines, lambda: Decode(subject)])()
    maker = subject.texts(rng)
    cases = []
    for _ in range(n):
        try:
            cases.append(way.make(maker, rng))
        except oracle.Refused:
            continue
    return way, len(cases), failing(way, subject, cases)


def shipped(folder, word):
    """name -> file of all tokenizers that lie beside this script."""
    found = {path.stem: path for path in sorted(DATA.glob("*.json")) if path.name != "parts.json"}
    collection = json.loads((DATA / "parts.json").read_text(encoding="utf-8"))
    for name in sorted(set(collection["tokenizers"]) - set(parts.NOT_SUPPORTED)):
        found[name] = pathlib.Path(folder) / f"{name}.json"
        found[name].write_text(json.dumps(parts.compose(collection, name), ensure_ascii=False), encoding="utf-8")
    return {name: path for name, path in found.items() if word in name}


def open_subjects(files):
    for name, file in files.items():
        try:
            yield Subject(name, file)
        except oracle.Refused as reason:
            print(f"{name}: refused by the oracle: {reason}")


def show_failure(way, subject, case):
    small = shrink(way, subject, case)
    print(f"    {type(way).__name__} {json.dumps(small, ensure_ascii=True)[:600]}\n      {differs(way, subject, small)}"[:2500], flush=True)


def fuzz(subjects, rng, seconds, rounds):
    """(cases tried, name -> failing cases). Every tokenizer has its turn, those of a kind more."""
    end = time.monotonic() + seconds
    n_tried = 0
    bad = {}
    while rounds > 0 and time.monotonic() < end:
        rounds -= 1
        for subject in rng.sample(subjects, len(subjects)):
            if time.monotonic() > end:
                break
            if len(bad.get(subject.name, [])) >= MAX_SHOWN:
                continue
            is_part = subject.name.startswith(("cut-", "normalizer-", "added-", "model-", "post-", "decoder-", "truncation-", "padding-"))
            way, n, found = try_batch(subject, rng, N_BATCH // 3 if is_part else N_BATCH)
            n_tried += n
            for case in found[:MAX_SHOWN - len(bad.get(subject.name, []))]:
                bad.setdefault(subject.name, []).append(case)
                print(f"  {subject.name}: {len(found)} of {n} differ")
                show_failure(way, subject, case)
    return n_tried, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--only", default="")
    parser.add_argument("tokenizers", nargs="*", type=pathlib.Path)
    arguments = parser.parse_intermixed_args()
    oracle.require()
    leat_tokenize.BIN = arguments.bin.resolve()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="leat-differential-") as folder:
        given = {str(path): path for path in arguments.tokenizers}
        subjects = list(open_subjects(given or shipped(folder, arguments.only)))
        seconds = arguments.seconds or (math.inf if arguments.rounds else 60)
        n_tried, bad = fuzz(subjects, rng, seconds, arguments.rounds or math.inf)
    print(f"{len(subjects)} tokenizers, {n_tried} cases, {len(bad)} tokenizers differ (seed {arguments.seed})")
    sys.exit(1 if bad or not n_tried else 0)


if __name__ == "__main__":
    main()

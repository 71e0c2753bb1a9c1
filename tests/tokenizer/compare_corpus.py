#!/usr/bin/env python3
"""Compares leat with the oracle on a whole corpus, document by document, with special tokens and without.
0 documents different is the requirement.

    compare_corpus.py BIN CORPUS TOKENIZER.json ... [--kinds prose,docs] [--cache FOLDER] [--offsets]

CORPUS is a folder made by corpus.py. --cache keeps digests of the oracle's answers, which are slow to
come by. --offsets compares type ids and offsets too. Status 1: something differs.
"""
import argparse
import array
import hashlib
import json
import pathlib
import sys
import time

import leat_tokenize
import oracle

N_BATCH = 400
MAX_SHOWN = 5


def read_documents(folder, kinds):
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        if not kinds or path.stem in kinds:
            with open(path, encoding="utf-8", newline="\n") as file:
                found += [json.loads(line)["t"] for line in file]
    return found


def digest(value):
    if isinstance(value, list):  # ids only; else a tuple of columns
        return hashlib.blake2b(array.array("i", value).tobytes(), digest_size=8).hexdigest()
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=8).hexdigest()


def oracle_digests(judge, texts, special):
    """Of each document, and the number of tokens."""
    found = []
    n_tokens = 0
    for start in range(0, len(texts), N_BATCH):
        for encoding in judge.tokenizer.encode_batch_fast(texts[start:start + N_BATCH], add_special_tokens=special):
            found.append(digest(encoding.ids))
            n_tokens += len(encoding.ids)
    return found, n_tokens


def oracle_digests_all(judge, texts, special):
    found = []
    n_tokens = 0
    for text in texts:
        answer = judge.encode({"t": text, "special": special})
        found.append(digest((answer["ids"], answer["type_ids"], answer["off"])))
        n_tokens += len(answer["ids"])
    return found, n_tokens


def cached(folder, key, make):
    path = folder / (hashlib.sha256(key.encode()).hexdigest()[:24] + ".json") if folder else None
    if path and path.exists():
        return json.loads(path.read_text())
    value = make()
    if path:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
    return value


def leat_digests(file, texts, special, with_offsets):
    found = []
    for start in range(0, len(texts), N_BATCH):
        some = texts[start:start + N_BATCH]
        if with_offsets:
            answers = leat_tokenize.encode(file, [{"t": text, "special": special} for text in some])
            found += [digest((answer["ids"], answer["type_ids"], answer["off"])) for answer in answers]
        else:
            found += map(digest, leat_tokenize.encode_ids(file, some, special))
    return found


def smallest_part(judge, file, text, special):
    """A short piece of the document that differs too."""
    def differs(part):
        return judge.encode({"t": part, "special": special})["ids"] != leat_tokenize.encode_ids(file, [part], special)[0]
    size = max(1, len(text) // 2)
    end = time.monotonic() + 20
    while size and time.monotonic() < end:
        parts = [text[:start] + text[start + size:] for start in range(0, len(text), size)]
        smaller = next((part for part in parts if time.monotonic() < end and differs(part)), None)
        if smaller is not None:
            text = smaller
            size = min(size, max(1, len(text) // 2))
        else:
            size //= 2
    return text


def show(judge, file, text, special, with_offsets):
    part = smallest_part(judge, file, text, special)
    wanted = judge.encode({"t": part, "special": special})
    found = leat_tokenize.encode(file, [{"t": part, "special": special}])[0] if with_offsets else {"ids": leat_tokenize.encode_ids(file, [part], special)[0]}
    print(f"    {part[:200]!r}: {leat_tokenize.difference(found, wanted) or 'equal by itself'}", flush=True)


def compare(file, texts, corpus_key, arguments):
    """How many documents differ."""
    text = file.read_text(encoding="utf-8")
    judge = oracle.Oracle(text)
    n_bad = 0
    for special in (False, True):
        start = time.monotonic()
        key = f"{hashlib.sha256(text.encode()).hexdigest()} {corpus_key} {special} {arguments.offsets}"
        ask = oracle_digests_all if arguments.offsets else oracle_digests
        wanted, n_tokens = cached(arguments.cache, key, lambda ask=ask, special=special: ask(judge, texts, special))
        try:
            found = leat_digests(file, texts, special, arguments.offsets)
        except leat_tokenize.Failed as failed:
            print(f"{file}: leat fails: {failed}", flush=True)
            return len(texts)
        bad = [number for number, (mine, theirs) in enumerate(zip(found, wanted)) if mine != theirs]
        print(f"{file}{' with special tokens' if special else ''}: {len(bad)} of {len(texts)} documents differ ({n_tokens} tokens, {time.monotonic() - start:.0f} s)", flush=True)
        for number in bad[:MAX_SHOWN]:
            show(judge, file, texts[number], special, arguments.offsets)
        n_bad += len(bad)
    return n_bad


def main():
    parser = argparse.ArgumentParser(description="Compares leat with the oracle on a corpus.")
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    parser.add_argument("--kinds", type=lambda text: text.split(","))
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--offsets", action="store_true")
    arguments = parser.parse_intermixed_args()
    oracle.require()
    leat_tokenize.BIN = arguments.bin.resolve()
    texts = read_documents(arguments.corpus, arguments.kinds)
    n_bytes = sum(len(text.encode()) for text in texts)
    corpus_key = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    print(f"{len(texts)} documents, {n_bytes / 1e6:.1f} MB", flush=True)
    n_bad = sum(compare(file, texts, corpus_key, arguments) for file in arguments.tokenizers)
    print(f"{n_bad} documents different")
    sys.exit(1 if n_bad or not texts else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How fast leat's tokenizer is beside others from PyPI, on one core, in one run.

    tokenizer_compare.py BUILD CORPUS TOKENIZER.json ... [--texts english=prose+docs,multilingual=japanese+other]
                         [--libraries leat,gigatoken,fastokens,tokie,tokenizers] [--megabytes N] [--rounds N] [--json FILE]

BUILD is a build folder, as build/release. CORPUS is a folder made by tests/tokenizer/corpus.py. Each library is used from
Python in the way that its manual calls the fastest, without special tokens. Each round starts one process per library, on
one core, which loads the tokenizer, encodes the texts once (cold) and three times more (warm, the best of them). The figures
are MB of UTF-8 per second of CPU time, the best of all rounds. Ids that differ from those of `tokenizers` are marked "*".
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

LIBRARIES = ("leat", "gigatoken", "fastokens", "tokie", "tokenizers")
BATCH = 256  # texts of one call
WARM_PASSES = 3
IDS_BYTES = 1_000_000  # of text, whose ids are compared


def read_texts(corpus: pathlib.Path, kinds: list[str], most_bytes: float) -> list[str]:
    """Returns documents of all kinds, of the same number of bytes each."""
    found: list[str] = []
    for kind in kinds:
        total = 0
        for data in (corpus / f"{kind}.docs").read_bytes().split(b"\0"):
            if total >= most_bytes / len(kinds):
                break
            found.append(data.decode())
            total += len(data)
    return found


def encoder(library: str, path: str) -> Callable[[list[str]], Any]:
    """Returns a function that encodes texts, and gives their ids as one array."""
    if library == "leat":
        import leat

        ours = leat.Tokenizer.from_file(path, threads=1)
        return lambda texts: ours.flat(texts, add_special_tokens=False, verbose=False)["input_ids"]
    if library == "gigatoken":
        import awkward
        import gigatoken

        giga = gigatoken.Tokenizer(path)
        return lambda texts: awkward.flatten(giga.encode_batch(texts, parallel=False))
    if library == "fastokens":
        import fastokens

        fast = fastokens.Tokenizer.from_file(path)
        return lambda texts: np.frombuffer(fast.encode_batch_flat(texts)[0], np.uint32)
    if library == "tokie":
        import tokie

        third = tokie.Tokenizer.from_json(path)
        return lambda texts: third.encode_batch_flat(texts, add_special_tokens=False)[0]
    import tokenizers

    wheel = tokenizers.Tokenizer.from_file(path)
    wheel.no_truncation()
    wheel.no_padding()
    return lambda texts: np.concatenate([np.asarray(each.ids, np.uint32) for each in wheel.encode_batch_fast(texts, add_special_tokens=False)])


def encode_all(encode: Callable[[list[str]], Any], texts: list[str]) -> float:
    """Encodes all texts and returns the seconds of CPU time."""
    start = time.process_time()
    for at in range(0, len(texts), BATCH):
        encode(texts[at:at + BATCH])
    return time.process_time() - start


def hash_ids(encode: Callable[[list[str]], Any], texts: list[str]) -> str:
    ids = hashlib.sha256()
    total = 0
    for text in texts:
        ids.update(np.asarray(encode([text]), np.uint32).tobytes())
        total += len(text)
        if total >= IDS_BYTES:
            break
    return ids.hexdigest()


def measure(library: str, path: str, corpus: pathlib.Path, kinds: list[str], most_bytes: float, compares: bool) -> dict[str, Any]:
    """The child's work: cold and warm MB/s, and a hash of ids if `compares`."""
    texts = read_texts(corpus, kinds, most_bytes)
    n_bytes = sum(len(text.encode()) for text in texts)
    encode = encoder(library, path)
    if library == "tokenizers":
        n = max(1, len(texts) // 8)
        part = texts[::8]
        took = encode_all(encode, part)
        speed = sum(len(text.encode()) for text in part) / 1e6 / took
        return {"cold": speed, "warm": speed, "ids": hash_ids(encode, texts) if compares else None, "texts": n}
    cold = encode_all(encode, texts)
    warm = min(encode_all(encode, texts) for _ in range(WARM_PASSES))
    return {"cold": n_bytes / 1e6 / cold, "warm": n_bytes / 1e6 / warm, "ids": hash_ids(encode, texts) if compares else None}


def run_child(arguments: argparse.Namespace, library: str, tokenizer: pathlib.Path, kinds: list[str], compares: bool) -> dict[str, Any]:
    asked = [library, str(tokenizer), str(arguments.corpus), "+".join(kinds), str(arguments.megabytes), str(int(compares))]
    place = os.pathsep.join([str(arguments.build / "python"), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": place, "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    core = max(os.sched_getaffinity(0))
    done = subprocess.run([sys.executable, __file__, "--child", *asked], capture_output=True, text=True, check=False, env=env,
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if done.returncode != 0:
        return {"error": (done.stderr.strip() or "no words").split("\n")[-1]}
    return json.loads(done.stdout.strip().split("\n")[-1])


def row(arguments: argparse.Namespace, tokenizer: pathlib.Path, name: str, kinds: list[str]) -> dict[str, Any]:
    best: dict[str, dict[str, Any]] = {}
    for turn in range(arguments.rounds):
        for library in arguments.libraries:
            if turn > 0 and (library == "tokenizers" or "error" in best[library]):
                continue
            found = run_child(arguments, library, tokenizer, kinds, turn == 0)
            if library not in best or "error" in found:
                best[library] = found
            else:
                for figure in ("cold", "warm"):
                    best[library][figure] = max(best[library][figure], found[figure])
    wanted = best.get("tokenizers", {}).get("ids")
    cells = []
    for library in arguments.libraries:
        if "error" in best[library]:
            print(f"{tokenizer.stem} {name} {library}: {best[library]['error']}", file=sys.stderr)
            cells.append(f"{'-':>16}")
        else:
            mark = "" if not wanted or best[library]["ids"] == wanted else "*"
            cells.append(f"{best[library]['cold']:8.1f}/{best[library]['warm']:.1f}{mark}".rjust(16))
    print(f"{tokenizer.stem:20} {name:13}" + "".join(cells), flush=True)
    return {"tokenizer": tokenizer.stem, "text": name, "libraries": best}


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        library, path, corpus, kinds, megabytes, compares = sys.argv[2:]
        print(json.dumps(measure(library, path, pathlib.Path(corpus), kinds.split("+"), float(megabytes) * 1e6, compares == "1")))
        return
    parser = argparse.ArgumentParser(description="leat's tokenizer beside others, on one core.")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    parser.add_argument("--texts", type=lambda text: text.split(","), default=["english=prose+docs", "multilingual=japanese+other"])
    parser.add_argument("--libraries", type=lambda text: text.split(","), default=list(LIBRARIES))
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_intermixed_args()
    arguments.build = arguments.build.resolve()
    absent = [each for each in arguments.libraries if each != "leat" and importlib.util.find_spec(each) is None]
    if absent:
        print(f"not installed: {', '.join(absent)} (pip install {' '.join(absent)})", file=sys.stderr)
    arguments.libraries = [each for each in arguments.libraries if each not in absent]
    print("MB/s cold/warm".ljust(34) + "".join(each.rjust(16) for each in arguments.libraries))
    rows = []
    for tokenizer in arguments.tokenizers:
        for text in arguments.texts:
            name, _, kinds = text.partition("=")
            rows.append(row(arguments, tokenizer, name, (kinds or name).split("+")))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

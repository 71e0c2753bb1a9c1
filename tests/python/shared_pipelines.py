"""What the tests of pipelines share: the reference data with a small tokenizer, and the digest that leatctl takes of
batches.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
from collections.abc import Iterable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ["Name: {Name}", "Sex: {Sex}", "Age: {Age}"]


def lay_out(folder: pathlib.Path) -> None:
    """train.csv and the tokenizer `modernbert`, a small one, in the folder."""
    shutil.copy(ROOT / "config" / "titanic.csv", folder / "train.csv")
    words = ["[PAD]", "[UNK]", *"name sex age male female : , . mr mrs miss".split(), *map(str, range(100))]
    model = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {word: i for i, word in enumerate(words)}}
    tokens = [{"id": i, "content": word, "special": True, "normalized": False, "single_word": False, "lstrip": False,
               "rstrip": False} for i, word in enumerate(words[:2])]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    (folder / "modernbert").mkdir()
    (folder / "modernbert" / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "modernbert" / "tokenizer_config.json").write_text('{"pad_token": "[PAD]"}')


class Digest:
    """BLAKE2b over batches in order, as `leatctl run --digest` takes it."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=32)

    def numbers(self, *numbers: int) -> None:
        self.hash.update(struct.pack(f"<{len(numbers)}Q", *numbers))

    def text(self, text: str) -> None:
        self.numbers(len(text.encode()))
        self.hash.update(text.encode())

    def batch(self, batch: Any) -> None:
        self.numbers(batch.epoch, batch.step, len(batch))
        for name, tensor in batch.items():
            self.text(name)
            self.text(tensor.dtype)
            self.numbers(tensor.ndim, *tensor.shape, tensor.nbytes)
            self.hash.update(memoryview(tensor).tobytes())


def digest_of(batches: Iterable[Any]) -> str:
    digest = Digest()
    for batch in batches:
        digest.batch(batch)
        batch.release()
    return digest.hash.hexdigest()


def leatctl_digest(file: pathlib.Path, *arguments: str) -> str:
    command = [os.path.join(os.environ["LEAT_BIN"], "leatctl"), "run", str(file), "--digest", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return re.findall(r"[0-9a-f]{64}", done.stdout)[-1]

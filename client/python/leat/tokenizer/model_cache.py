"""Finds a model by its name in the Hugging Face cache of this machine. leat downloads nothing.

The cache has a folder for each model, `models--ORG--NAME`. This folder contains a file for each named revision (`refs/main`
contains a commit), and a folder of links for each commit (`snapshots/COMMIT`).
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from ..errors import NotFoundError, SpecError

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt")
_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_REVISION = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)


def cache_folder() -> Path:
    """As in huggingface_hub, the first of: $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub,
    ~/.cache/huggingface/hub."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return Path(home).expanduser() / "hub"


def is_name(text: str) -> bool:
    """True if the text may be the name of a model: NAME or ORG/NAME."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def find_tokenizer(name: str, revision: str = "main", cache: str | os.PathLike[str] | None = None) -> Path:
    """Returns the folder with the tokenizer of a model. Raises NotFoundError if the model is not in the cache; the message says
    how to get it."""
    if not is_name(name):
        raise SpecError(f"{name!r} is not the name of a model: give NAME or ORG/NAME")
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise SpecError(f"{revision!r} is not a revision: give a branch, a tag or a commit")
    folder = Path(cache) if cache else cache_folder()
    model = folder / ("models--" + name.replace("/", "--"))
    if not model.is_dir():
        near = _nearest(folder, name)
        raise NotFoundError(f"there is no folder or file {name!r}, and no model with this name in {folder}{near}; {_how(name)}")
    snapshot = model / "snapshots" / _commit(model, revision)
    if not snapshot.is_dir():
        raise NotFoundError(f"{model} has no revision {revision!r}; {_how(name)}")
    if not any((snapshot / file).is_file() for file in TOKENIZER_FILES):
        raise NotFoundError(f"{snapshot} has no tokenizer, that is, no {' or '.join(TOKENIZER_FILES)}; {_how(name)}")
    return snapshot


def _commit(model: Path, revision: str) -> str:
    try:
        commit = (model / "refs" / revision).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return revision
    return commit if re.fullmatch(r"[0-9A-Za-z]+", commit) else revision


def _how(name: str) -> str:
    return f"leat does not download models: run `hf download {name}`"


def _nearest(folder: Path, name: str) -> str:
    try:
        models = [entry.name for entry in folder.iterdir() if entry.name.startswith("models--")]
    except OSError:
        return ""
    names = [model.removeprefix("models--").replace("--", "/") for model in models]
    near = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""

"""Reads the files next to a tokenizer's vocabulary, and writes tokenizers as files.

transformers writes the names of tokens to tokenizer_config.json. Without this file, leat recognises special tokens by their
usual spellings ("[PAD]", "</s>", ...).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import _leat

TOKEN_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
CONFIG = "tokenizer_config.json"
FILES = (
    "tokenizer.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
)
CONFIG_BYTES_MAX = 64 << 20
CACHED_MAX = 64  # tokenizers in the cache

_SPELLINGS = {
    "bos_token": ("<s>", "<bos>", "<|begin_of_text|>"),
    "eos_token": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "unk_token": ("[UNK]", "<unk>"),
    "sep_token": ("[SEP]",),
    "cls_token": ("[CLS]",),
    "mask_token": ("[MASK]", "<mask>"),
}


def folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def read_config(folder: Path) -> dict[str, Any]:
    """Reads tokenizer_config.json and the older files next to it. Returns {} if there are none. Raises SpecError if a file is
    malformed."""
    config = {**_read_object(folder / "special_tokens_map.json"), **_read_object(folder / CONFIG)}
    template = folder / "chat_template.jinja"
    if template.is_file():
        config["chat_template"] = template.read_text(encoding="utf-8", errors="replace")
    return config


def _read_object(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > CONFIG_BYTES_MAX:
            raise SpecError(f"the file has more than {CONFIG_BYTES_MAX} bytes", file=str(path))
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, RecursionError) as error:
        raise SpecError(f"the file is not valid JSON: {error}", file=str(path)) from None
    if not isinstance(value, dict):
        raise SpecError(f"the file must contain a JSON object, but its value has type {type(value).__name__}", file=str(path))
    return value


def usual_names(config: Mapping[str, Any], native: _leat.Tokenizer) -> dict[str, str | None]:
    """Finds the special tokens by their usual spellings, if the files name none."""
    if any(spelling(config.get(name)) for name in TOKEN_NAMES):
        return {}
    return {name: _usual(spellings, native) for name, spellings in _SPELLINGS.items()}


def pad_name(native: _leat.Tokenizer) -> dict[str, str | None]:
    """Returns the pad_token. The stage `pad` uses the same token: see leat_tokenizer_pad_id() in tokenizer.h."""
    return {} if native.pad_id is None else {"pad_token": native.token(native.pad_id)}


def token_names(config: Mapping[str, Any], native: _leat.Tokenizer) -> dict[str, str]:
    """Returns a dict of names (bos_token, pad_token, ...) to tokens. It contains only tokens that the tokenizer has."""
    names = {name: spelling(config.get(name)) for name in TOKEN_NAMES}
    return {name: token for name, token in names.items() if token is not None and native.id(token) is not None}


def check_names(config: Mapping[str, Any], settings: Mapping[str, Any], native: _leat.Tokenizer, place: Path) -> None:
    """Raises SpecError if a token in `settings`, or the pad_token of a file, is not a token of the tokenizer."""
    for name in TOKEN_NAMES:
        given = settings.get(name, config.get(name) if name == "pad_token" else None)
        token = spelling(given)
        if given is not None and (native.id(token) is None if token is not None else name in settings):
            where = None if name in settings else str(folder_of(place) / CONFIG)
            hint = f"give one of its tokens with {name}=..., or add this token to tokenizer.json"
            raise SpecError(f"{name} is {token or given!r}, which is not a token of {place}: {hint}", file=where)


def spelling(value: Any) -> str | None:
    value = value.get("content") if isinstance(value, dict) else getattr(value, "content", value)
    return value if isinstance(value, str) else None


def _usual(spellings: tuple[str, ...], native: _leat.Tokenizer) -> str | None:
    for token in spellings:
        id = native.id(token)
        if id is not None and native.is_special(id):
            return token
    return None


# ---- as files


def save(folder: Path, source: Path | None, text: str | None, config: Mapping[str, Any]) -> list[str]:
    """Copies the files of a tokenizer, or writes the text of a tokenizer.json, and adds the configuration. Returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    if text is not None:
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        written.append(folder / "tokenizer.json")
    elif source is not None:
        written += _copy(source, folder)
    (folder / CONFIG).write_text(json.dumps(dict(config), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [str(path) for path in [*written, folder / CONFIG]]


def _copy(source: Path, folder: Path) -> list[Path]:
    if source.is_file() and source.suffix == ".json" and source.name not in FILES:
        pairs = [(source, folder / "tokenizer.json")]
    else:
        pairs = [(folder_of(source) / name, folder / name) for name in FILES if (folder_of(source) / name).is_file()]
    for one, other in pairs:
        if not (other.exists() and one.samefile(other)):
            shutil.copyfile(one, other)
    return [other for _, other in pairs]


def cached(text: str, config: Mapping[str, Any]) -> Path:
    """Writes a tokenizer below $XDG_CACHE_HOME/leat/tokenizers, in a folder that is named after its content."""
    content = f"{text}\0{json.dumps(dict(config), sort_keys=True)}".encode("utf-8", "surrogatepass")
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leat" / "tokenizers"
    target = folder / hashlib.blake2b(content, digest_size=16).hexdigest()
    if target.is_dir():
        os.utime(target)
        return target
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder))
    try:
        save(made, None, text, config)
        made.chmod(0o755)
        made.rename(target)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        if not target.is_dir():  # else another process wrote it first
            raise
    _forget_oldest(folder)
    return target


def _forget_oldest(folder: Path) -> None:
    kept = sorted(folder.iterdir(), key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in kept[CACHED_MAX:]:
        shutil.rmtree(entry, ignore_errors=True)

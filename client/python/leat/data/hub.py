"""Data sets of the Hugging Face Hub. The package `huggingface_hub` finds them in its cache, or downloads them if there is a
network.

leat chooses the files of a split in the same way as `datasets`: by `configs` in the README's metadata, or else by the names of
files and folders. `split="train[10%:]"` selects the same rows as in `datasets`.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ..errors import DataError, Error, NotFoundError, SpecError
from . import recognise
from .held import Files, importable

if TYPE_CHECKING:
    from ..pipeline import Pipeline

Patterns = dict[str, list[str]]  # of files, by split

_SLICE = re.compile(
    r"(?P<split>\w+(\.\w+)*)"
    r"(?P<slice>\[((?P<start>-?[\d_]+)(?P<start_pct>%)?)?:((?P<stop>-?[\d_]+)(?P<stop_pct>%)?)?\])?(\((?P<rounding>[^)]*)\))?",
    re.ASCII,
)
_URL = re.compile(r"hf://datasets/([^/@]+/[^/@]+)(?:@(refs(?:/|%2[fF])\w+(?:/|%2[fF])\w+|[^/]+))?/(.+)")
_SHARD = re.compile(r"(?P<name>.*)-(?P<number>\d{5})-of-(?P<n>\d{5})(?P<rest>.*)", re.ASCII | re.DOTALL)
_KINDS = {
    ".parquet": "parquet", ".arrow": "arrow", ".jsonl": "json", ".json": "json", ".ndjson": "json",
    ".csv": "csv", ".tsv": "csv", ".txt": "text",
}
_IGNORED = {"README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json"}
_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_IN_FOLDER = ("**/{0}/**", "**/{0}[-._ 0-9]*/**", "**/*[-._ 0-9]{0}/**", "**/*[-._ 0-9]{0}[-._ 0-9]*/**")
_IN_NAME = ("**/{0}[-._ 0-9]*", "**/*[-._ 0-9]{0}[-._ 0-9]*")
_OF_CONFIG = {"config_name", "data_files", "data_dir", "default", "description", "version", "features"}


def hub(
    name: str,
    config: str | None = None,
    *,
    split: str = "train",
    revision: str | None = None,
    data_files: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = None,
) -> Pipeline:
    """Makes a pipeline that reads a data set of the Hugging Face Hub. The pipeline has only a source, which reads Parquet,
    JSON, CSV, Arrow or text files.

    name: "org/name". huggingface_hub downloads it into its cache. Without a network, leat reads the data set from this cache.
    config: a configuration in the metadata of the README, or None for the default one.
    split: "train", or a part of it, with the same rows as in `datasets`: "train[:1000]", "train[10%:20%]", "train[-5%:]".
        "train+test" and "all" join whole splits.
    revision: a branch, a tag or a commit. The default is main.
    data_files: patterns of files, such as "data/*.parquet", or {split: patterns}. They replace the files that the data set
        declares.
    Raises NotFoundError if the data set, config, split or file does not exist, and SpecError if an argument or the README is
    wrong.
    """
    wanted = _wanted(split)
    repository = _Repository.find(name, revision, ["README.md"])
    chosen = {"config_name": config or "default", "data_files": data_files} if data_files else _config(repository, config)
    patterns = _patterns_of(chosen.get("data_files"))
    base = str(chosen.get("data_dir") or "")
    splits = {key: _matching(repository.files, found, base) for key, found in (patterns or _usual(repository.files, base)).items()}
    names = list(splits) if split == "all" and "all" not in splits else [part["split"] for part in wanted]
    for part in names:
        if not splits.get(part):
            there = ", ".join(key for key, files in splits.items() if files) or "none"
            raise NotFoundError(f"{name} has no files for the split {part!r}; its splits are: {there}")
    kind, files = _of_one_kind([file for part in names for file in splits[part]], name)
    if not data_files:
        _check_shards(name, files)
    rows = _pipeline(kind, repository.get(files), _arguments(kind, chosen))
    return _sliced(rows, wanted[0]) if wanted[0]["slice"] else rows


def paths(given: Sequence[Any]) -> list[Any]:
    """Replaces each `hf://datasets/ORG/NAME[@REVISION]/PATTERN` by the local paths of the files that it names."""
    return [path for item in given for path in (_files_of_url(item) if str(item).startswith("hf://") else [item])]


def _files_of_url(url: str) -> list[str]:
    found = _URL.fullmatch(url)
    if found is None:
        raise SpecError(
            f"{url!r} does not name files of a data set: give hf://datasets/ORG/NAME/PATTERN or"
            " hf://datasets/ORG/NAME@REVISION/PATTERN"
        )
    name, revision, pattern = found.groups()
    revision = "refs/convert/parquet" if revision == "~parquet" else revision and unquote(revision)
    repository = _Repository.find(name, revision, [])
    files = _matching(repository.files, [pattern]) or [
        file for file in repository.files if file.startswith(pattern.rstrip("/") + "/")
    ]
    if not files:
        raise NotFoundError(f"no file of the data set {name} matches {pattern!r}")
    return repository.get(files)


# ---- the repository ----


class _Repository(NamedTuple):
    name: str
    revision: str | None
    folder: Path  # of one commit, in the cache
    files: list[str]  # names in the repository, sorted, whether they are in the cache or not

    @classmethod
    def find(cls, name: str, revision: str | None, needed: Sequence[str]) -> _Repository:
        """Finds the commit, and downloads the files in `needed`."""
        folder = _download(name, revision, needed)
        return cls(name, revision, folder, sorted(_listing(name, folder)))

    def get(self, files: Sequence[str]) -> list[str]:
        """Downloads these files if the cache does not have them, and returns their paths."""
        strange = [file for file in files if set(file) & set("*?[{") or ".." in PurePosixPath(file).parts or file.startswith("/")]
        if strange:
            raise SpecError(f"{self.name} has a file whose name leat does not accept: {strange[0]!r}")
        folder = _download(self.name, self.folder.name, [glob.escape(file) for file in files])
        missing = [file for file in files if not (folder / file).is_file()]
        if missing:
            raise NotFoundError(f"{len(missing)} of {len(files)} files are not in {folder}, for example {missing[0]}; {_how(self.name)}")
        return [str(folder / file) for file in files]


def _download(name: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """Returns the folder of the revision in the cache, with the files that match."""
    if not importable("huggingface_hub"):
        raise Error(f"the data set {name!r} needs huggingface_hub, which is not installed: pip install huggingface_hub")
    import huggingface_hub

    try:
        get: Callable[..., str] = huggingface_hub.snapshot_download
        return Path(get(name, repo_type="dataset", revision=revision, allow_patterns=list(patterns)))
    except huggingface_hub.errors.HFValidationError as error:
        raise SpecError(f"{name!r} is not a name of a data set: {error}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFoundError(f"the data set {name!r} is not available: {error}; {_how(name)}") from error


def _how(name: str) -> str:
    return f"download the data set on a machine with a network: `hf download {name} --repo-type dataset`"


def _listing(name: str, folder: Path) -> Iterable[str]:
    """Returns all files of the commit. The list comes from huggingface_hub's copy beside the cache, from the Hub, or from the
    cache itself."""
    import huggingface_hub

    try:
        with open(folder.parents[1] / "trees" / f"{folder.name}.json", encoding="utf-8") as file:
            return [str(path) for path in json.load(file)["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    try:
        return list(huggingface_hub.HfApi().list_repo_files(name, repo_type="dataset", revision=folder.name))
    except (OSError, ValueError, RuntimeError):
        return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _check_shards(name: str, files: Iterable[str]) -> None:
    """Raises NotFoundError if some of the shards ..-00000-of-00012 are missing, because the cache holds only a part of the data
    set."""
    numbers: dict[tuple[str, ...], set[str]] = {}
    for found in filter(None, map(_SHARD.fullmatch, files)):
        numbers.setdefault(found.group("name", "n", "rest"), set()).add(found["number"])
    for (stem, n, rest), there in numbers.items():
        if len(there) < int(n):
            raise NotFoundError(f"{name} has only {len(there)} of its {int(n)} files {stem}-*-of-{n}{rest}; {_how(name)}")


# ---- what is declared ----


def _config(repository: _Repository, wanted: str | None) -> dict[str, Any]:
    """Returns the config of this name in the README's metadata, or the default config. Returns an empty dict if the README
    declares no configs."""
    configs = _metadata(repository).get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(item, dict) and "config_name" in item for item in configs):
        raise SpecError(f"the README of {repository.name} has wrong `configs`: they must be a list of items with `config_name`")
    named = {str(item["config_name"]): item for item in configs}
    defaults = [name for name, item in named.items() if len(named) == 1 or name == "default" or item.get("default")]
    name = wanted or (defaults[0] if len(defaults) == 1 else None)
    if name is None and named:
        raise SpecError(f"{repository.name} has several configs: set config to one of {', '.join(named)}")
    if name is not None and name not in named and (named or name != "default"):
        raise NotFoundError(f"{repository.name} has no config {name!r}; its configs are: {', '.join(named) or 'none'}")
    chosen: dict[str, Any] = named.get(name or "", {})
    return chosen


def _metadata(repository: _Repository) -> dict[str, Any]:
    import huggingface_hub
    import yaml  # type: ignore[import-untyped]  # huggingface_hub needs it, too

    path = repository.folder / "README.md"
    try:
        found = huggingface_hub.metadata_load(path) if path.exists() else None
    except (ValueError, yaml.YAMLError) as error:
        raise SpecError(f"the metadata of the README of {repository.name} is malformed: {error}") from error
    return found or {}


def _patterns_of(given: Any) -> Patterns | None:
    """Converts `data_files` of a config or a caller to patterns by split. `data_files` may have any of its forms."""
    if given is None:
        return None
    if isinstance(given, list) and any(isinstance(item, dict) for item in given):
        if not all(isinstance(item, dict) and set(item) == {"split", "path"} for item in given):
            raise SpecError(f"`data_files` must be a list of {{split, path}}, not {given!r}")
        by_split = {str(item["split"]): item["path"] for item in given}
    else:
        by_split = dict(given) if isinstance(given, Mapping) else {"train": given}
    found = {str(key): [item] if isinstance(item, str) else list(item or ()) for key, item in by_split.items()}
    for pattern in (pattern for patterns in found.values() for pattern in patterns):
        if not isinstance(pattern, str) or "://" in pattern or pattern.startswith("/"):
            raise SpecError(f"`data_files` names {pattern!r}, but it must name files inside the data set")
    return found


def _usual(files: Sequence[str], base: str) -> Patterns:
    """Finds the splits by the names of the files, if the README does not declare them."""
    shards = "data/{}-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*"
    found = {name["name"] for file in _matching(files, [shards.format("*")], base) if (name := _SHARD.match(PurePosixPath(file).name))}
    if found:
        names = [*(name for name in _KEYWORDS if name in found), *sorted(found - set(_KEYWORDS))]
        return {name: [shards.format(glob.escape(name))] for name in names}
    for forms in (_IN_FOLDER, _IN_NAME):
        by_split = {name: [form.format(word) for word in words for form in forms] for name, words in _KEYWORDS.items()}
        by_split = {name: patterns for name, patterns in by_split.items() if _matching(files, patterns, base)}
        if by_split:
            return by_split
    return {"train": ["**"]}


def _matching(files: Sequence[str], patterns: Sequence[str], base: str = "") -> list[str]:
    """Returns the files that match, in the order of the patterns. Hidden files match only a pattern that names hidden
    files."""
    from fsspec.utils import glob_translate  # type: ignore[import-untyped]  # huggingface_hub needs it, too

    found = []
    for pattern in patterns:
        path = PurePosixPath(base, pattern)
        try:
            is_matched = re.compile(glob_translate(str(path))).match
        except (ValueError, re.error) as error:
            raise SpecError(f"{pattern!r} is not a pattern of files: {error}") from error
        ignored = _IGNORED - {path.name}
        for file in map(PurePosixPath, files):
            if file.name not in ignored and _n_hidden(file) == _n_hidden(path) and is_matched(str(file)):
                found.append(str(file))
    return list(dict.fromkeys(found))


def _n_hidden(path: PurePosixPath) -> tuple[int, int]:
    hidden = sum(part.startswith(".") and part.strip(".") != "" for part in path.parts)
    return hidden, sum(part.startswith("__") for part in path.parent.parts)


def _of_one_kind(files: Sequence[str], name: str) -> tuple[str, list[str]]:
    """Returns the most frequent kind of file, and the files of this kind."""
    suffixes = Counter(suffix.lower() for file in files for suffix in PurePosixPath(file).suffixes)
    for compression in recognise._COMPRESSED:
        del suffixes[compression]
    ranks = {suffix: -at for at, suffix in enumerate(_KINDS)}
    most = max(suffixes, key=lambda suffix: (suffixes[suffix], ranks.get(suffix, -len(ranks))), default="")
    kind = _KINDS.get(most, "")
    if not kind:
        raise SpecError(
            f"most files of {name} are {most or 'without a suffix'}, which leat does not read: choose others with data_files=[..]"
        )
    chosen = [file for file in files if any(_KINDS.get(suffix.lower()) == kind for suffix in PurePosixPath(file).suffixes)]
    return kind, list(dict.fromkeys(chosen))


def _arguments(kind: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the source for a config's parameters. Raises SpecError for a parameter that leat does not support."""
    known = {"sep": "delimiter", "delimiter": "delimiter"} if kind == "csv" else {}
    others = set(config) - _OF_CONFIG - set(known)
    if others:
        raise SpecError(
            f"the config {config['config_name']!r} has parameters that leat does not support, {', '.join(sorted(others))}: "
            "choose the files with data_files=[..]"
        )
    return {known[name]: value for name, value in config.items() if name in known}


def _pipeline(kind: str, files: list[str], arguments: Mapping[str, Any]) -> Pipeline:
    if kind in ("json", "csv"):
        held = recognise.keep(recognise.recognise(files))
    else:
        held = Files(kind, tuple(files))
    return replace(held, arguments={**held.arguments, **arguments}).pipeline()


# ---- parts of a split ----


def _wanted(split: str) -> list[re.Match[str]]:
    """Parses `split`, which names whole splits or one part of a split."""
    found = [_SLICE.fullmatch(part) for part in re.split(r"\s*\+\s*", str(split))]
    parts = [part for part in found if part]
    if len(parts) < len(found):
        raise SpecError(f"split={split!r} is not a valid split: write it like 'train', 'train[:1000]', 'train[10%:20%]' or 'train+test'")
    if len(parts) > 1 and any(part["slice"] for part in parts):
        raise SpecError(f"split={split!r} joins parts of splits, but leat joins only whole splits")
    for part in parts:
        is_pct = bool(part["start_pct"] or part["stop_pct"])
        numbers = [int(part[name]) for name in ("start", "stop") if part[name]]
        if part["rounding"] not in (None, "closest", "pct1_dropremainder") or part["rounding"] and not is_pct:
            raise SpecError(f"split={split!r}: the rounding of percents must be 'closest' or 'pct1_dropremainder'")
        if is_pct and any(abs(number) > 100 for number in numbers):
            raise SpecError(f"split={split!r}: percents must be in -100..100")
    return parts


def _bounds(part: Mapping[str, Any] | re.Match[str], n_rows: Callable[[], int]) -> tuple[int, int | None]:
    """Returns the number of the first row, and the number after the last row, or None for the end. Calls n_rows() only if the
    result depends on it."""
    start, stop = (int(part[name]) if part[name] else None for name in ("start", "stop"))
    if part["start_pct"] or part["stop_pct"]:
        n = n_rows()
        if part["rounding"] == "pct1_dropremainder" and n < 100:
            raise SpecError(f"{n} rows are too few for pct1_dropremainder, which needs at least 100")
        start, stop = (
            bound if bound is None else bound * (n // 100) if part["rounding"] == "pct1_dropremainder" else round(bound * n / 100)
            for bound in (start, stop)
        )
    if start is not None and start < 0:
        start = max(start + n_rows(), 0)
    if stop is not None and stop < 0:
        stop = max(stop + n_rows(), 0)
    return start or 0, stop


def _sliced(rows: Pipeline, part: re.Match[str]) -> Pipeline:
    start, stop = _bounds(part, lambda: _count(rows))
    if stop is not None and stop <= start:
        raise DataError(f"the part {part[0]!r} has no rows")
    rows = rows.skip(start) if start else rows
    return rows if stop is None else rows.take(stop - start)


def _count(rows: Pipeline) -> int:
    """Returns the number of rows. leatctl reads one column to count them."""
    kind, arguments = rows.spec["source"]
    if kind in ("parquet", "arrow"):
        fields = json.loads(rows._ask("explain", "--json", "--no-measure"))["source"]["fields"]
        plain = [field for field in fields if "." not in field["name"]]  # else of a struct
        first = min(plain, key=lambda field: (field["is_list"], field["name"]), default=None)
        if first is not None:
            suffix = "[]" if first["is_list"] and first["dtype"] != "text" else ""
            rows = type(rows).begin(kind, {**arguments, "fields": {first["name"]: first["dtype"] + suffix}})
    told = json.loads(rows._ask("describe", "--json", "--no-progress", stages=[]))
    return int(told["records"] + told["bad_records"])

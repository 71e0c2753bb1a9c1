"""Data sets of the Hub: a cache as huggingface_hub writes it, downloads from a server that speaks as the Hub does; `datasets`
judges which files and rows a split has."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("huggingface_hub")
import leat  # noqa: E402
from conftest import START_S  # noqa: E402
from leat import errors  # noqa: E402
from leat.data import hub  # noqa: E402

NAME = "org/name"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def lines(*numbers: int) -> bytes:
    return b"".join(b'{"text": "row %d", "n": %d}\n' % (n, n) for n in numbers)


def write(root: pathlib.Path, files: dict[str, bytes | str]) -> pathlib.Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.fixture
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """cache(files): a commit of org/name in the cache of huggingface_hub, which is offline."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def fill(files: dict[str, bytes | str], name: str = NAME) -> pathlib.Path:
        folder = tmp_path / "hub" / repo_folder_name(repo_id=name, repo_type="dataset")
        write(folder, {"refs/main": COMMIT})
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            blob = write(folder, {f"blobs/{hashlib.sha256(data).hexdigest()}": data}) / f"blobs/{hashlib.sha256(data).hexdigest()}"
            link = folder / "snapshots" / COMMIT / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))
        return folder / "snapshots" / COMMIT

    return fill


def numbers(rows: leat.Pipeline) -> list[int]:
    return [int(record["n"]) for record in rows]


# ---- which files ----

LAYOUTS: dict[str, dict[str, bytes | str]] = {
    "shards": {f"data/{split}-0000{i}-of-00002.jsonl": lines(i) for split in ("train", "test", "extra") for i in (0, 1)},
    "names": {"train.jsonl": lines(1), "test_1.jsonl": lines(2), "my-dev.jsonl": lines(3), "README.md": "# no metadata"},
    "folders": {"a/train/x.jsonl": lines(1), "a/train/y.jsonl": lines(2), "a/test-2/x.jsonl": lines(3), "trainer.jsonl": lines(4)},
    "all": {"b.jsonl": lines(2), "sub/a.jsonl": lines(1), ".hidden/c.jsonl": lines(3), "__special/d.jsonl": lines(4)},
    "kinds": {"x.jsonl": lines(1), "y.jsonl": lines(2), "LICENSE.txt": "none"},
    "declared": {
        "README.md": "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: [b/*.jsonl, 'a*/**']\n"
        "  - split: test\n    path: t.jsonl\n---\n# A set\n",
        "b/1.jsonl": lines(1), "b/0.jsonl": lines(2), "a1/x/y.jsonl": lines(3), "t.jsonl": lines(4), "train.jsonl": lines(5),
    },
    "text": {"README.md": "---\nconfigs:\n- config_name: only\n  data_files: '*.jsonl'\n---\n", "q.jsonl": lines(1), "p.jsonl": lines(2)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_those_of_datasets(layout: str, cache: Any, tmp_path: pathlib.Path) -> None:
    datasets = pytest.importorskip("datasets")
    cache(LAYOUTS[layout])
    there = write(tmp_path / "plain", LAYOUTS[layout])
    splits = datasets.load_dataset_builder(str(there), cache_dir=str(tmp_path / "built")).config.data_files
    assert splits
    for split, files in splits.items():
        found = [os.path.relpath(path, there) for path in files]
        rows = leat.hub(NAME, split=split)
        snapshot = next((tmp_path / "hub").rglob(COMMIT))
        assert [os.path.relpath(path, snapshot) for path in rows.spec["source"][1]["paths"]] == found, split
    with pytest.raises(errors.NotFoundError, match="its splits are: .*train"):
        leat.hub(NAME, split="nothing")


def test_configs(cache: Any) -> None:
    readme = (
        "---\nconfigs:\n- config_name: en\n  data_dir: english\n- config_name: fr\n  default: true\n  data_files: fr.csv\n  sep: ;\n"
        "- config_name: odd\n  data_files: fr.csv\n  skiprows: 3\n---\n"
    )
    cache({"README.md": readme, "english/train.jsonl": lines(7), "english/test.jsonl": lines(8), "fr.csv": "n;m\n5;6\n"})
    assert numbers(leat.hub(NAME, "en", split="test")) == [8]
    assert [record["m"] for record in leat.hub(NAME)] == ["6"]
    assert numbers(leat.hub(NAME, data_files={"train": "english/t*.jsonl"})) == [8, 7]
    assert numbers(leat.hub(NAME, "en", split="train + test")) == [7, 8]
    assert numbers(leat.hub(NAME, "en", split="all")) == [7, 8]
    with pytest.raises(errors.NotFoundError, match="no config 'de'; its configs are: en, fr, odd"):
        leat.hub(NAME, "de")
    with pytest.raises(errors.SpecError, match="skiprows"):
        leat.hub(NAME, "odd")


@pytest.mark.parametrize(
    "metadata",
    ["configs: 3", "configs: [{data_files: x}]", "configs: [{config_name: a, data_files: [{split: b}]}]", "configs: [", "a: {b"]
    + [f"configs: [{{config_name: a, data_files: '{pattern}'}}]" for pattern in ("/etc/passwd", "https://host/x.csv", "a**b")],
)
def test_a_hostile_readme_is_refused(metadata: str, cache: Any) -> None:
    cache({"README.md": f"---\n{metadata}\n---\n", "train.jsonl": lines(1)})
    with pytest.raises(errors.SpecError):
        leat.hub(NAME)


def test_what_is_outside_or_missing_is_refused(cache: Any) -> None:
    snapshot = cache({"data/train-00000-of-00002.jsonl": lines(1)})
    with pytest.raises(errors.NotFoundError, match="has only 1 of its 2 files"):
        leat.hub(NAME)
    (snapshot.parents[1] / "trees").mkdir()
    listed = {"format_version": 1, "files": {"../../../../x.jsonl": {"size": 1, "blob_id": "x"}}}
    (snapshot.parents[1] / "trees" / f"{COMMIT}.json").write_text(json.dumps(listed))
    with pytest.raises(errors.SpecError, match="a file whose name leat does not accept"):
        leat.hub(NAME, data_files="../../../../*.jsonl")
    with pytest.raises(errors.NotFoundError, match="hf download org/gone --repo-type dataset"):
        leat.hub("org/gone")
    with pytest.raises(errors.SpecError, match="not a name of a data set"):
        leat.hub("a/b/c")


def test_parquet_and_urls(cache: Any) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    files = {}
    for i in range(2):
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table({"text": ["a"] * 60, "n": list(range(60 * i, 60 * i + 60))}), sink)
        files[f"data/train-0000{i}-of-00002.parquet"] = sink.getvalue().to_pybytes()
    cache(files)
    assert numbers(leat.hub(NAME)) == list(range(120))
    assert numbers(leat.hub(NAME, split="train[25%:-30%]")) == list(range(30, 84))
    assert numbers(leat.parquet(f"hf://datasets/{NAME}/data/*1-of*.parquet")) == list(range(60, 120))
    assert numbers(leat.parquet([f"hf://datasets/{NAME}@{COMMIT}/data/"])) == list(range(120))
    with pytest.raises(errors.NotFoundError, match="no file of the data set"):
        leat.parquet(f"hf://datasets/{NAME}/*.parquet")
    with pytest.raises(errors.SpecError, match="hf://datasets/ORG/NAME"):
        leat.parquet("hf://model/x.parquet")
    assert leat.jsonl("s3://bucket/x.jsonl").spec["source"][1]["paths"] == "s3://bucket/x.jsonl"


# ---- which rows ----


@pytest.mark.parametrize("n", [1, 7, 50, 99, 100, 101, 250, 333])
def test_parts_are_those_of_datasets(n: int) -> None:
    pytest.importorskip("datasets")
    from datasets.arrow_reader import ReadInstruction

    bounds = ["", "0", "1", "5", "-3", "1_0", "400"] + [f"{p}%" for p in (0, 1, 10, 25, 33, 50, 66, 99, 100, -1, -33, -100)]
    for start in bounds:
        for stop in bounds:
            for rounding in ("", "(pct1_dropremainder)", "(closest)") if "%" in start + stop else ("",):
                text = f"train[{start}:{stop}]{rounding}"
                try:
                    [judged] = ReadInstruction.from_spec(text).to_absolute({"train": n})
                except (ValueError, AssertionError):
                    with pytest.raises(errors.SpecError):
                        hub._bounds(hub._wanted(text)[0], lambda: n)
                    continue
                [part] = hub._wanted(text)
                first, last = hub._bounds(part, lambda: n)
                assert range(n)[first:last] == range(n)[judged.from_ : judged.to], text


@pytest.mark.parametrize("text", ["", "train[", "train[1]", "train[1:2:3]", "train[:101%]", "train[:10](closest)", "a[:1]+b", "train[:1%](x)"])
def test_no_part(text: str) -> None:
    with pytest.raises(errors.SpecError):
        hub._wanted(text)


def test_parts_of_lines(cache: Any) -> None:
    cache({"train.jsonl": lines(*range(10)), "more-train.jsonl": lines(*range(10, 37))})
    every = numbers(leat.hub(NAME))
    for text, part in (("[:5]", slice(5)), ("[30:]", slice(30, None)), ("[10%:]", slice(4, None)), ("[-5:]", slice(-5, None))):
        assert numbers(leat.hub(NAME, split=f"train{text}")) == every[part]
    with pytest.raises(errors.DataError, match="has no rows"):
        leat.hub(NAME, split="train[5:5]")


# ---- downloads ----


class _Hub(http.server.BaseHTTPRequestHandler):
    """The calls of the Hub that a download takes."""

    files: dict[str, bytes] = {}
    asked: list[str] = []

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urllib.parse.unquote(self.path.partition("?")[0])
        self.asked.append(f"{self.command} {path}")
        api, resolve = f"/api/datasets/{NAME}", f"/datasets/{NAME}/resolve/{COMMIT}/"
        blobs = {name: hashlib.sha1(data).hexdigest() for name, data in self.files.items()}
        if path.startswith(f"{api}/tree/{COMMIT}"):
            tree = [{"type": "file", "path": name, "size": len(data), "oid": blobs[name]} for name, data in self.files.items()]
            self._answer(json.dumps(tree).encode())
        elif path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            siblings = [{"rfilename": name} for name in self.files]
            self._answer(json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode())
        elif path.removeprefix(resolve) in self.files:
            name = path.removeprefix(resolve)
            self._answer(self.files[name], {"ETag": f'"{blobs[name]}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"})
        else:
            self._answer(b"{}", {"X-Error-Code": "RepoNotFound"}, 404)

    def _answer(self, body: bytes, head: dict[str, str] | None = None, status: int = 200) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(head or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    _Hub.files, _Hub.asked = {f"data/train-0000{i}-of-00002.jsonl": lines(i) for i in (0, 1)}, []
    _Hub.files |= {"README.md": b"# A set", "large.bin": b"x", "data/test-00000-of-00001.jsonl": lines(9)}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_download(server: str, tmp_path: pathlib.Path) -> None:
    """In a process of its own, since huggingface_hub reads its environment when it is imported. Then without the server."""
    code = f"import leat; print([int(record['n']) for record in leat.hub({NAME!r})])"
    environment = {**os.environ, "HF_ENDPOINT": server, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hf")}
    environment |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}

    def run(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=START_S)
        return done.stdout + ("" if done.returncode == 0 else done.stderr)

    assert run(code) == "[0, 1]\n"
    assert not any("large.bin" in path or "test-00000" in path for path in _Hub.asked)  # only what is wanted
    n_asked = len(_Hub.asked)
    environment["HF_HUB_OFFLINE"] = "1"
    assert run(code) == "[0, 1]\n"
    assert len(_Hub.asked) == n_asked
    assert "NotFoundError" in run(code.replace("'org/name'", "'org/name', split='test'"))  # of which nothing was got

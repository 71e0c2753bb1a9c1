"""What the guides show besides Python: leatd accepts a YAML block that is marked `<!-- check -->`, and a shell block that is marked
`<!-- run -->` succeeds, in a folder with the data and tokenizers of config. There it finds the blocks of its page with a mark
`file: NAME`, and libleat as if it was installed.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

import documents
import pytest
from conftest import ROOT
from documents import Block

BIN = pathlib.Path(os.environ.get("LEAT_BIN", ROOT / "build" / "release" / "bin"))
BLOCKS = [block for page in (ROOT / "config" / "README.md", *sorted(ROOT.glob("*/guide/*.md"))) for block in documents.blocks(page)]
STREAMS = [block for block in BLOCKS if block.language == "yaml" and block.mark.startswith("<!-- check")]
SHELL = [block for block in BLOCKS if block.language == "sh" and block.runs]


def name_of(block: Block) -> str:
    return f"{block.file.stem}-{block.line}"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    shutil.copytree(ROOT / "config", tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "config" / "chat", tmp_path / "model")
    (tmp_path / "prose.jsonl").write_text("".join(f'{{"text": "a text of some words, number {i}"}}\n' for i in range(200)))
    return tmp_path


def test_there_are_some() -> None:
    assert len(STREAMS) >= 9 and len(SHELL) >= 8


@pytest.mark.parametrize("block", STREAMS, ids=name_of)
def test_streams_are_accepted(block: Block, folder: pathlib.Path) -> None:
    (folder / "shown.yaml").write_text(block.text)
    run = [BIN / "leatd", "--check-config", "--config", folder / "shown.yaml"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("block", SHELL, ids=name_of)
def test_commands_succeed(block: Block, folder: pathlib.Path) -> None:
    for other in documents.blocks(block.file):
        if named := re.search(r"file: (\S+) -->", other.mark):
            (folder / named[1]).write_text(other.text)
    missing = [tool for tool in ("cc", "pkg-config") if tool in block.text and shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)}")
    library = BIN.parent / "lib"
    (folder / "leat.pc").write_text(f"Name: leat\nDescription: libleat\nVersion: 0\nCflags: -I{ROOT}/client\nLibs: -L{library} -lleat\n")
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(folder), "LD_LIBRARY_PATH": str(library)}
    environment.pop("LEAT_SOCKET", None)
    run = ["sh", "-eu", "-c", block.text]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr

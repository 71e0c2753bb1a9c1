"""What README.md and the guides of client/python show: blocks that say so run as they stand, and print what is
shown; of all others what they use of leat exists.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import documents
import pytest
from conftest import ROOT
from documents import Block

import leat

README = ROOT / "README.md"
MANUAL = ROOT / "client" / "python" / "README.md"
SCREEN_LINES = 40
QUICKSTART = "Start"
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TOLERANCE = 0.03  # of what a model has learnt, which differs from one release of torch to another
TIMEOUT_S = 600  # they take seconds; imports on a busy machine take longer than that


def python_blocks(file: pathlib.Path) -> list[Block]:
    return [block for block in documents.blocks(file) if block.language == "python"]


def name_of(block: Block) -> str:
    return f"{block.file.parent.name}-{block.file.stem}-{block.line}"


def needs(block: Block) -> None:
    if block.missing:
        pytest.skip(f"{block.file.name}:{block.line} imports {', '.join(block.missing)}, which is not installed")


def assert_same(printed: str, shown: str) -> None:
    """The same words, and the same numbers but for TOLERANCE of those with a fraction."""
    number = r"-?\d+\.\d+"
    assert re.sub(number, "#", printed) == re.sub(number, "#", shown)
    for one, other in zip(re.findall(number, printed), re.findall(number, shown)):
        assert abs(float(one) - float(other)) <= TOLERANCE, f"{printed}\ninstead of\n{shown}"


GUIDES = [*sorted(ROOT.glob("client/python/guide/*.md")), ROOT / "pipeline" / "guide" / "resume.md"]
MANUAL_PAGES = [block for page in (MANUAL, *GUIDES) for block in python_blocks(page)]
ALL_BLOCKS = python_blocks(README) + MANUAL_PAGES
QUICK_BLOCKS = [block for block in python_blocks(README) if block.runs]
MANUAL_BLOCKS = [block for block in MANUAL_PAGES if block.runs]


def test_there_are_some() -> None:
    assert len(QUICK_BLOCKS) == 1 and QUICK_BLOCKS[0].printed
    assert MANUAL_BLOCKS


def test_the_quickstart_fits_a_screen() -> None:
    lines = documents.section(README, QUICKSTART)
    assert len("\n".join(lines).strip().split("\n")) <= SCREEN_LINES
    assert lines.index("```python") < lines.index("```text"), "shows what it prints"
    commands = lines[lines.index("```sh") + 1 : lines.index("```")]
    assert commands[0].startswith("./bootstrap packages ") and commands[-1].startswith("pip install . "), "works before the release"
    assert README.read_text().index(f"## {QUICKSTART}") < 2000, "near the top"


@pytest.mark.parametrize("block", QUICK_BLOCKS, ids=name_of)
def test_the_quickstart_runs_as_it_stands(block: Block, tmp_path: pathlib.Path) -> None:
    """In a folder and a Python of its own, which has nothing to say but what is shown."""
    needs(block)
    (tmp_path / "quickstart.py").write_text(block.text)
    environment = {name: value for name, value in os.environ.items() if name != "LEAT_SOCKET"}
    run = [sys.executable, str(tmp_path / "quickstart.py")]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    assert_same(done.stdout, block.printed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What the manual's examples find: data and tokenizers under the names that they use."""
    made = tmp_path_factory.mktemp("manual")
    shutil.copy(ROOT / "config" / "titanic.csv", made / "train.csv")
    shutil.copytree(ROOT / "config" / "sentences", made / "modernbert")
    shutil.copytree(ROOT / "config" / "chat", made / "model")
    (made / "model" / "chat_template.jinja").write_text(CHATML)
    texts = [{"text": f"a text that is long enough, of number {i}"} for i in range(20)]
    (made / "train.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    chats = (ROOT / "config" / "talks.jsonl").read_text().splitlines(keepends=True)[:3]  # the others are bad records, as examples
    (made / "chats.jsonl").write_text("".join(chats))
    shutil.copy(ROOT / "config" / "tasks.jsonl", made / "alpaca.jsonl")
    return made


@pytest.mark.parametrize("block", MANUAL_BLOCKS, ids=name_of)
@pytest.mark.filterwarnings("ignore::leat.callables.CostWarning")
def test_blocks_of_the_manual_run(block: Block, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(block)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            exec(compile(block.tree, f"{block.file.name}:{block.line}", "exec"), {"leat": leat, "__name__": "shown"})
    except ImportError as error:
        pytest.skip(f"{block.file.name}:{block.line}: {error}")
    if block.printed:
        assert_same(output.getvalue(), block.printed)


class Model:
    """What the README's snippets need of a model."""

    loss = 0.0

    def __call__(self, **tensors: object) -> Model:
        assert "input_ids" in tensors and "labels" in tensors
        return self

    def state_dict(self) -> dict[str, object]:
        return {}

    def load_state_dict(self, state: dict[str, object]) -> None:
        assert state == {}


@pytest.mark.parametrize("block", [block for block in python_blocks(README) if not block.runs], ids=name_of)
def test_snippets_of_the_readme_run(block: Block, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On data and a tokenizer that are here, and the CPU."""
    pytest.importorskip("torch")
    here = {"s3://bucket/web/*.jsonl.zst": "train.jsonl.gz", "openai-community/gpt2": "./modernbert", ', device="cuda"': ""}
    text = block.text
    for shown, used in here.items():
        text = text.replace(shown, used)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LEAT_SOCKET", raising=False)
    with gzip.open("train.jsonl.gz", "wb") as file:
        file.write((folder / "train.jsonl").read_bytes() * 100)
    held: dict[str, object] = {"leat": leat, "model": Model(), "checkpoint": None, "__name__": "shown"}
    exec(compile(text, f"{block.file.name}:{block.line}", "exec"), held)
    assert "batch" in held, "there is no batch"


@pytest.mark.parametrize("block", ALL_BLOCKS, ids=name_of)
def test_what_blocks_use_exists(block: Block) -> None:
    assert documents.Reader(block).read() == []


def test_what_the_text_of_the_manual_names_exists() -> None:
    pages = [(page, line, span) for page in (MANUAL, *GUIDES) for line, span in documents.spans(page)]
    named = [(page, line, name) for page, line, span in pages for name in re.findall(r"\bleat(?:\.[A-Za-z_]\w*)+", span)]
    unknown = [f"{page.name}:{line}: {name}" for page, line, name in named if not documents.exists(name)]
    assert len(named) > 10 and unknown == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("leat.csw('a.csv')", "leat has no 'csw'"),
        ("leat.csv('a.csv').bach(2)", "Pipeline has no 'bach'"),
        ("leat.csv('a.csv').batch(size=2)", "no argument 'size'"),
        ("for batch in leat.csv('a.csv').batch(2):\n    batch.relase()", "Batch has no 'relase'"),
        ("with leat.open('a', split='b', seeed=2) as stream:\n    pass", "no argument 'seeed'"),
        ("with leat.open('a') as mine:\n    mine.positon", "Stream has no 'positon'"),
    ],
)
def test_what_does_not_exist_is_noticed(text: str, problem: str) -> None:
    problems = documents.Reader(Block(MANUAL, 0, "python", text, "")).read()
    assert len(problems) == 1 and problem in problems[0]

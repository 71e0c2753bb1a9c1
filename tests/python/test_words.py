"""Pages for people are easy to read (Flesch reading ease, with syllables of pyphen as textstat counts them), and spelled right
(codespell). tests/check/words.py has the rules that need no package.
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tests" / "check"))
import words  # noqa: E402

LEAST_EASE = 50
PAGES = [page for page in words.pages(ROOT) if page.parent.name == "guide" or page.name in ("README.md", "FAQ.md")]
KNOWN = "leat"


def prose(page: pathlib.Path) -> str:
    """The paragraphs and items of a page that are sentences; tables are not."""
    text = "\n".join(line for line in page.read_text(encoding="utf-8").split("\n") if not line.startswith("|"))
    return "\n".join(found.rstrip(":;,") + ("" if found[-1] in ".!?" else ".") for _, found in words.paragraphs(text) if found.strip(" ·"))


def reading_ease(text: str) -> float:
    """Flesch's: 206.835 - 1.015 words a sentence - 84.6 syllables a word."""
    hyphens = pytest.importorskip("pyphen").Pyphen(lang="en_US")
    found = re.findall(r"[a-z']+", text.lower())
    n_sentences = max(1, len(re.findall(r"[.!?](?:\s|$)", text)))
    n_syllables = sum(len(hyphens.positions(word)) + 1 for word in found)
    return 206.835 - 1.015 * len(found) / n_sentences - 84.6 * n_syllables / len(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_easy_to_read(page: pathlib.Path) -> None:
    if text := prose(page):
        assert reading_ease(text) >= LEAST_EASE


def test_a_hard_text_is_noticed() -> None:
    hard = "Incomprehensible administrative terminology systematically obfuscates fundamental organizational responsibilities."
    assert reading_ease(hard) < LEAST_EASE


def test_pages_are_spelled_right() -> None:
    pytest.importorskip("codespell_lib")
    files = [str(page) for page in words.pages(ROOT)] + [str(file) for file in sorted(ROOT.glob("*/man/*.scd"))]
    done = subprocess.run([sys.executable, "-m", "codespell_lib", "-L", KNOWN, *files], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr

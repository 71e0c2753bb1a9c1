#!/usr/bin/env python3
"""words.py ROOT: the rules of texts for people. Prints a line for each fault; status 1 if there is any.

- README.md has at most 200 lines, any other page 400.
- Every link and picture of a page leads to a file, and to a heading of it.
- A guide begins with links to its sections.
- No sentence of a page, a manual page or a comment of config has more than 30 words, or a phrase of BANNED.

tests/python/test_words.py judges reading ease and spelling of the same pages.
"""

import pathlib
import re
import sys

ROOMS = ("client", "config", "daemon", "pipeline", "proto", "systemd", "tests")
TOPS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THREATS.md")
MOST_LINES, MOST_LINES_README, MOST_WORDS = 400, 200, 30
BANNED = (
    r"\bwhoever\b|\bwho it is\b|\b(?:is|are) told\b|\b(?:is|are) none of\b|\b(?:is|are) let\b|\bof \w+ there (?:is|are)\b"
    r"|\bare not told of\b|\b(?-i:Who) (?!are\b)[^?]*$"
)


def pages(root):
    """README.md and the like, and the Markdown pages of all rooms."""
    return [root / name for name in TOPS] + [page for room in ROOMS for page in sorted((root / room).rglob("*.md"))]


def without_code(text):
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)


def anchors(page):
    heads = re.findall(r"^#+ (.*)", without_code(page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def plain(text):
    """Text without marks: a piece of code counts as one word, a link as its text."""
    text = re.sub(r"`[^`]*`", "It", re.sub(r"!\[[^]]*\]\([^)]*\)", "", text))
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("**", "")


def paragraphs(text):
    """(line, text) of each paragraph, item and cell of a Markdown page, without code, headings and lists of links."""
    start, held = 0, []
    for number, line in enumerate([*re.sub(r"<!--.*?-->", "", without_code(text)).split("\n"), ""], 1):
        item = re.match(r"\s*(?:[-*]|\d+\.) (.*)", line)
        if held and (not line.strip() or item or line.startswith(("|", "#", ":"))):
            yield start, plain(" ".join(held))
            held = []
        if line.startswith("|"):
            yield from ((number, plain(cell.strip())) for cell in re.split(r"(?<!\\)\|", line)[1:-1] if re.search(r"\w", cell))
        elif line.strip() and not line.startswith("#") and "](#" not in line and not line.startswith("Guides: ["):
            start = start if held else number
            held.append(item[1] if item else line.strip())


def comments(text, mark):
    """(line, text) of each block of comments that stand on lines of their own; example lines (`leatctl ..`) are left out."""
    start, held = 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        found = re.match(rf"\s*{mark} ([A-Z(`a-z].*)", line)
        if found and not re.match(r"(?:leat\w*|[\w.]+:) |\s", found[1]):
            start = start if held else number
            held.append(found[1])
        elif held:
            yield start, plain(" ".join(held))
            held = []


def manual(text):
    """(line, text) of each paragraph of a page of scdoc."""
    start, held = 0, []
    for number, line in enumerate([*without_code(text).split("\n"), ""], 1):
        if line.strip() and not re.match(r"[#|;\]\[*_@]|\t|.*@\w+@", line):
            start = start if held else number
            held.append(re.sub(r"^- ", "", line.strip()))
        elif held:
            yield start, " ".join(held).replace("*", "")
            held = []


def sentences(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z(]|(?:lib)?leat)|[;:]\s", text)


def faults_of_text(name, found):
    for line, text in found:
        for sentence in sentences(text):
            n_words = len(re.findall(r"[\w'-]+", re.sub(r"\bIt(?:,? (?:and |or )?\(?It)+", "It", sentence)))  # a list of code is one word
            if n_words > MOST_WORDS:
                yield f"{name}:{line}: a sentence of {n_words} words; at most {MOST_WORDS}: {sentence[:60]}.."
            if banned := re.search(BANNED, sentence, re.I):
                yield f"{name}:{line}: say it plainly: {banned[0]!r}"


def faults_of_page(root, page):
    name, text = page.relative_to(root), page.read_text(encoding="utf-8")
    n_lines, most = text.count("\n"), MOST_LINES_README if page == root / "README.md" else MOST_LINES
    if n_lines > most:
        yield f"{name}: {n_lines} lines; at most {most}"
    if "guide" in name.parts and "](#" not in "".join(text.split("\n")[1:4]):
        yield f"{name}: links to the sections of a guide belong below its title"
    for number, line in enumerate(without_code(text).split("\n"), 1):
        for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", line)):
            there = page.parent / target if target else page
            if not there.exists():
                yield f"{name}:{number}: {target} does not exist"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                yield f"{name}:{number}: {target or name} has no heading #{anchor}"
    yield from faults_of_text(name, paragraphs(text))


def faults(root):
    for page in pages(root):
        yield from faults_of_page(root, page)
    for file in sorted(root.glob("*/man/*.scd")):
        yield from faults_of_text(file.relative_to(root), manual(file.read_text(encoding="utf-8")))
    for file in [*sorted((root / "config").rglob("*.yaml")), *sorted((root / "client/examples").glob("*.yaml"))]:
        yield from faults_of_text(file.relative_to(root), comments(file.read_text(encoding="utf-8"), "#"))


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n")
    sys.exit(bool(found))

#!/usr/bin/env python3
"""words.py ROOT: the rules of texts for people. Prints a line for each fault; status 1 if there is any.

- README.md has at most 200 lines, any other page 400.
- Every link and picture of a page leads to a file, and to a heading of it.
- A guide begins with links to its sections.
- No sentence of a page, a manual page or a comment of config has more than 30 words, or a phrase of BANNED; neither has one of a
  string in C, of a comment in a public header, or of a string or docstring of the Python package.

tests/python/test_words.py judges reading ease and spelling of the same pages.
"""

import ast
import pathlib
import re
import sys

ROOMS = ("client", "config", "daemon", "pipeline", "proto", "systemd", "tests")
TOPS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THREATS.md")
CODE, HEADERS, PACKAGE = ("client", "daemon", "pipeline", "proto"), ("client/leat.h", "pipeline/tokenizer/tokenizer.h"), "client/python/leat"
MOST_LINES, MOST_LINES_README, MOST_WORDS = 400, 200, 30
C_TOKEN = re.compile(r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<macro>\b[A-Z][A-Z0-9_]{2,}\b|\bPRI\w+)"""
                     r"""|(?P<blank>\s+)|'(?:\\.|[^'\\\n])+'|.""", re.S)
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


def c_strings(text):
    """(line, text) of each paragraph of each string in C, with its parts joined and "It" for what is put in."""
    start, held, line = 0, [], 1
    for token in C_TOKEN.finditer(text + ";"):
        if token["string"]:
            start = start if held else line
            held.append(token["string"][1:-1])
        elif held and not token["blank"] and not token["comment"] and not token["macro"]:
            whole = "".join(held)
            if not whole.startswith(("<", "#!")):  # markup, a script
                whole = re.sub(r'\\"[^"]*?\\"|\{[^}]*\}|`[^`]*`|%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z)?[a-zA-Z]', "It", whole)
                yield from ((start, part.replace("\\n", " ")) for part in re.split(r"\\n\\n|\\n(?=[-|A-Z#\s])", whole))
            held = []
        line += token[0].count("\n")


def c_comments(text):
    """(line, text) of each paragraph of each comment in C, but of examples and tables, which are indented."""
    for found in re.finditer(r"/\*(.*?)\*/", text, re.S):
        lines = [re.sub(r"^ ?\* ?", "", line) for line in found[1].split("\n")]
        for part in re.split(r"\n\s*\n|\n(?=- )", "\n".join(line for line in lines if not line.startswith("  "))):
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"\s+", " ", plain(part)).strip()


def python_strings(text):
    """(line, text) of each paragraph, item and argument of each string and docstring, with "It" for what is put in."""
    joined = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.JoinedStr)]
    parts = {(part.lineno, part.col_offset) for node in joined for part in ast.walk(node) if part is not node and hasattr(part, "lineno")}
    whole = [(node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "It" for part in node.values)) for node in joined]
    whole += [(node.lineno, node.value) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)
              and isinstance(node.value, str) and (node.lineno, node.col_offset) not in parts]
    for line, string in whole:
        for part in re.split(r"\n\s*\n|\n(?=\s*[-\w]+:? {2,})|\n(?=\s*- )|\n(?=\s*[\w, /]+: )|\n {8,}(?=\S)|\n(?=\s*>>>)", string):
            if not re.match(r"\s*\d", part):  # a formula
                yield line, re.sub(r"\s+", " ", re.sub(r"`[^`]*`|\"[^\"]*\"|\{[^}]*\}", "It", part)).strip()


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
    for room in CODE:
        for file in sorted(file for file in (root / room).rglob("*") if file.suffix in (".c", ".h", ".def")):
            yield from faults_of_text(file.relative_to(root), c_strings(file.read_text(encoding="utf-8")))
    for name in HEADERS:
        yield from faults_of_text(name, c_comments((root / name).read_text(encoding="utf-8")))
    for file in sorted((root / PACKAGE).rglob("*.py")):
        yield from faults_of_text(file.relative_to(root), python_strings(file.read_text(encoding="utf-8")))


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n")
    sys.exit(bool(found))

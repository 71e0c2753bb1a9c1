#!/usr/bin/env python3
"""words.py ROOT: what holds of the pages for people. README.md has at most 200 lines and a guide 400; every link leads to a file,
and to a heading of it; the pages that are listed in PLAIN have none of the phrases of BANNED. Status 1 and a line for each fault.
"""

import pathlib
import re
import sys

PLAIN = ("README.md", "SECURITY.md", "THREATS.md", "pipeline/GLOSSARY.md", "pipeline/guide", "client/guide", "daemon/guide", "client/python/guide")
BANNED = r"\bwhoever\b|\b(?:is|are) told\b|\bis none of\b|\bis let\b|\bof \w+ there (?:is|are)\b"


def without_code(text):
    return re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S)


def anchors(page):
    heads = re.findall(r"^#+ (.*)", without_code(page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def faults(root):
    tops = [root / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THREATS.md")]
    rooms = ("client", "config", "daemon", "pipeline", "proto", "systemd", "tests")
    for page in [*tops, *(page for room in rooms for page in sorted((root / room).rglob("*.md")))]:
        name, text = page.relative_to(root), page.read_text(encoding="utf-8")
        n_lines, most = text.count("\n"), 200 if page == root / "README.md" else 400
        if n_lines > most:
            yield f"{name}: {n_lines} lines; at most {most}"
        plain = any(name.is_relative_to(part) for part in PLAIN)
        for number, line in enumerate(without_code(text).split("\n"), 1):
            for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", line)):
                there = page.parent / target if target else page
                if not there.exists():
                    yield f"{name}:{number}: there is no {target}"
                elif anchor and there.suffix == ".md" and anchor not in anchors(there):
                    yield f"{name}:{number}: {target or name} has no heading #{anchor}"
            if plain and (found := re.search(BANNED, line, re.I)):
                yield f"{name}:{number}: say it plainly: {found[0]!r}"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n")
    sys.exit(bool(found))

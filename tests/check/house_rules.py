#!/usr/bin/env python3
"""The rules of the house, as far as a machine can tell: who may include whom, how long a file is,
what must not stand in it.

    house_rules.py ROOT

One line for each breach, `file:line: what is wrong`; status 1 if there is any.
"""
import pathlib
import re
import sys

# Which rooms a room may include from; the first that fits a path counts.
MAY_INCLUDE = {
    "proto": {"proto"},
    "pipeline/tokenizer": {"pipeline/tokenizer", "proto"},
    "pipeline": {"pipeline", "pipeline/tokenizer", "proto"},
    "daemon": {"daemon", "pipeline", "pipeline/tokenizer", "proto"},
    "client/cli": {"client/cli", "client", "pipeline", "pipeline/tokenizer", "proto"},
    "client/python": {"client/python", "client", "pipeline/tokenizer", "proto"},
    "client": {"client", "proto"},
}
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
FORBIDDEN = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished work belongs in an issue"),
    (re.compile(r"#\s*if(def)?\b.*\b(UNIT_?)?TEST(ING)?\b"), "code that only tests see"),
    (re.compile(r"\t"), "a tab"),
    (re.compile(r"[ \t]+$"), "blanks at the end of a line"),
]
MAX_LINES = 700
MAX_COLUMNS = 100
NO_SUCH_NAMES = {"util.c", "util.h", "utils.c", "utils.h", "common.h", "common.c", "private.h", "misc.c"}
SOURCES = {".c", ".h", ".cc"}


def room_of(path):
    """The room of an include path or file, the most particular one; None for what is in no room."""
    rooms = [room for room in MAY_INCLUDE if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def check_include(name, number, line):
    found = INCLUDE.match(line)
    room = room_of(name)
    if not found or not room:
        return
    target = found.group(1)
    other = room_of(target)
    if "/" not in target and (target.endswith((".pb-c.h", ".def")) or target == "leat.h"):
        return
    if other is None and not target.endswith((".pb-c.h", ".def")):
        yield f"{name}:{number}: \"{target}\" does not begin with a room"
    elif other and other not in MAY_INCLUDE[room]:
        yield f"{name}:{number}: {room}/ must not know {other}/ (\"{target}\")"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if path.name in NO_SUCH_NAMES:
        yield f"{name}:1: a file is named after what it holds"
    if len(lines) - 1 > MAX_LINES and not path.name.endswith("_tables.c"):  # generated
        yield f"{name}:{MAX_LINES}: more than {MAX_LINES} lines: {len(lines) - 1}"
    if not text.lstrip().startswith(("/*", "//")):
        yield f"{name}:1: no comment that says what this file is"
    for number, line in enumerate(lines, 1):
        yield from check_include(name, number, line)
        for pattern, why in FORBIDDEN:
            if pattern.search(line):
                yield f"{name}:{number}: {why}: {line.strip()[:60]}"
        if len(line) > MAX_COLUMNS:
            yield f"{name}:{number}: more than {MAX_COLUMNS} columns"


def main():
    root = pathlib.Path(sys.argv[1])
    breaches = []
    n_files = 0
    for folder in ("proto", "pipeline", "daemon", "client", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES:
                n_files += 1
                breaches += check_file(root, path)
    for breach in breaches:
        print(breach)
    print(f"{n_files} files, {len(breaches)} breaches")
    sys.exit(1 if breaches or not n_files else 0)


if __name__ == "__main__":
    main()

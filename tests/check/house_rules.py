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


def blanked(text):
    """The text of a C file without its comments, strings and directives; lines stay where they are."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*',
                  lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL | re.MULTILINE)


def arguments(text, start):
    """What stands between the parenthesis at start and its other one, split at the outer commas."""
    depth, parts = 0, [""]
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return [" ".join(part.split()) for part in parts]
        if depth == 1 and text[at] == ",":
            parts.append("")
        elif at > start:
            parts[-1] += text[at]
    return []


def calls(text):
    """(offset, name, arguments) of all that looks like a call, or like the declaration of a function."""
    for found in re.finditer(r"\b(?:(\w+)|\(\*(\w+)\))\s*\(", text):
        yield found.start(), found.group(1) or found.group(2), arguments(text, found.end() - 1)


def check_errors(texts):
    """NULL where a function reports an error: proto/error.h says what to pass. A function is known by
    its name, by how many parameters it has, and by its file if it is static."""
    takes = {}
    for name, text in texts.items():
        for offset, function, parameters in calls(text):
            is_static = text.startswith("static ", text.rfind("\n", 0, offset) + 1)
            errors = {at for at, parameter in enumerate(parameters)
                      if re.fullmatch(r"struct leat_error \*\w*", parameter)}
            if errors or is_static:
                takes.setdefault((name if is_static else "", function, len(parameters)), set()).update(errors)
    for name, text in texts.items():
        for offset, function, given in calls(text):
            key = (function, len(given))
            if any(given[at] == "NULL" for at in takes.get((name, *key), takes.get(("", *key), ()))):
                line = text.count("\n", 0, offset) + 1
                yield f"{name}:{line}: {function}() gets NULL for its error: pass LEAT_ERROR_IGNORED"


def check_tags(texts):
    """Tags and enumerators that two headers of the programs define: a name means one thing."""
    places = {}
    for name, text in texts.items():
        if name.startswith("tests/") or not name.endswith(".h"):
            continue
        for found in re.finditer(r"\b(?:struct|union|enum)\s+(leat_\w+)\s*\{", text):
            places.setdefault(found.group(1), []).append((name, text.count("\n", 0, found.start()) + 1))
        for found in re.finditer(r"\benum\s+\w*\s*\{([^}]*)\}", text):
            for item in re.finditer(r"(?:^|,)\s*(LEAT_\w+)", found.group(1)):
                line = text.count("\n", 0, found.start(1) + item.start(1)) + 1
                places.setdefault(item.group(1), []).append((name, line))
    for tag, where in places.items():
        for name, line in where[1:]:
            yield f"{name}:{line}: {tag} means something else in {where[0][0]}:{where[0][1]}"


def main():
    root = pathlib.Path(sys.argv[1])
    breaches = []
    texts = {}
    for folder in ("proto", "pipeline", "daemon", "client", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES:
                breaches += check_file(root, path)
                texts[path.relative_to(root).as_posix()] = blanked(path.read_text(encoding="utf-8"))
    breaches += check_errors(texts)
    breaches += check_tags(texts)
    for breach in breaches:
        print(breach)
    print(f"{len(texts)} files, {len(breaches)} breaches")
    sys.exit(1 if breaches or not texts else 0)


if __name__ == "__main__":
    main()

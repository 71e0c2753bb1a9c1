#!/usr/bin/env python3
"""The rules of the house, as far as a machine can tell: which room may know which, how long a file
is, how full a folder, what must not stand in it.

    house_rules.py ROOT

One line for each breach, `file:line: what is wrong`; status 1 if there is any.
"""
import collections
import pathlib
import re
import sys

# The rooms, and which of the others each may include from and call: those that are named, and all that these may. A file
# is in the most particular room that its path names. A room's folders have no rules of their own. client/leat.h is a room
# for itself, in which all of its functions are, wherever they are defined.
ROOMS = {
    "proto/base": [],
    "proto": ["proto/base"],
    "pipeline/memory": ["proto"],
    "pipeline/tokenizer": ["proto"],
    "pipeline/io": ["pipeline/memory"],
    "pipeline/spec": ["pipeline/io"],
    "pipeline/block": ["pipeline/memory", "pipeline/spec", "pipeline/tokenizer"],
    "pipeline/cut": ["pipeline/block"],
    "pipeline/stage": ["pipeline/cut", "pipeline/io"],
    "pipeline/sources": ["pipeline/stage", "pipeline/tokenizer"],
    "pipeline/stages": ["pipeline/stage", "pipeline/tokenizer"],
    "pipeline/plan": ["pipeline/stage"],
    "pipeline/cache": ["pipeline/plan"],
    "pipeline/order": ["pipeline/plan"],
    "pipeline/work": ["pipeline/cache", "pipeline/order"],
    "pipeline/run": ["pipeline/work"],
    "pipeline/inspect": ["pipeline/run"],
    "daemon/log": ["pipeline/inspect"],
    "daemon/system": ["pipeline/inspect"],
    "daemon/schedule": ["daemon/system"],
    "daemon/users": ["daemon/log", "daemon/schedule"],
    "daemon/net": ["daemon/users"],
    "daemon/config": ["daemon/net"],
    "daemon/stream": ["daemon/config"],
    "daemon/fetch": ["daemon/config"],
    "daemon/trainer": ["daemon/stream"],
    "daemon/metrics": ["daemon/trainer"],
    "daemon/control": ["daemon/metrics"],
    "daemon/core": ["daemon/control"],
    "client/leat.h": [],
    "client/transport": ["client/leat.h", "proto"],
    "client/connection": ["client/transport"],
    "client/stream": ["client/connection"],
    "client/save": ["client/stream"],
    "client": ["client/save"],
    "client/cli/base": ["client", "pipeline/inspect"],
    "client/cli/COMMAND": ["client/cli/base"],
    "client/cli": ["client/cli/COMMAND"],
    "client/python": ["client/leat.h", "pipeline/tokenizer"],
}
# Each other file or folder of client/cli is a command, a room of its own that knows no other and not the list of them.
CLI_MAIN = {"main", "program"}
MAX_FILES = 40  # of a folder
NOT_CROWDED = ("pipeline/sources", "pipeline/stages", "pipeline/tokenizer")  # one thing a file, however many
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
    rooms = [room for room in ROOMS if (path + "/").startswith(room + "/")]
    room = max(rooms, key=len, default=None)
    command = re.match(r"client/cli/(\w+)", path)
    return f"client/cli/{command.group(1)}" if room == "client/cli" and command and command.group(1) not in CLI_MAIN else room


def rules_of(room):
    return ROOMS[room if room in ROOMS else "client/cli/COMMAND"]


def may_know(room, other):
    """Whether a room may know another: itself, those that are named, and all that these may."""
    return room == other or (room == "client/cli/COMMAND" and other.startswith("client/cli/")) or \
        any(may_know(named, other) for named in rules_of(room))


def is_generated(target):
    return target.endswith((".pb-c.h", ".def"))


def check_include(name, number, line):
    found = INCLUDE.match(line)
    if found and room_of(name):
        target = found.group(1)
        if room_of(target) is None and not is_generated(target) and target != "leat.h":
            yield f"{name}:{number}: \"{target}\" does not begin with a room"


def check_rooms(includes, texts):
    """Includes and calls from a room to one that it must not know."""
    defined = {}
    for name, text in texts.items():
        if room_of(name):
            for found in re.finditer(r"^\w[^;{}()=]*?\b(leat_\w+)\([^;{}]*\)\s*\{", text, re.MULTILINE):
                if not text.startswith("static", found.start()):
                    defined[found.group(1)] = name
    public = texts.get("client/leat.h", "")
    defined.update(dict.fromkeys(re.findall(r"\bLEAT_API\b[^;()]*?\b(leat_\w+)\(", public), "client/leat.h"))
    found = set()
    for name, text in texts.items():
        room = room_of(name)
        if room:
            needs = {target for target in includes[name] if not is_generated(target)}
            needs |= {defined[call] for call in re.findall(r"\b(leat_\w+)\s*\(", text) if call in defined}
            for other in needs:
                if room_of(other) and not may_know(room, room_of(other)):
                    found.add(f"{name}:1: {room} must not know {room_of(other)}, which has {other}")
    return sorted(found)


def circles_of(graph):
    """The strongly connected components of more than one node (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            found.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return [circle for circle in found if len(circle) > 1]


def module_of(name):
    """A header and its source, with the header that it shares with parts of its own."""
    return name.rsplit(".", 1)[0].removesuffix("_internal")


def check_circles(includes):
    graph = collections.defaultdict(set)
    for name, targets in includes.items():
        if room_of(name):
            graph[module_of(name)] |= {module_of(target) for target in targets if target in includes} - {module_of(name)}
    for targets in list(graph.values()):
        for target in targets:
            graph[target] |= set()
    for circle in circles_of(graph):
        yield f"{min(circle)}.h:1: these include one another in a circle: {', '.join(sorted(circle))}"


def check_folders(names):
    folders = collections.defaultdict(set)
    for name in names:
        folders[name.rsplit("/", 1)[0]].add(name.rsplit("/", 1)[1])
    for folder, files in sorted(folders.items()):
        place = folder.removeprefix("tests/")
        if len(files) > MAX_FILES and not place.startswith(NOT_CROWDED) and (room_of(place + "/") or place != folder):
            yield f"{folder}: more than {MAX_FILES} files: {len(files)}"


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if path.name in NO_SUCH_NAMES:
        yield f"{name}:1: a file is named after what it holds"
    if len(lines) - 1 > MAX_LINES:
        yield f"{name}:{MAX_LINES}: more than {MAX_LINES} lines: {len(lines) - 1}"
    own_header = f'#include "{name.removesuffix(".c")}.h"\n'  # which says it
    if not text.lstrip().startswith(("/*", "//", own_header)):
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
    """NULL where a function reports an error: proto/base/error.h says what to pass. A function is known by
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
    includes = {}
    for folder in ("proto", "pipeline", "daemon", "client", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCES:
                breaches += check_file(root, path)
                text = path.read_text(encoding="utf-8")
                name = path.relative_to(root).as_posix()
                texts[name] = blanked(text)
                includes[name] = {found.group(1) for found in map(INCLUDE.match, text.split("\n")) if found}
    breaches += check_errors(texts)
    breaches += check_tags(texts)
    breaches += check_rooms(includes, texts)
    breaches += check_circles(includes)
    breaches += check_folders(texts)
    for breach in breaches:
        print(breach)
    print(f"{len(texts)} files, {len(breaches)} breaches")
    sys.exit(1 if breaches or not texts else 0)


if __name__ == "__main__":
    main()

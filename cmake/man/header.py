"""libleat(3) from client/leat.h: its first comment, and a page for each of its parts (`/* ---- Errors ---- */`), which
is found by the name of each function of it, too.
"""
import re

from scdoc import bold, definition, literal, page, paragraphs, section

NAMES = {
    "Errors": "errors",
    "Clients": "client",
    "Opening a stream": "open",
    "Building a stream in code": "build",
    "The opened stream": "stream",
    "Batches": "batch",
    "Saving": "save",
}


def comment_text(comment):
    """Without the stars before its lines."""
    return "\n".join(re.sub(r"^ \* ?| \*$", "", line) if i else line.strip()
                     for i, line in enumerate(comment.rstrip().split("\n")))


def items(text):
    """[(comment or "", declarations)]: what lies between a comment at the beginning of a line and the next."""
    found = []
    parts = re.split(r"^/\*(.*?)\*/$", text, flags=re.S | re.M)
    for comment, code in zip([""] + parts[1::2], parts[::2]):
        code = re.sub(r"^LEAT_API ([^;]*;)", lambda match: re.sub(r"\n {9}", "\n", match.group(1)), code,
                      flags=re.M).strip("\n")
        if code or comment:
            found.append((comment_text(comment), code))
    return found


def functions(text):
    declared = re.findall(r"^LEAT_API [^;]*?\b(leat_\w+)\(|^static inline void (leat_\w+)\(", text, re.M)
    return [first or second for first, second in declared]


def part_page(title, text, version):
    body = []
    for comment, code in items(text):
        first, *others = re.split(r"\n\n(?=\S)", code)  # a comment is of what follows it without a gap
        body += [literal(first)] if first else []
        body += [paragraphs(comment)] if comment else []
        body += [literal(other) for other in others]
    name = f"libleat-{NAMES[title]}"
    summary = title[0].lower() + title[1:]
    return page(name, 3, version, f"libleat: {summary}",
                section("SYNOPSIS", literal("#include <leat.h>")),
                section("DESCRIPTION", "\n".join(body)),
                also="libleat(3) " + " ".join(f"libleat-{other}(3)" for other in NAMES.values()
                                              if other != NAMES[title]))


def pages(header, version):
    """{file name: markup}, {file name: name of the page that it stands for}."""
    first = comment_text(re.search(r"/\*(.*?)\*/", header, re.S).group(1))
    first = first.split("\n\n", 1)[1]
    parts = re.split(r"^/\* ---- (.*?) ---- \*/$", re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", header, flags=re.S)
                     .rsplit("#endif", 1)[0], flags=re.M)
    made, links, listed = {}, {}, []
    for title, text in zip(parts[1::2], parts[2::2]):
        name = f"libleat-{NAMES[title]}"
        made[f"{name}.3"] = part_page(title, text, version)
        listed.append(definition(f"{bold(name)}(3)", title + ": "
                                 + ", ".join(f"`{function}`" for function in functions(text)) + "."))
        links.update({f"{function}.3": f"{name}.3" for function in functions(text)})
    made["libleat.3"] = page("libleat", 3, version, "the trainer's side of leat, in C",
                             section("SYNOPSIS", literal("#include <leat.h>\n\n"
                                                         "cc trainer.c $(pkg-config --cflags --libs leat)")),
                             section("DESCRIPTION", paragraphs(first)),
                             section("PAGES", "\n".join(listed)),
                             section("VERSION", literal("const char *leat_version(void);")
                                     + "\nReturns the version of the library."),
                             also="leatd(8) leatd.yaml(5) leatctl(1)")
    links["leat_version.3"] = "libleat.3"
    return made, links

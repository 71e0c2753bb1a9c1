"""Texts of tables and comments in scdoc's markup, see scdoc(5): what is said there in plain words with `names` between
backquotes becomes paragraphs, lists of definitions and literal blocks. A paragraph is one line.
"""
import re

SPECIAL = re.compile(r"([\\*_#\[\]|])")


def escape(text: str) -> str:
    """One line with nothing in it that scdoc would take as markup."""
    text = SPECIAL.sub(r"\\\1", text).replace("++", "\\++")
    return "\\" + text if text.startswith(("-", ";")) else text


def inline(text: str) -> str:
    """The same, but what stands between backquotes is bold."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"*{escape(part)}*" if i % 2 else escape(part) for i, part in enumerate(parts))


def clauses(text: str) -> list[str]:
    """The parts of a text between semicolons. Semicolons within `code`, quotes or brackets do not count."""
    return [part.strip() for part in re.findall(r"(?:`[^`]*`|\"[^\"]*\"|\([^)]*\)|;(?! )|[^;`\"(]|[`\"(])+", text)]


def sentence(text: str) -> str:
    """A short help as sentences, one for each clause; names keep their case."""
    made = []
    for part in clauses(text):
        word = part.split(" ", 1)[0].rstrip(":,")
        if word.isalpha() and word not in ("leat", "leatd", "leatctl", "libleat", "true", "false"):
            part = part[0].upper() + part[1:]
        made.append(part if part.endswith((".", "!")) else part + ".")
    return " ".join(made)


def bold(text: str) -> str:
    return f"*{escape(text)}*"


def literal(text: str) -> str:
    """Lines as they are."""
    return "```\n" + text.strip("\n").replace("\\", r"\\").replace("```", "` ``") + "\n```\n"


def paragraphs(text: str) -> str:
    """What is separated by empty lines. Lines that all begin with blanks stay as they are."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        while lines:
            n = next((i for i, line in enumerate(lines) if line.startswith("  ")), len(lines))
            if n == 0:
                n = next((i for i, line in enumerate(lines) if not line.startswith("  ")), len(lines))
                blocks.append(literal("\n".join(lines[:n])).rstrip("\n"))
            else:
                blocks.append(inline(" ".join(line.strip() for line in lines[:n])))
            lines = lines[n:]
    return "\n\n".join(blocks) + "\n"


def definition(term: str, *texts: str) -> str:
    """A term, which is markup already, with paragraphs below it."""
    return term + "\n" + "\n\n".join("\t" + inline(" ".join(text.split())) for text in texts if text) + "\n"


def section(title: str, body: str, level: int = 1) -> str:
    return f"{'#' * level} {title}\n\n{body.strip(chr(10))}\n"


def page(name: str, number: int, version: str, summary: str, *sections: str, also: str = "") -> str:
    """A whole page; `also` names others, separated by blanks."""
    head = f'{name}({number}) "" "leat {version}"'
    names = section("NAME", f"{escape(name)} - {escape(summary.replace('`', ''))}")
    see = [section("SEE ALSO", ", ".join(bold(other.split("(")[0]) + f"({other.split('(')[1]}"
                                         for other in also.split()))] if also else []
    return "\n".join([head + "\n", names, *(text for text in sections if text), *see])

#!/usr/bin/env python3
"""Makes a corpus of at least so many megabytes from what lies on a Debian machine: manual pages, documentation,
translations, programs. Where there is too little a generator fills up, so that the corpus is always there.

    corpus.py FOLDER [--mb N]

FOLDER gets prose, docs, code, japanese and other (scripts of all the world): NAME.jsonl with one document
{"t": text} a line, and NAME.docs with the same for tokenizer_bench: a NUL between documents. The same
machine gives the same files.
"""
import argparse
import ast
import gzip
import hashlib
import json
import pathlib
import random
import re
import struct
import sys

import texts
import training_text

SHARES = {"prose": 0.2, "docs": 0.3, "code": 0.25, "japanese": 0.1, "other": 0.15}
LENGTHS = (200, 700, 1500, 3000, 6000, 8000, 8000, 20000)
FILE_MAX = 400_000
PARAGRAPHS_MAX = 30  # of one file
JAPANESE = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
SENTENCE = re.compile(r"[A-Z\"'(][^\x00-\x1f<>{}|\\=_@#*]{60,}[.!?][\"')]?\Z")
ROFF = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\s[-+]?\d|\\[&|^:%]|\\\*\(..|\\\*.")
ROFF_NAMES = {"\\-": "-", "\\(aq": "'", "\\(dq": '"', "\\(em": "\u2014", "\\(en": "\u2013", "\\(bu": "\u2022", "\\e": "\\", "\\ ": " ", "\\~": "\u00a0", "\\'": "'", "\\(co": "\u00a9"}


def read(path):
    """The text of a file, gzip or not; empty if it is none."""
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, gzip.BadGzipFile):
        return ""
    if b"\x00" in data[:4096]:
        return ""
    return data[:FILE_MAX * 4].decode("utf-8", errors="replace")[:FILE_MAX]


def files(folder, *patterns):
    """Files in an order of their own: spread over all packages, the same at every run."""
    found = {path for pattern in patterns for path in pathlib.Path(folder).glob(pattern) if path.is_file() and not path.is_symlink()}
    return sorted(found, key=lambda path: hashlib.md5(str(path).encode()).digest())


def manual(text):
    """A manual page without its requests."""
    lines = []
    for line in text.split("\n"):
        if line.startswith((".", "'")):
            word, _, rest = line.partition(" ")
            line = rest.strip('"') if word in (".SH", ".SS", ".B", ".I", ".BR", ".IP", ".TP", ".Sh", ".Ss") else ""
            lines.append("\n" + line if word in (".SH", ".SS", ".PP", ".P", ".IP", ".TP", ".LP", ".Sh", ".Pp") else line)
            continue
        lines.append(line)
    text = "\n".join(line for line in lines if line)
    for name, meaning in ROFF_NAMES.items():
        text = text.replace(name, meaning)
    return ROFF.sub("", text)


def is_prose(paragraph):
    words = paragraph.split(" ")
    letters = sum(c.isalpha() or c == " " for c in paragraph)
    return len(words) > 12 and letters > 0.93 * len(paragraph) and SENTENCE.match(paragraph) and paragraph.isascii()


def paragraphs(text):
    for paragraph in re.split(r"\n\s*\n", text):
        yield " ".join(line.strip(" \t*#/;") for line in paragraph.split("\n")).strip()


def prose_parts():
    """Paragraphs of whole English sentences out of manuals and documentation."""
    sources = files("/usr/share/man", "man[1-8]/*") + files("/usr/share/doc", "**/*") + files("/usr/share/info", "*") + files("/usr/share/perl", "**/*.pod")
    sources += [path for root in python_roots() for path in files(root, "**/*.py")]
    seen = set()
    for path in sources:
        text = read(path)
        found = [paragraph for paragraph in paragraphs(manual(text) if "/man/" in str(path) else text) if is_prose(paragraph) and paragraph not in seen]
        for paragraph in found[:PARAGRAPHS_MAX]:
            seen.add(paragraph)
            yield paragraph + "\n"


def docs_parts():
    for path in files("/usr/share/doc", "**/*", "**/.*") + files("/usr/share/info", "*") + files("/usr/share/man", "man[1-8]/*"):
        text = read(path)
        if text:
            yield text


def python_roots():
    return sorted({pathlib.Path(ast.__file__).parent, *pathlib.Path("/usr/lib").glob("python3*")})


def code_parts():
    found = [path for root in python_roots() for path in files(root, "**/*.py", "**/*.h")]
    found += files("/usr/include", "**/*.h", "**/*.hpp") + files("/usr/share/perl", "**/*.pm", "**/*.pl") + files("/usr/lib/x86_64-linux-gnu/perl-base", "**/*.pm")
    found += files("/usr/share", "*/**/*.js", "*/**/*.css", "*/**/*.cmake", "*/**/*.sh", "*/**/*.vim", "*/**/*.m4", "*/**/*.json") + files("/etc", "**/*.conf", "init.d/*")
    found += files(pathlib.Path(__file__).parents[2], "*/**/*.[ch]")
    found.sort(key=lambda path: hashlib.md5(str(path).encode()).digest())
    return filter(None, map(read, found))


def translations(path):
    """The translated messages of a .mo file."""
    data = path.read_bytes()
    if data[:4] != b"\xde\x12\x04\x95" or len(data) < 20:
        return
    n, _, start = struct.unpack_from("<3I", data, 8)
    for number in range(n):
        if start + 8 * number + 8 > len(data):
            return
        length, offset = struct.unpack_from("<2I", data, start + 8 * number)
        text = data[offset:offset + length].decode("utf-8", errors="replace").replace("\x00", "\n")
        if text and "Content-Type:" not in text:
            yield text


def language_parts(languages):
    for path in files("/usr/share/locale", *(f"{language}/**/*.mo" for language in languages)):
        messages = list(translations(path))
        if messages:
            yield "\n".join(messages) + "\n"
    for path in files("/usr/share/man", *(f"{language}/man*/*" for language in languages)):
        text = manual(read(path))
        if text:
            yield text


def japanese_parts():
    """Only lines that hold Japanese."""
    for text in language_parts(["ja", "ja_*"]):
        lines = [line for line in text.split("\n") if len(JAPANESE.findall(line)) * 3 > len(line)]
        if lines:
            yield "\n".join(lines) + "\n"


def other_parts():
    languages = ["zh*", "ko", "ru", "uk", "ar", "he", "fa", "hi", "bn", "ta", "te", "ml", "th", "vi", "el", "de", "fr", "pl", "tr", "ka", "am", "my", "km", "si", "gu", "pa", "ne", "bo", "dz", "hy", "bg",
                 "sr", "kk", "mn", "ur", "lo", "kn", "mr", "or", "as", "is", "cs", "hu"]
    by_language = [language_parts([language]) for language in languages]
    while by_language:  # each in its turn, so that all are there
        for parts in list(by_language):
            part = next(parts, None)
            if part is None:
                by_language.remove(parts)
            else:
                yield part


def made_parts(kind):
    """The generator, where the machine has too little; it never ends."""
    rng = random.Random(f"leat corpus {kind}")
    maker = texts.Texts(rng, ["<s>", "<|endoftext|>", "[MASK]", "<pad>"])
    words = {"prose": training_text.english(), "docs": training_text.english(), "code": training_text.lines(training_text.CODE), "other": training_text.lines(training_text.OTHERS),
             "japanese": [line for line in training_text.lines(training_text.OTHERS) if JAPANESE.search(line)]}[kind]
    letters = {"japanese": "".join(words)}.get(kind)
    while True:
        if letters and rng.random() < 0.7:
            yield "".join(rng.choices(letters, k=rng.randint(5, 40))) + "。\n"
        elif kind in ("docs", "other") and rng.random() < 0.3:
            yield maker.text() + "\n"
        else:
            pool = " ".join(rng.choices(words, k=4)).split(" ")
            rng.shuffle(pool)
            yield " ".join(pool) + "\n"


def documents(parts, n_bytes, rng):
    """Texts of many lengths, n_bytes in all, cut at ends of lines where there are some. A part is one
    file, or one paragraph; short parts are put together."""
    waiting, n_waiting, total = [], 0, 0
    wanted = rng.choice(LENGTHS)
    for part in parts:
        for line in part.splitlines(keepends=True):
            waiting.append(line)
            n_waiting += len(line)
            if n_waiting >= wanted:
                text = "".join(waiting)
                yield text
                total += len(text.encode())
                waiting, n_waiting = [], 0
                wanted = 300_000 if rng.random() < 0.002 else rng.choice(LENGTHS)
                if total >= n_bytes:
                    return
    if waiting:
        yield "".join(waiting)


def make(kind, n_bytes):
    """(documents, bytes that the generator made)."""
    rng = random.Random(f"leat documents {kind}")
    parts = {"prose": prose_parts, "docs": docs_parts, "code": code_parts, "japanese": japanese_parts, "other": other_parts}[kind]()
    found = list(documents(parts, n_bytes, rng))
    total = sum(len(text.encode()) for text in found)
    missing = max(0, n_bytes - total)
    if missing > n_bytes // 100:
        found += documents(made_parts(kind), missing, rng)
    else:
        missing = 0
    return found, missing


def write(folder, kind, found):
    with open(folder / f"{kind}.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"t": text}, ensure_ascii=False) + "\n" for text in found)
    (folder / f"{kind}.docs").write_bytes("\0".join(text.replace("\0", " ") for text in found).encode())


def main():
    parser = argparse.ArgumentParser(description="Makes a corpus from what lies on a Debian machine.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mb", type=float, default=24)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for kind, share in SHARES.items():
        found, made = make(kind, int(share * arguments.mb * 1e6))
        write(arguments.folder, kind, found)
        n_bytes = sum(len(text.encode()) for text in found)
        total += n_bytes
        print(f"{kind}: {n_bytes / 1e6:.1f} MB in {len(found)} documents, the longest {max(map(len, found))} characters; {made / 1e6:.1f} MB made by the generator", flush=True)
    print(f"{total / 1e6:.1f} MB in {arguments.folder}")
    sys.exit(0 if total >= arguments.mb * 1e6 * 0.98 else 1)


if __name__ == "__main__":
    main()

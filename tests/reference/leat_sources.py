"""CSV, JSONL and plain text by Python's own modules, from files of the formats that Python or the
programs zstd and lz4 decompress, and Parquet by pyarrow.

Written from the documentation (the arguments of the sources), not from the C code. Bytes that are
no UTF-8 go along as surrogates until it is said what becomes of them.
"""
import bz2
import csv
import functools
import glob
import gzip
import itertools
import json
import lzma
import os
import pathlib
import re
import subprocess
import sys

from leat_elements import BadRecord


DECODER = json.JSONDecoder()


class Record:
    """One record: `file` (index), `offset` of its first byte, and its values when asked."""

    def __init__(self, file, offset, place, values, raw):
        self.file, self.offset, self.place = file, offset, place
        self.values, self.raw = values, raw  # raw: its bytes, without the line end
        self.source = None  # the one that it is of, if there are several


def to_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def without_end(line):
    """The bytes of a record of one or more lines, without its last line end."""
    return to_bytes(line[:-1].removesuffix("\r") if line.endswith("\n") else line.removesuffix("\r"))


def listed(value):
    return [value] if isinstance(value, str) else value or []


def expand_ranges(entry):
    """{08..10} stands for 08, 09, 10; the last range turns fastest."""
    found = re.search(r"\{(\d{1,9})\.\.(\d{1,9})\}", entry)
    if not found:
        return [entry]
    first, last = found.groups()
    padded = any(len(number) > 1 and number[0] == "0" for number in found.groups())
    width = max(len(first), len(last)) if padded else 0
    step = 1 if int(first) <= int(last) else -1
    return itertools.chain.from_iterable(
        expand_ranges(f"{entry[:found.start()]}{number:0{width}}{entry[found.end():]}")
        for number in range(int(first), int(last) + step, step))


def files_below(directory, suffixes):
    """All files, names by bytes in each directory; compressed ones count by their name without .gz etc."""
    for name in sorted(os.listdir(directory), key=to_bytes):
        path = os.path.join(directory, name)
        plain = re.sub(r"\.(gz|zst|lz4|bz2|xz)$", "", name)
        if name.startswith("."):
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            yield from files_below(path, suffixes)
        elif os.path.isfile(path) and (not suffixes or any(n.endswith(s) for n in (name, plain) for s in suffixes)):
            yield path


def expand(args, directory):
    """`paths` to files: matches of one glob by bytes, the order of the list kept."""
    files = []
    for path in itertools.chain.from_iterable(map(expand_ranges, listed(args["paths"]))):
        whole = str(directory / path)
        for match in sorted(glob.glob(whole), key=to_bytes) if glob.has_magic(path) else [whole]:
            files += files_below(match, listed(args.get("suffix"))) if os.path.isdir(match) else [match]
    return files


def read_file(path):
    """Its bytes, decompressed if its first ones say so."""
    data = pathlib.Path(path).read_bytes()
    for magic, decompress in [(b"\x1f\x8b\x08", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ\0", lzma.decompress),
                              (b"\x28\xb5\x2f\xfd", by_program("zstd")), (b"\x04\x22\x4d\x18", by_program("lz4"))]:
        if data.startswith(magic):
            return decompress(data)
    return data


def by_program(name):
    return lambda data: subprocess.run([name, "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout


def text_of(path):
    """(offset, bytes) of what stands behind a byte order mark."""
    data = read_file(path)
    offset = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    return offset, data[offset:]


def mend(text, args, default):
    """Bytes as UTF-8, or a bad record."""
    raw = to_bytes(text) if isinstance(text, str) else text
    if args.get("invalid_utf8", default) == "replace":
        return raw.decode("utf-8", "replace").encode()
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise BadRecord("is not UTF-8") from error
    return raw


def lines_of(path):
    """(offset, line with its end) of a file, without a byte order mark."""
    start, data = text_of(path)
    data, offset = bytes(start) + data, start
    while offset < len(data):
        end = data.find(b"\n", offset) + 1 or len(data)
        yield offset, data[offset:end].decode("utf-8", "surrogateescape")
        offset = end


class Leaf:
    """A source of files."""

    stages = []  # of this one alone, within a concat or mix

    def leaves(self):
        return [self]


class TextSource(Leaf):
    """A document is a line, a file, or what stands between separators; none is of line ends alone."""

    def __init__(self, args, directory):
        self.files, self.args = expand(args, directory), args
        self.names = [os.path.relpath(path, directory) for path in self.files]
        self.field, self.file_field = args.get("field", "text"), args.get("file_field")
        self.fields = {name: ("text", False) for name in (self.field, self.file_field) if name}

    def documents(self, path):
        """(offset, document)"""
        offset, data = text_of(path)
        how = self.args.get("document", "line")
        separator = self.args["separator"].encode() if how == "separator" else b"\n"
        for part in [data] if how == "file" else data.split(separator):
            document = part.removesuffix(b"\r") if how == "line" else part
            if document if how == "line" else document.strip(b"\r\n"):
                yield offset, document
            offset += len(part) + len(separator)

    def records(self):
        for file, path in enumerate(self.files):
            for offset, document in self.documents(path):
                yield Record(file, offset, f"{path}@{offset}",
                             lambda file=file, document=document: self.values(file, document), document)

    def values(self, file, document):
        values = {self.field: mend(document, self.args, "replace")}
        if self.file_field:
            values[self.file_field] = to_bytes(self.names[file])
        return values


class CsvSource(Leaf):
    def __init__(self, args, directory):
        self.files = expand(args, directory)
        self.args = args
        self.has_header = args.get("header", True)
        self.names = args.get("names") or next(self.rows(self.files[0]))[1]
        self.fields = {name: ("text", False) for name in self.names}

    def rows(self, path):
        """(offset, fields, raw bytes) of every row that is not blank."""
        starts, lines = [], []

        def feed():
            for offset, line in lines_of(path):
                starts.append(offset)
                lines.append(line)
                yield line
        quote = self.args.get("quote", '"')
        reader = csv.reader(feed(), delimiter=self.args.get("delimiter", ","), strict=True,
                            quotechar=quote or None, quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE)
        n_lines = 0
        for fields in reader:
            start, raw = starts[n_lines], "".join(lines[n_lines:reader.line_num])
            n_lines = reader.line_num
            if fields:
                yield start, fields, without_end(raw)

    def records(self):
        for file, path in enumerate(self.files):
            rows = self.rows(path)
            if self.has_header:
                next(rows)
            for offset, fields, raw in rows:
                yield Record(file, offset, f"{path}@{offset}",
                             lambda fields=fields: self.values(fields), raw)

    def values(self, fields):
        if len(fields) != len(self.names):
            raise BadRecord(f"{len(fields)} fields, not {len(self.names)}")
        return {name: mend(field, self.args, "replace") for name, field in zip(self.names, fields)}


class JsonlSource(Leaf):
    """Fields are what the records of the first file have, in the order in which they appear; a
    map's are `outer.inner`."""

    def __init__(self, args, directory):
        self.files = expand(args, directory)
        self.declared = args.get("fields")
        self.fields = {}
        if self.declared:
            self.fields = {name: ("text" if kind == "json" else kind, False) for name, kind in self.declared.items()}
            return
        for record in self.records():
            for name, value in flatten(record.parsed).items():
                kind = kind_of(value)
                known = self.fields.get(name)
                if kind and (known is None or (known[0] == "int64" and kind[0] == "float64")):
                    self.fields[name] = kind

    def records(self):
        for file, path in enumerate(self.files):
            for offset, line in lines_of(path):
                if without_end(line):
                    parsed = json.loads(line)
                    record = Record(file, offset, f"{path}@{offset}",
                                    lambda parsed=parsed, line=line: self.values(parsed, line), without_end(line))
                    record.parsed = parsed
                    yield record

    def values(self, parsed, line):
        found = flatten(parsed)
        for name in [name for name, kind in (self.declared or {}).items() if kind == "json"]:
            found[name] = members(line).get(name) if parsed.get(name) is not None else None
        return {name: convert(found.get(name), kind) for name, kind in self.fields.items()}


def members(line):
    """The members of an object, each as the JSON that it is written as."""
    found, at = {}, line.index("{") + 1
    while (at := skip_blanks(line, at, ",")) < len(line) and line[at] == '"':
        key, at = DECODER.raw_decode(line, at)
        start = skip_blanks(line, at, ":")
        at = DECODER.raw_decode(line, start)[1]
        found[key] = line[start:at]
    return found


def skip_blanks(line, at, mark):
    while at < len(line) and line[at] in " \t\r\n" + mark:
        at += 1
    return at


def flatten(value, prefix=""):
    fields = {}
    for key, item in value.items():
        if isinstance(item, dict):
            fields.update(flatten(item, f"{prefix}{key}."))
        else:
            fields[prefix + key] = item
    return fields


def kind_of(value):
    if isinstance(value, list):
        return ("float64" if any(isinstance(item, float) for item in value) else "int64", True)
    if value is None:
        return None
    return ({str: "text", bool: "bool", int: "int64", float: "float64"}[type(value)], False)


def convert(value, kind):
    dtype, is_list = kind
    if is_list:
        return [float(item) if dtype == "float64" else item for item in value or []]
    if dtype == "text":
        return to_bytes(value or "")
    if value is None:
        raise BadRecord("a value is missing")
    return float(value) if dtype == "float64" else int(value)


READ_PARQUET = """
import json, sys, pyarrow as pa, pyarrow.parquet as pq
def kind_of(type):
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return [kind_of(type.value_type)[0], True]
    names = {"string": "text", "large_string": "text", "float": "float32", "double": "float64"}
    return [names.get(str(type), str(type)), False]
table = pq.read_table(sys.argv[1])
print(json.dumps([[field.name, *kind_of(field.type)] for field in table.schema]))
for row in table.to_pylist():
    print(json.dumps(row))
"""


@functools.lru_cache
def python_with_pyarrow():
    """This Python, the one that LEAT_ORACLE_PYTHON names, or None."""
    for python in [sys.executable, os.environ.get("LEAT_ORACLE_PYTHON")]:
        if python and subprocess.run([python, "-c", "import pyarrow"], capture_output=True, check=False).returncode == 0:
            return python
    return None


@functools.lru_cache
def read_parquet(path, _changed):
    """[[name, dtype, is_list] of each column], and the rows."""
    done = subprocess.run([python_with_pyarrow(), "-c", READ_PARQUET, path], stdout=subprocess.PIPE, check=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class ParquetSource(Leaf):
    """Flat columns and lists of numbers; null is missing, or an empty text or list. The place of a row, by which some stages draw,
    counts the bytes of leat's own frames, so it is not known here."""

    def __init__(self, args, directory):
        self.files = expand(args, directory)
        self.tables = [read_parquet(path, os.stat(path).st_mtime_ns) for path in self.files]
        kinds = {name: (dtype, is_list) for name, dtype, is_list in self.tables[0][0]}
        self.fields = {name: kinds[name] for name in args.get("fields") or kinds}

    def records(self):
        for file, (path, table) in enumerate(zip(self.files, self.tables)):
            for number, row in enumerate(table[1:]):
                yield Record(file, 0, f"{path}@{number}", lambda row=row: self.values(row), b"")

    def values(self, row):
        return {name: self.value(row[name], *kind) for name, kind in self.fields.items()}

    def value(self, value, dtype, is_list):
        number = float if dtype.startswith("float") else int
        if is_list:
            return [number(item) for item in value or []]
        if dtype == "text":
            return to_bytes(value or "")
        if value is None:
            raise BadRecord("a value is missing")
        return number(value)


class Composite:
    """Several sources: `concat` one after the other, `mix` each for itself. `stages` beside a source
    are its own; those beside a concat belong to each of its sources."""

    def __init__(self, args, directory, is_mix):
        self.sources = []
        for item in args["sources"]:
            (kind, inner), = ((key, value) for key, value in item.items() if key != "stages")
            self.sources.append(open_source(kind, inner, directory))
            for leaf in self.sources[-1].leaves():
                leaf.stages = leaf.stages + (item.get("stages") or [])
        self.lanes = self.sources if is_mix else [self]
        self.mixing = args if is_mix else None
        self.files = [file for source in self.sources for file in source.files]

    def leaves(self):
        return [leaf for source in self.sources for leaf in source.leaves()]

    def records(self):
        n_files = 0
        for source in self.sources:
            for record in source.records():
                record.file += n_files
                record.source = record.source or source
                yield record
            n_files += len(source.files)


def lanes_of(source):
    """[(source, number of files before it)] of those that are mixed, else itself."""
    lanes, n_files = [], 0
    for lane in getattr(source, "lanes", [source]):
        lanes.append((lane, n_files))
        n_files += len(lane.files)
    return lanes


def open_source(kind, args, directory):
    if kind in ("concat", "mix"):
        return Composite(args, directory, kind == "mix")
    return {"csv": CsvSource, "jsonl": JsonlSource, "parquet": ParquetSource, "text": TextSource}[kind](args, directory)

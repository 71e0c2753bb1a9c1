"""CSV and JSONL by Python's own modules.

Written from the documentation (the arguments of the sources), not from the C code. Bytes that are
no UTF-8 go through as they are (surrogateescape).
"""
import csv
import glob
import json

from leat_elements import BadRecord


DECODER = json.JSONDecoder()


class Record:
    """One record: `file` (index), `offset` of its first byte, and its values when asked."""

    def __init__(self, file, offset, place, values, raw):
        self.file, self.offset, self.place = file, offset, place
        self.values, self.raw = values, raw  # raw: its bytes, without the line end


def to_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def without_end(line):
    """The bytes of a record of one or more lines, without its last line end."""
    return to_bytes(line[:-1].removesuffix("\r") if line.endswith("\n") else line.removesuffix("\r"))


def expand(paths, directory):
    """Paths and globs to files: matches of one glob by bytes, the order of the list kept."""
    files = []
    for path in [paths] if isinstance(paths, str) else paths:
        whole = str(directory / path)
        files += sorted(glob.glob(whole), key=to_bytes) if glob.has_magic(path) else [whole]
    return files


def lines_of(path):
    """(offset, line with its end) of a file, without a byte order mark."""
    with open(path, "rb") as file:
        data = file.read()
    offset = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while offset < len(data):
        end = data.find(b"\n", offset) + 1 or len(data)
        yield offset, data[offset:end].decode("utf-8", "surrogateescape")
        offset = end


class CsvSource:
    def __init__(self, args, directory):
        self.files = expand(args["paths"], directory)
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
        return {name: to_bytes(field) for name, field in zip(self.names, fields)}


class JsonlSource:
    """Fields are what the records of the first file have, in the order in which they appear; a
    map's are `outer.inner`."""

    def __init__(self, args, directory):
        self.files = expand(args["paths"], directory)
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
                if line.strip(" \t\r\n"):
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


class Composite:
    """Several sources: `concat` one after the other, `mix` each for itself. Fields are those that
    all have with the same type."""

    def __init__(self, args, directory, is_mix):
        self.sources = [open_source(kind, inner, directory)
                        for item in args["sources"] for kind, inner in item.items()]
        self.lanes = self.sources if is_mix else [self]
        self.mixing = args if is_mix else None
        self.files = [file for source in self.sources for file in source.files]
        self.fields = {name: field for name, field in self.sources[0].fields.items()
                       if all(source.fields.get(name) == field for source in self.sources)}

    def records(self):
        n_files = 0
        for source in self.sources:
            for record in source.records():
                record.file += n_files
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
    return {"csv": CsvSource, "jsonl": JsonlSource}[kind](args, directory)

#!/usr/bin/env python3
"""The batches of a stream, computed a second time: slowly, in another language, from the documentation.

    leat_reference.py FILE.yaml [--stream S] [--epochs N] [--epoch E] [--rank R --world-size W] [--seed N]

prints the digest that `leatctl run FILE.yaml --digest` must print too. Nothing is shared with the C
code: CSV and JSON are read by Python's modules, tokens are found by trying all of them. What the
documentation leaves open is an error of the documentation. Streams end at their first bad record
unless they say `on_error: skip` or `quarantine`.
"""
import argparse
import hashlib
import itertools
import pathlib
import struct
import sys

import yaml

import leat_batches
import leat_mix
import leat_chat
import leat_exec
import leat_numbers
import leat_order
import leat_rounds
import leat_sources
from leat_elements import INTEGERS, TRUTHS, BadRecord, fit, pack, parse, parse_float, text_of
from leat_tokens import Tokenizer

STAGES = {**leat_numbers.STAGES, **leat_chat.STAGES, **leat_exec.STAGES}


class Column:
    """What is known of a field: `dtype`, `is_list`, how it is padded, whose mask it is."""

    def __init__(self, dtype, is_list=False):
        self.dtype, self.is_list = dtype, is_list
        self.pad = None
        self.pad_value = None  # if nothing else is said
        self.mask_of = None
        self.are_labels = False
        self.said = None  # where a row has what the model is to say
        self.of_records = True
        self.shaped_by = None  # made with the batch, in the shape of that column
        self.are_sums = False  # cu_seqlens: of lengths, over the whole batch


class Plan:
    """The schema walked through all stages: what to do with a record, then with the order."""

    def __init__(self, spec, directory):
        self.directory = directory
        (self.source_kind, self.source_args), = spec["source"].items()
        self.seed = spec.get("seed", 0)
        self.uneven, self.skips = spec.get("uneven", "drop"), leat_rounds.Skips(spec)
        self.skips_bad = spec.get("on_error", "fail") != "fail"
        self.source = leat_sources.open_source(self.source_kind, self.source_args, directory)
        self.orders = []  # (name, args, ordinal)
        self.batch = self.bucket = None
        leaves = [leaf for leaf in self.source.leaves() if leaf is not self.source]
        self.own = {leaf: self.walk_source(i, leaf) for i, leaf in enumerate(leaves)}
        self.columns = {name: Column(dtype, is_list) for name, (dtype, is_list) in self.source_fields()}
        self.source_columns = dict(self.columns)
        self.steps = []   # functions of (row, context), in order; False drops the row
        self.walk(spec.get("stages", []), 0)

    def walk_source(self, i, leaf):
        """The stages of one of several sources: its columns before and behind them, and the steps."""
        self.columns = {name: Column(*field) for name, field in leaf.fields.items()}
        before, self.steps = dict(self.columns), []
        self.walk(leaf.stages, (i + 1) << 32)
        return before, self.columns, self.steps

    def source_fields(self):
        """Of several sources those that all have with the same type."""
        if not self.own:
            return list(self.source.fields.items())
        each = [{name: (column.dtype, column.is_list) for name, column in behind.items()}
                for _, behind, _ in self.own.values()]
        return [(name, field) for name, field in each[0].items()
                if all(fields.get(name) == field for fields in each)]

    def values_of(self, record, leaf, row, context):
        """The values of a record by their names, as its source and the stages of that source alone
        give them; None: they drop it."""
        values = record.values()
        if leaf not in self.own:
            return values
        before, behind, steps = self.own[leaf]
        row.update((column, values[name]) for name, column in before.items())
        if not all(step(row, context) is not False for step in steps):
            return None
        return {name: row[behind[name]] for name in self.source_columns}

    def walk(self, stages, first_ordinal):
        ordinals = {}
        for stage in stages:
            (name, args), = ((stage, {}),) if isinstance(stage, str) else stage.items()
            self.ordinal = first_ordinal + ordinals.get(name, 0)
            ordinals[name] = ordinals.get(name, 0) + 1
            if name == "dedup":
                args = {**(args or {}), "hash": self.record_hash(args or {}, 0)}
            if name in ("chunk", "pack"):
                args = getattr(self, "cut_" + name)(args)
            if name in leat_order.ORDERS or name == "repeat":
                self.orders.append((name, args, self.ordinal))
            elif name in STAGES:
                STAGES[name](self, args or {})
            else:
                getattr(self, "stage_" + name)(args or {})

    # ---- stages ----

    def stage_template(self, args):
        parts = [split_part(part, self.columns) for part in args["parts"]]
        join = args.get("join", " ").encode()
        output = self.columns[args["output"]] = Column("text")

        def step(row, _context):
            texts = (fill_part(part, row) for part in parts)
            row[output] = join.join(text for text in texts if text is not None)
        self.steps.append(step)

    def new_column(self, dtype, is_list=False):
        return Column(dtype, is_list)

    def stage_tokenize(self, args):
        if "tokenizer" in args:
            return leat_chat.tokenize_words(self, args)
        source = self.columns[args["input"]]
        output = self.columns[args["output"]] = Column("int32", True)
        tokenizer = Tokenizer(args, self.directory)
        ends = ([args["bos_id"]] if "bos_id" in args else [], [args["eos_id"]] if "eos_id" in args else [])
        room = args.get("max_length", 2**62) - len(ends[0]) - len(ends[1])

        def step(row, context):
            key = leat_order.rng_key(self.seed_of(context), args.get("seed", 0), context["epoch"],
                                     leat_order.TOKENIZE, row["file"])
            ids = tokenizer.encode(row[source], leat_order.fold(key, row["offset"]))
            if len(ids) > room:
                ids = ids[len(ids) - room:] if args.get("truncation_side") == "left" else ids[:room]
            row[output] = ends[0] + ids + ends[1]
        self.steps.append(step)

    def stage_pad(self, args):
        column = self.columns[args["input"]]
        column.pad = {"length": args.get("length"), "multiple_of": args.get("multiple_of", 1),
                      "left": args.get("side") == "left", "value": args.get("value", column.pad_value)}
        if "mask" in args:
            self.columns[args["mask"]] = mask = Column("int32", True)
            mask.mask_of = column
        if "length" in args and column.of_records:
            def step(row, _context):
                if len(row[column]) > args["length"]:
                    raise BadRecord("longer than pad.length")
            self.steps.append(step)

    def stage_cast(self, args):
        source = self.columns[args["input"]]
        dtype = args["dtype"]
        output = Column(dtype, source.is_list)
        output.pad = source.pad
        self.columns[args.get("output", args["input"])] = output
        values = {scalar_text(key): parse(scalar_text(value), dtype)
                  for key, value in args.get("map", {}).items()}
        default = parse(scalar_text(args["default"]), dtype) if "default" in args else None

        def cast_text(text):
            if text and not values:
                return parse(text, dtype)
            value = values.get(text, default)
            if value is None:
                raise BadRecord(f"{text!r} has no value")
            return value

        def step(row, _context):
            value = row[source]
            if source.dtype == "text":
                row[output] = cast_text(value)
            elif source.is_list:
                row[output] = [fit(item, dtype) for item in value]
            else:
                row[output] = fit(value, dtype)
        self.steps.append(step)

    def stage_filter(self, args):
        column = self.columns[args["input"]]

        self.keep(lambda row, _context: condition_holds(args, row[column], column.dtype == "text"))

    def keep(self, holds):
        """A condition, applied where it stands: after what permutes the records before it."""
        if self.orders:
            self.orders.append(("keep", lambda row: holds(row, {"epoch": self.epoch}), self.ordinal))
        else:
            self.steps.append(holds)

    def stage_sample(self, args):
        index = self.ordinal

        def holds(row, context):
            epoch = context["epoch"] if args.get("each_epoch") else 0
            key = leat_order.rng_key(0, args.get("seed", 0), epoch, leat_order.SAMPLE, row["file"])
            key = leat_order.fold(leat_order.fold(key, row["offset"]), index)
            return (key >> 11) * 2.0**-53 < args["fraction"]
        self.keep(holds)

    def record_hash(self, args, seed):
        """Of a row: 16 bytes of the hash of its record or of the field `input`."""
        column = self.columns[args["input"]] if "input" in args else None

        def hash_of(row):
            key = row["raw"] if column is None else row[column]
            key = key if isinstance(key, bytes) else str(key).encode()
            return hashlib.blake2b(struct.pack("<Q", seed) + key, digest_size=32).digest()[:16]
        return hash_of

    def stage_split(self, args):
        hash_of = self.record_hash(args, args.get("seed", 0))
        border, parts, total = 0, {}, 0.0
        for part in ("train", "validation", "test"):
            total += args.get(part, 0)
            parts[part] = (border, int(total * 2**53))
            border = parts[part][1]
        last = max((part for part in parts if args.get(part, 0)), key=list(parts).index)
        parts[last] = (parts[last][0], 2**53)

        def holds(row, _context):
            place = int.from_bytes(hash_of(row)[:8], "little") >> 11
            return parts[args["part"]][0] <= place < parts[args["part"]][1]
        self.keep(holds)

    def parts(self, args):
        """[(column, column of its parts)] of the fields that are cut, with a check of the records."""
        names = args["fields"] if isinstance(args["fields"], list) else [args["fields"]]
        pairs = [(self.columns[name], Column(self.columns[name].dtype, True)) for name in names]
        wholes = [whole for whole, _ in pairs if whole.of_records]

        def step(row, _context):
            if len({len(row[whole]) for whole in wholes}) > 1:
                raise BadRecord("lists that are cut in step differ in length")
        self.steps.append(step)
        for name, (whole, part) in zip(names, pairs):
            self.columns[name], part.of_records = part, False
            part.are_labels, part.pad_value = whole.are_labels, whole.pad_value
        return pairs

    def cut_chunk(self, args):
        cut = self.parts(args)
        column = Column("int32")
        if "start" in args:
            self.columns[args["start"]] = column
        return {**args, "cut": cut, "start_column": column}

    def cut_pack(self, args):
        cut = self.parts(args)
        names = args["fields"] if isinstance(args["fields"], list) else [args["fields"]]
        made, length = {}, args["length"]
        for _, column in cut:
            value = args.get("ignore_index", column.pad_value) if column.are_labels else args.get("value")
            column.pad = {"length": length, "left": False, "value": value}
        self.columns = {name: self.columns[name] for name in names}
        if "labels" in args:
            i = names.index(args["labels"]) if args["labels"] in names else 0
            column = cut[i][1] if i else Column(cut[0][0].dtype, True)
            if column.dtype in INTEGERS and not column.are_labels:
                column.dtype = "int64"
            value = args.get("ignore_index", column.pad_value if column.are_labels else -100)
            column.pad = {"length": length, "left": False, "value": value}
            self.columns[args["labels"]] = column
            made["labels"] = (column, i)
        if "mask" in args:
            self.columns[args["mask"]] = mask = Column("int32", True)
            mask.mask_of = cut[0][1]
        for name in ("position_ids", "segment_ids", "cu_seqlens"):
            if name in args:
                self.columns[args[name]] = made[name] = Column("int32", True)
                made[name].shaped_by = cut[0][1]
                made[name].are_sums = name == "cu_seqlens"
        if not args.get("split") and cut[0][0].of_records:
            def step(row, _context):
                if len(row[cut[0][0]]) > length:
                    raise BadRecord("longer than pack.length")
            self.steps.append(step)
        return {**args, "cut": cut, "made": made}

    def stage_select(self, args):
        names = args["fields"] if isinstance(args["fields"], list) else [args["fields"]]
        self.columns = {name: self.columns[name] for name in names}

    def stage_rename(self, args):
        for old, new in args["fields"].items():
            self.columns = {new if name == old else name: column
                            for name, column in self.columns.items()}

    def stage_bucket(self, args):
        self.bucket = {"column": self.columns[args["input"]], "args": args}

    def stage_batch(self, args):
        self.batch = args
        counted = leat_batches.counted(args, self.columns)

        def step(row, _context):
            if any(leat_batches.padded(column, len(row[column])) > args["max_tokens"]
                   for column in counted if column in row):
                raise BadRecord("longer than batch.max_tokens")
        self.steps.append(step)

    def stage_prefetch(self, _args):
        pass

    # ---- running it ----

    def seed_of(self, context):
        return self.seed if context["seed"] is None else context["seed"]

    def read_pass(self, context, place):
        """Rows that went through all steps, in the order of the source."""
        lanes = leat_sources.lanes_of(self.source)
        if getattr(self.source, "mixing", None) is None:
            return self.read_lane(self.source, 0, context, place)
        key = {"seed": self.seed_of(context), "epoch": context["epoch"], "pass": place}
        laps = [lambda lane=lane, n=n: self.read_lane(lane, n, context) for lane, n in lanes]
        return leat_mix.mix(laps, self.source.mixing, key)

    def read_lane(self, source, n_files, context, place=0):
        key = {"seed": self.seed_of(context), "epoch": context["epoch"], "pass": place}
        for number, record, lane in leat_order.read_blocks(enumerate(source.records()), self.orders, key):
            row = {"file": record.file + n_files, "offset": record.offset, "raw": record.raw,
                   "lane": lane, "is_skipped": self.skips.has_record(number, record)}
            try:
                values = self.values_of(record, record.source or source, row, context)
                row.update((column, values[name]) for name, column in self.source_columns.items() if values)
                kept = values is not None and all(step(row, context) is not False for step in self.steps)
            except BadRecord as error:
                if not self.skips_bad:
                    raise SystemExit(f"{record.place}: {error}")
                continue
            if kept:
                yield row

    def lane_batches(self, lane, context):
        """Batches of one lane; None: there are no lanes."""
        def read_pass(place):
            return (row for row in self.read_pass(context, place) if lane in (None, row["lane"]))
        key = {"seed": self.seed_of(context), "epoch": context["epoch"], "lane": lane or 0}
        rows = leat_order.chain(read_pass, self.orders, key["seed"], key["epoch"], key["lane"])
        return leat_batches.batches(rows, self.batch, self.columns, self.bucket, key)

    def batches(self, epoch, seed=None, world_size=1):
        """(step, n_rows, tensors) of an epoch, over all ranks."""
        context = {"epoch": epoch, "seed": seed}
        self.epoch = epoch
        n_lanes = leat_order.n_lanes_of(self.orders)
        every = leat_order.take_turns(self.lane_batches(lane, context) for lane in range(n_lanes)) if n_lanes else (
            self.lane_batches(None, context))
        for step, batch in leat_rounds.ranked(every, self.uneven, world_size, self.skips, epoch):
            yield step, len(batch), [self.tensor(name, column, batch)
                                     for name, column in self.columns.items()]

    def tensor(self, name, column, rows):
        """(name, dtype, shape, bytes)"""
        shape = [len(rows)] if self.batch else []
        if column.are_sums:
            sums = list(itertools.accumulate((n for row in rows for n in row[column]), initial=0))
            return name, column.dtype, [len(sums)], pack(sums, column.dtype)
        values_of = column.mask_of or column
        if not values_of.is_list:
            return name, column.dtype, shape, pack([row[column] for row in rows], column.dtype)
        length = padded_length(values_of.pad, [len(row[values_of]) for row in rows])
        values = []
        for row in rows:
            items = [1] * len(row[values_of]) if column.mask_of else row[column]
            fill = [0 if column.mask_of else fit_pad(column)] * (length - len(items))
            values += fill + items if values_of.pad and values_of.pad["left"] else items + fill
        return name, column.dtype, shape + [length], pack(values, column.dtype)


def fit_pad(column):
    value = column.pad["value"] if column.pad else 0
    return int(value) if column.dtype in INTEGERS else value


def padded_length(pad, lengths):
    if pad and pad["length"]:
        return pad["length"]
    multiple = pad["multiple_of"] if pad else 1
    return -(-max(lengths) // multiple) * multiple


def scalar_text(value):
    """A YAML scalar as it was written, as far as YAML's typing leaves that known."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return str(value).encode()


def split_part(part, columns):
    """[literal or column, ...] of one part of a template."""
    pieces, literal, at = [], "", 0
    while at < len(part):
        if part[at:at + 2] in ("{{", "}}"):
            literal, at = literal + part[at], at + 2
        elif part[at] == "{":
            end = part.index("}", at)
            pieces += [literal.encode(), columns[part[at + 1:end]]]
            literal, at = "", end + 1
        else:
            literal, at = literal + part[at], at + 1
    return pieces + [literal.encode()]


def fill_part(pieces, row):
    """The text of a part, or None if one of its fields is empty."""
    text = b""
    for piece in pieces:
        if isinstance(piece, Column):
            value = row[piece]
            piece = value if isinstance(value, bytes) else text_of(value).encode()
            if not piece:
                return None
        text += piece
    return text


def number_of(item):
    """A condition's value as a number: truth values count as 1 and 0."""
    text = scalar_text(item)
    return float(parse(text, "bool")) if text.decode() in TRUTHS else parse_float(text)


def condition_holds(args, value, is_text):
    """Whether every given condition of a filter holds."""
    def among(items):
        items = items if isinstance(items, list) else [items]
        if is_text:
            return value in [scalar_text(item) for item in items]
        return float(value) in [number_of(item) for item in items]

    if is_text or isinstance(value, list):
        length = sum((byte & 0xC0) != 0x80 for byte in value) if is_text else len(value)
        if "empty" in args and (length == 0) != args["empty"]:
            return False
        if not args.get("min_length", 0) <= length <= args.get("max_length", length):
            return False
    if "equals" in args and not among(args["equals"]):
        return False
    if "not_equals" in args and among(args["not_equals"]):
        return False
    if "min" in args or "max" in args:
        try:
            number = parse_float(value) if is_text else float(value)
        except BadRecord:
            return False
        if not args.get("min", number) <= number <= args.get("max", number):
            return False
    return True


class Digest:
    """BLAKE2b over all batches in order: epoch, step, number of tensors, and of each its name,
    dtype, shape and bytes."""

    def __init__(self):
        self.hash = hashlib.blake2b(digest_size=32)

    def numbers(self, *numbers):
        self.hash.update(struct.pack(f"<{len(numbers)}Q", *numbers))

    def text(self, text):
        self.numbers(len(text.encode()))
        self.hash.update(text.encode())

    def batch(self, epoch, step, tensors):
        self.numbers(epoch, step, len(tensors))
        for name, dtype, shape, data in tensors:
            self.text(name)
            self.text(dtype)
            self.numbers(len(shape), *shape, len(data))
            self.hash.update(data)


def load_spec(path, stream=None):
    with open(path, encoding="utf-8") as file:
        streams = yaml.safe_load(file)["streams"]
    return streams[stream or next(iter(streams))]


def run(path, stream=None, epochs=1, first_epoch=0, rank=0, world_size=1, seed=None):
    """The digest, and how many batches and rows were in it."""
    plan = Plan(load_spec(path, stream), pathlib.Path(path).parent)
    digest, n_batches, n_rows = Digest(), 0, 0
    for epoch in range(first_epoch, first_epoch + epochs):
        for step, rows, tensors in plan.batches(epoch, seed, world_size):
            if step % world_size == rank:
                digest.batch(epoch, step, tensors)
                n_batches, n_rows = n_batches + 1, n_rows + rows
    return digest.hash.hexdigest(), n_batches, n_rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--stream")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--epoch", type=int, default=0, help="the first one")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world-size", type=int, default=1)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    digest, n_batches, n_rows = run(args.file, args.stream, args.epochs, args.epoch, args.rank,
                                    args.world_size, args.seed)
    print(f"{digest}  {n_batches} batches, {n_rows} rows", file=sys.stdout)


if __name__ == "__main__":
    main()

"""The stages that compute with numbers, and those that change texts.

Written from the documentation (the arguments of the stages), not from the C code. `rfft` is not
here: its numbers are float32 arithmetic in an order of KissFFT's choice.
"""
import bisect
import hashlib
import math
import re

from leat_elements import INTEGERS, BadRecord, fit, parse_float

BLANKS = "".join(map(chr, [9, 10, 11, 12, 13, 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
                           0x202F, 0x205F, 0x3000]))


def listed(value):
    return value if isinstance(value, list) else [value]


def settle(x, y, dtype, args, nan):
    """y, which x has become, as the dtype holds it, after the policy for NaN."""
    if math.isnan(x) or math.isnan(y):
        policy = args.get("nan", nan)
        if policy == "fail":
            raise BadRecord("NaN")
        y = float(args["default"]) if policy == "default" else y
    return fit(y, dtype)


def elementwise(plan, args, function, dtype, nan="keep"):
    """A column of the same shape; function(x) of each element."""
    source = plan.columns[args["input"]]
    dtype = args.get("dtype", dtype or source.dtype)
    output = plan.columns[args.get("output", args["input"])] = type(source)(dtype, source.is_list)

    def one(x):
        return settle(x, function(x), dtype, args, nan)

    def step(row, _context):
        row[output] = [one(x) for x in row[source]] if source.is_list else one(row[source])
    plan.steps.append(step)


def log1p(x):
    return math.log1p(x) if x > -1 else -math.inf if x == -1 else math.nan


def stage_log1p(plan, args):
    elementwise(plan, args, lambda x: log1p(float(x)), "float32")


def stage_normalize(plan, args):
    mean, std = float(args.get("mean", 0)), float(args.get("std", 1))
    elementwise(plan, args, lambda x: (float(x) - mean) / std, "float32")


def stage_clip(plan, args):
    low, high = float(args.get("min", -math.inf)), float(args.get("max", math.inf))
    dtype = plan.columns[args["input"]].dtype
    if dtype in INTEGERS and args.get("dtype", dtype) in INTEGERS:
        low, high = (x if math.isinf(x) else whole(x) for x, whole in ((low, math.ceil), (high, math.floor)))
    elementwise(plan, args, lambda x: low if x < low else high if x > high else x, None)


def stage_bin(plan, args):
    edges = [parse_float(str(edge).encode()) for edge in listed(args["edges"])]
    find = bisect.bisect_left if args.get("right") else bisect.bisect_right
    elementwise(plan, args, lambda x: find(edges, x), "int32", "fail")


def key_of(value):
    return value if isinstance(value, bytes) else str(value).encode()


def stage_hash_bucket(plan, args):
    source = plan.columns[args["input"]]
    is_list = source.is_list and source.dtype != "text"
    output = plan.columns[args.get("output", args["input"])] = type(source)(args.get("dtype", "int32"), is_list)

    def one(key):
        digest = hashlib.blake2b(args.get("salt", "").encode() + key_of(key), digest_size=32).digest()
        return int.from_bytes(digest[:8], "little") % args["buckets"]

    def step(row, _context):
        row[output] = [one(key) for key in row[source]] if is_list else one(row[source])
    plan.steps.append(step)


def stage_one_hot(plan, args):
    source = plan.columns[args["input"]]
    output = plan.columns[args.get("output", args["input"])] = type(source)(args.get("dtype", "float32"), True)
    classes = [str(item).encode() for item in args.get("categories", range(args.get("classes", 0)))]

    def step(row, _context):
        key = key_of(row[source])
        if key not in classes and args.get("unknown", "fail") == "fail":
            raise BadRecord(f"{key!r} is no class")
        row[output] = [int(key == item) for item in classes]
    plan.steps.append(step)


def stage_stack(plan, args):
    sources = [plan.columns[name] for name in listed(args["inputs"])]
    dtype = args.get("dtype", "float32")
    output = plan.columns[args["output"]] = type(sources[0])(dtype, True)

    def step(row, _context):
        row[output] = [settle(x, x, dtype, args, "keep") for source in sources for x in listed(row[source])]
    plan.steps.append(step)


def textwise(plan, args, function):
    source = plan.columns[args["input"]]
    output = plan.columns[args.get("output", args["input"])] = type(source)("text")

    def step(row, _context):
        row[output] = function(row[source].decode()).encode()
    plan.steps.append(step)


def stage_lower(plan, args):
    textwise(plan, args, str.lower)


def stage_strip(plan, args):
    strip = {"both": str.strip, "left": str.lstrip, "right": str.rstrip}[args.get("side", "both")]
    textwise(plan, args, lambda text: strip(text, args.get("chars", BLANKS)))


def stage_replace(plan, args):
    textwise(plan, args, lambda text: text.replace(args["old"], args.get("new", "")))


def stage_regex_replace(plan, args):
    """Patterns that mean the same to Python."""
    textwise(plan, args, lambda text: re.sub(args["pattern"], lambda _: args.get("new", ""), text))


STAGES = {name[len("stage_"):]: function for name, function in globals().items() if name.startswith("stage_")}

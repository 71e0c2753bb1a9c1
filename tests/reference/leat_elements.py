"""Elements of tensors: parsing texts, fitting numbers to a dtype, packing them to bytes.

Written from the documentation (proto/base/scalar.h, pipeline/spec/bind.h), not from the C code.
"""
import math
import re
import struct

INTEGERS = {"bool": (0, 1), "uint8": (0, 2**8 - 1), "uint16": (0, 2**16 - 1),
            "int8": (-2**7, 2**7 - 1), "int16": (-2**15, 2**15 - 1),
            "int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}
FORMATS = {"bool": "B", "uint8": "B", "uint16": "H", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f",
           "float64": "d", "float16": "e"}
TRUTHS = {"true": 1, "True": 1, "TRUE": 1, "yes": 1, "on": 1,
          "false": 0, "False": 0, "FALSE": 0, "no": 0, "off": 0}
INTEGER = re.compile(rb"[+-]?[0-9]+")
FLOAT = re.compile(rb"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?|nan)", re.I)


class BadRecord(Exception):
    """This record cannot be used; the others can."""


def float32(value):
    """The nearest binary32, ties to even; what is too large becomes infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def parse_float(text):
    if not FLOAT.fullmatch(text):
        raise BadRecord(f"{text!r} is no number")
    return float(text)


def parse(text, dtype):
    """A text (bytes), whole, as a number of that dtype."""
    if dtype == "bool" and text.decode("latin-1") in TRUTHS:
        return TRUTHS[text.decode("latin-1")]
    if dtype not in INTEGERS:
        return fit(parse_float(text), dtype)
    if not INTEGER.fullmatch(text):
        raise BadRecord(f"{text!r} is no {dtype}")
    return fit(int(text), dtype)


def fit(value, dtype):
    """A number as that dtype holds it."""
    if dtype not in INTEGERS:
        return float32(value) if dtype in ("float32", "bfloat16") else float(value)
    if isinstance(value, float):
        if not value.is_integer():
            raise BadRecord(f"{value} is not whole")
        value = int(value)
    low, high = INTEGERS[dtype]
    if not low <= value <= high:
        raise BadRecord(f"{value} does not fit {dtype}")
    return value


def pack(values, dtype):
    """Numbers as the bytes of a tensor: little endian, without gaps."""
    if dtype == "bfloat16":
        return b"".join(bfloat16(value) for value in values)
    if dtype == "float16":
        return b"".join(float16(value) for value in values)
    if dtype == "float32":
        values = [float32(value) for value in values]
    return struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)


def float16(value):
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", math.copysign(math.inf, value))


def bfloat16(value):
    """The upper half of binary32, rounded to nearest, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", float32(value)))[0]
    bits += 0x7FFF + (bits >> 16 & 1)
    return struct.pack("<H", bits >> 16)


def text_of(value):
    """A number as it stands in a text."""
    return str(value)

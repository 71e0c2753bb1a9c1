"""Writes numbers.jsonl: what NumPy makes of what the stages that compute with numbers are given.
Needs numpy; the result is committed.

    python3 make_numbers.py > numbers.jsonl

A case is the records (JSON Lines or CSV), the stages, and the tensor that must come of them.
`tolerance` is relative to the largest number of the row; 0: to the bit.
"""

import hashlib
import json
import math
import random

import numpy as np

RNG = random.Random(4)
FLOATS = ["float32", "float64", "float16", "bfloat16"]


def rounded(values, dtype):
    """As that dtype holds them, in float64."""
    values = np.asarray(values, dtype=np.float64)
    if dtype != "bfloat16":
        return values.astype(dtype).astype(np.float64)
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000)
    result = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.where(np.isnan(values), np.nan, result)


def plain(value, tolerance):
    if not isinstance(value, float):
        return int(value)
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return float(f"{value:.9g}") if tolerance > 1e-7 else value


def case(test, data, stages, dtype, expected, tolerance=0):
    expected = np.asarray(expected)
    print(json.dumps({"test": test, "data": data, "stages": stages, "dtype": dtype,
                      "width": expected.shape[1] if expected.ndim == 2 else 0,
                      "values": [plain(v, tolerance) for v in expected.reshape(-1).tolist()],
                      "tolerance": tolerance}))


def jsonl(**columns):
    rows = zip(*columns.values())
    return "".join(json.dumps(dict(zip(columns, row))) + "\n" for row in rows)


def csv(values):
    return "x,end\n" + "".join(f"{v},\n" for v in values)


CAST = "- cast: {input: x, dtype: float32}\n"
ODD = ["nan", "inf", "-inf", "1.5", "-1.5", "0", "-0.0", "1e30", "-1", "-0.75"]
ODD_VALUES = np.array([float(v) for v in ODD]).astype(np.float32).astype(np.float64)


def numbers(n):
    return [RNG.choice([RNG.uniform(-3, 3), RNG.gauss(0, 1) * 10 ** RNG.randint(-12, 12),
                        float(RNG.randint(-5, 5))]) for _ in range(n)]


def elementwise(test, args, function, dtypes=FLOATS, tolerance=0):
    """One number a row, lists, whole numbers, and what is not finite, in all dtypes."""
    for dtype in dtypes:
        stages = f"- {test}: {{input: x, {args}, dtype: {dtype}}}"
        allowed = tolerance if dtype == "float64" else 0
        with np.errstate(all="ignore"):
            values = numbers(9)
            case(test, jsonl(x=values), stages, dtype, rounded(function(np.array(values)), dtype), allowed)
            values = [RNG.randint(-20, 200) for _ in range(9)]
            case(test, jsonl(x=values), stages, dtype, rounded(function(np.array(values)), dtype), allowed)
            case(test, csv(ODD), CAST + stages, dtype, rounded(function(ODD_VALUES), dtype), allowed)
    stages = f"- {test}: {{input: x, {args}, dtype: {dtypes[0]}, nan: default, default: 5}}"
    with np.errstate(all="ignore"):
        result = rounded(function(ODD_VALUES), dtypes[0])
        result[np.isnan(ODD_VALUES) | np.isnan(result)] = 5
        case(test, csv(ODD), CAST + stages, dtypes[0], result)


def make_elementwise():
    elementwise("clip", "min: -1.5, max: 2.25", lambda x: np.clip(x, -1.5, 2.25))
    elementwise("clip", "min: 0.5", lambda x: np.clip(x, 0.5, None))
    elementwise("clip", "max: -1", lambda x: np.clip(x, None, -1))
    elementwise("log1p", "output: x", np.log1p, tolerance=1e-15)
    elementwise("normalize", "mean: 0.37, std: 2.9", lambda x: (x - 0.37) / 2.9)
    edges = [-1.5, -0.75, 0, 0.1, 7, 1e6]
    for right in (False, True):
        make_bin(edges, right)


def make_bin(edges, right):
    args = f"edges: {edges}, right: {str(right).lower()}"
    for dtype in ("int32", "uint8", "uint16", "int64"):
        values = numbers(6) + edges
        case("bin", jsonl(x=values), f"- bin: {{input: x, {args}, dtype: {dtype}}}", dtype,
             np.digitize(values, edges, right=right))
    keeps = CAST + f"- bin: {{input: x, {args}, nan: keep}}"
    case("bin", csv(ODD), keeps, "int32", np.digitize(ODD_VALUES, edges, right=right))


def make_whole():
    big = [2**53 + 1, 2**62 + 3, -2**62 - 3, 2**63 - 1, -2**63, 0, 7]
    low, high = -2**53, 2**53
    case("clip", jsonl(x=big), f"- clip: {{input: x, min: {low}, max: {high}}}", "int64",
         np.clip(np.array(big), low, high))
    case("clip", jsonl(x=big), "- clip: {input: x, min: 1}", "int64", np.clip(np.array(big), 1, None))
    case("clip", jsonl(x=big), "- clip: {input: x, min: 0, max: 255, dtype: uint8}", "uint8",
         np.clip(np.array(big), 0, 255))


def make_lists():
    rows = [numbers(6) for _ in range(5)]
    stacked = "- rfft: {input: x, n: 6, dtype: float64}\n"
    spectrum = np.fft.rfft(np.array(rows)).view(np.float64)
    case("log1p", jsonl(x=rows), stacked + "- clip: {input: x, min: 0.001}\n- log1p: {input: x}", "float32",
         np.log1p(np.clip(spectrum, 0.001, None)), 2e-6)
    case("normalize", jsonl(x=rows), stacked + "- normalize: {input: x, mean: 3, std: 7}", "float32",
         (spectrum - 3) / 7, 2e-6)


def make_stack():
    a, b = [RNG.randint(-9, 9) for _ in range(7)], numbers(7)
    flags, wide = [i % 3 == 0 for i in range(7)], [RNG.randint(-2**62, 2**62) for _ in range(7)]
    hot = [RNG.randrange(3) for _ in range(7)]
    data = jsonl(a=a, b=b, flag=flags, h=hot)
    one_hot = "- one_hot: {input: h, classes: 3}\n"
    with np.errstate(all="ignore"):
        for dtype in FLOATS:
            case("stack", data, one_hot + f"- stack: {{inputs: [b, h, a, flag], output: x, dtype: {dtype}}}", dtype,
                 rounded(np.column_stack([b, np.eye(3)[hot], a, flags]), dtype))
    case("stack", jsonl(a=a, w=wide), "- stack: {inputs: [w, a, w], output: x, dtype: int64}", "int64",
         np.column_stack([wide, a, wide]))
    case("stack", jsonl(a=a, flag=flags), "- stack: {inputs: [a, flag], output: x, dtype: float64}", "float64",
         np.column_stack([a, flags]).astype(np.float64))
    case("stack", csv(ODD), CAST + "- stack: {inputs: [x, x], output: x}", "float32",
         np.column_stack([ODD_VALUES, ODD_VALUES]))


def make_rfft():
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 22, 25, 30, 31, 49, 60, 64, 77, 97, 100, 127, 128, 254]:
        lengths = (0, n - 1, n, n + 3) if n < 20 else (n - 1, )
        rows = [[float(f"{x:.4g}") for x in numbers(length)] for length in lengths]
        spectrum = np.array([np.fft.rfft(row or [0.0], n) for row in rows])
        case("rfft", jsonl(x=rows), f"- rfft: {{input: x, n: {n}}}", "float32",
             spectrum.view(np.float64).astype(np.float32), 1e-6)
    for scale in (1e-300, 1e-40, 1e30, 1e290):
        rows = [[x * scale for x in numbers(12)] for _ in range(3)]
        case("rfft", jsonl(x=rows), "- rfft: {input: x, n: 12, dtype: float64}", "float64",
             np.fft.rfft(rows).view(np.float64), 1e-6)
    rows = [[RNG.randint(-100, 100) for _ in range(10)] for _ in range(4)]
    spectrum = np.fft.rfft(rows, 8)
    case("rfft", jsonl(x=rows), "- rfft: {input: x, n: 8, form: magnitude}", "float32", np.abs(spectrum), 1e-6)
    case("rfft", jsonl(x=rows), "- rfft: {input: x, n: 8, form: power}", "float32", np.abs(spectrum)**2, 1e-6)


def make_one_hot():
    classes = [RNG.randrange(5) for _ in range(11)]
    for dtype in ["float32", "float16", "bfloat16", "uint8", "bool", "uint16", "int32", "int64"]:
        expected = np.eye(5)[classes] if "float" in dtype else np.eye(5, dtype=int)[classes]
        case("one_hot", jsonl(x=classes), f"- one_hot: {{input: x, classes: 5, dtype: {dtype}}}", dtype, expected)
        case("one_hot", csv([f"c{c}" for c in classes]),
             f"- one_hot: {{input: x, categories: [c0, c1, c2, c3, c4], dtype: {dtype}}}", dtype, expected)
    case("one_hot", jsonl(x=[0, -1, 2, 3, 1]), "- one_hot: {input: x, classes: 3, unknown: zeros}", "float32",
         np.array([[1., 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]]))
    case("one_hot", jsonl(x=[0, 0]), "- one_hot: {input: x, classes: 1}", "float32", np.ones((2, 1)))


def make_hash_bucket():
    for buckets, salt in ((1, ""), (1000, ""), (2**31 - 1, "pepper")):
        keys = ["a", "", "17", "ζ", "x" * 300, "17"]
        expected = [int.from_bytes(hashlib.blake2b((salt + k).encode(), digest_size=32).digest()[:8], "little") % buckets
                    for k in keys]
        stages = f"- hash_bucket: {{input: x, buckets: {buckets}, salt: '{salt}'}}"
        case("hash_bucket", csv(keys), stages, "int32", expected)
        case("hash_bucket", jsonl(x=[17, 17]), stages[:-1] + ", dtype: int64}", "int64", [expected[2]] * 2)


make_elementwise()
make_whole()
make_lists()
make_stack()
make_rfft()
make_one_hot()
make_hash_bucket()

"""Files that mean no good, rewritten over and over while streams read them."""
import contextlib
import ctypes
import os
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTREMES = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
ARROW_SEEDS = [*sorted((ROOT / "tests/pipeline/data/arrow").glob("*.arrow")), *sorted((ROOT / "tests/fuzz/corpus/arrow").iterdir())]
ODD_VALUES = ["1e400", "-0", "-0.0", "1.0", "NaN", "Infinity", "9223372036854775808", "-9223372036854775809", "1" + "0" * 400,
              "0." + "0" * 400 + "1", '"\\ud800"', '"\\u0000"', '"\\u001b[2J"', '"' + "x" * 70000 + '"', "true", "null", "{}", "[]",
              "[" * 2000 + "]" * 2000, "[1, 2.5, \"3\", null]", "[1e39, -1e39]", "\x00", "'1'", "01", "+1", ".5", "1.", "\"\xff\""]


def put(path, raw):
    """In place of what is there, all at once. Who may not does not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.write_bytes(raw)
        temporary.chmod(0o644)
        temporary.replace(path)


def mutate(rng, raw, n_most=12):
    """Some bits and numbers are others; bytes are missing, or there twice."""
    raw = bytearray(raw)
    for _ in range(rng.randint(1, n_most)):
        at, how = rng.randrange(len(raw)), rng.randrange(6)
        if how < 2:
            raw[at] ^= 1 << rng.randrange(8)
        elif how < 4:
            size, form = rng.choice(((4, "<I"), (8, "<Q")))
            at -= at % size
            raw[at:at + size] = struct.pack(form, rng.choice(EXTREMES) % 2**(8 * size))
        elif how == 4:
            del raw[at:at + rng.choice((1, 8, 64, len(raw)))]
        else:
            raw[at:at] = raw[at:at + rng.choice((8, 64))]
        if not raw:
            return b"A"
    return bytes(raw)


def arrow(rng, path):
    """Dictionaries, compressed and plain batches, with damage of any kind."""
    seed = rng.choice(ARROW_SEEDS)
    raw = seed.read_bytes()
    put(path, mutate(rng, raw if seed.suffix == ".arrow" else raw[2:]))


def jsonl(rng, path):
    lines = []
    for i in range(rng.randint(1, 60)):
        values = {name: rng.choice(ODD_VALUES) if rng.random() < 0.4 else good
                  for name, good in (("id", str(i)), ("text", '"t"'), ("xs", "[1, 2]"), ("m", '{"a": 1}'))}
        lines.append("{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}")
    raw = "\n".join(lines).encode("latin-1")
    put(path, rng.choice((b"", b"\xef\xbb\xbf", b"\n\n")) + (mutate(rng, raw, 3) if rng.random() < 0.3 else raw) + b"\n")


def unreadable(rng, path):
    """The second file of a stream: there and good, not there, a folder, a link to itself, one that cannot be read."""
    with contextlib.suppress(OSError):
        path.rmdir()
    with contextlib.suppress(OSError):
        path.unlink()
    how = rng.randrange(6)
    with contextlib.suppress(OSError):
        if how == 0:
            path.mkdir()
        elif how == 1:
            path.symlink_to(path.name)
        elif how == 2:
            path.symlink_to("/proc/self/mem")
        elif how == 3:
            put(path, b"id\n" + b"".join(b"%d\n" % i for i in range(500)))
            path.chmod(0)
        elif how == 4:
            put(path, rng.choice((b"", b"id", b"other\n1\n", b"id\nx\n", b"\x1f\x8b\x08damaged", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff")))


# ---- caches ----

HEAD_BYTES, FRAME_BYTES = 128, 112
FRAME_MAGIC = struct.pack("<Q", 0x4D4152465441454C)


class Xxh:
    """XXH3 of libxxhash, which leatd uses, so that what is forged has the right checksums."""

    def __init__(self):
        self.library = ctypes.CDLL("libxxhash.so.0")
        self.library.XXH3_64bits.restype = self.library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
        self.library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]

        class Hash128(ctypes.Structure):
            _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
        self.library.XXH3_128bits.restype = Hash128
        self.library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def of(self, raw, seed=None):
        return self.library.XXH3_64bits(raw, len(raw)) if seed is None else self.library.XXH3_64bits_withSeed(raw, len(raw), seed)

    def canonical_128(self, raw):
        made = self.library.XXH3_128bits(raw, len(raw))
        return struct.pack(">QQ", made.high, made.low)


def forge_cache(rng, raw, xxh):
    """A frame that claims what it likes, with checksums that are right; what was behind the frames is cut off, so that they are
    looked at one after the other."""
    raw = bytearray(raw)
    at = HEAD_BYTES + struct.unpack_from("<I", raw, 12)[0]
    seed = xxh.of(bytes(raw[16:16 + 104]))
    frames = []
    while raw[at:at + 8] == FRAME_MAGIC:
        n_stored = struct.unpack_from("<Q", raw, at + 80)[0]
        frames.append((at, n_stored))
        at += FRAME_BYTES + (n_stored + 7) // 8 * 8
        if at + FRAME_BYTES > len(raw):
            break
    at, n_stored = rng.choice(frames)
    if rng.random() < 0.7:  # the block: its rows, records, columns, lengths
        place = at + FRAME_BYTES + 4 * rng.randrange(min(64, n_stored // 4))
        struct.pack_into("<I", raw, place, rng.choice(EXTREMES) % 2**32)
    else:  # the head of the frame: records, rows, sizes
        place = rng.choice((16, 20, 24, 28, 32, 40, 48, 72))
        struct.pack_into("<I", raw, at + place, rng.choice(EXTREMES) % 2**32)
    raw[at + 88:at + 104] = xxh.canonical_128(bytes(raw[at + FRAME_BYTES:at + FRAME_BYTES + n_stored]))
    struct.pack_into("<Q", raw, at + 104, xxh.of(bytes(raw[at:at + 104]), seed))
    last, n_last = frames[-1]
    return bytes(raw[:last + FRAME_BYTES + (n_last + 7) // 8 * 8])


class Cache:
    """Of a stream: the file that was made of it, to be forged."""

    def __init__(self, folder):
        self.path = next(path for path in folder.iterdir() if path.is_file())
        self.raw = self.path.read_bytes()
        self.xxh = Xxh()

    def spoil(self, rng):
        put(self.path, forge_cache(rng, self.raw, self.xxh) if rng.random() < 0.7 else mutate(rng, self.raw))


def describe(folder):
    """The streams that read these files, in a configuration."""
    batch = [{"batch": {"batch_size": 8}}]
    (folder / "good.csv").write_text("id\n" + "".join(f"{i}\n" for i in range(300)))
    fields = {"id": "int64", "text": "text", "xs": "list<float32>", "m": "json"}
    arrow_fields = {"id": "int64", "text": "text", "messages": "json", "vec": "list<float32>", "d": "float64"}
    narrow = [{"pad": {"input": "xs", "length": 4, "value": 0}}, {"hash_bucket": {"input": "m", "output": "h", "buckets": 1000}},
              {"select": {"fields": ["id", "xs", "h"]}}]
    wide = [{"pad": {"input": "vec", "length": 4, "value": 0}}, {"select": {"fields": ["id", "vec", "d"]}}]
    many = folder / "many.csv"
    many.write_text("id\n" + "".join(f"{i}\n" for i in range(20000)))
    (folder / "cache").mkdir()
    return {
        "unreadable": {"source": {"csv": {"paths": [str(folder / "good.csv"), str(folder / "second.csv")]}},
                       "stages": [{"cast": {"input": "id", "dtype": "int64"}}, *batch]},
        "arrow": {"source": {"arrow": {"paths": [str(folder / "hostile.arrow")], "fields": arrow_fields}}, "on_error": "skip",
                  "stages": [*wide, *batch]},
        "odd": {"source": {"jsonl": {"paths": [str(folder / "odd.jsonl")], "fields": fields}}, "on_error": "skip",
                "stages": [*narrow, *batch]},
        "cached": {"source": {"csv": {"paths": [str(many)]}}, "cache": {"path": str(folder / "cache")},
                   "block_bytes": 4096, "stages": [{"cast": {"input": "id", "dtype": "int64"}}, *batch]},
    }

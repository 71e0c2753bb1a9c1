"""Damaged files: a tokenizer.json that is cut, bent or grown beyond sense loads, or gives an error that
names the file and the place. Never a crash, never minutes, never all the memory.
"""
import copy
import json
import random
import re
import resource

import leat_tokenize
import oracle
from leat_tokenize import DATA, SHARE, SLOW, Failed

NAMES = ("llama3", "bert-uncased", "t5", "mistral", "gpt2", "clip", "gemma", "prefix-bpe")
N_CUTS, N_BENT = 12 // SHARE, 32 // SHARE
PLACE = re.compile(r"damaged\.json(:\d+:\d+: |: +[a-z_]+[\[.: ])")


def tokenizer_text(name):
    return (DATA / f"{name}.json").read_text(encoding="utf-8")


def attempt(file, data):
    """None if it loads and encodes; else the message. A crash fails the test."""
    file.write_bytes(data)
    try:
        leat_tokenize.run(["tokenizer", "encode", file, "--special"], b"Hello <s> the  1234\nabc\n", cpu_s=20 * SLOW)
        return None
    except Failed as failed:
        assert not failed.is_crash, f"crash: {failed}"
        return failed.message


def must_refuse(file, data, what, *words):
    message = attempt(file, data)
    assert message is not None, f"{what}: loads"
    assert "damaged.json" in message, f"{what}: the error names no file: {message[:300]}"
    assert PLACE.search(message), f"{what}: the error names no place: {message[:300]}"
    for word in words:
        assert word in message, f"{what}: the error says nothing of {word!r}: {message[:300]}"


def may_refuse(file, data, what):
    message = attempt(file, data)
    assert message is None or message.strip(), f"{what}: refused without a reason"
    return message is not None


def dumped(value):
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def test_cut_short(folder):
    file = folder / "damaged.json"
    rng = random.Random(1)
    for name in NAMES:
        data = tokenizer_text(name).encode().rstrip()
        for at in sorted({0, 1, len(data) - 1, *(rng.randrange(len(data)) for _ in range(N_CUTS))}):
            must_refuse(file, data[:at], f"{name} cut at byte {at} of {len(data)}")


def test_bytes_changed(folder):
    file = folder / "damaged.json"
    rng = random.Random(2)
    n_refused = 0
    for name in NAMES:
        data = tokenizer_text(name).encode()
        for number in range(N_BENT // 2):
            bent = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(bent))
                if rng.random() < 0.5:
                    bent[at] = rng.randrange(256)
                else:
                    del bent[at:at + rng.randint(1, 30)]
            n_refused += may_refuse(file, bytes(bent), f"{name}, bytes changed, {number}")
    return f"ok, {n_refused} of {len(NAMES) * (N_BENT // 2)} refused"


def places_of(value, path=()):
    """Paths of all nodes, of large arrays and objects only the first few."""
    yield path
    if isinstance(value, dict):
        for key in list(value)[:40]:
            yield from places_of(value[key], (*path, key))
    elif isinstance(value, list):
        for index in range(min(len(value), 4)):
            yield from places_of(value[index], (*path, index))


def put(value, path, new):
    """A copy with that node replaced; deleted if new is `Ellipsis`."""
    if not path:
        return new
    made = copy.copy(value)
    if new is ... and len(path) == 1:
        del made[path[0]]
    else:
        made[path[0]] = put(value[path[0]], path[1:], new)
    return made


def strange_values(rng):
    return rng.choice([None, True, False, 0, -1, 1, 1.5, -1e308, 10**30, -(10**30), 4294967296, 2**31, 2**31 - 1, "", "x", "\x00", "a b", "(", "[a", "\\p{Nope}", [], [[]], ["a", 1], [None], {},
                       {"type": "BPE"}, {"type": "Sequence"}, {"type": None}, {"String": "x"}, {"Regex": "(?<"}, {"Regex": "a{99999999}"}, ..., "x" * 5000, ["a"] * 2000, {"a": {"b": {}}}])


def test_types_changed(folder):
    file = folder / "damaged.json"
    rng = random.Random(3)
    n_refused = 0
    for name in NAMES:
        value = json.loads(tokenizer_text(name))
        places = [path for path in places_of(value) if path]
        for number in range(N_BENT):
            made = value
            path = rng.choice(places)
            new = strange_values(rng)
            made = put(made, path, new)
            n_refused += may_refuse(file, dumped(made), f"{name}: {'.'.join(map(str, path))} = {str(new)[:60]} ({number})")
    return f"ok, {n_refused} of {len(NAMES) * N_BENT} refused"


def oracle_loads(data):
    """Whether the oracle loads it and encodes; raises Skip where there is no oracle."""
    try:
        judge = oracle.Oracle(data.decode())
        judge.encode({"t": "Hello <s> the  1234", "special": True})
        judge.encode({"t": "abc", "special": True})
    except oracle.Refused:
        return False
    except SystemExit:
        raise leat_tokenize.Skip("no oracle") from None
    return True


def test_agreement(folder):
    """What the oracle loads, leat loads; the other way round it may be more generous. leat has limits of
    its own, so that a few may differ."""
    file = folder / "damaged.json"
    rng = random.Random(4)
    stricter, laxer, n = [], 0, 0
    for name in NAMES:
        value = json.loads(tokenizer_text(name))
        places = [path for path in places_of(value) if path]
        for _ in range(N_BENT):
            path = rng.choice(places)
            data = dumped(put(value, path, strange_values(rng)))
            loads, message = oracle_loads(data), attempt(file, data)
            n += 1
            laxer += not loads and message is None
            if loads and message is not None:
                stricter.append(f"{name}: {'.'.join(map(str, path))}: {message.strip()[:200]}")
    assert len(stricter) <= n // 20, f"{len(stricter)} of {n} are refused, though the oracle loads them\n" + "\n".join(f"    {line}" for line in stricter[:40])
    return f"ok, of {n} leat refuses {len(stricter)} that the oracle loads, and loads {laxer} that it refuses"


def bpe_with(**changes):
    value = json.loads(tokenizer_text("llama3"))
    value["model"].update(changes)
    return value


def test_merges(folder):
    file = folder / "damaged.json"
    good = bpe_with()
    merges = good["model"]["merges"]
    for what, bad in (("a merge of three", merges + [["a", "b", "c"]]), ("a merge of one", merges[:3] + [["a"]]), ("a merge of numbers", [[1, 2]]),
                      ("a token that is not there", merges[:7] + [["zzzz", "qqqq"]]), ("no blank", ["ab"]), ("two blanks", ["a b c"]), ("mixed", ["a b", ["c", "d"]]), ("an object", {}), ("a number", 3)):
        must_refuse(file, dumped(bpe_with(merges=bad)), what, "merges")
    assert attempt(file, dumped(bpe_with(merges=merges + merges[:20]))) is None, "duplicate merges load: the last counts"
    assert attempt(file, dumped(bpe_with(merges=[]))) is None


def test_numbers(folder):
    file = folder / "damaged.json"
    vocab = bpe_with()["model"]["vocab"]
    for number in (-1, 1.5, "7", 10**12, 2**32, 2**63, 10**30, None, [1]):
        must_refuse(file, dumped(bpe_with(vocab={**vocab, "zz": number})), f"id {number}", "number" if number == 10**30 else "vocab")
    text = json.dumps(bpe_with(vocab={**vocab, "zz": 77777}))
    for number in ("1e400", "-1e400", "9" * 400, "0" * 10 + "1", "1e", "0x10", "+1", "NaN", "Infinity", "--1", ".5"):
        must_refuse(file, text.replace("77777", number).encode(), f"number {number[:20]}")
    unigram = json.loads(tokenizer_text("t5"))
    for unk_id in (len(unigram["model"]["vocab"]), 10**9, -1, 1.5):
        unigram["model"]["unk_id"] = unk_id
        must_refuse(file, dumped(unigram), f"unk_id {unk_id}", "unk_id")


def test_deep_nesting(folder):
    file = folder / "damaged.json"
    for depth in (200, 100_000):
        must_refuse(file, b"[" * depth, f"{depth} brackets")
        must_refuse(file, b"[" * depth + b"]" * depth, f"{depth} brackets and back")
        must_refuse(file, b'{"model":' * depth + b"1" + b"}" * depth, f"{depth} objects")
    nested = '{"type":"Sequence","normalizers":[' * 5000 + '{"type":"NFC"}' + "]}" * 5000
    text = json.dumps({**bpe_with(), "normalizer": "@@"})
    must_refuse(file, text.replace('"@@"', nested).encode(), "5000 normalizers within each other")
    nested = "(?:" * 20000 + "a" + ")" * 20000
    may_refuse(file, dumped({**bpe_with(), "pre_tokenizer": {"type": "Split", "pattern": {"Regex": nested}, "behavior": "Isolated", "invert": False}}), "20000 groups")
    may_refuse(file, dumped({**bpe_with(), "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}}), "a regex that explodes")


def test_components(folder):
    """What is wrong, said at its place."""
    file = folder / "damaged.json"
    split = {"type": "Split", "pattern": {"Regex": "["}, "behavior": "Isolated", "invert": False}
    for slot, bad, word in (("normalizer", {"type": "Nope"}, "Nope"), ("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Worse"}]}, "normalizers[1]"),
                            ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "precompiled_charsmap"), ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "!!!!"}, "precompiled_charsmap"),
                            ("normalizer", {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}, "pattern"), ("pre_tokenizer", split, "pattern"), ("pre_tokenizer", {**split, "behavior": "Nope"}, "behavior"),
                            ("pre_tokenizer", {"type": "Metaspace", "replacement": "ab", "prepend_scheme": "always", "split": True}, "replacement"), ("pre_tokenizer", {"type": 3}, "pre_tokenizer"),
                            ("post_processor", {"type": "Nope"}, "post_processor"), ("decoder", {"type": "Nope"}, "decoder"), ("model", {"type": "Nope"}, "model"), ("model", {}, "model"), ("model", None, "model"),
                            ("added_tokens", [{"content": 3}], "added_tokens"), ("added_tokens", 7, "added_tokens"), ("truncation", {"max_length": -1}, "truncation"), ("padding", {"strategy": "Nope"}, "padding"),
                            ("version", "2.0", "version")):
        must_refuse(file, dumped({**bpe_with(), slot: bad}), f"{slot} = {bad}", word)


def test_large(folder):
    """Files of megabytes in little time and memory."""
    file = folder / "damaged.json"
    many = {f"t{number}": number for number in range(200_000)}
    may_refuse(file, dumped(bpe_with(vocab=many, merges=[])), "200,000 tokens")
    may_refuse(file, dumped(bpe_with(merges=[["Ġ", "t"]] * 300_000)), "one merge 300,000 times")
    may_refuse(file, dumped({**bpe_with(), "added_tokens": [{"id": n, "content": "x" * (n % 300) + str(n), "special": False} for n in range(20_000)]}), "20,000 added tokens")
    may_refuse(file, dumped(bpe_with(vocab={**bpe_with()["model"]["vocab"], "y" * 3_000_000: 5000})), "a token of 3 MB")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    assert peak < 800 * SLOW, f"{peak:.0f} MB of memory"
    return f"ok, at most {peak:.0f} MB"


def test_other_files(folder):
    """What is no tokenizer at all."""
    file = folder / "damaged.json"
    for data in (b"", b" ", b"\x00", b"null", b"[]", b"{}", b"3", b'"x"', b"\xff\xfe{\x00}\x00", b"\x1f\x8b\x08\x00", b"a b\nc d\n", tokenizer_text("gpt2").encode("utf-16")):
        must_refuse(file, data, f"{data[:12]!r}")
    for path in (folder / "nowhere.json", folder):
        try:
            leat_tokenize.run(["tokenizer", "encode", path])
        except Failed as failed:
            assert not failed.is_crash and str(path) in failed.message, failed
        else:
            raise AssertionError(f"{path} loads")


if __name__ == "__main__":
    leat_tokenize.main(globals())

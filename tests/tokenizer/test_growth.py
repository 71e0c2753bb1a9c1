"""Files that make gigabytes of a short text: they are refused before the memory is taken."""
import base64
import json
import os
import struct
import subprocess

import leat_tokenize
from leat_tokenize import BIN

N_CHARS = 600_000
MEMORY_KIB_MAX = 700_000  # a sanitizer keeps what is freed; the results would have above 1 GiB
CONTENT = "x" * 10_000


def write(folder, **parts):
    vocab = {"a" * 1000: 0, "a": 1, "<unk>": 2}
    made = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}, **parts}
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    return file


def charsmap(byte, content):
    """A map of one byte: the root of its trie, the node of the byte, which has a leaf, and the leaf."""
    units = [0] * 512
    units[0] = 256 << 10
    node = 256 ^ byte
    units[node] = byte | 1 << 8 | 1 << 10
    units[node ^ 1] = 1 << 31
    return base64.b64encode(struct.pack("<I512I", 4 * 512, *units) + content.encode() + b"\0").decode()


def check(file, command, asked):
    """leatctl refuses it, and did not have much memory."""
    done = subprocess.Popen([str(BIN / "leatctl"), "tokenizer", command, str(file), "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        done.stdin.write(json.dumps(asked).encode() + b"\n")
        done.stdin.close()
        message = done.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
    finally:
        done.stderr.close()
    assert done.returncode > 0 and "longer than 1073741824 bytes" in message, (done.returncode, message[-400:])
    assert usage.ru_maxrss < MEMORY_KIB_MAX, f"{command} had {usage.ru_maxrss} KiB: {file.read_text()[:300]}"


def normalizers():
    replace = lambda pattern, content=CONTENT: {"type": "Replace", "pattern": pattern, "content": content}
    yield replace({"String": "a"})
    yield replace({"String": "aa"})
    yield replace({"String": ""})
    yield replace({"Regex": "a"})
    yield replace({"Regex": "(?=a)"})
    yield replace({"Regex": " +"})
    yield {"type": "Precompiled", "precompiled_charsmap": charsmap(ord("a"), CONTENT)}
    yield {"type": "Sequence", "normalizers": [replace({"String": "a"}, "aaaa"), replace({"String": "a"}, "b" * 2000)]}


def test_normalizers(folder):
    text = "aaa " * (N_CHARS // 4)
    for normalizer in normalizers():
        file = write(folder, normalizer=normalizer)
        for asked in ({"t": text}, {"t": text, "off": True}):
            check(file, "encode", asked)


def test_a_form_of_unicode(folder):
    """U+FDFA becomes 18 characters."""
    check(write(folder, normalizer={"type": "NFKD"}), "encode", {"t": "\ufdfa" * 34_000_000})


def test_decoders(folder):
    ids = {"ids": [0] * 2000}
    for pattern in ({"String": "a"}, {"String": ""}, {"Regex": "a"}):
        check(write(folder, decoder={"type": "Replace", "pattern": pattern, "content": CONTENT}), "decode", ids)
    for decoder in ({"type": "Fuse"}, {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}, None):
        check(write(folder, decoder=decoder), "decode", {"ids": [0] * 1_100_000})


if __name__ == "__main__":
    leat_tokenize.main(globals())

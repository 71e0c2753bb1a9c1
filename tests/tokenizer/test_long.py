"""Long documents: time grows with the length, whatever the text; and byte-level tokenizers give the
text back.

Time is that of the processor, which other load hardly changes; what it does change is only ever added,
so what seems slow is measured again, and the least counts. What grows with the square of the length
takes 256 times as long for a text of 16 times the length.
"""
import math
import random
import resource

import leat_tokenize
import texts
from leat_tokenize import DATA

KINDS = ("gpt2", "llama3", "modernbert", "bert-uncased", "llama2", "llama-bound", "mistral", "gemma", "t5", "unigram-fallback", "clip", "deepseek", "prefix-bpe")
LOSSLESS = ("gpt2", "llama3", "o200k", "deepseek", "falcon", "phi2", "whisper")
N_CHARS = 400_000
FACTOR = 16
N_TRIES = 5


def patterns():
    """name -> function of a length in characters."""
    rng = random.Random(5)
    letters = "".join(rng.choices("abcdefghij", k=2 * N_CHARS))
    kana = "".join(rng.choices("のにはをたがでとし日本語", k=2 * N_CHARS))
    return {"one letter": lambda n: "a" * n, "blanks": lambda n: " " * n, "no blank": lambda n: letters[:n], "ideographs": lambda n: kana[:n], "words": lambda n: ("the old man's 1234 house. " * (n // 20))[:n],
            "lines": lambda n: "\r\n" * (n // 2), "marks": lambda n: "a" + "\u0301\u0323" * (n // 2), "symbols": lambda n: "!=" * (n // 2), "almost tokens": lambda n: "<|endof" * (n // 7),
            "tabs": lambda n: " \t" * (n // 2), "digits": lambda n: "1234567890" * (n // 10)}


def cpu_s():
    """Of all processes that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds(file, makes, n_chars):
    texts = [make(n_chars) for make in makes]
    before = cpu_s()
    leat_tokenize.encode_ids(file, texts)
    return cpu_s() - before


def find_growth(file, makes):
    """None if the time of these patterns together is linear; else what was measured."""
    short = long = math.inf
    for _ in range(N_TRIES):
        short = min(short, seconds(file, makes, N_CHARS // FACTOR))
        long = min(long, seconds(file, makes, N_CHARS))
        if long < 4 * FACTOR * short:
            return None
    return f"{long:.2f} s for {N_CHARS} characters, {short:.3f} s for one in {FACTOR} of them"


def test_time_is_linear(_folder):
    """All patterns share a process, since loading a tokenizer takes longer than most of them. If they are slow, each is tried."""
    slow = []
    for name in KINDS:
        file = DATA / f"{name}.json"
        found = find_growth(file, patterns().values())
        if found:
            each = {what: find_growth(file, [make]) for what, make in patterns().items()}
            slow.append(f"    {name}: {found}; {each}")
    assert not slow, "\n".join(slow)


def test_round_trip(_folder):
    for name in LOSSLESS:
        maker = texts.Texts(random.Random(name), ["<|endoftext|>"])
        some = [maker.text() for _ in range(200)] + [maker.long_text(20_000)]
        ids = leat_tokenize.encode_ids(DATA / f"{name}.json", some)
        back = leat_tokenize.decode(DATA / f"{name}.json", [{"ids": row} for row in ids])
        for text, decoded in zip(some, back):
            assert text == decoded, f"{name}: {text[:200]!r} comes back as {decoded[:200]!r}"


if __name__ == "__main__":
    leat_tokenize.main(globals())

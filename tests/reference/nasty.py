"""Small generated data of the nasty kind, and a vocabulary for it. The same seed gives the same."""
import csv
import io
import json
import random

WORDS = ["the", "mill", "leat", "water", "a", "sluice", "wheel", "stone", "grain", "Mühle", "größe",
         "水", "車", "naïve", "🌊", "x", "", "0", "-1", "3.5"]


def text(rng, alphabet=(" ", ",", '"', "\n", "\r\n", "\t", ";", "'", "{", "\\", "\u00a0")):
    """Words with what CSV and JSON must quote or escape between them, sometimes nothing at all."""
    if rng.random() < 0.15:
        return ""
    return "".join(rng.choice(WORDS) + (rng.choice(alphabet) if rng.random() < 0.5 else " ")
                   for _ in range(rng.randrange(1, 12)))


def csv_bytes(seed, n_rows, delimiter=",", line_end="\n", bom=False, final_newline=True, blank_lines=False):
    """Columns id, text, label, number, empty. Quoted or not at random, where either is right."""
    rng = random.Random(seed)
    out = ["id", "text", "label", "number", "last"]
    rows = [delimiter.join(out)]
    for number in range(n_rows):
        fields = [str(number), text(rng), rng.choice(["cat", "dog", "emu", ""]),
                  rng.choice(["1", "2.5", "-3e2", "0.1", "1e-3", "", "77"]),
                  rng.choice(["", "x", text(rng)])]
        rows.append(delimiter.join(quote(field, delimiter, rng) for field in fields))
        if blank_lines and rng.random() < 0.1:
            rows.append("")
    data = line_end.join(rows) + (line_end if final_newline else "")
    return (b"\xef\xbb\xbf" if bom else b"") + data.encode()


def quote(field, delimiter, rng):
    must = any(c in field for c in (delimiter, '"', "\n", "\r"))
    if must or rng.random() < 0.3:
        return '"' + field.replace('"', '""') + '"'
    return field


def jsonl_bytes(seed, n_rows, line_end="\n", final_newline=True, blank_lines=False):
    """Keys in random order, text escaped or not, nested maps, lists of numbers."""
    rng = random.Random(seed)
    lines = []
    for number in range(n_rows):
        record = [("id", number), ("text", text(rng)), ("flag", rng.random() < 0.5),
                  ("meta", {"lang": rng.choice(["en", "de", ""]), "stars": rng.randrange(-5, 6)}),
                  ("weight", rng.choice([0.5, -1.25, 1e-9, 3.0, 12345.678])),
                  ("values", [rng.randrange(-1000, 1000) for _ in range(rng.randrange(0, 9))])]
        if number > 0:
            rng.shuffle(record)
        lines.append(json.dumps(dict(record), ensure_ascii=rng.random() < 0.5,
                                separators=rng.choice([(",", ":"), (", ", ": ")])))
        if blank_lines and rng.random() < 0.1:
            lines.append("")
    return (line_end.join(lines) + (line_end if final_newline else "")).encode()


def talks_bytes(seed, n_rows):
    """Conversations, some of which a template refuses, and instructions."""
    rng = random.Random(seed)
    lines = []
    for i in range(n_rows):
        roles = rng.choice((["user", "assistant"] * rng.randrange(1, 5), ["system", "user", "assistant"], ["user", "tool", "assistant"],
                            ["assistant"], ["narrator", "user"], ["user"]))
        messages = [{"role": role, "content": text(rng) + rng.choice(("", " a b", "\u3000", "\x1f", "c a\n"))} for role in roles]
        if i % 19 == 3:
            del messages[-1]["content"]
        record = {"id": i, "x": {"messages": 1}, "messages": messages if i % 23 else rng.choice((None, [], {}, "a b")),
                  "instruction": text(rng), "input": rng.choice(("", "a b")), "output": text(rng)}
        items = list(record.items())
        rng.shuffle(items)
        lines.append(json.dumps(dict(items), ensure_ascii=bool(i % 2), separators=((",", ":"), (" , ", " : "))[i % 3 == 0]))
    return "".join(line + "\n" for line in lines).encode()


def documents_bytes(seed, n_rows, longest=60):
    """Lists `ids` and `types` of equal, log-normal length (some empty), a number and names that
    come again and again."""
    rng = random.Random(seed)
    lines = []
    for number in range(n_rows):
        n = 0 if rng.random() < 0.05 else min(longest, int(rng.lognormvariate(2, 1)) + 1)
        record = {"id": number, "ids": [number * 100 + i for i in range(n)],
                  "types": [rng.randrange(2) for _ in range(n)],
                  "user": f"user {rng.randrange(20)}", "group": rng.randrange(7), "text": text(rng)[:6]}
        lines.append(json.dumps(record))
    return ("\n".join(lines) + "\n").encode()


def vocab_lines(seed, n_tokens):
    """Characters and pieces of words, so that many segmentations of the same length exist."""
    rng = random.Random(seed)
    base = " ".join(WORDS) + ' ,";{}:NameTextLabel0123456789.-e'
    tokens = list(dict.fromkeys(base.replace("\n", "")))
    tokens = [token for token in tokens if token not in "🌊\t"]  # one character stays unknown
    seen = set(tokens)
    while len(tokens) < n_tokens:
        word = rng.choice(WORDS + ["Text: ", " the", "e m", "at"])
        start = rng.randrange(0, max(1, len(word)))
        token = word[start:start + rng.randrange(2, 6)]
        if rng.random() < 0.3:
            token = " " + token
        if rng.random() < 0.1:
            token += rng.choice(WORDS)
        if len(token) > 1 and token not in seen and "🌊" not in token:
            seen.add(token)
            tokens.append(token)
    return tokens


def read_csv(data, delimiter=","):
    """What Python makes of it: [[field, ...]] without blank lines."""
    file = io.StringIO(data.decode("utf-8-sig"), newline="")
    return [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]


def bad_text(seed):
    """Lines of words, some blank, some with bytes that are no UTF-8."""
    rng = random.Random(seed)
    bad = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x8c", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\x80"]
    lines = []
    for _ in range(120):
        line = text(rng).encode()
        if rng.random() < 0.2:
            at = rng.randrange(0, len(line) + 1)
            line = line[:at] + rng.choice(bad) + line[at:]
        lines.append(line + rng.choice([b"\n", b"\n", b"\r\n", b"\n\n"]))
    return b"".join(lines)

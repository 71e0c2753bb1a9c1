"""Tokens by brute force: every token is tried at every place.

Written from the documentation (pipeline/tokenizer/, the arguments of `tokenize`), not from the C
code, and without a trie.
"""
import json
import math
import re

from leat_elements import BadRecord
from leat_order import Rng


def byte_level_table():
    """How byte-level vocabularies write bytes: printable ones as themselves, others from U+0100."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {chr(byte): byte for byte in plain}
    table.update({chr(0x100 + i): byte for i, byte in enumerate(others)})
    return table


BYTES_OF = byte_level_table()


def decode(token, encoding):
    """The bytes that an entry of a vocabulary stands for."""
    if encoding == "byte_level":
        if all(character in BYTES_OF for character in token):
            return bytes(BYTES_OF[character] for character in token)
        return token.encode()
    if encoding == "metaspace":
        if re.fullmatch("<0x[0-9A-Fa-f]{2}>", token):
            return bytes([int(token[3:5], 16)])
        return token.replace("\u2581", " ").encode()
    return token.encode()


def read_vocab(path, encoding):
    """{bytes: id} of a file with a token a line, of JSON {token: id}, or of a tokenizer.json."""
    with open(path, "rb") as file:
        data = file.read()
    if str(path).endswith(".json"):
        entries = json.loads(data)
        if isinstance(entries.get("model"), dict):
            entries = entries["model"]["vocab"]
            if isinstance(entries, list):
                entries = {token: number for number, (token, _) in enumerate(entries)}
        return {decode(token, encoding): number for token, number in entries.items()}
    lines = data.decode().split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return {decode(line, encoding): number for number, line in enumerate(lines)}


def character_length(text, at):
    """Bytes of the character that begins there; a byte that begins none counts for itself."""
    for n in (1, 2, 3, 4):
        piece = text[at:at + n]
        if len(piece) == n:
            try:
                if len(piece.decode()) == 1:
                    return n
            except UnicodeDecodeError:
                pass
    return 1


class Tokenizer:
    def __init__(self, args, directory):
        self.ids = read_vocab(directory / args["vocab"], args.get("vocab_encoding", "raw"))
        self.mode = args.get("mode", "shortest")
        self.unknown = args.get("unknown", "error")
        self.unk_id = args.get("unk_id")
        self.longest = max(map(len, self.ids), default=0)
        self.scores = None
        if "scores" in args:
            with open(directory / args["scores"], "rb") as file:
                self.scores = [float(line) for line in file.read().split()]

    def cost(self, number):
        return 1.0 if self.scores is None else self.scores[number]

    def matches(self, text, at):
        """(end, id) of every token that begins there, shortest first."""
        for end in range(at + 1, min(len(text), at + self.longest) + 1):
            number = self.ids.get(text[at:end])
            if number is not None:
                yield end, number

    def encode(self, text, key):
        if self.mode == "greedy":
            path = self.greedy(text)
        elif self.mode == "random":
            path = self.random(text, Rng(key))
        else:
            path = self.shortest(text)
        return [number for number in map(self.resolve, path) if number is not None]

    def resolve(self, number):
        if number is not None:
            return number
        if self.unknown == "error":
            raise BadRecord("a character that is not in the vocabulary")
        return self.unk_id if self.unknown == "unk" else None

    def greedy(self, text):
        at, path = 0, []
        while at < len(text):
            found = list(self.matches(text, at))
            end, number = found[-1] if found else (at + character_length(text, at), None)
            path.append(number)
            at = end
        return path

    def shortest(self, text):
        """Fewest unknown characters, then least cost, then: the longest last token."""
        best = [(math.inf, math.inf)] * (len(text) + 1)
        back = [None] * (len(text) + 1)
        best[0] = (0, 0.0)
        for at in range(len(text)):
            unknown, cost = best[at]
            if unknown == math.inf:
                continue
            steps = [(end, number, (unknown, cost + self.cost(number)))
                     for end, number in self.matches(text, at)]
            steps.append((at + character_length(text, at), None, (unknown + 1, cost)))
            for end, number, total in steps:
                if total < best[end]:
                    best[end], back[end] = total, (at, number)
        return self.walk_back(back, len(text))

    @staticmethod
    def walk_back(back, end):
        path = []
        while end > 0:
            end, number = back[end]
            path.append(number)
        return path[::-1]

    def edges(self, text, at):
        """(end, id, weight) from the longest token to the shortest; last, if no token is exactly the
        character, an unknown one."""
        found = [(end, number, 1.0 if self.scores is None else math.exp(-self.scores[number]))
                 for end, number in self.matches(text, at)][::-1]
        end = at + character_length(text, at)
        return found if any(edge[0] == end for edge in found) else found + [(end, None, 1.0)]

    def random(self, text, rng):
        """Drawn by backward filtering and forward sampling among what has the fewest unknown
        characters; for texts of one window (65,536 bytes)."""
        assert len(text) <= 65536
        unknown, mass, exponent = {len(text): 0}, {len(text): 0.5}, {len(text): 1}
        ways = {}  # position -> (edges that count, their terms, the sum)
        for at in range(len(text) - 1, -1, -1):
            edges = [(end, number, weight, unknown[end] + (number is None))
                     for end, number, weight in self.edges(text, at) if end in unknown]
            if not edges:
                continue
            unknown[at] = min(edge[3] for edge in edges)
            edges = [edge for edge in edges if edge[3] == unknown[at]]
            top = max(exponent[end] for end, *_ in edges)
            terms = [math.ldexp(weight * mass[end], exponent[end] - top) for end, _, weight, _ in edges]
            total = 0.0
            for term in terms:
                total += term
            mass[at], shift = math.frexp(total)
            exponent[at] = shift + top
            ways[at] = edges, terms, total
        at, path = 0, []
        while at < len(text):
            edges, terms, total = ways[at]
            drawn, added = rng.unit() * total, 0.0
            for edge, term in zip(edges, terms):
                added += term
                if added > drawn:
                    break
            path.append(edge[1])
            at = edge[0]
        return path

#!/usr/bin/env python3
"""Makes a vocabulary for `tokenize` from text: the substrings that save the most tokens.

    gen_vocab.py --csv config/titanic.csv --tokens 3000 > config/titanic.vocab.txt
    gen_vocab.py --text notes.txt --tokens 30000 > notes.vocab.txt

One token a line. First `<pad>` (so that padding with 0 is no word's number), then every printable
ASCII character and every other character that occurs, then substrings of words, with the blank
before a word as part of it, by how much they would save: occurrences * (characters - 1). The same
input gives the same vocabulary.
"""
import argparse
import collections
import csv
import re
import sys

# The text that config/titanic.yaml makes of a row.
PARTS = ["Passenger class: {Pclass}", "Name: {Name}", "Sex: {Sex}", "Age: {Age}",
         "Siblings/spouses: {SibSp}", "Parents/children: {Parch}", "Ticket: {Ticket}",
         "Fare: {Fare}", "Cabin: {Cabin}", "Port: {Embarked}"]
WORD = re.compile(r" ?[^ \n]+")


def row_text(row):
    """The parts of which no field is empty, joined by a blank."""
    parts = ((part, re.findall(r"\{(\w+)\}", part)) for part in PARTS)
    return " ".join(part.format(**row) for part, names in parts if all(row[name] for name in names))


def lines_of(args):
    with open(args.csv or args.text, newline="", encoding="utf-8") as file:
        rows = (row_text(row) for row in csv.DictReader(file)) if args.csv else file
        for number, line in enumerate(rows):
            if number == args.lines:
                return
            yield line


def count_substrings(lines, max_length):
    words = collections.Counter(word for line in lines for word in WORD.findall(line))
    counts = collections.Counter()
    for word, n in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + max_length) + 1):
                counts[word[start:end]] += n
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--csv", help="rows in the shape of config/titanic.csv")
    source.add_argument("--text", help="text, UTF-8")
    parser.add_argument("--tokens", type=int, default=3000, help="how many in all")
    parser.add_argument("--lines", type=int, default=20000, help="read at most so many rows or lines")
    parser.add_argument("--max-length", type=int, default=16, help="characters of a token at most")
    args = parser.parse_args()

    counts = count_substrings(lines_of(args), args.max_length)
    singles = {chr(code) for code in range(0x20, 0x7f)} | {text for text in counts if len(text) == 1}
    singles -= {"\r", "\n"}
    tokens = ["<pad>"] + sorted(singles)
    longer = sorted((text for text in counts if len(text) > 1 and "\r" not in text),
                    key=lambda text: (-counts[text] * (len(text) - 1), text))
    tokens += longer[:max(0, args.tokens - len(tokens))]
    sys.stdout.buffer.write("".join(token + "\n" for token in tokens).encode())


if __name__ == "__main__":
    main()

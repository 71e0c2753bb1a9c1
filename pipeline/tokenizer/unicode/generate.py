#!/usr/bin/env python3
"""Makes the C tables that go with this directory from the facts in data/*.txt, as the build needs them
(tests/tokenizer/probe_unicode.py obtained these facts).

usage: generate.py FOLDER     writes there class_tables.c, folding_tables.c and so on

One set of tables, `u16`: Unicode as `tokenizers` 0.22 and 0.23 see it.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SET = "u16"
N_CODE_POINTS = 0x110000


def sections(name):
    """(words of the heading, lines) of each section of a data file."""
    out = []
    with open(os.path.join(HERE, "data", name + ".txt"), encoding="ascii") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if line.startswith("["):
                out.append((line[1:-1].split(), []))
            elif line:
                out[-1][1].append(line)
    return out


def ranges_of(lines):
    out = []
    for item in " ".join(lines).split():
        ends = [int(x, 16) for x in item.split("-")]
        out.append((ends[0], ends[-1]))
    return out


def members(ranges):
    return {c for first, last in ranges for c in range(first, last + 1)}


def mapping_of(lines):
    out = {}
    for line in lines:
        key, *to = [int(x, 16) for x in line.split()]
        out[key] = to
    return out


class C:
    """A file of tables."""

    def __init__(self, name, what, header):
        self.name = name
        self.text = f"/* {name}: {what} Made by generate.py. */\n/* clang-format off */\n"
        self.text += f'#include "pipeline/tokenizer/unicode/{header}"\n'

    def array(self, declaration, items, width=100):
        self.text += f"\n{declaration} = {{\n"
        line = "   "
        for item in items:
            if len(line) + len(item) + 2 > width:
                self.text += line + "\n"
                line = "   "
            line += " " + item + ","
        self.text += line + "\n};\n"

    def done(self):
        return self.name, self.text


def two_stages(values, shift):
    """Blocks of 1 << shift values, equal ones once: (index of each block, the blocks)."""
    first, blocks, known = [], [], {}
    for at in range(0, len(values), 1 << shift):
        block = tuple(values[at : at + (1 << shift)])
        if block not in known:
            known[block] = len(blocks)
            blocks.append(block)
        first.append(known[block])
    return first, [v for block in blocks for v in block]


def emit_two_stages(out, name, values, shift, kind="uint8_t"):
    first, second = two_stages(values, shift)
    assert max(first) < 65536
    out.array(f"const uint16_t leat_unicode_{SET}_{name}_blocks[{len(first)}]", map(str, first))
    out.array(f"const {kind} leat_unicode_{SET}_{name}[{len(second)}]", map(str, second))


def emit_bits(out, name, is_member):
    """A bit for each code point up to U+FFFF, 64 in a word."""
    out.array(f"const uint64_t leat_unicode_{SET}_{name}[1024]",
              (f"0x{sum(1 << i for i in range(64) if is_member(at + i)):x}" for at in range(0, 65536, 64)))


# The classes of a character, as bits.

BITS = """LU LL LT LM LO MARK NUMBER PUNCTUATION SYMBOL SPACE RUST_NUMERIC RUST_SPACE RUST_WORD
BERT_PUNCTUATION BERT_SEPARATOR BERT_REMOVED BERT_BLANK BERT_CHINESE BERT_MARK COMBINING_MARK""".split()


def class_sets():
    sets = {}
    for (kind, *names), lines in sections("classes"):
        if kind == "category":
            sets[names[0]] = members(ranges_of(lines))
        elif kind == "escape":
            sets["escape " + names[0]] = members(ranges_of(lines))
    for names, lines in sections("predicates"):
        if len(names) == 1:
            sets[names[0]] = members(ranges_of(lines))
    out = {name: sets[name.title()] for name in "LU LL LT LM LO".split()}
    out["MARK"] = sets["Mn"] | sets["Mc"] | sets["Me"]
    out["NUMBER"] = sets["Nd"] | sets["Nl"] | sets["No"]
    out["PUNCTUATION"] = set().union(*(sets[x] for x in "Pc Pd Ps Pe Pi Pf Po".split()))
    out["SYMBOL"] = set().union(*(sets[x] for x in "Sm Sc Sk So".split()))
    out["SPACE"] = sets["escape space"]
    for name in BITS:
        if name not in out:
            out[name] = sets[name.lower()]
    return out


def classes_file():
    out = C("class_tables.c", "the classes of a character.", "unicode.h")
    sets = class_sets()
    masks = [0] * N_CODE_POINTS
    for bit, name in enumerate(BITS):
        for c in sets[name]:
            masks[c] |= 1 << bit
    distinct = sorted(set(masks))
    index = {mask: i for i, mask in enumerate(distinct)}
    emit_two_stages(out, "class", [index[m] for m in masks], 7)
    out.array(f"const uint32_t leat_unicode_{SET}_masks[{len(distinct)}]",
              (f"0x{m:x}" for m in distinct))
    letter = sum(1 << BITS.index(name) for name in "LU LL LT LM LO".split())
    emit_bits(out, "letters", lambda c: masks[c] & letter)
    scripts = [0] * N_CODE_POINTS
    n = 0
    for names, lines in sections("predicates"):
        if names[0] == "cut_script":
            n += 1
            for c in members(ranges_of(lines)):
                scripts[c] = n
    assert n < 256
    emit_two_stages(out, "cut_script", scripts, 7)
    return out.done()


# Classes by name.


def name_key(name):
    return re.sub("[ _-]", "", name).lower()


def names_file():
    out = C("property_tables.c", "classes of regular expressions by name.", "property.h")
    kinds = {"category": "PROPERTY", "group": "PROPERTY", "script": "PROPERTY",
             "property": "PROPERTY", "posix": "POSIX", "escape": "ESCAPE"}
    found, known, pool, table = {}, {}, [], {}
    for (kind, *names), lines in sections("classes"):
        if kind == "group":
            ranges = merged([r for part in lines[0].split() for r in found[part]])
        else:
            ranges = ranges_of(lines)
        if kind == "category":
            found[names[0]] = ranges
        # The surrogates are no characters: a range may run across them.
        ranges = bridge(ranges)
        if tuple(ranges) not in known:
            known[tuple(ranges)] = len(pool)
            pool += ranges
        for name in names:
            table.setdefault((kinds[kind], name_key(name)), (known[tuple(ranges)], len(ranges)))
    out.array(f"const struct leat_unicode_range leat_unicode_{SET}_ranges[{len(pool)}]",
              (f"{{0x{a:x}, 0x{b:x}}}" for a, b in pool))
    rows = sorted(table.items())
    out.array(f"const struct leat_unicode_name leat_unicode_{SET}_names[{len(rows)}]",
              (f'{{LEAT_UNICODE_{kind}, "{name}", {start}, {n}}}'
               for (kind, name), (start, n) in rows))
    out.text += f"\nconst size_t leat_unicode_{SET}_n_names = {len(rows)};\n"
    return out.done()


def merged(ranges):
    out = []
    for first, last in sorted(ranges):
        if out and first == out[-1][1] + 1:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return out


def bridge(ranges):
    out = []
    for first, last in ranges:
        if out and out[-1][1] == 0xD7FF and first == 0xE000:
            out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return out


# Grapheme clusters.

GRAPHEMES = """OTHER CONTROL CR LF EXTEND EXTEND_CONJUNCT LINKER ZWJ SPACING_MARK PREPEND
REGIONAL_INDICATOR L V T LV LVT PICTOGRAPHIC CONSONANT""".split()


def graphemes_file():
    out = C("grapheme_tables.c", "what a character is to grapheme clusters.", "grapheme.h")
    sets = {names[0]: members(ranges_of(lines)) for names, lines in sections("graphemes")}
    values = [0] * N_CODE_POINTS

    def put(name, found):
        for c in found:
            assert values[c] == 0, (name, hex(c))
            values[c] = GRAPHEMES.index(name)

    linker, conjunct = sets["InCB_Linker"], sets["InCB_Extend"]
    assert linker | conjunct <= sets["Extend"] | {0x200D}
    put("CONTROL", sets["Control"])
    put("CR", [0x0D])
    put("LF", [0x0A])
    put("ZWJ", [0x200D])
    put("LINKER", linker)
    put("EXTEND_CONJUNCT", conjunct - {0x200D})
    put("EXTEND", sets["Extend"] - linker - conjunct)
    put("SPACING_MARK", sets["SpacingMark"])
    put("PREPEND", sets["Prepend"])
    put("REGIONAL_INDICATOR", range(0x1F1E6, 0x1F200))
    for name in "LVT":
        put(name, sets[name])
    put("LV", range(0xAC00, 0xD7A4, 28))
    put("LVT", (c for c in range(0xAC00, 0xD7A4) if (c - 0xAC00) % 28))
    put("PICTOGRAPHIC", sets["Extended_Pictographic"])
    put("CONSONANT", sets["InCB_Consonant"])
    emit_two_stages(out, "grapheme", values, 7)
    return out.done()


# Normalization forms.

def normalization_file():
    out = C("form_tables.c", "decompositions, compositions, lower case.", "form.h")
    facts = {}
    ccc = [0] * N_CODE_POINTS
    for names, lines in sections("normalization"):
        if names[0] == "combining_class":
            for c in members(ranges_of(lines)):
                ccc[c] = int(names[1])
        else:
            facts[names[0]] = mapping_of(lines)
    nfd, lower = facts["decomposition"], facts["lower_case"]
    nfkd = {**nfd, **facts["compatibility_decomposition"]}
    pairs = {tuple(pair): c for c, pair in facts["composition"].items()}
    seconds = {b for _, b in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    pool, known = [], {}

    def place(code_points):
        key = tuple(code_points)
        if key not in known:
            known[key] = len(pool)
            pool.extend(key)
        return known[key]

    def record(c):
        hangul = 0xAC00 <= c < 0xD7A4
        can, com, low = nfd.get(c, []), nfkd.get(c, []), lower.get(c, [])
        starts = ccc[c] == 0 and c not in seconds
        composed = tuple(facts["composition"].get(c, ())) != ()
        flags = [starts and (not can or composed), ccc[c] == 0 and not can and not hangul,
                 starts and (not com or com == can and composed),
                 ccc[c] == 0 and not com and not hangul]
        # The first of a decomposition may itself compose with, or sort behind, what comes before.
        for form, to in (0, can), (2, com):
            if to and (ccc[to[0]] or to[0] in seconds):
                flags[form] = False
        for to in can, com:
            first = to[0] if to else c
            flags.append(ccc[first] == 0 and first not in seconds)  # composing
            flags.append(ccc[first] == 0)
        flags = [bool(flag) for flag in flags]
        assert all(not stable or boundary for stable, boundary in zip(flags, flags[4:])), hex(c)
        bits = sum(1 << i for i, flag in enumerate(flags) if flag)
        return (place(can) if can else 0, place(com) if com else 0, place(low) if low else 0,
                len(can), len(com), len(low), ccc[c], bits & 15, bits >> 4)

    records, values = {}, []
    for c in range(N_CODE_POINTS):
        values.append(records.setdefault(record(c), len(records)))
    assert len(records) < 65536 and len(pool) < 65536
    emit_two_stages(out, "form", values, 7, "uint16_t")
    out.array(f"const struct leat_unicode_form leat_unicode_{SET}_forms[{len(records)}]",
              ("{%d, %d, %d, %d, %d, %d, %d, %d, %d}" % r for r in records))
    out.array(f"const uint32_t leat_unicode_{SET}_form_pool[{len(pool)}]",
              (f"0x{c:x}" for c in pool))
    rows = list(records)
    emit_bits(out, "nfc_stable", lambda c: rows[values[c]][7] & 1)
    emit_compositions(out, pairs)
    return out.done()


def emit_compositions(out, pairs):
    """Open addressing; the same hash as in form.c."""
    bits = 11
    assert len(pairs) * 2 <= 1 << bits
    table = [(0, 0, 0)] * (1 << bits)
    for (first, second), composed in sorted(pairs.items()):
        at = ((first * 0x9E3779B1 + second * 0x85EBCA6B) & 0xFFFFFFFF) >> (32 - bits)
        while table[at] != (0, 0, 0):
            at = (at + 1) % len(table)
        table[at] = (first, second, composed)
    out.array(f"const struct leat_unicode_pair leat_unicode_{SET}_pairs[{len(table)}]",
              ("{0x%x, 0x%x, 0x%x}" % row for row in table))


# Letters that ignore case.


def folding_file():
    out = C("folding_tables.c", "characters that equal others but for case.", "folding.h")
    facts = {names[0]: [[int(x, 16) for x in line.split()] for line in lines]
             for names, lines in sections("folding")}
    folds = facts["fold"]
    first_of = {c: fold[0] for fold in folds for c in fold}
    out.array(f"const struct leat_unicode_fold leat_unicode_{SET}_folds[{len(folds)}]",
              ("{%d, {%s}}" % (len(fold), ", ".join(f"0x{c:x}" for c in fold)) for fold in folds))
    out.text += f"\nconst size_t leat_unicode_{SET}_n_folds = {len(folds)};\n"
    rows = [(c, *(first_of.get(x, x) for x in to[:2])) for c, *to in facts["long_fold"]]
    out.array(f"const struct leat_unicode_long_fold leat_unicode_{SET}_long_folds[{len(rows)}]",
              ("{0x%x, 0x%x, 0x%x}" % row for row in rows))
    out.text += f"\nconst size_t leat_unicode_{SET}_n_long_folds = {len(rows)};\n"
    return out.done()


# Upper and title case.


def casing_file():
    out = C("casing_tables.c", "upper and title case of characters.", "form.h")
    facts = {names[0]: mapping_of(lines) for names, lines in sections("casing")}
    rows = []
    for c in sorted({**facts["upper"], **facts["title"]}):
        upper = facts["upper"].get(c, [c])
        rows.append((c, upper, facts["title"].get(c, upper)))
    out.array(f"const struct leat_unicode_case leat_unicode_{SET}_cases[{len(rows)}]",
              ("{0x%x, {%s}, {%s}}" % (c, *(", ".join(f"0x{x:x}" for x in to) for to in both)) for c, *both in rows))
    out.text += f"\nconst size_t leat_unicode_{SET}_n_cases = {len(rows)};\n"
    return out.done()


def main():
    for name, text in casing_file(), classes_file(), names_file(), graphemes_file(), normalization_file(), folding_file():
        with open(os.path.join(sys.argv[1], name), "w", encoding="ascii") as f:
            f.write(text)


if __name__ == "__main__":
    main()

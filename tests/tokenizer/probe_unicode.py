#!/usr/bin/env python3
"""Obtains the facts in pipeline/tokenizer/unicode/data/*.txt by asking the `tokenizers` wheel what it does.

The pieces of that library use several versions of Unicode at once, so no published table describes
it. This script needs the wheel (0.23 made the data here); generate.py, which makes the C tables
from the facts, does not. Each file is sections of the form

    [name alias alias]
    41-5A C0 ...

where the body is ranges of code points, or lines of a mapping, in hexadecimal. To add another set
of tables, run this beside another version of the wheel into another directory.

usage: probe_unicode.py DIRECTORY
"""
import base64
import json
import struct
import sys

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

EVERY = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
EVERY_TEXT = "".join(map(chr, EVERY))

CATEGORIES = """Lu=Uppercase_Letter Ll=Lowercase_Letter Lt=Titlecase_Letter Lm=Modifier_Letter
Lo=Other_Letter Mn=Nonspacing_Mark Mc=Spacing_Mark Me=Enclosing_Mark Nd=Decimal_Number
Nl=Letter_Number No=Other_Number Pc=Connector_Punctuation Pd=Dash_Punctuation Ps=Open_Punctuation
Pe=Close_Punctuation Pi=Initial_Punctuation Pf=Final_Punctuation Po=Other_Punctuation Sm=Math_Symbol
Sc=Currency_Symbol Sk=Modifier_Symbol So=Other_Symbol Zs=Space_Separator Zl=Line_Separator
Zp=Paragraph_Separator Cc=Control Cf=Format Co=Private_Use Cn=Unassigned""".split()

GROUPS = """C=Other L=Letter LC=Cased_Letter M=Mark=Combining_Mark N=Number P=Punctuation S=Symbol
Z=Separator""".split()

PROPERTIES = """Any Assigned ASCII Alnum Alpha=Alphabetic Blank Digit Graph Lower=Lowercase Print
Punct Space=White_Space Upper=Uppercase XDigit Word Ideographic Unified_Ideograph Math Dash Hyphen
Diacritic Extender Hex_Digit ASCII_Hex_Digit ID_Start ID_Continue XID_Start XID_Continue
Cased Case_Ignorable Join_Control Quotation_Mark Radical Sentence_Terminal Terminal_Punctuation
Variation_Selector Pattern_White_Space Pattern_Syntax Regional_Indicator Noncharacter_Code_Point
Default_Ignorable_Code_Point Grapheme_Base Grapheme_Extend Soft_Dotted Emoji Emoji_Presentation
Emoji_Modifier Emoji_Modifier_Base Emoji_Component Extended_Pictographic""".split()

SCRIPTS = """Adlam=Adlm Ahom Anatolian_Hieroglyphs=Hluw Arabic=Arab Armenian=Armn Avestan=Avst
Balinese=Bali Bamum=Bamu Bassa_Vah=Bass Batak=Batk Bengali=Beng Bhaiksuki=Bhks Bopomofo=Bopo
Brahmi=Brah Braille=Brai Buginese=Bugi Buhid=Buhd Canadian_Aboriginal=Cans Carian=Cari
Caucasian_Albanian=Aghb Chakma=Cakm Cham Cherokee=Cher Chorasmian=Chrs Common=Zyyy Coptic=Copt=Qaac
Cuneiform=Xsux Cypriot=Cprt Cypro_Minoan=Cpmn Cyrillic=Cyrl Deseret=Dsrt Devanagari=Deva
Dives_Akuru=Diak Dogra=Dogr Duployan=Dupl Egyptian_Hieroglyphs=Egyp Elbasan=Elba Elymaic=Elym
Ethiopic=Ethi Garay=Gara Georgian=Geor Glagolitic=Glag Gothic=Goth Grantha=Gran Greek=Grek
Gujarati=Gujr Gunjala_Gondi=Gong Gurmukhi=Guru Gurung_Khema=Gukh Han=Hani Hangul=Hang
Hanifi_Rohingya=Rohg Hanunoo=Hano Hatran=Hatr Hebrew=Hebr Hiragana=Hira Imperial_Aramaic=Armi
Inherited=Zinh=Qaai Inscriptional_Pahlavi=Phli Inscriptional_Parthian=Prti Javanese=Java
Kaithi=Kthi Kannada=Knda Katakana=Kana Kawi Kayah_Li=Kali Kharoshthi=Khar Khitan_Small_Script=Kits
Khmer=Khmr Khojki=Khoj Khudawadi=Sind Kirat_Rai=Krai Lao=Laoo Latin=Latn Lepcha=Lepc Limbu=Limb
Linear_A=Lina Linear_B=Linb Lisu Lycian=Lyci Lydian=Lydi Mahajani=Mahj Makasar=Maka
Malayalam=Mlym Mandaic=Mand Manichaean=Mani Marchen=Marc Masaram_Gondi=Gonm Medefaidrin=Medf
Meetei_Mayek=Mtei Mende_Kikakui=Mend Meroitic_Cursive=Merc Meroitic_Hieroglyphs=Mero Miao=Plrd
Modi Mongolian=Mong Mro=Mroo Multani=Mult Myanmar=Mymr Nabataean=Nbat Nag_Mundari=Nagm
Nandinagari=Nand New_Tai_Lue=Talu Newa Nko=Nkoo Nushu=Nshu Nyiakeng_Puachue_Hmong=Hmnp Ogham=Ogam
Ol_Chiki=Olck Ol_Onal=Onao Old_Hungarian=Hung Old_Italic=Ital Old_North_Arabian=Narb
Old_Permic=Perm Old_Persian=Xpeo Old_Sogdian=Sogo Old_South_Arabian=Sarb Old_Turkic=Orkh
Old_Uyghur=Ougr Oriya=Orya Osage=Osge Osmanya=Osma Pahawh_Hmong=Hmng Palmyrene=Palm
Pau_Cin_Hau=Pauc Phags_Pa=Phag Phoenician=Phnx Psalter_Pahlavi=Phlp Rejang=Rjng Runic=Runr
Samaritan=Samr Saurashtra=Saur Sharada=Shrd Shavian=Shaw Siddham=Sidd SignWriting=Sgnw Sinhala=Sinh
Sogdian=Sogd Sora_Sompeng=Sora Soyombo=Soyo Sundanese=Sund Sunuwar=Sunu Syloti_Nagri=Sylo
Syriac=Syrc Tagalog=Tglg Tagbanwa=Tagb Tai_Le=Tale Tai_Tham=Lana Tai_Viet=Tavt Takri=Takr
Tamil=Taml Tangsa=Tnsa Tangut=Tang Telugu=Telu Thaana=Thaa Thai Tibetan=Tibt Tifinagh=Tfng
Tirhuta=Tirh Todhri=Todr Toto Tulu_Tigalari=Tutg Ugaritic=Ugar Unknown=Zzzz Vai=Vaii Vithkuqi=Vith
Wancho=Wcho Warang_Citi=Wara Yezidi=Yezi Yi=Yiii Zanabazar_Square=Zanb""".split()

# Code points that got cases after Unicode 14, which Python may be at.
PROBABLY_CASED = frozenset([0x1C89, 0x1C8A, *range(0xA7C0, 0xA800), *range(0x10D50, 0x10D90),
                            *range(0x16EA0, 0x16EE0)])

POSIX = "alnum alpha ascii blank cntrl digit graph lower print punct space upper xdigit word".split()


def ranges(code_points):
    """Sorted code points as text: 41-5A C0 ..., in lines of at most 100 columns."""
    out, start, last = [], None, None
    for c in sorted(code_points) + [None]:
        if start is not None and c != last + 1:
            out.append(f"{start:X}" if start == last else f"{start:X}-{last:X}")
            start = None
        if c is not None:
            start, last = (c if start is None else start), c
        last = c
    lines, line = [], ""
    for item in out:
        if len(line) + 1 + len(item) > 100:
            lines.append(line)
            line = ""
        line += (" " if line else "") + item
    return lines + [line] if line else lines


class File:
    def __init__(self, path, head, source=f"tokenizers {tokenizers.__version__}"):
        self.path, self.lines = path, [f"# {line}" for line in head]
        self.lines.append(f"# Made by probe_unicode.py from {source}.")

    def section(self, names, lines):
        self.lines += ["", "[" + " ".join(names) + "]"] + list(lines)

    def close(self):
        with open(self.path, "w", encoding="ascii") as f:
            f.write("\n".join(self.lines) + "\n")


# Regular expressions: Oniguruma.


def onig(expression):
    """The code points that a character class holds, or None if there is no such class."""
    try:
        keep = normalizers.Replace(Regex(f"[^{expression}]"), "")
    except Exception:
        return None
    return frozenset(map(ord, keep.normalize_str(EVERY_TEXT)))


def known_names(spec):
    """The names of one class that the library knows, all checked to mean the same."""
    names = [(name, onig(r"\p{%s}" % name)) for name in spec.split("=")]
    names = [(name, found) for name, found in names if found is not None]
    assert names and len({found for _, found in names}) == 1, spec
    return [name for name, _ in names], names[0][1]


def probe_classes(directory):
    out = File(directory + "/classes.txt", ["Classes of regular expressions: general categories,",
                                            "scripts, other properties, POSIX brackets."])
    categories = {}
    for spec in CATEGORIES:
        names, found = known_names(spec)
        categories[names[0]] = found
        out.section(["category"] + names, ranges(found))
    assert sum(map(len, categories.values())) == len(EVERY)
    for spec in GROUPS:
        names, found = known_names(spec)
        parts = [c for c in categories if c[0] == names[0] or
                 names[0] == "LC" and c in ("Lu", "Ll", "Lt")]
        assert found == frozenset().union(*(categories[part] for part in parts)), spec
        out.section(["group"] + names, [" ".join(parts)])
    total = 0
    for spec in SCRIPTS:
        names, found = known_names(spec)
        total += len(found)
        out.section(["script"] + names, ranges(found))
    assert total == len(EVERY)
    for spec in PROPERTIES:
        names, found = known_names(spec)
        out.section(["property"] + names, ranges(found))
    for name in POSIX:
        out.section(["posix", name], ranges(onig(f"[:{name}:]")))
    for name, letter in ("space", "s"), ("word", "w"), ("digit", "d"), ("hex", "h"):
        out.section(["escape", name], ranges(onig("\\" + letter)))
    out.close()


def probe_folding(directory):
    """Only cased letters and what Python does not know yet can have cases."""
    import unicodedata

    cased = [c for c in EVERY if unicodedata.category(chr(c)) in ("Lu", "Ll", "Lt") or
             len({chr(c), *(f(chr(c)) for f in (str.lower, str.upper, str.title, str.casefold))}) > 1
             or c in PROBABLY_CASED]
    text = "".join(map(chr, cased))
    folds, long_folds = set(), []
    for c in cased:
        keep = normalizers.Replace(Regex(r"(?i)[^\x{%X}]" % c), "")
        fold = tuple(sorted(set(map(ord, keep.normalize_str(text)))))
        if len(fold) > 1:
            folds.add(fold)
        to = chr(c).casefold()
        whole = normalizers.Replace(Regex(r"(?i)\A[\x{%X}]\z" % c), "")
        if len(to) > 1 and whole.normalize_str(to) == "":
            long_folds.append([c] + [ord(x) for x in to])
    out = File(directory + "/folding.txt", ["What regular expressions that ignore case take for the",
                                            "same: characters, and characters and strings."])
    out.section(["fold"], mapping_lines({fold[0]: list(fold[1:]) for fold in folds}))
    out.section(["long_fold"], mapping_lines({to[0]: to[1:] for to in long_folds}))
    out.close()


def probe_casing(directory):
    """Of Python itself: templates change case as Python does."""
    characters = [chr(c) for c in EVERY]
    out = File(directory + "/casing.txt", ["Upper case of characters, and title case where it is another, as Python 3.11 to 3.13",
                                           "have them."], "Python 3.11")
    out.section(["upper"], mapping_lines({ord(c): list(map(ord, c.upper())) for c in characters if c.upper() != c}))
    out.section(["title"], mapping_lines({ord(c): list(map(ord, c.title())) for c in characters if c.title() != c.upper()}))
    out.close()


# Rust's own predicates and those of BERT.


def cut_by(pre_tokenizer):
    """Code points that do not stay in one word with an `a` at each side."""
    out = []
    for at in range(0, len(EVERY), 1000):
        part = EVERY[at : at + 1000]
        text = "a" + "a".join(map(chr, part)) + "a"
        starts = {start for _, (start, _) in pre_tokenizer.pre_tokenize_str(text)}
        out += [c for i, c in enumerate(part) if 2 * i + 1 in starts or 2 * i + 2 in starts]
    return out


def changed_by(normalizer):
    out = {}
    for c in EVERY:
        text = normalizer.normalize_str(chr(c))
        if text != chr(c):
            out[c] = [ord(x) for x in text]
    return out


def bert(**options):
    base = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**base, **options})


def probe_scripts():
    """The partition that UnicodeScripts cuts by: its classes, and what is in every one of them."""
    joins = lambda a, b: len(scripts.pre_tokenize_str(a + b)) == 1
    scripts = pre_tokenizers.UnicodeScripts()
    # A text of all code points is cut where the class changes; what belongs to every class stays
    # with what is before it, and shows by going with two classes that do not go together.
    everywhere = {c for c in EVERY if joins("a", chr(c)) and joins("\u4eac", chr(c))}
    rest = [c for c in EVERY if c not in everywhere]
    classes = []
    for _, (start, end) in scripts.pre_tokenize_str("".join(map(chr, rest))):
        run = rest[start:end]
        for known in classes:
            if joins(chr(known[0]), chr(run[0])):
                known += run
                break
        else:
            classes.append(list(run))
    return everywhere, classes


def probe_predicates(directory):
    out = File(directory + "/predicates.txt", ["Sets of characters outside regular expressions."])
    out.section(["rust_space"], ranges(cut_by(pre_tokenizers.WhitespaceSplit())))
    out.section(["rust_numeric"], ranges(cut_by(pre_tokenizers.Digits(True))))
    out.section(["rust_word"], ranges(set(EVERY) - set(cut_by(pre_tokenizers.Whitespace()))))
    out.section(["bert_punctuation"], ranges(cut_by(pre_tokenizers.Punctuation("isolated"))))
    out.section(["bert_separator"], ranges(cut_by(pre_tokenizers.BertPreTokenizer())))
    clean = changed_by(bert(clean_text=True))
    assert all(to in ([], [0x20]) for to in clean.values())
    out.section(["bert_removed"], ranges(c for c, to in clean.items() if not to))
    out.section(["bert_blank"], ranges([0x20] + [c for c, to in clean.items() if to]))
    out.section(["bert_chinese"], ranges(changed_by(bert(handle_chinese_chars=True))))
    nfd = normalizers.NFD()
    out.section(["bert_mark"], ranges(c for c, to in changed_by(bert(strip_accents=True)).items()
                                      if not to and nfd.normalize_str(chr(c)) == chr(c)))
    out.section(["combining_mark"], ranges(changed_by(normalizers.StripAccents())))
    everywhere, classes = probe_scripts()
    out.section(["cut_script_any"], ranges(everywhere))
    for members in classes:
        out.section(["cut_script", f"{members[0]:X}"], ranges(members))
    out.close()


# Normalization forms and case.


def mapping_lines(mapping):
    return [" ".join(f"{c:X}" for c in [key] + to) for key, to in sorted(mapping.items())]


def is_hangul(c):
    return 0xAC00 <= c < 0xD7A4


def combining_classes():
    """Relative order says which class a mark has: the wheel sorts marks by it. The classes of the
    marks that serve as rulers never change (Unicode's stability policy)."""
    import unicodedata

    nfd = normalizers.NFD().normalize_str
    rulers = {}
    for c in EVERY:
        value = unicodedata.ucd_3_2_0.combining(chr(c))
        if value and unicodedata.ucd_3_2_0.combining(chr(c)) == unicodedata.combining(chr(c)):
            if nfd("a" + chr(c)) == "a" + chr(c):
                rulers.setdefault(value, c)
    # A class that no old character has: ask the newer tables for a ruler.
    for c in EVERY:
        value = unicodedata.combining(chr(c))
        if value and value not in rulers and nfd(chr(c)) == chr(c):
            moves = nfd("a" + chr(rulers[240]) + chr(c)) != "a" + chr(rulers[240]) + chr(c)
            if moves:
                rulers[value] = c
    order = sorted(rulers)
    out = {}
    for c in EVERY:
        if nfd(chr(c)) != chr(c):
            continue
        low, high = chr(rulers[1]), chr(rulers[240])
        if nfd("a" + high + chr(c)) == "a" + high + chr(c) and \
           nfd("a" + chr(c) + low) == "a" + chr(c) + low:
            # A starter; or a class of 240 or 1, which one of the two would have moved.
            continue
        behind = [v for v in order if nfd("a" + chr(c) + chr(rulers[v])) != "a" + chr(c) + chr(rulers[v])]
        before = [v for v in order if nfd("a" + chr(rulers[v]) + chr(c)) != "a" + chr(rulers[v]) + chr(c)]
        equal = [v for v in order if v not in behind and v not in before]
        assert len(equal) == 1, (hex(c), equal, behind, before)
        out.setdefault(equal[0], []).append(c)
    return out


def probe_normalization(directory):
    out = File(directory + "/normalization.txt", ["Normalization forms, and lower case. Hangul",
                                                  "syllables are left out: they are arithmetic."])
    nfc = normalizers.NFC().normalize_str
    for value, found in sorted(combining_classes().items()):
        out.section(["combining_class", str(value)], ranges(found))
    nfd = {c: to for c, to in changed_by(normalizers.NFD()).items() if not is_hangul(c)}
    nfkd = {c: to for c, to in changed_by(normalizers.NFKD()).items()
            if not is_hangul(c) and nfd.get(c) != to}
    out.section(["decomposition"], mapping_lines(nfd))
    out.section(["compatibility_decomposition"], mapping_lines(nfkd))
    pairs = {}
    for c, to in nfd.items():
        if nfc(chr(c)) != chr(c):
            continue
        first = nfc("".join(map(chr, to[:-1])))
        assert len(first) == 1 and nfc(first + chr(to[-1])) == chr(c), hex(c)
        pairs[c] = [ord(first), to[-1]]
    out.section(["composition"], mapping_lines(pairs))
    out.section(["lower_case"], mapping_lines(changed_by(normalizers.Lowercase())))
    out.close()


# Grapheme clusters: only Precompiled uses them, so its rule is the probe. It rewrites a cluster of
# less than 6 bytes as a whole where its map has an entry for a prefix of it, else each character.


def charsmap_of_bytes():
    """A map that has an entry for each byte but 0, which becomes `r`."""
    units = [0] * 1024
    units[0] = 256 << 10  # the root's children are at 256 ^ byte
    # All of those lead to the leaf at 512, which says that the text is at 0.
    for byte in range(1, 0x100):
        p = 256 ^ byte
        units[p] = ((p ^ 512) << 10) | 1 << 8 | byte
    units[512] = 1 << 31
    trie = struct.pack("<1024I", *units)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + b"r\0").decode()


def probe_graphemes(directory):
    spec = json.dumps({"type": "Precompiled", "precompiled_charsmap": charsmap_of_bytes()})
    base = {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"},
            "added_tokens": [], "normalizer": json.loads(spec), "pre_tokenizer": None,
            "post_processor": None, "decoder": None, "truncation": None, "padding": None}
    run = tokenizers.Tokenizer.from_str(json.dumps(base)).normalizer.normalize_str
    n = lambda *parts: len(run("".join(p if isinstance(p, str) else chr(p) for p in parts)))
    grave, zwj, copyright, ka, virama = "\u0300", "\u200d", "\u00a9", "\u0915", "\u094d"
    assert (n(copyright, grave), n(copyright, copyright)) == (1, 2)

    joins = [c for c in EVERY if n("a", c) == 1]
    joining = set(joins) | {0x200D}
    # Behind a control, two marks are a cluster of their own, of 4 bytes.
    control = {c for c in EVERY if c not in joining and n(c, grave, grave) == 2}
    prepend = [c for c in EVERY if c > 0x7F and n(c, "a") == 1]
    joins = [c for c in joins if c != 0x200D]
    extend = [c for c in joins if n(copyright, c, zwj, copyright, grave) == 5]
    rest = [c for c in EVERY if c > 0x7F and c not in joining and c not in control]
    # A character behind which, or before which, the test character joins a longer cluster is then
    # rewritten one by one.
    hangul = {}
    for c in rest:
        if 0x1000 <= c < 0x10000:
            key = (n("\u1100", c, grave) == 3, n("\u1160", c, grave) == 3, n("\u11a8", c, grave) == 3,
                   n(c, "\u1100", grave) == 3, n(c, "\u1160", grave) == 3, n(c, "\u11a8", grave) == 3)
            hangul[c] = key
    kinds = {(1, 0, 0, 1, 1, 0): "L", (1, 1, 0, 0, 1, 1): "V", (0, 1, 1, 0, 0, 1): "T",
             (1, 0, 0, 0, 1, 1): "LV", (1, 0, 0, 0, 0, 1): "LVT"}
    syllables = {name: [c for c, key in hangul.items() if key == kind]
                 for kind, name in kinds.items()}
    pictographic = [c for c in rest if n(c, zwj, copyright, grave) == 4]
    consonant = [c for c in rest if n(c, virama, ka, grave) == 4]
    linker = [c for c in joins if n(ka, c, ka, grave) == 4]
    conjunct_extend = [c for c in joins + [0x200D] if c not in linker and
                       n(ka, virama, c, ka, grave) == 5]

    out = File(directory + "/graphemes.txt", ["Grapheme_Cluster_Break, Extended_Pictographic and",
                                              "Indic_Conjunct_Break as grapheme clusters show them.",
                                              "Hangul syllables are left out: they are arithmetic."])
    out.section(["Control"], ranges(control - {0x0A, 0x0D}))
    out.section(["Extend"], ranges(extend))
    out.section(["SpacingMark"], ranges(set(joins) - set(extend)))
    out.section(["Prepend"], ranges(prepend))
    assert syllables.pop("LV") == [c for c in range(0xAC00, 0xD7A4) if (c - 0xAC00) % 28 == 0]
    assert syllables.pop("LVT") == [c for c in range(0xAC00, 0xD7A4) if (c - 0xAC00) % 28]
    for name, found in syllables.items():
        out.section([name], ranges(found))
    out.section(["Extended_Pictographic"], ranges(pictographic))
    out.section(["InCB_Consonant"], ranges(consonant))
    out.section(["InCB_Linker"], ranges(linker))
    out.section(["InCB_Extend"], ranges(conjunct_extend))
    out.close()


def main():
    directory = sys.argv[1]
    probe_classes(directory)
    probe_folding(directory)
    probe_casing(directory)
    probe_predicates(directory)
    probe_normalization(directory)
    probe_graphemes(directory)


if __name__ == "__main__":
    main()

"""Texts that tokenizers get wrong: a generator of adversarial Unicode, used both for the committed
cases and for the differential fuzzer. The same seed gives the same texts.
"""
import training_text

WORDS = """the a I of and to it's don't we'LL I'D they've 're 's 'T l'été naïve café Zürich Straße
 STRASSE Hello WORLD iPhone foo_bar snake_case camelCase x86_64 antidisestablishmentarianism
 Donaudampfschifffahrt ΑΣΣΑΣ ΟΔΥΣΣΕΥΣ σς İstanbul ıĞDIR ǅ ǆ Ǆ ß ẞ ﬁ ﬂ ﬀ ĳ ŉ 'ſ I'ſ Å Å ﷺ ㍿ ㌔ № ℡ ™ ½ ¼ ² ³ Ⅷ ⅷ ① ㊿
 Привет ёж Йогурт שלום עולם مرحبا ٱلسَّلَامُ हिन्दी क्षि नमस्ते বাংলা தமிழ் ภาษาไทย ก็ น้ำ ລາວ မြန်မာ ខ្មែរ
 日本語 テスト ﾃｽﾄ ﾊﾟ ガ が 吾輩は猫である 你好 世界 龥 龦 㐀 𠀀 𪜀 𫝀 𫠠 𬺰 豈 﨎 한국어 각 각 ᄒ ᅡ 〱 々 〆 ー ・ 〇 ヿ ゟ ゠ ぀ 一
 ქართული Ა Ꭰ ꭰ Ა ꟊ 𐐀 𐐨 𞤀 𞤢 𝐀 𝒜 𝟘 𝟙 ⅓ 𐄇 Ᲊ ᲊ Ɤ Ɜ 𐵐 𐵰 𖵀 𖹀 ꟍ ꟛ 𞗐 ⴀ Ⴀ""".split()
SPACES = [" ", " ", " ", " ", "  ", "   ", "    ", "\n", "\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \n  \n ",
          "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", " \xa0", "\u1680", "\u2000", "\u2009", "\u200a", "\u2028",
          "\u2029", "\u202f", "\u205f", "\u3000", "\u180e", "\u200b", "\u2060", "\ufeff", "\u00ad", " " * 9, " " * 33, "\t \t"]
DIGITS = ["0", "1", "12", "123", "1234", "12345", "1234567890", "3.14", "1,000", "-7", "1e-9", "0x1F", "٣٤", "९", "୧", "๔",
          "一二", "𝟗", "²", "Ⅻ", "¾", "፩", "〇", "१२३४", "2nd", "𑄶", "𖩀", "㉈", "10⁻³"]
MARKS = list(".,;:!?'\"`()[]{}<>/\\|@#$%^&*-_=+~") + [
    "...", "--", "->", "=>", "!=", "!!!", "***", "((", "))", "'''", "\"\"", "://", "\\n", "</w>", "##", "##s", "@@", "¿", "¡", "«", "»", "—",
    "–", "…", "“", "”", "’", "‘", "、", "。", "「", "」", "！", "？", "～", "・", "¶", "§", "©", "€", "£", "¬", "±", "×", "√", "∞", "◌", "፧", "።", "؟", "،",
    "٪", "॥", "߷", "⁇", "〽", "᠁", "꡴", "⹓", "⹝", "𐬹", "𝪇", "﴾", "︙", "﹏", "＿", "⸺", "‿", "⁀", "^", "´", "¨", "˘", "ʼ", "ˮ"]
COMBINING = ["\u0301", "\u0308", "\u0302", "\u030a", "\u0327", "\u0323", "\u0345", "\u0338", "\u20dd", "\u3099", "\u309a", "\u0e38", "\u0f71",
             "\u05b0", "\u0651", "\u064b", "\u093c", "\u09be", "\u0dcf", "\u1161", "\u11a8", "\ufe0f", "\u200d", "\u200c", "\u034f",
             "\u1dfa", "\U0001e8d0", "\U000110ba", "\u0b57", "\u1ab0", "\u08d3", "\u0898"]
PICTURES = ["🤗", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇩🇪🇫🇷🇯", "❤️", "☃", "😀😀", "✂️", "1️⃣", "#️⃣", "🫠", "🫩", "🧑🏿‍🚀", "\U0001fadc", "→", "▲", "█", "░", "─", "☭", "♪"]
CONTROLS = ["\x00", "\x01", "\x07", "\x08", "\x1b[0m", "\x7f", "\x80", "\x9f", "\ufffd", "\ufffe", "\uffff", "\U0010ffff", "\ue000", "\U000f0000",
            "\u200e", "\u202e", "\u2066", "\ufff9", "\u0378", "\u2fe0", "\U000e0041", "\u061c", "\u06dd", "\u070f", "\ud7b0", "\U0001bca0"]
ALPHABETS = ["Ġ", "Ċ", "ĠĠ", "â", "Ā", "ł", "Ń", "▁", "▁▁", "▁a", "a▁b", "<0x41>", "<0xE2>", "<0x0A>", "<unk>", "[UNK]", "<s>", "</s>", "##ing", "¦", "~"]
PLANES = [(0x20, 0x7e), (0xa0, 0x17f), (0x180, 0x24f), (0x250, 0x36f), (0x370, 0x5ff), (0x600, 0x8ff), (0x900, 0xdff), (0xe00, 0x109f), (0x10a0, 0x13ff),
          (0x1400, 0x1cff), (0x1d00, 0x20ff), (0x2100, 0x27ff), (0x2800, 0x2fff), (0x3000, 0x33ff), (0x3400, 0x4dff), (0x4e00, 0x9fff),
          (0xa000, 0xabff), (0xac00, 0xd7ff), (0xe000, 0xf8ff), (0xf900, 0xffff), (0x10000, 0x107ff), (0x10800, 0x10fff), (0x11000, 0x12fff),
          (0x13000, 0x16fff), (0x17000, 0x1bfff), (0x1c000, 0x1dfff), (0x1e000, 0x1efff), (0x1f000, 0x1ffff), (0x20000, 0x323ff),
          (0xe0000, 0xe01ff), (0xfff80, 0x10ffff)]


class Texts:
    """Makes texts. tokens: the contents of added tokens and whatever else should often appear;
    vocabulary: spellings of the model's tokens."""

    def __init__(self, rng, tokens=(), vocabulary=()):
        self.rng = rng
        self.tokens = [token for token in tokens if token]
        self.vocabulary = [token for token in vocabulary if token]
        self.sentences = training_text.everything()

    def code_point(self):
        low, high = self.rng.choice(PLANES)
        return chr(self.rng.randint(low, high))

    def bent_token(self):
        """An added token, or nearly one."""
        token = self.rng.choice(self.tokens)
        bend = self.rng.randrange(10)
        if bend == 0:
            return token[:self.rng.randrange(len(token)) + 1]
        if bend == 1:
            return token.upper() if token.islower() else token.lower()
        if bend == 2:
            return token[:-1] + self.rng.choice(COMBINING) + token[-1]
        if bend == 3:
            return token * self.rng.randint(2, 4)
        return token

    def fragment(self):
        kind = self.rng.randrange(34)
        if kind < 9:
            return self.rng.choice(WORDS)
        if kind < 17:
            return self.rng.choice(SPACES)
        if kind < 19:
            return self.rng.choice(DIGITS)
        if kind < 22:
            return self.rng.choice(MARKS)
        if kind < 24:
            return self.rng.choice(COMBINING)
        if kind == 24:
            return self.rng.choice(PICTURES)
        if kind == 25:
            return self.rng.choice(CONTROLS)
        if kind == 26:
            return self.rng.choice(ALPHABETS)
        if kind < 29:
            return self.code_point()
        if kind == 29:
            return self.rng.choice(self.rng.choice(self.sentences).split(" "))
        if kind == 30 and self.vocabulary:
            return self.rng.choice(self.vocabulary)
        if self.tokens:
            return self.bent_token()
        return self.rng.choice(WORDS)

    def mixture(self):
        return "".join(self.fragment() for _ in range(self.rng.randint(1, 14)))

    def spaced(self):
        return " ".join(self.fragment() for _ in range(self.rng.randint(1, 14)))

    def prose(self):
        return self.rng.choice([" ", "  ", "\n", "\n\n"]).join(self.rng.choices(self.sentences, k=self.rng.randint(1, 3)))

    def bent_prose(self):
        """A sentence with a few fragments put in anywhere."""
        text = self.rng.choice(self.sentences)
        for _ in range(self.rng.randint(1, 4)):
            at = self.rng.randint(0, len(text))
            text = text[:at] + self.fragment() + text[at:]
        return text

    def small_alphabet(self):
        """Few different fragments, many times: long merges, runs, repetition."""
        alphabet = [self.fragment() for _ in range(self.rng.randint(1, 4))]
        return "".join(self.rng.choices(alphabet, k=self.rng.randint(2, 40)))

    def spelled(self):
        """Tokens of the model, one after the other, as they are spelled or as they read."""
        tokens = self.rng.choices(self.vocabulary or WORDS, k=self.rng.randint(1, 12))
        text = "".join(tokens)
        return text.replace("Ġ", " ").replace("▁", " ").replace("##", "") if self.rng.random() < 0.8 else text

    def crowded(self):
        """Added tokens with little between them."""
        between = ["", "", " ", "  ", "\n", "\t ", "a", "Z", "_", "é", ".", "\u0301", "▁", "\u3000"]
        tokens = self.tokens or WORDS
        return "".join(self.rng.choice(between) + self.rng.choice(tokens) for _ in range(self.rng.randint(1, 6))) + self.rng.choice(between)

    def scripts(self):
        low, high = self.rng.choice(PLANES)
        return "".join(chr(self.rng.randint(low, high)) if self.rng.random() < 0.85 else " " for _ in range(self.rng.randint(1, 24)))

    def long_run(self, most=2000):
        return self.fragment() * self.rng.randint(2, 40) + self.rng.choice(["", " ", "a", "\n"]) + self.fragment() * self.rng.randint(1, most // 40)

    def text(self):
        """One text without surrogates, so that it can be UTF-8."""
        makers = [self.mixture] * 5 + [self.spaced] * 2 + [self.prose, self.bent_prose, self.bent_prose, self.small_alphabet, self.small_alphabet,
                                                           self.spelled, self.spelled, self.crowded, self.crowded, self.scripts]
        if self.rng.random() < 0.02:
            makers = [self.long_run]
        text = self.rng.choice(makers)()
        return "".join(c for c in text if not 0xd800 <= ord(c) < 0xe000)

    def long_text(self, n_chars):
        parts = []
        length = 0
        while length < n_chars:
            parts.append(self.text())
            length += len(parts[-1])
        return self.rng.choice(["", " ", "\n"]).join(parts)[:n_chars]

    def damaged_bytes(self):
        """A text as bytes, made invalid as UTF-8, without line ends."""
        data = bytearray(self.text().encode())
        for _ in range(self.rng.randint(1, 4)):
            at = self.rng.randint(0, len(data))
            how = self.rng.randrange(3)
            if how == 0:
                data[at:at] = self.rng.choice([b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5", b"\xe2\x82", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xc3", b"\xe0\x80\x80"])
            elif how == 1 and data:
                del data[at % len(data)]
            elif data:
                data[at % len(data)] = self.rng.randrange(256)
        return bytes(data).replace(b"\n", b" ").replace(b"\r", b" ")

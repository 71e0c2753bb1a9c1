"""One tokenizer for every component of a tokenizer.json and every value of its parameters: small
models that show what the component did. parts() gives a dictionary {"models", "tokenizers"}; in a
tokenizer, `model` is the name of one, or {"of": name, ...} with other parameters. compose() makes the
tokenizer.json of it.

Model `byte` shows every byte that reaches it, `unk` has one unknown token for every piece and so
shows by the offsets where the text was cut.
"""
import itertools

# What leat does not do, and says so; the oracle does.
NOT_SUPPORTED = {"normalizer-replace-regex-either": "in another case, it is a single character", "cut-odd-case": "in another case, it is a single character",
                 "cut-odd-cluster": "text segments", "post-sequence-two": "a second processor adds tokens"}
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def compose(parts, name):
    """The tokenizer.json, as a dictionary, of a part."""
    made = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
            "decoder": None, **parts["tokenizers"][name]}
    wanted = made["model"]
    if isinstance(wanted, str):
        wanted = {"of": wanted}
    model = {**parts["models"][wanted["of"]], **wanted}
    del model["of"]
    more = model.pop("more_vocab", None)
    if more:
        model["vocab"] = {**model["vocab"], **more}
    made["model"] = model
    return made


def base_models():
    import models
    byte = models.byte_bpe(380)
    spaces = {"▁" * n: n for n in (2, 3)}
    pieces = models.sentencepiece_bpe(160, fallback=False)
    pieces["vocab"] = {token: number for number, token in enumerate(pieces["vocab"])}
    assert all(space in pieces["vocab"] for space in spaces)
    clip = models.suffix_bpe(60)
    latin = [["<unk>", 0.0], ["▁", -2.5], *([letter, -4.0 - number / 9] for number, letter in enumerate("etaoinshrdlucmfwypvbgk"))]
    latin += [[piece, -5.0 - number / 11] for number, piece in enumerate(["▁the", "he", "th", "in", "er", "an", "on", "▁a", "▁t", "ing", "▁o", "nd", "ha", "▁▁", "é", "a▁b", "abab", "ab", "aba"])]
    return {"byte": byte, "unk": {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}, "pieces": pieces, "clip": clip, "prefix": models.prefix_bpe(120),
            "wordpiece": models.wordpiece(110, True), "wordlevel": models.wordlevel(90), "unigram": {"type": "Unigram", "unk_id": 0, "vocab": latin, "byte_fallback": False}}


def normalizers():
    from kinds import precompiled, replace, sequence
    bert = lambda clean, chinese, accents, lower: {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    found = {f"bert-{number}": bert(*flags) for number, flags in enumerate([(True, True, None, True), (True, True, None, False), (False, True, None, True), (True, False, True, False),
                                                                            (False, False, True, False), (False, False, False, True), (False, False, None, False), (False, True, False, False),
                                                                            (True, False, False, False), (True, True, False, True)])}
    found["bert-alias"] = {**bert(True, True, None, True), "type": "Bert"}
    for left, right in itertools.product((True, False), repeat=2):
        found[f"strip-{left:d}{right:d}"] = {"type": "Strip", "strip_left": left, "strip_right": right}
    found.update({name.lower(): {"type": name} for name in ("StripAccents", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt")})
    found["precompiled"] = precompiled()
    found["replace-char"] = replace(" ", "▁")
    found["replace-word"] = replace("the", "THE the")
    found["replace-gone"] = replace("a", "")
    found["replace-long"] = replace("''", "\"")
    found["replace-overlap"] = replace("aa", "a")
    found["replace-regex-blanks"] = replace(r"\s+", " ", "Regex")
    found["replace-regex-runs"] = replace(r" {2,}", "▁", "Regex")
    found["replace-regex-class"] = replace(r"[\p{P}\p{S}]+", ".", "Regex")
    found["replace-regex-letters"] = replace(r"\p{Lu}\p{M}*", "U", "Regex")
    found["replace-regex-digit"] = replace(r"\d", "0", "Regex")
    found["replace-regex-word"] = replace(r"\b\w{3}\b", "<w>", "Regex")
    found["replace-regex-lines"] = replace(r"^ +", "", "Regex")
    found["replace-regex-either"] = replace(r"(?i)ss|ß|\r\n?|\n", "x", "Regex")
    found["replace-regex-ahead"] = replace(r"(?<=[a-z])(?=[A-Z])", "_", "Regex")
    found["prepend"] = {"type": "Prepend", "prepend": "▁"}
    found["prepend-word"] = {"type": "Prepend", "prepend": "<< "}
    found["sequence-accents"] = sequence("normalizer", {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"})
    found["sequence-recompose"] = sequence("normalizer", {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "NFC"}, {"type": "Strip", "strip_left": True, "strip_right": True})
    found["sequence-marks"] = sequence("normalizer", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"), replace("▁▁", "▁"))
    found["sequence-nested"] = sequence("normalizer", sequence("normalizer", {"type": "Nmt"}, {"type": "NFKC"}), sequence("normalizer"), replace(r"\s+", " ", "Regex"))
    found["sequence-bert"] = sequence("normalizer", bert(True, True, True, True), {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": " "})
    return found


def pre_tokenizers():
    import kinds
    from kinds import byte_level, metaspace, sequence, split
    found = {"bert": {"type": "BertPreTokenizer"}, "whitespace": {"type": "Whitespace"}, "whitespacesplit": {"type": "WhitespaceSplit"}, "scripts": {"type": "UnicodeScripts"},
             "delimiter": {"type": "CharDelimiterSplit", "delimiter": "-"}, "delimiter-wide": {"type": "CharDelimiterSplit", "delimiter": "é"},
             "digits": {"type": "Digits", "individual_digits": True}, "digits-runs": {"type": "Digits", "individual_digits": False},
             "fixed": {"type": "FixedLength", "length": 5}, "fixed-1": {"type": "FixedLength", "length": 1}, "fixed-default": {"type": "FixedLength"}, "punctuation": {"type": "Punctuation"}}
    for prefix, regex in itertools.product((True, False), repeat=2):
        found[f"bytelevel-{prefix:d}{regex:d}"] = byte_level(prefix, True, regex)
    for behavior in BEHAVIORS:
        found[f"punctuation-{behavior.lower()}"] = {"type": "Punctuation", "behavior": behavior}
        for invert in (False, True):
            found[f"split-{behavior.lower()}-{invert:d}"] = split("-", behavior, invert, "String")
            found[f"regex-{behavior.lower()}-{invert:d}"] = split(r"\p{L}+|[0-9]", behavior, invert)
    for scheme, cuts in itertools.product(("always", "first", "never"), (True, False)):
        found[f"metaspace-{scheme}-{cuts:d}"] = metaspace(scheme, cuts)
    found["metaspace-other"] = {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": True}
    found["metaspace-old"] = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}
    found["metaspace-old-never"] = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never"}
    for name in ("GPT2", "LLAMA3", "QWEN2", "QWEN35", "O200K", "TEKKEN", "DEEPSEEK", "CLIP"):
        found[f"grammar-{name.lower()}"] = split(getattr(kinds, name))
    others = {"words": r"\w+", "not-words": r"\W+", "blanks": r"\s", "edges": r"\b", "lines": r"^.*$", "dot": r"(?m)a.b", "hex": r"\h+", "posix": r"[[:punct:]]+", "posix-upper": r"[[:upper:]][[:lower:]]*",
              "and": r"[\p{L}&&[^aeiou]]+", "lazy": r"a+?b|.{2}?", "group": r"(?:ab)+(?=c)|(\p{Nd})\1", "atomic": r"(?>a+)b|a", "possessive": r"\p{L}++", "behind": r"(?<!\p{N})\p{N}{3}(?!\p{N})",
              "code-points": r"[\x{4e00}-\x{9fff}\x{3040}-\x{30ff}]", "script": r"\p{Han}+|\p{Hiragana}+|\p{Katakana}+", "property": r"\p{Alpha}+|\p{^L}", "case": r"(?i)straße|ΣΑΣ|k",
              "linebreak": r"\R", "cluster": r"\X", "newlines": r"\n+|\r", "thousands": r"\d{1,3}(?=(?:\d{3})*\b)", "mixed": r" ?[^(\s|[.,!?…。，、।۔،])]+", "nothing": "zqzqzq"}
    found.update({f"odd-{name}": split(pattern) for name, pattern in others.items()})
    found["split-words"] = split(" the ", "Isolated", False, "String")
    found["split-odd"] = split("a.*[", "Removed", False, "String")
    found["sequence-ws-punct"] = sequence("pre_tokenizer", {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True})
    found["sequence-meta"] = sequence("pre_tokenizer", {"type": "WhitespaceSplit"}, metaspace())
    found["sequence-meta-first"] = sequence("pre_tokenizer", split(r"\d"), metaspace("first"))
    found["sequence-bytes"] = sequence("pre_tokenizer", {"type": "Whitespace"}, byte_level(True))
    found["sequence-nested"] = sequence("pre_tokenizer", sequence("pre_tokenizer", {"type": "BertPreTokenizer"}), sequence("pre_tokenizer"), {"type": "Digits", "individual_digits": True})
    return found


def decoders():
    from kinds import metaspace, replace, sequence
    strip = lambda content, start, stop: {"type": "Strip", "content": content, "start": start, "stop": stop}
    found = {"bytelevel": ("byte", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}), "none": ("byte", None)}
    found.update({f"wordpiece-{cleanup:d}": ("wordpiece", {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}) for cleanup in (True, False)})
    found["wordpiece-other"] = ("prefix", {"type": "WordPiece", "prefix": "#", "cleanup": True})
    found.update({f"metaspace-{scheme}": ("pieces", metaspace(scheme)) for scheme in ("always", "first", "never")})
    found["bpe"] = ("clip", {"type": "BPEDecoder", "suffix": "</w>"})
    found["bpe-other"] = ("pieces", {"type": "BPEDecoder", "suffix": "e"})
    found["ctc"] = ("wordlevel", {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "the", "cleanup": True})
    found["ctc-bare"] = ("wordlevel", {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": False})
    found["replace"] = ("pieces", replace("▁", " "))
    found["replace-regex"] = ("pieces", replace(r"[aeiou]+", "*", "Regex"))
    found["fuse"] = ("pieces", {"type": "Fuse"})
    found["strip"] = ("pieces", strip("▁", 1, 2))
    found["fallback"] = ({"of": "pieces", "byte_fallback": True, "more_vocab": {f"<0x{byte:02X}>": 1000 + byte for byte in range(256)}}, {"type": "ByteFallback"})
    found["fallback-llama"] = (found["fallback"][0], sequence("decoder", replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}, strip(" ", 1, 0)))
    found["sequence"] = ("wordpiece", sequence("decoder", {"type": "WordPiece", "prefix": "##", "cleanup": False}, {"type": "Fuse"}, strip("t", 2, 1), replace("e", "E")))
    found["sequence-bytes"] = ("byte", sequence("decoder", replace("e", "E"), {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}))
    return found


def post_processors():
    from kinds import byte_level, sequence, template
    roberta = lambda trim, prefix: {"type": "RobertaProcessing", "sep": ["</s>", 7], "cls": ["<s>", 5], "trim_offsets": trim, "add_prefix_space": prefix}
    found = {"none": None, "bert": {"type": "BertProcessing", "sep": ["</s>", 7], "cls": ["<s>", 5]}}
    for trim, prefix in itertools.product((True, False), repeat=2):
        found[f"roberta-{trim:d}{prefix:d}"] = roberta(trim, prefix)
        found[f"bytelevel-{trim:d}{prefix:d}"] = byte_level(prefix, trim)
    ids = {"<s>": 5, "</s>": [7, 8], "<x>": 9}
    found["template"] = template("<s>:3 $A:1 </s>:2", "<s>:0 $A:1 </s>:2 $B:3 <x>:4 </s>:5", ids)
    found["template-turned"] = template("$A:0", "$B:1 <x>:0 $A:0", ids)
    found["template-bare"] = template("$A:0", "$A:0 $B:1", {})
    found["template-tail"] = template("$A:0 <x>:0 <x>:0 </s>:0", "$A:7 <x>:7 $B:9", ids)
    found["sequence"] = sequence("post_processor", byte_level(True, True), template("<s>:0 $A:0", "<s>:0 $A:0 </s>:1 $B:1", ids))
    found["sequence-two"] = sequence("post_processor", template("<s>:0 $A:0", "<s>:0 $A:0 $B:1", ids), template("$A:0 <x>:1", "$A:0 $B:1 <x>:1", ids))
    found["sequence-bert"] = sequence("post_processor", roberta(True, False), byte_level())
    return found


def added_tokens():
    """name -> (model, tokens, other parts)."""
    from kinds import added, byte_level, metaspace, replace, sequence
    found = {}
    for number, (single, left, right) in enumerate(itertools.product((False, True), repeat=3)):
        for normalized in (False, True):
            flags = {"single_word": single, "lstrip": left, "rstrip": right}
            found[f"flags-{number}{normalized:d}"] = ("byte", added("<m>", "the", "don't", "é", normalized=normalized, special=bool(number % 2), **flags), {})
    overlap = added("ab", "abc", "bcd", "c d", "  ", "\n", "aaaa", "aa") + added("abcdef", "b", normalized=True, special=False)
    found["overlap"] = ("byte", overlap, {})
    found["overlap-strips"] = ("byte", added("<a>", lstrip=True, rstrip=True) + added("<b>", lstrip=True) + added("<c>", rstrip=True) + added("  ", "\t", normalized=True), {})
    mixed = added("ABC", "É", "Straße", "ﬁ", normalized=True, special=False) + added("Def", "é", "ǅ")
    for name, normalizer in (("lower", {"type": "Lowercase"}), ("nfkd", {"type": "NFKD"}), ("nfc", {"type": "NFC"}), ("strip", {"type": "Strip", "strip_left": True, "strip_right": True}),
                             ("prepend", {"type": "Prepend", "prepend": "x"}), ("replace", replace("B", "bb"))):
        found[f"normalized-{name}"] = ("byte", mixed, {"normalizer": normalizer})
    found["bert"] = ("wordpiece", added("[CLS]", "[SEP]") + added("[mask]", "Hello World", "日本", lstrip=True, normalized=True),
                     {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}, "pre_tokenizer": {"type": "BertPreTokenizer"}})
    for scheme in ("always", "first", "never"):
        found[f"metaspace-{scheme}"] = ("pieces", added("<s>", "</s>") + added("[X]", rstrip=True, special=False) + added("▁▁▁", "the", normalized=True, special=False),
                                        {"pre_tokenizer": metaspace(scheme, scheme == "always")})
    found["prepend-blanks"] = ("pieces", added("<s>") + added("[X]", "▁▁▁", " y", normalized=True, lstrip=True), {"normalizer": sequence("normalizer", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"))})
    found["prefix-space"] = ("byte", added("<s>") + added("[X]", normalized=True), {"pre_tokenizer": byte_level(True)})
    found["in-vocab"] = ("byte", added("Ġthe", "a", "Ġ") + added("!", "Ċ", normalized=True, special=False), {})
    found["twice"] = ("byte", added("<x>", "<y>", "<x>") + added("<y>", "<z>", normalized=True, special=False) + added("<z>", lstrip=True), {})
    found["digits"] = ("byte", added("1", "12", "²", single_word=True) + added("_", "-", "名", single_word=True, normalized=True), {})
    return found


def model_variants():
    """name -> (model, other parts)."""
    from kinds import byte_level, metaspace, sequence
    byte = {"pre_tokenizer": byte_level()}
    words = {"pre_tokenizer": {"type": "Whitespace"}}
    marks = {"pre_tokenizer": metaspace()}
    some_bytes = {f"<0x{byte:02X}>": 1000 + byte for byte in range(256) if byte not in (0x99, 0x0A)}
    found = {"bpe-plain": ("pieces", {}), "bpe-no-unk": ({"of": "pieces", "unk_token": None}, {}), "bpe-no-unk-fuse": ({"of": "pieces", "unk_token": None, "fuse_unk": False}, marks),
             "bpe-each-unk": ({"of": "pieces", "fuse_unk": False}, {}), "bpe-zero-dropout": ({"of": "byte", "dropout": 0.0}, byte), "bpe-ignore-merges": ({"of": "pieces", "ignore_merges": True}, marks),
             "bpe-missing-unk": ({"of": "pieces", "unk_token": "<nope>"}, {}), "bpe-suffix": ("clip", {"pre_tokenizer": sequence("pre_tokenizer", {"type": "WhitespaceSplit"}, byte_level())}),
             "bpe-suffix-each-unk": ({"of": "clip", "fuse_unk": False, "unk_token": "<|startoftext|>"}, words), "bpe-prefix": ("prefix", words), "bpe-prefix-fuse": ({"of": "prefix", "fuse_unk": True}, words),
             "bpe-prefix-no-unk": ({"of": "prefix", "unk_token": None}, {"pre_tokenizer": {"type": "WhitespaceSplit"}})}
    for fuse in (True, False):
        found[f"fallback-some-{fuse:d}"] = ({"of": "pieces", "byte_fallback": True, "fuse_unk": fuse, "more_vocab": some_bytes}, {})
        found[f"fallback-some-no-unk-{fuse:d}"] = ({"of": "pieces", "byte_fallback": True, "fuse_unk": fuse, "unk_token": None, "more_vocab": some_bytes}, marks)
    found["fallback-ignore-merges"] = ({"of": "pieces", "byte_fallback": True, "ignore_merges": True, "more_vocab": some_bytes}, marks)
    found["wordpiece-short"] = ({"of": "wordpiece", "max_input_chars_per_word": 5}, words)
    found["wordpiece-other-prefix"] = ({"of": "wordpiece", "continuing_subword_prefix": ""}, words)
    found["wordpiece-whole"] = ("wordpiece", {})
    found["wordlevel"] = ("wordlevel", words)
    found["wordlevel-whole"] = ("wordlevel", {})
    found["wordlevel-no-unk"] = ({"of": "wordlevel", "unk_token": "<nope>"}, words)
    found["wordpiece-no-unk"] = ({"of": "wordpiece", "unk_token": "<nope>"}, words)
    found["unigram"] = ("unigram", marks)
    found["unigram-whole"] = ("unigram", {})
    found["unigram-first"] = ("unigram", {"pre_tokenizer": metaspace("first", False)})
    found["unigram-no-unk"] = ({"of": "unigram", "unk_id": None}, marks)
    ties = [["<unk>", 0], ["a", -1.0], ["b", -1.0], ["ab", -2.0], ["ba", -2.0], ["aba", -3], ["bab", -3], ["abab", -4.0], ["aa", -2.0], ["c", -0.1], ["ca", -1.1], ["cab", -2.1], ["▁", -1e-3]]
    found["unigram-ties"] = ({"of": "unigram", "vocab": ties}, {})
    found["unigram-bytes"] = ({"of": "unigram", "byte_fallback": True, "vocab": [["<unk>", 0.0], ["a", -3.25], ["b", -3.5], ["▁", -2.0]] + [[f"<0x{byte:02X}>", 0.0] for byte in range(256)]}, {})
    return found


def trims():
    """name -> parts that trim the offsets of tokens which are not spelled as in the vocabulary."""
    from kinds import added, byte_level, replace, sequence, split
    mixed = added("B", "Ab", rstrip=True, normalized=True) + added("é", lstrip=True, normalized=True, special=False) + added("the", lstrip=True, rstrip=True)
    wide = sequence("normalizer", {"type": "NFKC"}, {"type": "Lowercase"}, replace(" ", "\u2003 "))
    return {"unknown": {"model": "unk", "added_tokens": added("<unk>"), "pre_tokenizer": split(r"\s+")},
            "unknown-piece": {"model": "unigram", "pre_tokenizer": split(r"\s+")},
            "unknown-bytes": {"model": "unigram", "pre_tokenizer": byte_level(True)},
            "normalized": {"model": "byte", "added_tokens": mixed, "normalizer": wide, "pre_tokenizer": byte_level()},
            "normalized-unknown": {"model": "unk", "added_tokens": mixed + added("<unk>", normalized=True), "normalizer": wide, "pre_tokenizer": split(r"\p{L}+")}}


def lengths():
    """name -> truncation and padding."""
    found = {}
    for direction, strategy in itertools.product(("Right", "Left"), ("LongestFirst", "OnlyFirst", "OnlySecond")):
        found[f"truncation-{direction.lower()}-{strategy.lower()}"] = {"truncation": {"direction": direction, "max_length": 12, "strategy": strategy, "stride": 2}}
    found["truncation-short"] = {"truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}}
    found["truncation-none"] = {"truncation": {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 0}}
    padding = lambda strategy, direction, multiple: {"strategy": strategy, "direction": direction, "pad_to_multiple_of": multiple, "pad_id": 9, "pad_type_id": 4, "pad_token": "<pad>"}
    for direction in ("Right", "Left"):
        found[f"padding-fixed-{direction.lower()}"] = {"padding": padding({"Fixed": 20}, direction, None)}
        found[f"padding-multiple-{direction.lower()}"] = {"padding": padding("BatchLongest", direction, 8)}
    found["padding-both"] = {"padding": padding({"Fixed": 13}, "Right", 4), "truncation": {"direction": "Left", "max_length": 11, "strategy": "LongestFirst", "stride": 1}}
    return found


def parts():
    from kinds import added, byte_level, sequence, template
    made = {}
    for name, normalizer in normalizers().items():
        made[f"normalizer-{name}"] = {"normalizer": normalizer, "pre_tokenizer": byte_level(), "model": "byte"}
    made["normalizer-bytelevel"] = {"normalizer": {"type": "ByteLevel"}, "model": "byte"}
    made["normalizer-bytelevel-nfc"] = {"normalizer": sequence("normalizer", {"type": "NFC"}, {"type": "ByteLevel"}), "model": "byte", "added_tokens": added("é", "the", normalized=True)}
    for name, cut in pre_tokenizers().items():
        made[f"cut-{name}"] = {"pre_tokenizer": cut, "model": "unk"}
        if name.startswith(("metaspace", "bytelevel", "grammar", "sequence", "split", "digits", "fixed")):
            made[f"cut-{name}-bytes"] = {"pre_tokenizer": sequence("pre_tokenizer", cut, byte_level(use_regex=False)), "model": "byte"}
    for name, (model, decoder) in decoders().items():
        made[f"decoder-{name}"] = {"model": model, "decoder": decoder, "added_tokens": added("<s>", "</s>", "<x>") + added("<m>", " y", special=False)}
    for name, post in post_processors().items():
        made[f"post-{name}"] = {"model": "byte", "pre_tokenizer": byte_level("1" in name[-1:]), "post_processor": post}
    for name, (model, tokens, others) in added_tokens().items():
        made[f"added-{name}"] = {"model": model, "added_tokens": tokens, **({"pre_tokenizer": byte_level()} if model == "byte" else {}), **others}
    for name, (model, others) in model_variants().items():
        made[f"model-{name}"] = {"model": model, **others}
    post = template("<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 $B:1 </s>:1", {"<s>": 5, "</s>": 7})
    for name, others in lengths().items():
        if name != "truncation-none":  # there the oracle's arithmetic wraps around
            made[name] = {"model": "byte", "pre_tokenizer": byte_level(), "post_processor": post, **others}
        if name.startswith("truncation"):
            made[f"{name}-bare"] = {"model": "byte", "pre_tokenizer": byte_level(), **others}
    for name, others in trims().items():
        made[f"post-trim-{name}"] = {**others, "post_processor": byte_level(name == "unknown")}
    return {"models": base_models(), "tokenizers": made}

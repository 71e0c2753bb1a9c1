"""One small tokenizer in the manner of each family of models in the world: the same components with
the same parameters, a small vocabulary. kinds() gives name -> the dictionary of its tokenizer.json.
"""
import models

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r" ?[^\s\p{L}\p{N}]+", r" ?[^\s\p{L}\p{M}\p{N}]+")
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]*[{LOWER}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         rf"|[^\r\n\p{{L}}\p{{N}}]?[{UPPER}]+[{LOWER}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
DEEPSEEK = ("[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*"
            "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")
CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def tokenizer(model, **parts):
    empty = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
             "post_processor": None, "decoder": None}
    return {**empty, **parts, "model": model}


def added(*contents, special=True, normalized=False, **flags):
    """Added tokens; their ids do not count when they are loaded, so they need not be right."""
    return [{"id": 0, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": special, **flags}
            for content in contents]


def byte_level(add_prefix_space=False, trim_offsets=True, use_regex=True):
    return {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}


def sequence(slot, *parts):
    names = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "post_processor": "processors", "decoder": "decoders"}
    return {"type": "Sequence", names[slot]: list(parts)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def metaspace(scheme="always", cuts=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cuts}


def template(single, pair, ids):
    """single, pair: "[CLS]:0 $A:0 [SEP]:0". ids: token -> id, or a list of ids."""
    def item(word):
        name, _, type_id = word.rpartition(":")
        if name in ("$A", "$B"):
            return {"Sequence": {"id": name[1], "type_id": int(type_id)}}
        return {"SpecialToken": {"id": name, "type_id": int(type_id)}}
    listed = {token: value if isinstance(value, list) else [value] for token, value in ids.items()}
    return {"type": "TemplateProcessing", "single": [item(word) for word in single.split()], "pair": [item(word) for word in pair.split()],
            "special_tokens": {token: {"id": token, "ids": value, "tokens": [token] * len(value)} for token, value in listed.items()}}


def byte_family(pattern, n_tokens=700, **parts):
    """Split by a pattern, then bytes."""
    cut = sequence("pre_tokenizer", split(pattern), byte_level(use_regex=False))
    return tokenizer(models.byte_bpe(n_tokens), pre_tokenizer=cut, decoder=byte_level(True), **parts)


def gpt2():
    model = models.byte_bpe(900, True)
    model.update({"continuing_subword_prefix": "", "end_of_word_suffix": "", "merges": [" ".join(pair) for pair in model["merges"]]})
    del model["type"], model["ignore_merges"], model["byte_fallback"]
    model["vocab"]["<|endoftext|>"] = len(model["vocab"])
    return tokenizer(model, added_tokens=added("<|endoftext|>", normalized=True), pre_tokenizer=byte_level(), post_processor=byte_level(True, False),
                     decoder=byte_level(True))


def roberta():
    model = models.byte_bpe(700)
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    model["vocab"] = {token: number for number, token in enumerate(first + sorted(model["vocab"], key=model["vocab"].get) + ["<mask>"])}
    del model["type"]
    return tokenizer(model, added_tokens=added(*first, normalized=True) + added("<mask>", lstrip=True), pre_tokenizer=byte_level(),
                     post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False},
                     decoder=byte_level())


def modernbert():
    spaces = [" " * n for n in range(24, 1, -1)]
    names = ["[CLS]", "[SEP]", "[PAD]", "[UNK]"]
    model = models.byte_bpe(700)
    n = len(model["vocab"])
    tokens = (added("|||IP_ADDRESS|||", special=False, normalized=True) + added(*spaces, special=False, normalized=True) +
              added("|||EMAIL_ADDRESS|||", "|||PHONE_NUMBER|||", special=False, normalized=True) + added("<|endoftext|>", *names) +
              added("[MASK]", lstrip=True) + added(*(f"[unused{i}]" for i in range(12)), special=False, normalized=True))
    ids = {token["content"]: n + number for number, token in enumerate(tokens)}
    return tokenizer(model, added_tokens=tokens, normalizer={"type": "NFC"}, pre_tokenizer=byte_level(), decoder=byte_level(),
                     post_processor=template("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:0 [SEP]:0", {name: ids[name] for name in names[:2]}))


def neox():
    tokens = added("<|endoftext|>", "<|padding|>") + added(*(" " * n for n in range(24, 1, -1)), special=False, normalized=True)
    return tokenizer(models.byte_bpe(700), added_tokens=tokens, normalizer={"type": "NFC"}, pre_tokenizer=byte_level(), post_processor=byte_level(),
                     decoder=byte_level())


def phi2():
    runs = [" " * n for n in range(31, 1, -1)] + ["\t" * n for n in range(9, 1, -1)]
    tokens = added("<|endoftext|>") + added(*runs, special=False, normalized=True)
    return tokenizer(models.byte_bpe(700), added_tokens=tokens, pre_tokenizer=byte_level(), post_processor=byte_level(), decoder=byte_level())


def whisper():
    languages = [f"<|{code}|>" for code in ("en", "de", "ja", "zh", "ru")]
    tokens = added("<|endoftext|>", "<|startoftranscript|>", *languages, "<|transcribe|>", "<|notimestamps|>")
    tokens += added(*(f"<|{i / 50:.2f}|>" for i in range(0, 200, 10)), special=False)
    n = models.byte_bpe(700)["vocab"]
    post = template("<|startoftranscript|>:0 <|notimestamps|>:0 $A:0 <|endoftext|>:0", "<|startoftranscript|>:0 <|notimestamps|>:0 $A:0 $B:0 <|endoftext|>:0",
                    {"<|startoftranscript|>": len(n) + 1, "<|notimestamps|>": len(n) + 8, "<|endoftext|>": len(n)})
    return tokenizer(models.byte_bpe(700), added_tokens=tokens, pre_tokenizer=byte_level(), post_processor=post, decoder=byte_level())


def llama3():
    model = models.add_words(models.byte_bpe(700), ["Ġunderestimated", "Ġtrain", "ĠMitternacht", "railway", "ĠĠĠĠĠĠĠ", "æľĿæĹ©", "ĠÐĺÐ²Ð°Ð½"])
    model["ignore_merges"] = True
    names = ["<|begin_of_text|>", "<|end_of_text|>", *(f"<|reserved_special_token_{i}|>" for i in range(6)), "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    bos = max(model["vocab"].values()) + 1
    post = sequence("post_processor", byte_level(True, False), template("<|begin_of_text|>:0 $A:0", "<|begin_of_text|>:0 $A:0 <|begin_of_text|>:1 $B:1", {"<|begin_of_text|>": bos}))
    return tokenizer(model, added_tokens=added(*names), pre_tokenizer=sequence("pre_tokenizer", split(LLAMA3), byte_level(use_regex=False)), post_processor=post,
                     decoder=byte_level(True, True, True))


def qwen():
    tokens = added("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_pad|>") + added("<tool_call>", "</tool_call>", "<|fim_prefix|>", special=False)
    return byte_family(QWEN2, normalizer={"type": "NFC"}, added_tokens=tokens, post_processor=byte_level())


def qwen35():
    return byte_family(QWEN35, normalizer={"type": "NFC"}, added_tokens=added("<|endoftext|>", "<|im_start|>", "<|im_end|>"))


def dolma2():
    cut = sequence("pre_tokenizer", split(LLAMA3, "Removed", True), byte_level(use_regex=False))
    return tokenizer(models.byte_bpe(700), added_tokens=added("<|endoftext|>", "<|fim_prefix|>", rstrip=True), pre_tokenizer=cut, decoder=byte_level())


def o200k():
    return byte_family(O200K, added_tokens=added("<|startoftext|>", "<|endoftext|>", "<|return|>"))


def tekken():
    model_bos = len(models.byte_bpe(700)["vocab"])
    return byte_family(TEKKEN, added_tokens=added("<s>", "</s>", "[INST]", "[/INST]"), post_processor=template("<s>:0 $A:0", "<s>:0 $A:0 <s>:1 $B:1", {"<s>": model_bos}))


def deepseek():
    model = models.byte_bpe(700)
    bos = len(model["vocab"])
    cut = sequence("pre_tokenizer", split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level(use_regex=False))
    tokens = added("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>") + added("<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", special=False)
    return tokenizer(model, added_tokens=tokens, normalizer=sequence("normalizer"), pre_tokenizer=cut, decoder=byte_level(True),
                     post_processor=template("<｜begin▁of▁sentence｜>:0 $A:0", "<｜begin▁of▁sentence｜>:0 $A:0 $B:1", {"<｜begin▁of▁sentence｜>": bos}))


def falcon():
    cut = sequence("pre_tokenizer", {"type": "Punctuation", "behavior": "Contiguous"}, byte_level(), {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]"))
    tokens = added(">>TITLE<<", ">>ABSTRACT<<", ">>QUESTION<<", "<|endoftext|>")
    return tokenizer(models.byte_bpe(700), added_tokens=tokens, pre_tokenizer=cut, decoder=byte_level(), post_processor=byte_level())


def bert(is_lower):
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": is_lower}
    model = models.wordpiece(700 if is_lower else 500, is_lower)
    if is_lower:
        del model["type"]
    post = template("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", {"[CLS]": 2, "[SEP]": 3})
    if not is_lower:
        post = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    return tokenizer(model, added_tokens=added("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"},
                     post_processor=post, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})


def word_level():
    return tokenizer(models.wordlevel(), added_tokens=added("<unk>", "<pad>", "<s>", "</s>"), pre_tokenizer={"type": "Whitespace"},
                     post_processor=template("<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 $B:1 </s>:1", {"<s>": 2, "</s>": 3}))


LLAMA_DECODER = sequence("decoder", replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0})


def llama_like(more_tokens=(), more_pieces=(), post=True, **parts):
    marks = sequence("normalizer", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁"))
    bos = template("<s>:0 $A:0", "<s>:0 $A:0 <s>:1 $B:1", {"<s>": 1}) if post else None
    return tokenizer(models.sentencepiece_bpe(700, more_pieces), **{"normalizer": marks, "decoder": LLAMA_DECODER, "post_processor": bos,
                                                                    "added_tokens": added("<unk>", "<s>", "</s>") + list(more_tokens), **parts})


def llama2():
    return llama_like()


def tinyllama():
    """Merges as strings, added tokens normalized."""
    made = llama_like(added_tokens=added("<unk>", "<s>", "</s>", normalized=True))
    made["model"]["merges"] = [" ".join(pair) for pair in made["model"]["merges"]]
    return made


def phi3():
    tokens = added("<|endoftext|>") + added("<|assistant|>", "<|user|>", "<|end|>", "<|system|>", rstrip=True)
    return llama_like(tokens, post=False)


def llama_bound():
    """Tokens with a mark of a blank inside them: words cannot be cut apart."""
    return llama_like(more_pieces=["▁in▁the", "▁of▁", "a▁b", ".▁", "▁the▁", "e▁"])


def mistral():
    return llama_like(added("[INST]", "[/INST]", "[TOOL_CALLS]"), normalizer=None, pre_tokenizer=metaspace("first", False),
                      added_tokens=added("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]"))


def gemma():
    control = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
    model = models.sentencepiece_bpe(700, ["\n", "\n\n", "\n\n\n", "\t", "<b>", "</b>"], control)
    tokens = added("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>") + added("[@BOS@]", "<unused0>", "\n\n\n", "▁▁▁", special=False)
    return tokenizer(model, added_tokens=tokens, normalizer=replace(" ", "▁"), pre_tokenizer=split(" ", "MergedWithPrevious", kind="String"),
                     post_processor=template("<bos>:0 $A:0", "<bos>:0 $A:0 <bos>:1 $B:1", {"<bos>": 2}),
                     decoder=sequence("decoder", replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}))


def chatglm():
    model = models.sentencepiece_bpe(600, ["<n>"], ("<unk>", "<image_100>", "<|tab|>"))
    marks = sequence("normalizer", replace("\n", "<n>"), replace("\t", "<|tab|>"), replace(" ", "▁"))
    n = len(model["vocab"])
    return tokenizer(model, added_tokens=added("<unk>", "[gMASK]", "[sMASK]", "<sop>", "<eop>"), normalizer=marks, pre_tokenizer=split("▁", "MergedWithNext", kind="String"),
                     post_processor=template("[gMASK]:0 <sop>:0 $A:0", "[gMASK]:0 <sop>:0 $A:0 $B:0 <eop>:1", {"[gMASK]": n, "<sop>": n + 2, "<eop>": n + 3}),
                     decoder=sequence("decoder", replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}))


def precompiled():
    return {"type": "Precompiled", "precompiled_charsmap": models.charsmap()}


def t5():
    model = models.unigram()
    extra = [f"<extra_id_{i}>" for i in range(12)]
    del model["type"], model["byte_fallback"]
    return tokenizer(model, added_tokens=added("<pad>", "</s>", "<unk>", *extra), normalizer=precompiled(), decoder=metaspace(),
                     pre_tokenizer=sequence("pre_tokenizer", {"type": "WhitespaceSplit"}, metaspace()),
                     post_processor=template("$A:0 </s>:0", "$A:0 </s>:0 $B:0 </s>:0", {"</s>": 1}))


def xlnet(is_lower=False):
    control = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>")
    marks = [replace("``", "\""), replace("''", "\""), {"type": "NFKD"}, {"type": "StripAccents"}, *([{"type": "Lowercase"}] if is_lower else []), precompiled()]
    post = template("[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", {"[CLS]": 3, "[SEP]": 4}) if is_lower else template(
        "$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", {"<sep>": 4, "<cls>": 3})
    return tokenizer(models.unigram(700, 0, control), added_tokens=added(*control[:-1]) + added("<mask>", lstrip=True), decoder=metaspace(), post_processor=post,
                     normalizer=sequence("normalizer", *marks), pre_tokenizer=sequence("pre_tokenizer", {"type": "WhitespaceSplit"}, metaspace()))


def albert():
    return xlnet(True)


def marian():
    marks = sequence("normalizer", precompiled(), {"type": "Strip", "strip_left": False, "strip_right": True}, replace(" {2,}", "▁", "Regex"))
    return tokenizer(models.unigram(700, 1, ("</s>", "<unk>")), added_tokens=added("</s>", "<unk>", "<pad>"), normalizer=marks, pre_tokenizer=metaspace(),
                     decoder=metaspace(), post_processor=template("$A:0 </s>:0", "$A:0 $B:0 </s>:0", {"</s>": 0}))


def xlm_roberta():
    control = ("<s>", "<pad>", "</s>", "<unk>")
    post = template("<s>:0 $A:0 </s>:0", "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0", {"<s>": 0, "</s>": 2})
    return tokenizer(models.unigram(700, 3, control), added_tokens=added(*control) + added("<mask>", lstrip=True), normalizer=precompiled(), pre_tokenizer=metaspace(),
                     decoder=metaspace(), post_processor=post)


def unigram_fallback():
    """Whole texts through the Viterbi search, bytes for what is unknown, blanks within pieces."""
    model = models.unigram(600, 0, ("<unk>", "<s>", "</s>"), ["▁in▁the", "of▁the▁", "▁▁", "▁▁▁", "e▁a", "▁an▁u"], True)
    return tokenizer(model, added_tokens=added("<unk>", "<s>", "</s>"), normalizer=sequence("normalizer", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")),
                     decoder=LLAMA_DECODER)


def clip():
    marks = sequence("normalizer", {"type": "NFC"}, replace(r"\s+", " ", "Regex"), {"type": "Lowercase"})
    model = models.suffix_bpe()
    n = len(model["vocab"])
    return tokenizer(model, added_tokens=added("<|startoftext|>", normalized=True) + added("<|endoftext|>"), normalizer=marks,
                     pre_tokenizer=sequence("pre_tokenizer", split(CLIP, "Removed", True), byte_level(use_regex=False)), decoder=byte_level(),
                     post_processor={"type": "RobertaProcessing", "sep": ["<|endoftext|>", n - 1], "cls": ["<|startoftext|>", n - 2], "trim_offsets": False, "add_prefix_space": False})


def prefix_bpe():
    return tokenizer(models.prefix_bpe(), added_tokens=added("<unk>", "<s>", "</s>"), pre_tokenizer={"type": "Whitespace"},
                     decoder={"type": "WordPiece", "prefix": "##", "cleanup": False})


KINDS = {"gpt2": gpt2, "roberta": roberta, "modernbert": modernbert, "neox": neox, "phi2": phi2, "whisper": whisper, "llama3": llama3, "qwen": qwen,
         "qwen35": qwen35, "dolma2": dolma2, "o200k": o200k, "tekken": tekken, "deepseek": deepseek, "falcon": falcon,
         "bert-uncased": lambda: bert(True), "bert-cased": lambda: bert(False), "wordlevel": word_level, "llama2": llama2, "tinyllama": tinyllama,
         "phi3": phi3, "llama-bound": llama_bound, "mistral": mistral, "gemma": gemma, "chatglm": chatglm, "t5": t5, "xlnet": xlnet, "albert": albert,
         "marian": marian, "xlm-roberta": xlm_roberta, "unigram-fallback": unigram_fallback, "clip": clip, "prefix-bpe": prefix_bpe}

"""Small models of every type, trained on training_text.py: dictionaries as they stand under `model`
in a tokenizer.json. Byte-level BPE is trained by the wheel `tokenizers`; the rest is counted here,
since the wheel's other trainers give another vocabulary at each run.
"""
import base64
import collections
import functools
import json
import math
import pathlib
import tempfile
import unicodedata

import training_text

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def train(model, trainer, pre_tokenizer, texts, normalizer=None):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


@functools.lru_cache(maxsize=None)
def byte_bpe_text(n_tokens, only_english):
    from tokenizers import models, pre_tokenizers, trainers
    trainer = trainers.BpeTrainer(vocab_size=n_tokens, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    texts = training_text.english() if only_english else training_text.everything()
    return json.dumps(train(models.BPE(), trainer, pre_tokenizers.ByteLevel(add_prefix_space=False), texts))


def byte_bpe(n_tokens=900, only_english=False):
    """A fresh copy: byte-level BPE as GPT-2's."""
    return json.loads(byte_bpe_text(n_tokens, only_english))


def add_words(model, words):
    """Entries that no merge makes; only ignore_merges finds them."""
    for word in words:
        if word not in model["vocab"]:
            model["vocab"][word] = max(model["vocab"].values()) + 1
    return model


def merges_of_all_splits(vocab, score):
    """As the converters of SentencePiece models do it: every split of a piece into two pieces is a
    merge, the best piece first; so that several merges make one token."""
    merges = []
    for piece, number in vocab.items():
        splits = [(piece[:at], piece[at:]) for at in range(1, len(piece)) if piece[:at] in vocab and piece[at:] in vocab]
        merges += [(score[piece], vocab[left], vocab[right], left, right) for left, right in splits]
    merges.sort()
    return [[left, right] for _, _, _, left, right in merges]


@functools.lru_cache(maxsize=None)
def piece_counts():
    """How often each substring of a word, with the mark of its beginning, occurs."""
    counts = collections.Counter()
    for text in training_text.everything():
        for word in text.split():
            word = "▁" + word
            for start in range(len(word)):
                for end in range(start + 1, min(start + 10, len(word)) + 1):
                    if "▁" not in word[start + 1:end]:
                        counts[word[start:end]] += 1
    return counts


def best_pieces(n_pieces):
    """Letters first to be had, then the pieces that save most."""
    counts = piece_counts()
    letters = sorted((piece for piece in counts if len(piece) == 1), key=lambda piece: (-counts[piece], piece))
    letters = letters[:n_pieces // 3]
    longer = sorted((piece for piece in counts if len(piece) > 1 and counts[piece] > 3), key=lambda piece: (-counts[piece] * (len(piece) - 1), piece))
    return letters, longer[:n_pieces - len(letters)]


def sentencepiece_bpe(n_pieces=900, more=(), control=("<unk>", "<s>", "</s>"), fallback=True):
    """As Llama's or Gemma's."""
    letters, longer = best_pieces(n_pieces)
    spaces = ["▁" * n for n in (2, 3, 4, 8)]
    pieces = list(control) + (BYTES if fallback else []) + spaces + longer + letters + list(more)
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    score = {piece: number for piece, number in vocab.items()}
    merges = merges_of_all_splits({piece: number for piece, number in vocab.items() if not piece.startswith("<")}, score)
    return {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": True, "byte_fallback": fallback, "ignore_merges": False, "vocab": vocab, "merges": merges}


def unigram(n_pieces=800, unk_id=2, control=("<pad>", "</s>", "<unk>"), more=(), fallback=False):
    """As T5's; scores with all their digits."""
    letters, longer = best_pieces(n_pieces)
    counts = piece_counts()
    pieces = [piece for piece in longer + letters if piece not in more]
    total = sum(counts[piece] for piece in pieces)
    vocab = [[token, 0.0] for token in control] + ([[token, 0.0] for token in BYTES] if fallback else [])
    vocab += [[piece, math.log(counts[piece] * len(piece) / total)] for piece in pieces]
    vocab += [[piece, -11.0 - number / 7] for number, piece in enumerate(more)]
    return {"type": "Unigram", "unk_id": unk_id, "vocab": vocab, "byte_fallback": fallback}


def learn_merges(words, n_merges, prefix=""):
    """BPE's training. words: tuple of symbols -> count. The merges, most frequent pair first."""
    merges = []
    words = dict(words)
    while len(merges) < n_merges:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        joined = best[0] + best[1].removeprefix(prefix)
        words = dict(collections.Counter({merge_pair(word, best, joined): count for word, count in words.items()}))
    return merges


def merge_pair(word, pair, joined):
    if pair[0] not in word:
        return word
    symbols = []
    at = 0
    while at < len(word):
        is_pair = word[at:at + 2] == pair
        symbols.append(joined if is_pair else word[at])
        at += 2 if is_pair else 1
    return tuple(symbols)


def spelled_words(texts, split, spell):
    counts = collections.Counter()
    for text in texts:
        counts.update(word for word in split(text) if word)
    return {spell(word): count for word, count in counts.items()}


def prefixed(word, prefix="##"):
    return (word[0], *(prefix + letter for letter in word[1:]))


@functools.lru_cache(maxsize=None)
def wordpiece_vocab(n_merges, is_lower):
    from tokenizers import normalizers, pre_tokenizers
    normalizer = normalizers.BertNormalizer(lowercase=is_lower)
    cut = pre_tokenizers.BertPreTokenizer()
    words = spelled_words(training_text.everything(), lambda text: [word for word, _ in cut.pre_tokenize_str(normalizer.normalize_str(text))], prefixed)
    letters = sorted({letter for word in words for letter in word})
    merges = learn_merges(words, n_merges, "##")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(left + right.removeprefix("##") for left, right in merges)]
    return list(dict.fromkeys(tokens))


def wordpiece(n_merges=700, is_lower=True):
    vocab = {token: number for number, token in enumerate(wordpiece_vocab(n_merges, is_lower))}
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}


def wordlevel(n_words=400, is_lower=False):
    counts = collections.Counter()
    for text in training_text.everything():
        counts.update((text.lower() if is_lower else text).replace(".", " . ").replace(",", " , ").split())
    words = sorted(counts, key=lambda word: (-counts[word], word))[:n_words]
    return {"type": "WordLevel", "vocab": {word: number for number, word in enumerate(["<unk>", "<pad>", "<s>", "</s>"] + words)}, "unk_token": "<unk>"}


def bpe(tokens, merges, **fields):
    tokens = list(dict.fromkeys(tokens))
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
            "byte_fallback": False, "ignore_merges": False, "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [list(pair) for pair in merges], **fields}


@functools.lru_cache(maxsize=None)
def suffix_merges(n_merges):
    from tokenizers import pre_tokenizers
    cut = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    words = spelled_words(training_text.english(), lambda text: [word for word, _ in cut.pre_tokenize_str(text.lower())],
                          lambda word: (*word[:-1], word[-1] + "</w>"))
    return learn_merges(words, n_merges)


def suffix_bpe(n_merges=500):
    """As CLIP's: byte-level, with an end of word; letters stand with and without it."""
    from tokenizers import pre_tokenizers
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = suffix_merges(n_merges)
    tokens = alphabet + [letter + "</w>" for letter in alphabet] + [left + right for left, right in merges] + ["<|startoftext|>", "<|endoftext|>"]
    return bpe(tokens, merges, end_of_word_suffix="</w>", unk_token="<|endoftext|>")


def prefix_bpe(n_merges=400, prefix="##"):
    words = spelled_words(training_text.everything(), str.split, lambda word: prefixed(word, prefix))
    merges = learn_merges(words, n_merges, prefix)
    letters = sorted({letter for word in words for letter in word})
    tokens = ["<unk>", "<s>", "</s>"] + letters + [left + right.removeprefix(prefix) for left, right in merges]
    return bpe(tokens, merges, continuing_subword_prefix=prefix, unk_token="<unk>")


def character_rules():
    """Rules for a charsmap in the manner of SentencePiece's nmt_nfkc, from a few ranges only."""
    rules = {}
    for low, high in ((0xa0, 0x17f), (0x1c4, 0x1cc), (0x1e00, 0x1e9b), (0x2100, 0x214f), (0x2460, 0x2473), (0x3300, 0x3310), (0x3380, 0x3390),
                      (0xfb00, 0xfb06), (0xff01, 0xffa0), (0xac00, 0xac40)):
        for code_point in range(low, high):
            text = unicodedata.normalize("NFKC", chr(code_point))
            if text != chr(code_point):
                rules[chr(code_point)] = text
            apart = unicodedata.normalize("NFD", chr(code_point))
            if len(apart) > 1 and text == chr(code_point):
                rules[apart] = text
    for half, mark in (("ｶ", "ﾞ"), ("ﾊ", "ﾟ"), ("ｷ", "ﾞ")):
        rules[half + mark] = unicodedata.normalize("NFKC", half + mark)
    rules.update({space: " " for space in "\t\n\r\xa0\u2003\u2028\u3000\u200b\ufeff"})
    rules["\r\n"] = " "
    rules.update({control: "" for control in "\x01\x02\x07\x1b\x7f\x8f\x9f"})
    rules["ﷺ"] = "صلى الله عليه وسلم"
    rules["🇩🇪"] = "DE"
    rules["a\u0301\u0302"] = "A"
    return rules


def charsmap():
    """Compiled by SentencePiece, so that the trie is laid out as in the world's files."""
    import sentencepiece
    import sentencepiece.sentencepiece_model_pb2 as protocol
    hexes = lambda text: " ".join(f"{ord(character):X}" for character in text)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "rules.tsv").write_text("".join(f"{hexes(source)}\t{hexes(target)}\n" for source, target in sorted(character_rules().items())))
        (folder / "text").write_text("\n".join(training_text.english()))
        sentencepiece.SentencePieceTrainer.train(input=str(folder / "text"), model_prefix=str(folder / "m"), vocab_size=200, minloglevel=2,
                                                 normalization_rule_tsv=str(folder / "rules.tsv"))
        model = protocol.ModelProto()
        model.ParseFromString((folder / "m.model").read_bytes())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()

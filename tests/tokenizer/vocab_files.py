"""Tokenizers as the files that were there before tokenizer.json: vocab.txt, and vocab.json with
merges.txt, made of the shipped tokenizers, in folders as Hugging Face models have them.
"""
import json
import pathlib

DATA = pathlib.Path(__file__).resolve().parent / "data"


def model(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["model"]


def tokens_by_id(name):
    vocab = model(name)["vocab"]
    return sorted(vocab, key=vocab.get)


def write_bert(folder):
    (folder / "vocab.txt").write_text("".join(token + "\n" for token in tokens_by_id("bert-uncased")), encoding="utf-8")


def write_bert_cased(folder):
    """With blanks at the ends of lines, a token that is there twice, and no end of the last line."""
    tokens = tokens_by_id("bert-cased")
    lines = [token + (" \t" if number % 50 == 7 else "") for number, token in enumerate(tokens)] + [tokens[300], "zzz"]
    (folder / "vocab.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "pad_token": "[PAD]", "tokenize_chinese_chars": False}))


def write_gpt2(folder):
    made = model("gpt2")
    (folder / "vocab.json").write_text(json.dumps(made["vocab"]), encoding="utf-8")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(merge + "\n" for merge in merges), encoding="utf-8")


def write_gpt2_prefix_space(folder):
    write_gpt2(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"add_prefix_space": True, "pad_token": "<|endoftext|>"}))


WRITERS = {"vocab-bert": write_bert, "vocab-bert-cased": write_bert_cased, "vocab-gpt2": write_gpt2, "vocab-gpt2-prefix-space": write_gpt2_prefix_space}


def write(folder, name):
    """The folder of that tokenizer, within another folder."""
    inner = pathlib.Path(folder) / name
    inner.mkdir()
    WRITERS[name](inner)
    return inner


def oracle_text(folder, name):
    """The tokenizer.json that the wheel's own readers of such files make; `<|endoftext|>` is special, as
    it is to everybody who has a GPT-2."""
    from tokenizers.implementations import BertWordPieceTokenizer, ByteLevelBPETokenizer
    inner = write(folder, name)
    if "bert" in name:
        cased = {"lowercase": False, "handle_chinese_chars": False} if "cased" in name else {}
        return BertWordPieceTokenizer(str(inner / "vocab.txt"), **cased).to_str()
    made = ByteLevelBPETokenizer(str(inner / "vocab.json"), str(inner / "merges.txt"), add_prefix_space="prefix" in name)
    made.add_special_tokens(["<|endoftext|>"])
    return made.to_str()

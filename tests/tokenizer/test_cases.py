"""The committed cases: every kind of tokenizer, every component; 0 differences from the oracle."""
import collections
import json
import lzma

import leat_tokenize
import parts
import vocab_files
from leat_tokenize import DATA, SHARE, Failed, difference, show

MAX_SHOWN = 40


def read_cases():
    """tokenizer -> its cases."""
    found = collections.defaultdict(list)
    with lzma.open(DATA / "cases.jsonl.xz", "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            case = json.loads(line)
            found[case["of"]].append(case)
    return found


def refuses(ask, case):
    """Whether leatctl refuses this one case, without a crash."""
    try:
        ask([case])
    except Failed as failed:
        if failed.is_crash:
            raise
        return True
    return False


def check_encode(file, cases):
    """A line for each difference. Where the oracle fails leat may refuse or answer, but not crash."""
    sound = [case for case in cases if "refused" not in case]
    for answer, case in zip(leat_tokenize.encode(file, sound), sound):
        differs = difference(answer, case)
        if differs:
            yield f"{show(case)}: {differs}"
    plain = [case for case in sound if "pair" not in case and not {"type_ids", "off"} - set(case)]
    for special in (False, True):
        some = [case for case in plain if bool(case.get("special")) == special]
        for ids, case in zip(leat_tokenize.encode_ids(file, [case["t"] for case in some], special), some):
            if ids != case["ids"]:
                yield f"{show(case)}: without offsets: ids {leat_tokenize.first_difference(ids, case['ids'])}"
    for case in [case for case in cases if "refused" in case][:3]:
        refuses(lambda one: leat_tokenize.encode(file, one), case)


def check_lines(file, cases):
    """Line by line, as plain text."""
    some = [case for case in cases if "refused" not in case and "pair" not in case and not set(case["t"]) & set("\n\r")]
    for special in (False, True):
        chosen = [case for case in some if bool(case.get("special")) == special]
        for ids, case in zip(leat_tokenize.encode_lines(file, [case["t"].encode() for case in chosen], special), chosen):
            if ids != case["ids"]:
                yield f"{show(case)}: as a line: ids {leat_tokenize.first_difference(ids, case['ids'])}"


def check_decode(file, cases):
    sound = [case for case in cases if "refused" not in case]
    asked = [{"ids": case["d"], "skip_special": case["skip_special"]} for case in sound]
    for text, case in zip(leat_tokenize.decode(file, asked), sound):
        if text != case["text"]:
            yield f"{show(case)}: leat {text!r}, oracle {case['text']!r}"


def check_all(file, cases):
    """All differences of one tokenizer; what fails altogether is one."""
    if any("refused" in case and "t" not in case and "d" not in case for case in cases):
        try:
            leat_tokenize.encode(file, [{"t": "a"}])
        except Failed as failed:
            if not failed.is_crash:
                return
            yield f"{file.name}: {failed}"
        yield f"{file.name}: loads, though the oracle refuses it"
        return
    for check, key in ((check_encode, "t"), (check_lines, "t"), (check_decode, "d")):
        try:
            yield from check(file, [case for case in cases if key in case])
        except Failed as failed:
            yield f"{file.name}: {check.__name__}: {failed}"


def report(breaches, what):
    """Fails with a summary by tokenizer, and the first examples of each."""
    bad = {name: found for name, found in breaches.items() if found}
    lines = []
    for name, found in bad.items():
        lines += [f"  {name}: {len(found)} differences"] + [f"    {line}" for line in found[:2]]
    assert not bad, f"{len(bad)} of {len(breaches)} {what} differ\n" + "\n".join(lines[:MAX_SHOWN * 3])
    return f"ok, {len(breaches)} {what}"


def test_kinds(_folder):
    cases = read_cases()
    names = sorted(path.stem for path in DATA.glob("*.json") if path.name != "parts.json")
    assert names and not set(names) - set(cases)
    return report({name: list(check_all(DATA / f"{name}.json", cases[name])) for name in names}, "tokenizers")


def test_vocab_files(folder):
    cases = read_cases()
    return report({name: list(check_all(vocab_files.write(folder, name), cases[name])) for name in vocab_files.WRITERS}, "folders")


def check_parts(folder, prefix):
    collection = json.loads((DATA / "parts.json").read_text(encoding="utf-8"))
    cases = read_cases()
    breaches = {}
    for number, name in enumerate(collection["tokenizers"]):
        if name.startswith(prefix) and number % SHARE == 0:
            file = folder / f"{name}.json"
            file.write_text(json.dumps(parts.compose(collection, name), ensure_ascii=False), encoding="utf-8")
            check = check_refusal if name in parts.NOT_SUPPORTED else check_all
            breaches[name] = list(check(file, cases[name]))
    return report(breaches, "parts")


def check_refusal(file, cases):
    """It is refused at load, with the reason; or, should that have changed, it is equal."""
    reason = parts.NOT_SUPPORTED[file.stem]
    try:
        leat_tokenize.encode(file, [{"t": "a"}])
    except Failed as failed:
        if failed.is_crash or reason not in failed.message:
            yield f"{file.name}: the reason should speak of {reason!r}: {failed}"
        return
    yield from check_all(file, cases)


def test_normalizers(folder):
    return check_parts(folder, "normalizer-")


def test_pre_tokenizers(folder):
    return check_parts(folder, "cut-")


def test_models(folder):
    return check_parts(folder, "model-")


def test_added_tokens(folder):
    return check_parts(folder, "added-")


def test_post_processors(folder):
    return check_parts(folder, "post-")


def test_truncation_and_padding(folder):
    return check_parts(folder, ("truncation-", "padding-"))


def test_decoders(folder):
    return check_parts(folder, "decoder-")


if __name__ == "__main__":
    leat_tokenize.main(globals())

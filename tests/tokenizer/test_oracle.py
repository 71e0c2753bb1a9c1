"""Real tokenizers, where the collection ../shared/oracle lies beside the repository: 0 differences in
all of its cases. Skipped elsewhere: those files are not for the project to ship.
"""
import json
import lzma
import os
import pathlib

import leat_tokenize
from leat_tokenize import ROOT, difference, show

FOLDER = pathlib.Path(os.environ.get("LEAT_ORACLE_FOLDER", ROOT.parent / "shared" / "oracle"))


def read_cases(name):
    with lzma.open(FOLDER / "cases" / f"{name}.jsonl.xz", "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def check(name):
    file = FOLDER / "tokenizers" / f"{name}.json"
    if not file.exists():
        raise leat_tokenize.Skip(f"no {file}")
    cases = read_cases(name)
    found = []
    for answer, case in zip(leat_tokenize.encode(file, cases), cases):
        differs = difference(answer, case)
        if differs:
            found.append(f"{show(case)}: {differs}")
    plain = [case for case in cases if "pair" not in case and "special" not in case]
    for ids, case in zip(leat_tokenize.encode_ids(file, [case["t"] for case in plain]), plain):
        if ids != case["ids"]:
            found.append(f"{show(case)}: without offsets: ids {leat_tokenize.first_difference(ids, case['ids'])}")
    assert not found, f"{len(found)} differences in {len(cases)} cases\n" + "\n".join(f"    {line}" for line in found[:12])
    return f"ok, {len(cases)} cases"


def test_bert(_folder):
    return check("bert-base-uncased")


def test_gpt2(_folder):
    return check("gpt2")


def test_mistral(_folder):
    return check("mistral-v01")


def test_modernbert(_folder):
    return check("modernbert")


def test_phi2(_folder):
    return check("phi-2")


def test_t5(_folder):
    return check("t5-small")


if __name__ == "__main__":
    leat_tokenize.main(globals())

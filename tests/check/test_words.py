#!/usr/bin/env python3
"""Breaks each rule of texts once, in a small tree of its own, and looks whether words.py says so.

    test_words.py
"""
import pathlib
import sys
import tempfile

import words

GUIDE = "# A guide\n\n[A part](#a-part)\n\n## A part\n\nLook at [the start](../../README.md#start).\n"
TREE = {**{name: "# A page\n\n## Start\n\nleat reads text.\n" for name in words.TOPS}, "daemon/guide/a.md": GUIDE,
        "client/leat.h": "/* A header. */\nint leat_x(void);\n", "pipeline/tokenizer/tokenizer.h": "/* A header. */\n",
        "client/python/leat/a.py": '"""A module."""\n', "daemon/a.c": 'const char *a = "a text";\n', "config/leatd.yaml": "# The default is enough.\n# workers: 4\nworkers: 2\n", "daemon/man/leatd.8.scd": "leatd(8)\n\n# NAME\n\nleatd - a daemon\n"}
LONG = " ".join(["Word"] + ["word"] * 30)
BREACHES = {
    "a long README": ({"README.md": "# A page\n## Start\n" + "\n" * 199}, "README.md: 201 lines; at most 200"),
    "a long guide": ({"daemon/guide/a.md": GUIDE + "\n" * 400}, "daemon/guide/a.md: 407 lines; at most 400"),
    "a guide without contents": ({"daemon/guide/a.md": "# A guide\n\nText.\n"}, "links to the sections of a guide belong below its title"),
    "a link that leads nowhere": ({"daemon/guide/a.md": GUIDE + "[b](b.md)\n"}, "a.md:8: b.md does not exist"),
    "a picture that is not there": ({"README.md": TREE["README.md"] + "![A chart](chart.svg)\n"}, "README.md:6: chart.svg does not exist"),
    "a heading that is not there": ({"daemon/guide/a.md": GUIDE + "[b](#b)\n"}, "has no heading #b"),
    "a long sentence": ({"daemon/guide/a.md": f"{GUIDE}\n{LONG}.\n"}, "a.md:9: a sentence of 31 words"),
    "a long item": ({"daemon/guide/a.md": f"{GUIDE}\n- Short.\n- {LONG}\n"}, "a.md:10: a sentence of 31 words"),
    "a long cell": ({"daemon/guide/a.md": f"{GUIDE}\n| a | {LONG} |\n"}, "a.md:9: a sentence of 31 words"),
    "a long sentence over lines": ({"daemon/guide/a.md": f"{GUIDE}\n{LONG[:50]}\n{LONG[50:]}.\n"}, "a.md:9: a sentence of 3"),
    "a long comment": ({"config/leatd.yaml": f"# Short.\n# {LONG}\n"}, "config/leatd.yaml:1: a sentence of 31 words"),
    "a long sentence of a manual page": ({"daemon/man/leatd.8.scd": f"leatd(8)\n\n# NAME\n\n{LONG}.\n"}, "leatd.8.scd:5: a sentence of 31 words"),
    "a long string in C": ({"daemon/a.c": f'set(err, "{LONG[:50]}"  /* a comment */\n    "{LONG[50:]}: %s");\n'}, "daemon/a.c:1: a sentence of 3"),
    "a phrase in C": ({"daemon/a.c": '\nset(err, "the trainer %s is "\n    "told so");\n'}, "daemon/a.c:2: say it plainly: 'is told'"),
    "a phrase in a table": ({"daemon/a.def": 'EVENT("Whoever asks waits.")\n'}, "daemon/a.def:1: say it plainly: 'Whoever'"),
    "a long comment of a header": ({"client/leat.h": f"\n/* {LONG[:60]}\n * {LONG[60:]}. */\n"}, "client/leat.h:2: a sentence of 3"),
    "a long docstring": ({"client/python/leat/a.py": f'def a():\n    """{LONG[:60]}\n    {LONG[60:]}."""\n'}, "a.py:2: a sentence of 3"),
    "a phrase in Python": ({"client/python/leat/a.py": 'x = 1\nraise E(f"{x!r} is none"\n        f" of {x}")\n'}, "a.py:2: say it plainly: 'is none of'"),
    **{f"the phrase {text!r}": ({"README.md": f"{TREE['README.md']}\n{text}\n"}, "say it plainly") for text in (
        "Whoever names it fails.", "The trainer is told so.", "It is none of those.", "A trainer is let go.", "The rest of what there is.",
        "Of rows there are three.", "Who names such a column gets an error.", "The kernel knows who it is.")},
}
KEPT = {
    "a question": "Who may look?",
    "a list of code": "It has " + ", ".join(["`name`"] * 40) + ".",
    "code": f"Run this:\n\n```sh\n# {LONG}\n```",
    "two sentences": f"{LONG[:100]}. {LONG[:100].capitalize()}.",
}


def faults_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(words.faults(pathlib.Path(folder)))


def main():
    failed = 0
    cases = [("the tree as it is", TREE, None)]
    cases += [(name, {**TREE, **files}, expected) for name, (files, expected) in BREACHES.items()]
    cases += [(name, {**TREE, "README.md": f"{TREE['README.md']}\n{text}\n"}, None) for name, text in KEPT.items()]
    for name, files, expected in cases:
        found = faults_of(files)
        if found if expected is None else not any(expected in fault for fault in found):
            print(f"{name}: expected {expected!r}, not {found!r}")
            failed += 1
    print(f"{len(cases)} cases, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

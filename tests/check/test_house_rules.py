#!/usr/bin/env python3
"""Breaks each rule of the house once, in a small house of its own, and looks whether house_rules.py says so.

    test_house_rules.py
"""
import pathlib
import subprocess
import sys
import tempfile

RULES = pathlib.Path(__file__).with_name("house_rules.py")
HOUSE = {
    "proto/base/text.h": "/* text.h */\nint leat_text_add(int text);\n",
    "proto/base/text.c": '/* text.c */\n#include "proto/base/text.h"\nint leat_text_add(int text) {\n    return text;\n}\n',
    "pipeline/io/files.h": '/* files.h */\n#include "proto/base/text.h"\nint leat_files_open(int files);\n',
    "pipeline/io/files.c": '#include "pipeline/io/files.h"\nint leat_files_open(int files) {\n    return leat_text_add(files);\n}\n',
    "daemon/net/channel.h": "/* channel.h */\nint leat_channel_send(int channel);\n",
    "client/cli/why.c": "/* why.c */\n",
    "client/cli/kick/kick.h": "/* kick.h */\n",
}
FAILS = "/* fails.h */\nstruct leat_error;\nint leat_fails(struct leat_error *err);\n"
BREACHES = {
    "an include of a room above": ({"proto/base/up.c": '/* up.c */\n#include "pipeline/io/files.h"\n'}, "proto/base must not know pipeline/io"),
    "a call into a room above": ({"proto/base/up.c": "/* up.c */\nint leat_up(void) {\n    return leat_files_open(0);\n}\n"},
                                 "proto/base must not know pipeline/io"),
    "a leaf that knows another": ({"daemon/log/log.c": '/* log.c */\n#include "daemon/net/channel.h"\n'}, "daemon/log must not know daemon/net"),
    "a command that knows another": ({"client/cli/why.c": '/* why.c */\n#include "client/cli/kick/kick.h"\n'},
                                     "client/cli/why must not know client/cli/kick"),
    "a circle": ({"pipeline/io/codec.h": '/* codec.h */\n#include "pipeline/io/input.h"\n',
                  "pipeline/io/input.c": '/* input.c */\n#include "pipeline/io/codec.h"\n', "pipeline/io/input.h": "/* input.h */\n"},
                 "in a circle: pipeline/io/codec, pipeline/io/input"),
    "an include without a room": ({"pipeline/io/near.c": '/* near.c */\n#include "files.h"\n'}, '"files.h" does not begin with a room'),
    "a crowded folder": ({f"daemon/net/n{i}.c": f"/* n{i}.c */\n" for i in range(41)}, "daemon/net: more than 40 files: 42"),
    "a long file": ({"pipeline/io/long.c": "/* long.c */\n" + "int leat_x;\n" * 700}, "more than 700 lines: 701"),
    "a long line": ({"pipeline/io/wide.c": "/* wide.c */\n/* " + "x" * 100 + " */\n"}, "more than 100 columns"),
    "a nameless file": ({"pipeline/io/util.c": "/* util.c */\n"}, "a file is named after what it holds"),
    "no comment at the top": ({"pipeline/io/bare.c": "int leat_bare;\n"}, "no comment that says what this file is"),
    "another's header at the top": ({"pipeline/io/bare.c": '#include "pipeline/io/files.h"\n'}, "no comment that says what this file is"),
    "a crowded folder of tests": ({f"tests/daemon/net/n{i}.c": f"/* n{i}.c */\n" for i in range(41)}, "tests/daemon/net: more than 40 files: 41"),
    "unfinished work": ({"pipeline/io/later.c": "/* later.c */\n/* TO" + "DO */\n"}, "unfinished work belongs in an issue"),
    "an error of NULL": ({"pipeline/io/fails.h": FAILS, "pipeline/io/fails.c": "/* fails.c */\nint leat_call(void) {\n    return leat_fails(NULL);\n}\n"},
                         "leat_fails() gets NULL for its error"),
    "a tag of two meanings": ({"pipeline/io/one.h": "/* one.h */\nstruct leat_thing {\n    int a;\n};\n",
                               "daemon/net/two.h": "/* two.h */\nstruct leat_thing {\n    int b;\n};\n"}, "leat_thing means something else"),
}


def breaches_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, RULES, folder], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def main():
    failed = 0
    status, said = breaches_of(HOUSE)
    cases = [("the house as it is", status == 0 and "0 breaches" in said, said)]
    for name, (files, expected) in BREACHES.items():
        status, said = breaches_of(HOUSE | files)
        cases.append((name, status == 1 and expected in said and "1 breaches" in said, said))
    for name, is_good, said in cases:
        print(f"{name}: {'ok' if is_good else 'NOT NOTICED, but:'}")
        if not is_good:
            print(said)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

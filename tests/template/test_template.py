#!/usr/bin/env python3
"""A build of leat with the stage of this folder: it is there, it works, through the daemon too.

    test_template.py BIN
"""
import json
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(sys.argv[1]).resolve()
STREAM = """
streams:
  s:
    source: { jsonl: { paths: [a.jsonl] } }
    on_error: skip
    stages:
      - text_length: { input: text, most: 6 }
      - text_length: { input: text, output: n_bytes, unit: bytes }
      - select: { fields: [length, n_bytes] }
      - batch: { batch_size: 2 }
"""


def leatctl(*args, status=0):
    done = subprocess.run([BIN / "leatctl", *map(str, args)], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, (args, done)
    return done.stdout + done.stderr


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-template-"))
    texts = ["", "abc", "äöü", "much too long", "\U0001f600"]
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    (folder / "s.yaml").write_text(STREAM)
    about = leatctl("stages", "text_length")
    assert "how long a text is" in about and "a longer text makes a bad record" in about, about
    rows = [json.loads(line) for line in
            leatctl("head", folder / "s.yaml", "-n", 100, "--after", "select", "--json").splitlines() if line[0] == "{"]
    expected = [{"length": len(t), "n_bytes": len(t.encode())} for t in texts if len(t) <= 6]
    assert rows == expected, rows
    assert leatctl("run", folder / "s.yaml", "--digest").splitlines()[-1] == \
        leatctl("run", folder / "s.yaml", "--digest", "--no-daemon").splitlines()[-1]
    (folder / "s.yaml").write_text(STREAM.replace("most: 6", "most: 0"))
    assert "0 is outside 1..2147483647" in leatctl("check", folder / "s.yaml", status=3)
    print("ok")


if __name__ == "__main__":
    main()

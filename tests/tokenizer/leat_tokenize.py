"""leatctl's tokenizer from outside: what it answers, what differs from what is wanted, a small
runner of tests. A test file is a script with functions test_*(folder), `NAME.py BIN [PATTERN]`; exit
status 77: all were skipped. What was skipped is printed as tests/suite.py reads it.
"""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else os.environ.get("LEAT_BIN", "build/bin")).resolve()
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DATA = HERE / "data"
SLOW = float(os.environ.get("LEAT_TEST_SLOW", "1"))
HANG_S = 600  # nothing that goes on at all takes so long, on whatever machine
SHARE = 3 if SLOW > 1 else 1  # of what is tried again and again a slow build does one in so many


class Skip(Exception):
    """This test needs what is not here; says what."""


class Failed(Exception):
    """leatctl gave no answer: its status and its message."""

    def __init__(self, status, message):
        super().__init__(f"status {status}: {message[-600:]}")
        self.status = status
        self.message = message

    @property
    def is_crash(self):
        return self.status < 0 or self.status >= 128 or "Sanitizer" in self.message


def run(arguments, data=b"", check=True, bin_folder=None, cpu_s=None):
    """leatctl with these arguments: its standard output; raises Failed. With cpu_s a signal ends one that
    takes more of the processor's time than that."""
    command = [str((bin_folder or BIN) / "leatctl"), *map(str, arguments)]
    done = subprocess.run(command, input=data, capture_output=True, timeout=HANG_S,
                          preexec_fn=cpu_s and (lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s), int(cpu_s) + 1))))
    if check and done.returncode != 0:
        raise Failed(done.returncode, done.stderr.decode(errors="replace"))
    return done


def json_lines(objects):
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects).encode()


def answers_of(done, n_wanted):
    lines = done.stdout.decode(errors="surrogateescape").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if len(lines) != n_wanted:
        raise Failed(done.returncode, f"{len(lines)} lines of answers to {n_wanted} of input; the last: {lines[-1][:200] if lines else ''}\n{done.stderr.decode(errors='replace')}")
    return [json.loads(line) for line in lines]


def encode(file, cases, **keywords):
    """The answers to cases {"t", "pair"?, "special"?}: {"ids", "type_ids", "off"}."""
    asked = [{**{key: case[key] for key in ("t", "pair", "special") if key in case}, "type_ids": True, "off": True} for case in cases]
    return answers_of(run(["tokenizer", "encode", file, "--jsonl"], json_lines(asked), **keywords), len(cases))


def encode_ids(file, texts, special=False, **keywords):
    """Only the ids of texts: the way that computes nothing else."""
    asked = [{"t": text, "special": True} if special else {"t": text} for text in texts]
    return [answer["ids"] for answer in answers_of(run(["tokenizer", "encode", file, "--jsonl"], json_lines(asked), **keywords), len(texts))]


def encode_lines(file, lines, special=False, **keywords):
    """The ids of lines of bytes, which need not be UTF-8."""
    done = run(["tokenizer", "encode", file, *(["--special"] if special else [])], b"".join(line + b"\n" for line in lines), **keywords)
    found = done.stdout.decode().split("\n")[:-1]
    if len(found) != len(lines):
        raise Failed(0, f"{len(found)} lines of ids for {len(lines)} lines of text")
    return [[int(word) for word in line.split()] for line in found]


def decode(file, cases, **keywords):
    """The texts of cases {"ids", "skip_special"?}."""
    asked = [{key: case[key] for key in ("ids", "skip_special") if key in case} for case in cases]
    return [answer["t"] for answer in answers_of(run(["tokenizer", "decode", file, "--jsonl"], json_lines(asked), **keywords), len(cases))]


def first_difference(found, wanted):
    for at, (mine, theirs) in enumerate(zip(found, wanted)):
        if mine != theirs:
            return f"at {at}: leat {found[at:at + 8]}, oracle {wanted[at:at + 8]}"
    return f"leat has {len(found)}, the oracle {len(wanted)}: leat {found[-6:]}, oracle {wanted[-6:]}"


def difference(answer, case):
    """What of the answer differs from the case, as a text; None: nothing."""
    for key in ("ids", "type_ids", "off"):
        if key in case and answer.get(key) != case[key]:
            return f"{key} {first_difference(answer.get(key) or [], case[key])}"
    return None


def show(case):
    asked = {key: case[key] for key in ("of", "t", "pair", "special", "d", "skip_special") if key in case}
    return json.dumps(asked, ensure_ascii=True)[:400]


def main(tests):
    """Runs the functions test_* of a module's globals()."""
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    n_failed = n_run = n_skipped = 0
    for name, test in [(n, t) for n, t in tests.items() if n.startswith("test_") and pattern in n]:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-tokenizer-"))
        start = time.monotonic()
        n_run += 1
        try:
            result = test(folder) or "ok"
        except Skip as reason:
            n_skipped += 1
            print(f"skipped: {name}: {reason}")
            result = "skipped"
        except AssertionError as error:
            n_failed += 1
            result = f"FAILED\n{error}"
        except Exception:  # noqa: whatever it was, the others still run
            n_failed += 1
            result = "FAILED\n" + traceback.format_exc()
        print(f"{name}: {result}  ({time.monotonic() - start:.1f} s)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    if n_failed:
        sys.exit(1)
    sys.exit(77 if n_run == n_skipped else 0)

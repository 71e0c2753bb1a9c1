"""The judge: what Hugging Face `tokenizers` says. Needs the wheel; if this Python has none, and
LEAT_ORACLE_PYTHON names one that has, the script starts again with that one.
"""
import contextlib
import os
import sys

VERSION = "0.23.3"


def require():
    """The module, or the end of the program: 77, which ctest shows as skipped."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["RUST_BACKTRACE"] = "0"
    try:
        import tokenizers
    except ImportError:
        python = os.environ.get("LEAT_ORACLE_PYTHON")
        if python and python != sys.executable:
            os.execv(python, [python, *sys.argv])
        print(f"skipped: all: no Python module tokenizers (pip install tokenizers=={VERSION}, or LEAT_ORACLE_PYTHON=a Python that has it)")
        sys.exit(77)
    if tokenizers.__version__ != VERSION:
        print(f"skipped: all: tokenizers {tokenizers.__version__} is here, the oracle is {VERSION}")
        sys.exit(77)
    return tokenizers


class Refused(Exception):
    """The oracle gives no answer, for the reason given."""


@contextlib.contextmanager
def judging():
    """Turns whatever goes wrong into Refused. A panic of the wheel is no Exception, and it speaks of
    itself on stderr, which is turned off meanwhile."""
    saved = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise Refused(str(error)[:200]) from None
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


class Oracle:
    """One tokenizer.json."""

    def __init__(self, text):
        tokenizers = require()
        with judging():
            self.tokenizer = tokenizers.Tokenizer.from_str(text)

    def encode(self, case):
        """The answer as `leatctl tokenizer encode --jsonl` gives it."""
        with judging():
            found = self.tokenizer.encode(case["t"], case.get("pair"), add_special_tokens=bool(case.get("special")))
        return {"ids": found.ids, "type_ids": found.type_ids, "off": [list(pair) for pair in found.offsets]}

    def decode(self, case):
        with judging():
            return {"t": self.tokenizer.decode(case["ids"], skip_special_tokens=bool(case.get("skip_special")))}

    @property
    def n_ids(self):
        return max(self.tokenizer.get_vocab().values(), default=0) + 1

    @property
    def vocabulary(self):
        return sorted(self.tokenizer.get_vocab())

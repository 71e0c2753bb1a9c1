"""The judge: what Hugging Face `tokenizers` says. Needs the wheel; if this Python has none, and
LEAT_ORACLE_PYTHON names one that has, the script starts again with that one.
"""
import os
import sys

VERSION = "0.23.2"


def require():
    """The module, or the end of the program: 77, which ctest shows as skipped."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ["RUST_BACKTRACE"] = "0"  # its panics are answers like any other
    try:
        import tokenizers
    except ImportError:
        python = os.environ.get("LEAT_ORACLE_PYTHON")
        if python and python != sys.executable:
            os.execv(python, [python, *sys.argv])
        print(f"skipped: no Python module tokenizers (pip install tokenizers=={VERSION}, or LEAT_ORACLE_PYTHON=a Python that has it)")
        sys.exit(77)
    if tokenizers.__version__ != VERSION:
        print(f"skipped: tokenizers {tokenizers.__version__} is here, the oracle is {VERSION}")
        sys.exit(77)
    return tokenizers


class Refused(Exception):
    """The oracle gives no answer, for the reason given."""


class Oracle:
    """One tokenizer.json."""

    def __init__(self, text):
        try:
            self.tokenizer = require().Tokenizer.from_str(text)
        except BaseException as error:  # a panic of the wheel is no Exception
            raise_interrupt(error)
            raise Refused(str(error)[:200]) from None

    def encode(self, case):
        """The answer as `leatctl tokenize --jsonl` gives it."""
        try:
            found = self.tokenizer.encode(case["t"], case.get("pair"), add_special_tokens=bool(case.get("special")))
        except BaseException as error:
            raise_interrupt(error)
            raise Refused(str(error)[:200]) from None
        return {"ids": found.ids, "type_ids": found.type_ids, "off": [list(pair) for pair in found.offsets]}

    def decode(self, case):
        try:
            return {"t": self.tokenizer.decode(case["ids"], skip_special_tokens=bool(case.get("skip_special")))}
        except BaseException as error:
            raise_interrupt(error)
            raise Refused(str(error)[:200]) from None

    @property
    def n_ids(self):
        return max(self.tokenizer.get_vocab().values(), default=0) + 1

    @property
    def vocabulary(self):
        return sorted(self.tokenizer.get_vocab())


def raise_interrupt(error):
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        raise error

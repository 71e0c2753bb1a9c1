"""The stage `exec`, one record at a time: a record that its program does not survive, or answers badly, not at all or
twice, is a bad one.

Written from the documentation (README, the arguments of the stage), not from the C code.
"""
import json
import re
import subprocess

from leat_elements import INTEGERS, BadRecord, fit


def parse_type(text):
    """(dtype, is list, exact length, largest length)"""
    found = re.fullmatch(r"(?:list<(\w+)>|(\w+?)(\[(<=)?(\d*)\])?)", text)
    dtype, is_list = found[1] or found[2], bool(found[1] or found[3])
    n = int(found[5]) if found[5] else None
    return dtype, is_list, None if found[4] else n, n if found[4] else None


def scalar_of(value, dtype):
    kinds = {"text": str, "bool": bool}.get(dtype, (int,) if dtype in INTEGERS else (int, float))
    if not isinstance(value, kinds) or (isinstance(value, bool) and dtype != "bool"):
        raise BadRecord("another type")
    if dtype == "text":
        return value.encode()
    return value if dtype == "bool" else fit(value if dtype in INTEGERS else float(value), dtype)


def value_of(value, kind):
    dtype, is_list, exactly, at_most = kind
    if not is_list:
        return scalar_of(value, dtype)
    if not isinstance(value, list) or len(value) != (exactly or len(value)) or len(value) > (at_most or len(value)):
        raise BadRecord("no such list")
    return [scalar_of(item, dtype) for item in value]


class Helper:
    """Each record is followed by one that was answered well, whose answer ends those to the record."""

    def __init__(self, command, directory):
        self.command, self.directory, self.process, self.good, self.n_asked = command, directory, None, None, 0

    def start(self):
        if not self.process or self.process.poll() is not None:
            self.process = subprocess.Popen(self.command, cwd=self.directory, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            env={"PYTHONUNBUFFERED": "1", "PATH": "/usr/bin:/bin"})

    def ask(self, record):
        self.n_asked += 1
        tag = f"{self.n_asked:08x}"
        try:
            self.process.stdin.write(json.dumps({"_leat": tag, **record}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return tag

    def answers(self, tag, last_tag):
        """To `tag`, until there is one to last_tag, or the program has ended."""
        found = []
        for line in self.process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            if isinstance(answer, dict) and answer.get("_leat") == tag:
                found.append(answer)
            if isinstance(answer, dict) and answer.get("_leat") == last_tag:
                return found
        self.process.wait()
        return found

    def answer(self, record):
        self.start()
        tag = self.ask(record)
        found = self.answers(tag, self.ask(self.good or record))
        if len(found) != 1:
            raise BadRecord("no answer, or more than one")
        self.good = record
        return found[0]


def stage_exec(plan, args):
    inputs = [(name, plan.columns[name]) for name in args["inputs"]]
    kinds = {name: parse_type(text) for name, text in args["schema"].items()}
    outputs = {name: plan.new_column(kind[0], kind[1]) for name, kind in kinds.items()}
    plan.columns |= outputs
    helper = Helper(args["command"], plan.directory)

    def step(row, _context):
        record = {name: row[column].decode() if column.dtype == "text" else row[column] for name, column in inputs}
        answer = helper.answer(record)
        if "error" in answer and "error" not in kinds:
            raise BadRecord("an error")
        for name, column in outputs.items():
            if name not in answer:
                raise BadRecord("a field is missing")
            row[column] = value_of(answer[name], kinds[name])
    plan.steps.append(step)


STAGES = {"exec": stage_exec}

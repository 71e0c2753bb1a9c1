"""jinja2 as transformers 5.23 sets it up for chat templates, and a comparison of leat with it."""
import collections
import copy
import datetime
import json
import os
import re
import subprocess
import sys
import warnings

import leat_tokenize

RENDER = leat_tokenize.BIN.parent / "tests" / "render_templates"
DATE = [2025, 3, 9]
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # a text that holds the address of an object differs each time
VERSION = (3, 1, 6)  # transformers needs this version or a newer one


def require():
    """Imports jinja2. If this Python has none, the script starts again with LEAT_ORACLE_PYTHON."""
    try:
        import jinja2
    except ImportError:
        python = os.environ.get("LEAT_ORACLE_PYTHON")
        if python and python != sys.executable:
            os.execv(python, [python, *sys.argv])
        print("skipped: all: no Python module jinja2 (pip install jinja2, or LEAT_ORACLE_PYTHON=a Python that has it)")
        sys.exit(77)
    if tuple(int(part) for part in jinja2.__version__.split(".")[:3]) < VERSION:
        print(f"skipped: all: jinja2 {jinja2.__version__} is here, but transformers needs 3.1.6")
        sys.exit(77)


def environment():
    """The environment of transformers' _compile_jinja_template()."""
    import jinja2
    import jinja2.ext
    import jinja2.sandbox

    class Tracker(jinja2.ext.Extension):
        tags = {"generation"}
        blocks, places = [], []

        def parse(self, parser):
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_generation_support"), [], [], body).set_lineno(line)

        @jinja2.pass_eval_context
        def _generation_support(self, context, caller):
            text = caller()
            start = len("".join(self.blocks))
            self.places.append((start, start + len(text)))
            return text

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(format):  # noqa: the name of the parameter is part of the language
        return datetime.datetime(*DATE, 12).strftime(format)

    class Dict:
        def __call__(self, *args, **kwargs):
            return dict(*args, **kwargs)

        def fromkeys(self, *args, **kwargs):
            return dict.fromkeys(*args, **kwargs)

    class Namespace(jinja2.utils.Namespace):
        def __init__(*args, **kwargs):  # noqa: a template may name an attribute `self`
            self, args = args[0], args[1:]
            attributes = dict(*args, **kwargs)
            for name in attributes:
                Namespace.check(name)
            jinja2.utils.Namespace.__init__(self, attributes)

        def __setitem__(self, name, value):
            Namespace.check(name)
            jinja2.utils.Namespace.__setitem__(self, name, value)

        @staticmethod
        def check(name):
            if isinstance(name, str) and name.startswith("_"):
                raise jinja2.exceptions.SecurityError(name)

    result = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Tracker, jinja2.ext.loopcontrols])
    result.filters["tojson"] = tojson
    result.globals.update(raise_exception=raise_exception, strftime_now=strftime_now, dict=Dict(), namespace=Namespace)
    result.leat_tracker = next(extension for extension in result.extensions.values() if isinstance(extension, Tracker))
    return result


def expected(template, values):
    """What a compiled template of jinja2 renders."""
    tracker = template.environment.leat_tracker
    tracker.blocks, tracker.places = [], []
    for block in template.root_render_func(template.new_context(values)):  # generate() makes slow tracebacks of errors
        tracker.blocks.append(block)
    text = "".join(tracker.blocks)
    return {"text": text, "parts": [[len(text[:start].encode()), len(text[:end].encode())] for start, end in tracker.places]}


def answers_of_jinja2(jobs):
    """Yields a text with its parts, or an error, for each rendering of each job."""
    known = environment()
    warnings.simplefilter("ignore", SyntaxWarning)  # Python warns of `1[2]`
    for source, cases, _ in jobs:
        try:
            template = known.from_string(source)
        except Exception as error:
            yield from [error] * len(cases)
            continue
        for values in cases:
            try:
                answer = expected(template, copy.deepcopy(values))  # a template of jinja2 can change a list
                json.dumps(answer, ensure_ascii=False).encode()
                yield answer
            except Exception as error:
                yield error


def answers_of_leat(jobs):
    lines = [json.dumps({"date": DATE, "variables": values, **({} if i else {"template": source})})
             for source, cases, _ in jobs for i, values in enumerate(cases)]
    done = subprocess.run([RENDER], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=leat_tokenize.HANG_S)
    answers = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert done.returncode == 0 and len(answers) == len(lines), \
        f"render_templates ends with {done.returncode} after {len(answers)} of {len(lines)}: {(lines + ['the last'])[len(answers)][:2000]}\n{done.stderr[-3000:]}"
    return answers


class Comparison:
    """Compares jobs (template, [variables, ..], [what to show, ..]) and counts what came of them."""

    def __init__(self, refusals, flags):
        self.flags = flags
        self.refusals = [(re.compile(pattern), reason) for pattern, reason in refusals]
        self.counts = collections.Counter()
        self.used = set()
        self.differences = []

    def compare(self, jobs):
        jobs = list(jobs)
        cases = [shown for _, _, some in jobs for shown in some]
        for case, mine, theirs in zip(cases, answers_of_leat(jobs), answers_of_jinja2(jobs), strict=True):
            self.judge(case, mine, theirs)

    def judge(self, case, mine, theirs):
        if "error" not in mine:  # what a generation block printed into a value may be longer than the text
            n = len(mine["text"].encode())
            mine["parts"] = [[min(start, n), min(end, n)] for start, end in mine["parts"]]
        if isinstance(theirs, Exception):
            if "error" in mine or (re.search(self.flags[0], case) and re.search(self.flags[1], str(theirs))):
                self.counts["errors"] += 1
            else:
                self.differences.append((case, mine, f"{type(theirs).__name__}: {theirs}"))
        elif "error" not in mine:
            self.counts["texts"] += 1
            if mine != theirs:
                self.differences.append((case, mine, theirs))
        elif ADDRESS.search(theirs["text"]):
            self.counts["errors"] += 1
        else:
            known = [pattern.pattern for pattern, _ in self.refusals if pattern.search(mine["error"])]
            self.counts["refused"] += 1
            self.used.update(known[:1])
            if not known:
                self.differences.append((case, mine, theirs))

    def report(self, n_shown=20):
        shown = "\n".join(f"{case}\n  leat:   {mine}\n  jinja2: {theirs}"
                          for case, mine, theirs in self.differences[:n_shown])
        assert not self.differences, f"{len(self.differences)} differences, {dict(self.counts)}\n{shown}"
        return f"ok, {self.counts['texts']} texts, {self.counts['errors']} errors, {self.counts['refused']} documented refusals"

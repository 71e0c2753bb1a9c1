"""The language of chat templates: leat writes what jinja2 writes, or both fail, for a grid of all that the language has.

The grid gives values of every kind to each operator, filter, test and method. What leat refuses though jinja2 knows it is
listed in REFUSALS with a reason; any other difference is a failure.
"""
import ast
import functools
import itertools
import json
import random
import re
import sys

import jinja_oracle
import leat_tokenize
from jinja_pieces import VARIABLES, pieces

jinja_oracle.require()

# What jinja2 accepts and leat refuses: (a pattern of leat's message, the reason).
REFUSALS = [
    (r"^(range|dict view|generator|namespace|cycler|joiner|loop|macro|function|method) cannot be converted to text", "chat templates do not print such objects"),
    (r"^the attribute '.*' is not allowed", "jinja2 gives an undefined value, which fails in nearly all uses"),
    (r"^loop cannot be looped over|^loop has no length", "a loop object is no list in leat"),
    (r'^"attr" of a dict is not supported', "it gives methods of Python's dict"),
    (r"must not begin with _$", "a key of namespace() must be a name"),
    (r"^strftime_now\(\) supports only days, months and years", "hours would depend on when batches are made"),
    (r"^(str|dict view|loop|joiner|.*) - (dict view|.*) is not possible", "dict views are no sets in leat"),
    (r" cannot be compared$", "dict views are no sets in leat"),
    (r"^'missing' is undefined", "dict views are no sets in leat"),
    (r"is not a finite number$", "leat has no complex numbers"),
    (r"as a key is not supported$|^dict view cannot be a key", "keys are texts, numbers and None"),
    (r"^integers beyond 64 bits are not supported", "integers have 64 bits"),
    (r"^this attribute is not supported|^\"(select|reject)attr\" needs the name|^\"map\" needs a filter", "jinja2 looks at it only when there are items"),
    (r"^the filter \"(center|e|escape|filesizeformat|forceescape|groupby|pprint|random|slice|striptags|truncate|urlencode|urlize|wordwrap|xmlattr)\" is unknown", "no template needs it"),
    (r"^the (test|filter of \"map\") is unknown or not supported", "jinja2 looks at it only when there are items"),
    (r'^"int" with a base is not supported', "no template needs another base"),
    (r'^"batch" takes a number from 1', "other numbers make no sense"),
    (r'^"format" with named values is not supported', "no template needs it"),
    (r"^an indent must be an integer or a text|^`separators` must be two texts|^\"round\" needs a number of digits", "jinja2 does not look at an argument that it does not need"),
    (r"takes at most \d arguments", "searches look at whole texts"),
    (r"^rsplit\(\) at white space does not support a limit", "no template needs it"),
    (r"^(this filter|casefold\(\)) supports only ASCII text|^isnumeric\(\) does not support Chinese", "leat lacks these tables of Unicode"),
    (r"^the format field \{.*\} is unknown or not supported|^the format has a conversion that is not supported|^%\w does not support this number", "only plain fields and conversions are supported"),
    (r"^the step of a slice must be|^a slice of .* is not possible|^the bounds of a slice must be|^an item of a text that was marked|^a subscript of several values", "no template needs such a slice"),
    (r"^there is no template$", "the message came with the first rendering"),
    (r'text that was marked "safe"', "few templates mark a text, and then only print it"),
    (r"^only decimal numbers are supported|^the number does not fit into 64 bits|^\\N is not supported|^digits outside ASCII|^unexpected character|^a backslash before a character outside", "no template needs it"),
    (r"^the statement .* is unknown or not supported|^expected a name, found \"\(", "chat templates have no blocks, and no targets in brackets"),
    (r"^the tag `endraw` is not closed|^a comment is not closed|^`raw` has no `endraw`", "jinja2 takes it for text"),
    (r"^loop\(\) takes one argument|^an indent of more than 64 spaces|^expected an expression, found \"\]|^the parameter `caller` must|^expected \"=\" before|^the range is too large", "no template needs it"),
    (r"^a line end other than \\n is not supported", "no template needs it"),
    (r"^rounding to .* digits is not supported", "leat rounds only behind the point"),
    (r"^expected an integer here, not (float|str)", "no template needs it"),
    (r'^the test "sameas" does not support', "leat does not know which values are one object in Python"),
    (r"^(range|cycler|joiner|macro|function|str|list|dict|int|float|bool|dict view|generator)\.\w+ is not supported", "no template needs this attribute"),
]
USED = set()  # patterns of REFUSALS that were needed
# What leat writes otherwise: it does not know which values are one object in Python.
KNOWN = {"a in [a] with a = nan"}
# Python 3.12 takes any value as such a flag, and so does leat.
FLAGS = r"(sort|splitlines)\(", r"object cannot be interpreted as an integer|too large to convert to C int"

N_CHANGED = 3000

# Values of every kind. `missing` has no value, and MAKE makes those that have a name.
VALUES = """missing|none|true|false|0|1|-1|3|255|0.0|-0.0|1.5|-2.5|1e16|1e-7|inf|-inf|nan|100.0|''|'a'|'abc'|'ABC'|'Hello World'|' x '|'12'|'-1.5'
|'日本 é'|"it's"|'say "x"'|'a,b,,c'|'l1\\nl2\\r\\nl3'|'{}'|'%s'|'k'|'ß🎉'|[]|[1]|[3, 1, 2]|['b', 'A', 'c']|[1, 'a', none]|[[1, 2], [3]]|[{'k': 1}, {'k': 2}, {}]
|()|(1,)|(1, 'b')|{}|{'k': 1}|{'b': [1, {'c': none}], 'A': 2.5}|{1: 'x', none: 'y', true: 'z'}|range(0)|range(5)|d.items()|d.keys()|d.values()|it
|namespace(k=1)|cycler(1, 2)|joiner()|m|range|'x'.upper|loop|9223372036854775807|-9223372036854775807|2147483648""".replace("\n", "").split("|")
FEW = """missing|none|true|0|2|-1|1.5|-0.0|inf|nan|''|'a'|'k'|'b,A'|'é 🎉'|[]|[3, 1]|['b', 'A']|[{'k': 2}, {'k': 1}]|()|(1, 'a')|{}|{'k': 'a', 'b': 1}|range(3)
|d.items()|it|namespace(k=1)|m|range|loop""".replace("\n", "").split("|")
SMALL = "missing|none|true|0|2|-1|1.5|''|'a'|'k'|'b'|' '|[1]|('a', 'b')|{'k': 1}|'é'".split("|")
MAKE = {"m": "{% macro m(x='q') %}<{{ x }}>{% endmacro %}", "d": "{% set d = {'k': 1, 'b': 'x'} %}", "inf": "{% set inf = 1e308 * ten %}",
        "nan": "{% set nan = 1e308 * ten - 1e308 * ten %}", "it": "{% set it = [1, 'b', 2] | map('string') %}"}
SHOW = "{{ (r | list) if r is iterable and r is not sequence else r }}{{ ' undefined' if r is undefined }}"


def as_json(text):
    """The value that this text of the language means, in a list; an empty list if JSON has no such value."""
    try:
        value = ast.literal_eval(NAMES.sub(lambda match: match[0].title(), text))
    except (ValueError, SyntaxError):
        return []
    return [value] if repr(json.loads(json.dumps(value))) == repr(value) else []


NAMES = re.compile(r"\b(none|true|false)\b")
JSON = functools.cache(as_json)


def job(expression, values, cases):
    """One template, its renderings with the values at the places of each case, and what to show of each."""
    cases = [{name: values[place] for name, place in zip("abc", case)} for case in cases]
    others = sorted({value for case in cases for value in case.values() if not JSON(value)})
    places = "".join(f"{{% set {name} = K[i{name}] if i{name} is defined else {name} %}}" for name in cases[0])
    prelude = f"{{% set K = [{', '.join(others)}] %}}{places}" if others else ""
    make = "".join(text for word, text in MAKE.items() if re.search(rf"\b{word}\b", " ".join(others) + expression))
    template = f"{make}{{% for q in [7] %}}{prelude}{{% set r = {expression} %}}{SHOW}{{% endfor %}}"
    shown = [f"{expression} with " + ", ".join(f"{name} = {value}" for name, value in case.items()) for case in cases]
    return template, [{"ten": 10, **dict((name, JSON(value)[0]) if JSON(value) else (f"i{name}", others.index(value)) for name, value in case.items())}
                      for case in cases], shown


def every(values, n):
    """All tuples of n places among the values."""
    return list(itertools.product(range(len(values)), repeat=n))


def some(rng, values, n, n_cases):
    return [tuple(rng.randrange(len(values)) for _ in range(n)) for _ in range(n_cases)]


def run(jobs):
    comparison = jinja_oracle.Comparison(REFUSALS, FLAGS)
    comparison.compare(itertools.islice(jobs, 0, None, leat_tokenize.SHARE))
    comparison.differences = [difference for difference in comparison.differences if difference[0] not in KNOWN]
    USED.update(comparison.used)
    return comparison.report()


UNARY = ["a", "not a", "-a", "+a", "a or 'x'", "a and 'x'", "'y' if a else 'n'", "[a]", "(a,)", "{'x': a}", "{a: 1}", "a ~ a", "a ~ ''", "a == a", "a in [a]", "a.k", "a['k']",
         "a[0]", "a[-1]", "a[99]", "a()", "a(1)", "a(x=1)", "a.x.y", "a[a]", "'%s' % a", "'%s' % [a]", "'%r' % (a,)", "'{}'.format(a)", "dict(a)", "dict(k=a)", "namespace(a)", "range(a)",
         "namespace(k=a).k", "cycler(a)", "cycler(a, 1).next()", "joiner(a)()", "dict(*a)", "dict(**a)", "a[:]", "a[1:]", "a[:-1]", "a[::-1]", "a[::2]", "a[1:9:3]", "a[-2:]", "a[5:1:-2]",
         "a.__class__", "a['__class__']", "a | attr('k')", "a | attr('upper')", "a.items()", "a.items", "a | list", "a | tojson", "strftime_now(a)", "raise_exception(a)"]


def test_unary(_folder):
    return run(job(expression, VALUES, every(VALUES, 1)) for expression in UNARY)


BINARY = [f"a {operator} b" for operator in "+ - / // % ~ == != < <= > >= in and or".split()] + ["a not in b", "a[b]", "a | default(b)", "a is eq b", "a is in b"]


def test_binary(_folder):
    small = [place for place, value in enumerate(FEW)]
    return run(job(expression, FEW, every(FEW, 2)) for expression in BINARY + ["a * b", "a ** b"])


FILTERS = {
    "abs": "", "attr": "name", "batch": "linecount fill_with", "capitalize": "", "count": "", "d": "default_value boolean", "default": "default_value boolean",
    "dictsort": "case_sensitive by reverse", "first": "", "float": "default", "format": "", "indent": "width first blank", "int": "default base", "items": "",
    "join": "d attribute", "last": "", "length": "", "list": "", "lower": "", "map": "attribute default", "max": "case_sensitive attribute",
    "min": "case_sensitive attribute", "reject": "", "rejectattr": "", "replace": "old new count", "reverse": "", "round": "precision method", "safe": "",
    "select": "", "selectattr": "", "sort": "reverse case_sensitive attribute", "string": "", "sum": "attribute start", "title": "",
    "tojson": "ensure_ascii indent separators sort_keys", "trim": "chars", "unique": "case_sensitive attribute", "upper": "", "wordcount": "",
}
UNKNOWN = "center escape filesizeformat forceescape groupby pprint slice striptags truncate urlencode urlize wordwrap xmlattr nothing".split()


def calls(names):
    """Arguments of a call: too few, too many, named, twice, wrong."""
    names = names.split()
    return ["", "()", "(b)", "(b, c)", "(b, c, b)", "(b, c, b, c, b)", "(zz=b)", "(*[b])", "(*[b, c])", "(*b)", "(**{'zz': b})", "(**b)", *[f"({name}=b)" for name in names],
            *[f"({one}=b, {two}=c)" for one, two in itertools.combinations(names, 2)], *[f"(b, {name}=c)" for name in names]]


def test_filters(_folder):
    rng = random.Random(1)
    jobs = [job(f"a | {name}", VALUES, every(VALUES, 1)) for name in FILTERS]
    jobs += [job(f"a | {name}(2)", ["'ab'"], [(0,)]) for name in UNKNOWN]
    for name, names in FILTERS.items():
        for form in calls(names):
            n = 3 if "c" in form else 2 if "b" in form else 1
            jobs.append(job(f"a | {name}{form}", FEW + SMALL, some(rng, FEW + SMALL, n, 25)))
    return run(jobs)


TESTS = ("defined undefined none boolean true false integer float number string mapping sequence iterable callable odd even lower upper filter test divisibleby sameas eq equalto "
         "ne gt greaterthan ge lt lessthan le in escaped").split()


def test_tests(_folder):
    rng = random.Random(2)
    jobs = [job(f"a is {name}", VALUES, every(VALUES, 1)) for name in TESTS]
    jobs += [job(f"a is {negation}{name}{form}", FEW + SMALL, some(rng, FEW + SMALL, 2, 12))
             for name in TESTS for negation, form in (("", "(b)"), ("not ", "(b)"), ("", " b"), ("not ", "(b, b)"), ("", "(zz=b)"), ("", "(*[b])"), ("", "()"))]
    jobs += [job(f"[a, b] | {filter}('{name}'{', c' if n == 3 else ''}) | list", FEW, some(rng, FEW, n, 12))
             for name in TESTS + ["==", "!=", "<", "<=", ">", ">="] for filter in ("select", "reject") for n in (2, 3)]
    return run(jobs)


TEXTS = """''|'a'|'abc abc'|'ABC'|' a  b '|'12'|'日本 é'|'a,b,,c'|'l1\\nl2\\r\\nl3\\n'|'ß'|'x{}y'|'\u3000x\\x1c'|'ǆ Ǆ'|'a\\x85b\\u2028c'|'aXbX'|'---'|'É1'""".split("|")
PARTS = "','|'a'|'b'|''|'bc'|'é'|'l'|'\\n'|'本'|' '|'X'|'--'|1|none|missing|('a', 'l')|('', 1)|()|['a', 'b']|'ab'|-1|true".split("|")
COUNTS = "0|1|2|-1|true|none|missing|1.5|'1'|99999999999".split("|")
PLAIN = "capitalize casefold isalnum isalpha isascii isdecimal isdigit islower isnumeric isspace isupper lower splitlines strip lstrip rstrip split rsplit title upper".split()
ONE = "count endswith find index join partition removeprefix removesuffix rfind rindex rpartition startswith split rsplit strip lstrip rstrip".split()
OTHERS = "center encode expandtabs format_map isidentifier isprintable istitle ljust maketrans rjust swapcase translate zfill append clear extend insert pop remove reverse sort fromkeys".split()


def test_methods(_folder):
    rng = random.Random(3)
    values = TEXTS + PARTS + COUNTS
    texts, parts, counts = range(len(TEXTS)), range(len(TEXTS), len(TEXTS) + len(PARTS)), range(len(TEXTS) + len(PARTS), len(values))
    jobs = [job(f"a.{name}()", values, [(text,) for text in texts]) for name in PLAIN + ["get", "foo"]]
    jobs += [job(f"a.{name}(b)", values, list(itertools.product(texts, parts))) for name in ONE]
    jobs += [job(f"a.{name}(b, c)", values, [(rng.choice(texts), rng.choice(parts), rng.choice(counts)) for _ in range(120)]) for name in ("split", "rsplit")]
    jobs += [job(f"a.{name}({form})", values, [(rng.choice(texts), rng.choice(parts), rng.choice(counts)) for _ in range(8)])
             for name in PLAIN + ONE for form in ("value=b", "b, c", "b, c, c", "*[b]", "sep=b", "b, maxsplit=c", "maxsplit=c", "chars=b", "**{'x': b}", "keepends=c")]
    jobs += [job(f"a.replace(b, '<>'{form})", values, [(rng.choice(texts), rng.choice(parts), rng.choice(counts)) for _ in range(60)]) for form in ("", ", c", ", c, c", ", count=c")]
    jobs += [job(f"a.replace({form})", values, [(1, texts[-1] + 2, 2)]) for form in ("", "b", "old=b, new=b", "b, b, b")]
    jobs += [job(f"a.splitlines({form})", values, [(text, parts[0], counts[1]) for text in texts]) for form in ("true", "false", "1", "keepends=true", "keepends=0")]
    jobs += [job(f"a | replace(b, '<>'{form})", values, [(rng.choice(texts), rng.choice(parts), rng.choice(counts)) for _ in range(60)]) for form in ("", ", c", ", count=c")]
    jobs += [job(f"a.{name}", VALUES, every(VALUES, 1)) for name in ("items", "keys", "index", "count", "upper", "next", "name", "arguments", "sep", "pos", "start", "real", "close", "foo", "index0")]
    jobs += [job(f"a.{name}()", FEW, every(FEW, 1)) for name in OTHERS]
    jobs += [job(f"a.{name}", FEW, every(FEW, 2)) for name in ("get(b)", "get(b, 1)", "get(b, default=1)", "get(key=b)", "get()", "get(b, b, b)", "index(b)", "count(b)", "copy()", "copy(b)", "keys()", "values()", "items()")]
    return run(jobs)


NUMBERS = "0|1|-1|42|-7|255|true|0.0|-0.0|1.5|-2.5|0.1|1e16|1e-7|123456789.123|1e300|inf|nan|9223372036854775807|-9223372036854775807|none|missing|'x'|'é'|''|[1]|(1,)|(1, 2)|()|{'k': 1}|{}".split("|")


def test_percent(_folder):
    """`%` formatting: each flag, width and precision with each conversion and each value."""
    rng = random.Random(4)
    formats = [f"'[%{flags}{width}{precision}{kind}]'" for kind in "sdifegxXrcE%q" for flags in ("", "0", "-", "-0", "+")
               for width in ("", "1", "7", "12") for precision in ("", ".0", ".2", ".12", ".")]
    jobs = [job(f"{text} % a", NUMBERS, every(NUMBERS, 1) if len(text) < 7 else some(rng, NUMBERS, 1, 8)) for text in formats if len(text) < 7 or rng.random() < 0.3]
    whole = ["'%'", "'%%'", "'%5%'", "'a%%b%s'", "'%s %s'", "'%(k)s'", "'%(k)d%%'", "'%(z)s'", "'%*d'", "'%.*f'", "'%ld'", "'% d'", "'%-'", "'%5'", "'%.'", "'%200d'", "'%.200f'", "'%'", "'x'", "'%s%'", "'%é'", "'%\\n'", "''"]
    values = NUMBERS + ["('a', 'b')", "(5, 3)", "('a', 'b', 'c')", "range(2)", "d.items()", "m", "namespace(k=1)", "{'k': 'v'}"]
    jobs += [job(f"{text} % a", values, every(values, 1)) for text in whole]
    jobs += [job(f"{text} | format({form})", values, every(values, 1)) for text in ("'%s'", "'%s-%s'", "'%d'", "'x'", "'%(k)s'", "5", "'%r'") for form in ("", "a", "a, a", "*a", "k=a", "a, k=a")]
    return run(jobs)


def test_format(_folder):
    """str.format(): fields by place and by name, conversions, and format specifications."""
    rng = random.Random(5)
    fields = ["", "0", "1", "k", "zz", "0.k", "0[0]", "0[k]", "!r", "!s", "!a", "0!r", "!x", "!", " ", "-1", "00", "1234567", "é", "k.x", "k[0]", "0.upper", "0.__class__", "{}", "{0}"]
    specs = ["", ":", ":d", ":>5", ":.2f", ":q", ":{}"]
    jobs = [job(f"'[{{{field}{spec}}}]'.format(a, 'b', k=a)", NUMBERS, every(NUMBERS, 1) if not spec or not field else some(rng, NUMBERS, 1, 1)) for field in fields for spec in specs]
    whole = ["{", "}", "{{", "}}", "{{}}", "{{{}}}", "{}{}", "{}{0}", "{0}{}", "{1}{0}{k}", "{}{}{}", "{a", "a}", "{}}", "{{}", "é{}é", "{k}", "x"]
    jobs += [job(f"'{text}'.format({form})", NUMBERS, some(rng, NUMBERS, 1, 6)) for text in whole for form in ("", "a", "a, 1", "k=a", "a, k=1", "*a", "**a", "*[a, a], **{'k': 2}")]
    return run(jobs)


SLICED = "'abcdef'|'日本é🎉x'|''|[1, 2, 3, 4]|(1, 2, 3)|range(5)|[]|{'k': 1}|missing|5|none|d.items()|m|'x' | safe".split("|")
SLICED = SLICED[:-2] + ["('xy' | safe)"]
BOUNDS = "0|1|-1|2|-3|99|-99|none|true|missing|1.5|'a'|9223372036854775807|-9223372036854775807|3000000000".split("|")


def test_slices(_folder):
    rng = random.Random(6)
    values = SLICED + BOUNDS
    sliced, bounds = range(len(SLICED)), range(len(SLICED), len(values))
    jobs = [job(f"a[{form}]", values, list(itertools.product(sliced, bounds))) for form in ("b", "b:", ":b", "::b", "b::-1", ":b:2", "b:b", "b, b", "b:2,")]
    jobs += [job(f"a[{form}]", values, [(rng.choice(sliced[:6]), rng.choice(bounds), rng.choice(bounds)) for _ in range(300)]) for form in ("b:c", "b:c:-1", "b:c:2", "b::c", ":b:c", "b:c:-3")]
    return run(jobs)


def texts(templates):
    return [(template, [VARIABLES], [template]) for template in templates]


def test_pieces(_folder):
    return run(texts(pieces()))


TOKEN = re.compile(r"\{[{%#][-+]?|[-+]?[%#}]\}|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\w+|\s+|[<>=!]=|//|\*\*|.", re.S)
MORE = "( ) [ ] { } , : . | ~ + - * / // % ** == != < > <= >= = not in is and or if else n t l d missing 1 1.5 'x' none true upper recursive {{ }} {% %} {%- -%} {# #} {%+ ;".split()


def changed(rng, template):
    """The template with a token left out, doubled, exchanged, or put in."""
    tokens = TOKEN.findall(template)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.randrange(5)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, tokens[other])
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = rng.choice(MORE)
        else:
            tokens.insert(at, rng.choice(MORE))
        tokens = tokens or ["x"]
    return "".join(tokens)


def test_syntax(_folder):
    """Templates that chance has changed: leat knows what is an error."""
    rng = random.Random(7)
    parts = [part for piece in pieces() for part in (piece.replace("}}{{", "}}\0{{").split("\0") if "{%" not in piece else [piece])]
    sound = [part for part, answer in zip(parts, jinja_oracle.answers_of_jinja2(texts(parts)))
             if not isinstance(answer, Exception) and not re.search(r"\*\*|\d{4}", part)]  # chance must not make powers that take long
    return run(texts(changed(rng, rng.choice(sound)) for _ in range(N_CHANGED)))


def test_white_space(_folder):
    """What a tag takes away before and behind itself."""
    before = ["", "a", "a ", " \t", "a\n", "a\n  ", "\n\n", "a\r\n ", "\u3000", "{{ n }}  ", "{{ n }}\n  ", "{% set x = 1 %}\n ", "{# c #} ", "a\n\x0b"]
    behind = ["", "b", " b", "\nb", " \n b", "\n\n", "\r\nb", "\u00a0\n", "\n  {{ n }}", "\n {% set x = 1 %}", "  {#- c #}"]
    tags = ["{%s set x = 1 %s}", "{%s if n %s}x\n{%s endif %s}", "{{%s n %s}}", "{#%s c %s#}", "{%s raw %s} r\n {%s endraw %s}", "{%s for x in l %s} y{%s endfor %s}"]
    found = []
    for tag in tags:
        percent = "%" if tag.startswith("{%s") else ""
        n_signs = tag.count("%s")
        for opening, closing in itertools.product(("", "-", "+"), repeat=2):
            signs = [percent + opening, closing + percent] * (n_signs // 2)
            found += [first + tag % tuple(signs) + last for first in before for last in behind]
    return run(texts(found))


def test_refusals(_folder):
    """Each row of REFUSALS is still needed."""
    assert len(sys.argv) > 2 or leat_tokenize.SHARE > 1 or len(USED) == len(REFUSALS), f"no longer refused: {[row for row in REFUSALS if row[0] not in USED]}"


if __name__ == "__main__":
    leat_tokenize.main(globals())

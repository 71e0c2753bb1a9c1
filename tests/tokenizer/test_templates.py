"""Chat templates of models: what leat renders is what transformers renders, byte for byte, or an error.

The templates here are written for this test: each construct of the language that leat knows, alone and
in wholes as models have them. LEAT_CHAT_TEMPLATES may name a folder with templates (*.jinja) of real
models, which are tried with the same conversations.
"""
import datetime
import json
import os
import pathlib
import random
import subprocess
import unicodedata

import leat_tokenize
import oracle

oracle.require()

RENDER = leat_tokenize.BIN.parent / "tests" / "render_templates"
DATE = [2025, 3, 9]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Tells <the> 'weather' & more.\nNow.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer", "enum": [1, 2.5, None, True]}}, "required": ["city"]}}}]


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments):
    return {"id": "abc123def", "type": "function", "function": {"name": name, "arguments": arguments}}


TALKS = [
    [user("Hi")],
    [{"role": "system", "content": "Be kind. "}, user(" Hi \n"), assistant(" Hello! \n"), user("Why?"), assistant("Because.")],
    [user("2+2?"), assistant("<think>\nhm\n</think>\n\n4"), user("ok"), assistant("fine", reasoning_content="let me think")],
    [user("weather?"), assistant(None, tool_calls=[call("weather", {"city": "Köln", "n": 3, "x": [1.5, -2e-7, 1e16]})]),
     {"role": "tool", "name": "weather", "content": "{\"t\": 3}", "tool_call_id": "abc123def"}, assistant("It is 3.")],
    [user([{"type": "text", "text": "Describe"}, {"type": "image"}]), assistant([{"type": "text", "text": "A cat"}])],
    [user("日本語 🎉 \"double\" 'single' <|im_end|> {{x}} \u00ad\u2028 \x7f"), assistant("naïve\tα\nβ")],
    [assistant("first")],
    [],
]

# Expressions and statements; `m` is the list of messages, `t` a text, `d` a dictionary, `n` an integer.
PIECES = """
{{ 1 + 2 * 3 - 4 // 3 % 2 ** 2 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** -1 }} {{ 1.0 }} {{ 1e16 }} {{ 1.5e-7 }} {{ 0.1 + 0.2 }}
{{ 'a' ~ 1 ~ none ~ true ~ [1, 'x', "it's", 'say "it\\'s"'] ~ {'k': (1,), 'l': ()} }}
{{ 'abc' * 3 }} {{ [1, 2] + [3] }} {{ 'a' + 'b' }} {{ (1, 2) + (3,) }} {{ 3 * 'ab' }}
{{ 1 < 2 < 3 }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 in [1, 2] }} {{ 'b' not in 'abc' }} {{ 'k' in d }}
{{ none or 'x' }} {{ 0 and 1 }} {{ not [] }} {{ 'y' if n > 2 else 'z' }} [{{ 'y' if false }}]
{{ t[0] }}{{ t[-1] }}{{ t[1:3] }}{{ t[::-1] }}{{ t[:-2] }}{{ m[0].role }}{{ m[-1]['content'] is string }}{{ m[99] is defined }}{{ m[::2]|length }}
{{ d.k }}{{ d['k'] }}{{ d.missing is defined }}{{ d.get('k', 1) }}{{ d.get('zz') }}{{ d.get('zz', 'no') }}{{ d.items() | list }}{{ d.keys() | list }}{{ d.values() | list }}
{{ t['upperX'.removesuffix('X')]() }}{{ t['role'] is defined }}{{ t.role is defined }}{{ d['items'] is callable }}{{ d['k' ~ ''] }}{{ [t] | map(attribute='upper') | first is callable }}
{{ [['a']] | map(attribute='0.0') | list }}{{ [[['a', t]]] | map(attribute=0) | list }}{{ [{'a': {'b': t}}, {}, {'a': 1}] | map(attribute='a.b', default='-') | list }}{{ [d] | map(attribute='zz', default=none) | join }}{{ [{'a.b': 1}][0]['a.b'] }}{{ ['ab'] | map(attribute='title.x', default=1) | list }}
{% for x in m %}{% for c in x.content %}{% if c['type'] == 'text' %}{{ c.text }}{% elif c.type == 'image' or c['count'] is undefined %}!{% endif %}{% endfor %}{{ x.content | selectattr('type', 'equalto', 'text') | list | length }}{% endfor %}
{% for index in [1, 2] %}{{ loop.index }}{{ index }}{{ loop['index'] }}{{ loop.role is defined }}{% macro g() %}{{ loop.index0 }}{{ index }}{% endmacro %}{{ g() }}{% endfor %}{{ index is defined }}
{{ missing }}|{{ missing is undefined }}|{{ missing | default('x') }}|{{ '' | default('y', true) }}|{{ missing | length }}|{{ missing == missing }}
{{ t | upper }}{{ t | lower }}{{ t | capitalize }}{{ 'a b-c d' | title }}{{ '  x ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ t | length }}|{{ t | replace('e', 'EE') }}|{{ t | replace('', '-') }}
{{ 'a\\nb\\n\\nc' | indent }}|{{ 'a\\nb' | indent(2, true) }}|{{ 'a\\n\\nb' | indent('> ', blank=true) }}
{{ d | tojson }} {{ d | tojson(indent=2) }} {{ m | tojson(sort_keys=true) }} {{ 'ü"\\\\\\n\\t' | tojson }} {{ 'ü🎉' | tojson(ensure_ascii=true) }} {{ [1, 2] | tojson(separators=(',', ':')) }} {{ [] | tojson(indent=4) }} {{ {} | tojson(indent=4) }}
{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A'] | sort(case_sensitive=true) }} {{ [1, 2, 3] | sort(reverse=true) }} {{ m | map(attribute='role') | sort | join(',') }}
{{ [1, 2, 3] | first }} {{ [1, 2, 3] | last }} {{ [] | first }} {{ [1, 2, 3] | sum }} {{ [1, 5, 3] | max }} {{ [4, 2] | min }} {{ [1, 2, 1, 'a', 'A'] | unique | list }} {{ [1, 2, 3] | reverse | list }} {{ 'abc' | reverse }}
{{ m | selectattr('role', 'equalto', 'user') | list | length }} {{ m | rejectattr('role', 'in', ['user', 'tool']) | map(attribute='role') | join('-') }} {{ [0, 1, 2] | select | list }} {{ [1, 2, 3, 4] | select('odd') | list }} {{ [1, 2] | reject('eq', 1) | list }} {{ none | selectattr('x') | list }}
{{ m | map(attribute='missing', default='-') | join }} {{ ['a', 'b'] | map('upper') | list }} {{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ [1, 2, 3] | batch(2, 'x') | list }} {{ d | dictsort }} {{ d | items | list }}
{{ '12' | int + 1 }} {{ 'x' | int(7) }} {{ 3.9 | int }} {{ '1.5' | float }} {{ 2.567 | round(2) }} {{ 2.5 | round }} {{ 3.2 | round(method='ceil') }} {{ -3 | abs }} {{ '%s-%d-%.2f-%5d|%-4d|%05d' | format('a', 3, 1.005, 42, 7, 3) }} {{ '%s' % 'x' }} {{ '%r and %s' % ('q', [1]) }}
{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ 'a.b.c'.rsplit('.', 1) }} {{ 'x\\ny\\r\\nz'.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ ','.join(['a', 'b']) }} {{ '{} {} {{}} {x}'.format(1, 'b', x=2) }}
{{ t.startswith('he') }} {{ t.endswith(('x', 'o')) }} {{ t.find('l') }} {{ t.rfind('l') }} {{ t.count('l') }} {{ t.strip('ho') }} {{ t.lstrip('h') }} {{ t.rstrip('o') }} {{ t.upper() }} {{ t.title() }} {{ t.replace('l', 'L', 1) }} {{ t.removeprefix('he') }} {{ t.removesuffix('lo') }} {{ t.isdigit() }} {{ '12'.isdigit() }} {{ t.isalpha() }} {{ ' '.isspace() }}
{{ n is odd }} {{ n is even }} {{ n is divisibleby 3 }} {{ n is number }} {{ t is string }} {{ d is mapping }} {{ m is sequence }} {{ m is iterable }} {{ none is none }} {{ true is boolean }} {{ 1 is integer }} {{ 1.5 is float }} {{ true is true }} {{ n is eq 3 }} {{ n is in [3] }} {{ n is not none }} {{ 'upper' is filter }} {{ 'ABC' is upper }} {{ range is callable }}
{% for x in m %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.cycle('a', 'b') }}{{ loop.changed(x.role) }};{% else %}none{% endfor %}
{% for x in m if x.role == 'user' %}{{ loop.index }}/{{ loop.length }}{% if loop.last %}!{% endif %}{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'añb' %}[{{ c }}]{% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %} {{ range(3) | list }} {{ range(1, 10, 4) | list }} {{ range(5, 0, -2) | list }}
{% set ns = namespace(found=false, n=0) %}{% for x in m %}{% set ns.n = ns.n + 1 %}{% if x.role == 'assistant' %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}{{ ns.n }}{{ ns.zz is defined }}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}{% set a, b = 1, 2 %}{{ b }}{{ a }}
{% macro f(a, b='B', c=none) %}<{{ a }}{{ b }}{{ c }}{{ varargs }}{{ kwargs }}>{% endmacro %}{{ f(1) }}{{ f(1, 2, 3, 4, k=5) }}{{ f(c=1, a='x') }}{{ f.name }}
{% macro g() %}[{{ caller('y') }}]{% endmacro %}{% call(v) g() %}{{ v }}{{ t }}{% endcall %}{% macro h(n) %}{{ n }}{% if n > 0 %}{{ h(n - 1) }}{% endif %}{% endmacro %}{{ h(3) }}
{% set block %}a {{ t }}{% set inside = 1 %}{% endset %}{{ block }}{{ inside is defined }}{% set up | upper %}x{{ t }}{% endset %}{{ up }}{% filter upper | replace('L', '1') %}{{ t }}{% endfilter %}{% with a = 1, b = t %}{{ a }}{{ b }}{% endwith %}
{% for x in [[1, [2, [3]]]] recursive %}{{ loop.depth }}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('; ') %}{{ j() }}x{{ j() }}y
{{ '<b>' | safe }}{{ ('<i>' | safe) + '<u>' + 'x&"\\'' }}{{ 'a' ~ ('<b>' | safe) ~ '<c>' }}{% set s = d | tojson | safe %}{{ s }}
{{ dict(a=1, b=t) }}{{ dict([('x', 1)]) }}{{ strftime_now('%d %b %Y') }}{{ strftime_now('%Y-%m-%d %A') }}{{ raise_exception('no ' ~ t) if n == 0 }}
{{ "a" "b" 'c' }}{{ 'é\\u00e9\\x41\\101\\q' }}{# a comment #}{{ true and True }}{{ [1, 2,] }}{{ {'a': {}} }}{{ m[0]['content'][0] if m else '' }}
  {%- for x in m -%}   {{- x.role -}}   {%- endfor -%}   .
a
  {% if true %}
  b
  {% endif %}
   {%+ if true %} c {% endif +%}
d {# x #}
{% raw %}{{ not this }} {% endraw %} e
{%- generation %}g{{ t }}{% endgeneration %}{% for x in m %}{% generation %}{{ loop.index }}{{ x.role }}{% endgeneration %}.{% endfor %}
{{ m[0].nothing.more }}
{{ missing + 1 }}
{{ 1 + 'a' }}
{{ [1].append(2) }}
{{ raise_exception('stop') }}
{% set m.x = 1 %}
{% for x in 3 %}{% endfor %}
{{ 1 / 0 }}
{{ t() }}
{{ 'a' < 1 }}
""".strip("\n").replace("\\\\n", "\\n")

WHOLE = """{{ bos_token }}{%- if messages and messages[0]['role'] == 'system' -%}
    {%- set system = messages[0]['content'] | trim -%}{%- set messages = messages[1:] -%}
{%- else -%}{%- set system = 'You are kind.' -%}{%- endif -%}
{%- macro tool(t) -%}
    {%- for name, p in t.parameters.properties.items() %}
// {{ name }}: {{ p.type }}{% if p.enum %} of {{ p.enum | tojson }}{% endif %}{{ ' (required)' if name in t.parameters.required else '' }}
    {%- endfor -%}
{%- endmacro -%}
<|system|>{{ system }}{% if tools %}
{% for t in tools %}{{ t | tojson(indent=2) }}{{ tool(t.function) }}{% endfor %}{% endif %}
{% for message in messages %}
{%- set content = message.content if message.content is string else '' -%}
{%- if message.role == 'assistant' -%}
<|assistant|>{% generation %}{% if '</think>' in content %}{{ content.split('</think>')[-1].lstrip('\\n') }}{% else %}{{ content }}{% endif -%}
{%- for c in message.tool_calls or [] -%}
<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}{{ eos_token }}{% endgeneration %}
{%- elif loop.last or message.role == 'tool' -%}<|{{ message.role }}|>{{ content }}{{ eos_token }}
{%- else -%}<|{{ message.role | upper }}|>{{ content }}{%- endif %}
{% endfor %}{% if add_generation_prompt %}<|assistant|>{{ '<think>\\n\\n</think>' if enable_thinking is defined and enable_thinking is false }}{% endif %}
"""


def transformers_utils():
    from transformers.utils import chat_template_utils

    class Fixed(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(*DATE, 12, 0, 0, tzinfo=tz)

    chat_template_utils.datetime = Fixed
    return chat_template_utils


def variables():
    for talk in TALKS:
        for prompt in (False, True):
            for tools in (None, TOOLS):
                for more in ({}, {"enable_thinking": False, "documents": [{"title": "T", "text": "one"}], "date_string": "1 Jan 2025"}):
                    yield {"messages": talk, "tools": tools, "documents": None, "add_generation_prompt": prompt, "bos_token": "<s>",
                           "eos_token": "</s>", "m": talk, "t": "hello", "d": {"k": "v", "B": 2, "a": [1, 2.0, None]}, "n": 3, **more}


def expected(utils, template, values):
    """What transformers renders; None where it fails."""
    values = dict(values)
    try:
        compiled = utils._compile_jinja_template(template)
        text, parts = utils._render_with_assistant_indices(compiled, values.pop("messages"), values.pop("tools"), values.pop("documents"),
                                                           values.pop("add_generation_prompt"), **values)
    except Exception:
        return None
    return {"text": text, "parts": [[len(text[:start].encode()), len(text[:end].encode())] for start, end in parts]}


def render(template, cases):
    lines = [json.dumps({"variables": values, "date": DATE, **({} if i else {"template": template})}) for i, values in enumerate(cases)]
    done = subprocess.run([RENDER], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=leat_tokenize.HANG_S)
    assert done.returncode == 0, f"render_templates ends with {done.returncode}: {done.stderr[-2000:]}"
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def compare(utils, template, cases, may_refuse):
    """Counts what was rendered; fails on the first difference."""
    n_same = 0
    for values, answer in zip(cases, render(template, cases)):
        wanted = expected(utils, template, values)
        if "error" in answer:
            assert wanted is None or may_refuse, f"{template[:300]!r}: leat refuses: {answer}; transformers: {wanted}"
            continue
        assert answer == wanted, f"{template[:300]!r}\nleat:         {answer}\ntransformers: {wanted}"
        n_same += 1
    return n_same


def test_pieces(_folder):
    """Each construct alone; what transformers fails on, leat fails on."""
    utils = transformers_utils()
    cases = list(variables())
    n = sum(compare(utils, piece, cases, False) for piece in PIECES.split("\n"))
    n += compare(utils, PIECES.rsplit("{{ m[0].nothing.more }}", 1)[0].replace("m[0].role", "''").replace("m[-1]['content']", "''"), cases, False)
    assert n > 1000, n
    return f"ok, {n} texts"


CASES = """{{ t | upper }}|{{ t | lower }}|{{ t | capitalize }}|{{ t | title }}|{{ t.upper() }}|{{ t.lower() }}|{{ t.capitalize() }}|{{ t.title() }}
{{- '|' ~ (t is upper) ~ (t is lower) }}"""


def known_characters():
    """All characters of this Python that have the case and the kind of today."""
    newer = "\u10fc\ua7f2\ua7f3\ua7f4\uab69"  # have case since Unicode 15, and Python 3.11 has 14
    return [chr(c) for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and chr(c) not in newer]


def test_case(_folder):
    """Upper, lower and title case of every character that this Python knows, and of texts in which a sigma looks around."""
    known = known_characters()
    cased = [c for c in known if len({c, c.upper(), c.lower(), c.title()}) > 1]
    rng = random.Random(4)
    texts = ["".join(known[i:i + 200]) for i in range(0, len(known), 200)]
    texts += ["ΑΣ", "ΣΑΣ ΑΣ. ΑΣ'Α \u0345Σ\u0345", "ßa ŉb ǆ-ǅ(ǈ)", "İI ıi", "straße-groß {ﬁx} <ﬀ>", "ÀÉ", "àé", "ǅ", "Aà", "1", "", "É1", "ªº"]
    texts += ["".join(rng.choices([*rng.choices(cased, k=9), *"Σσς .-'\u0301\u00ad\u0345aA1"], k=12)) for _ in range(3000)]
    return f"ok, {compare(transformers_utils(), CASES, [{**next(variables()), 't': text} for text in texts], False)} texts"


KINDS = """{% for c in t %}{{ c.isalpha() | int }}{{ c.isalnum() | int }}{{ c.isdecimal() | int }}{{ c.isdigit() | int -}}
{{- c.isascii() | int }}{{ c.islower() | int }}{{ c.isupper() | int }}{{ c.isspace() | int }},{% endfor %}
{{- t.isalpha() ~ t.isalnum() ~ t.isdecimal() ~ t.isdigit() ~ t.islower() ~ t.isupper() ~ t.isascii() }}"""


def test_kinds(_folder):
    """Kinds of all characters that this Python knows; what is numeric, but for Chinese characters, of which some are."""
    utils = transformers_utils()
    known = known_characters()
    texts = ["".join(known[i:i + 200]) for i in range(0, len(known), 200)] + ["àb", "١٢", "²", "½", "aé1", "ÀB", ""]
    n = compare(utils, KINDS, [{**next(variables()), "t": text} for text in texts], False)
    chinese = [c for c in known if unicodedata.name(c, "").startswith("CJK ")]
    others = "".join(sorted(set(known) - set(chinese)))
    texts = [others[i:i + 200] for i in range(0, len(others), 200)]
    n += compare(utils, "{% for c in t %}{{ c.isnumeric() | int }}{% endfor %}", [{**next(variables()), "t": text} for text in texts], True)
    n += compare(utils, "{{ t.isnumeric() }}{{ t.casefold() }}", [{**next(variables()), "t": text} for text in ("12", "Ab", "")], False)
    assert "error" in render("{{ t.isnumeric() }}", [{"t": "三"}])[0] and "error" in render("{{ t.casefold() }}", [{"t": "ß"}])[0]
    return f"ok, {n} texts"


def test_line_ends(_folder):
    utils = transformers_utils()
    cases = list(variables())[:8]
    for end in ("\n", "\r\n", "\r", "\n\n", ""):
        assert compare(utils, WHOLE.replace("\n", end or "\n").rstrip("\r\n") + end, cases, False)


def test_whole(_folder):
    n = compare(transformers_utils(), WHOLE, list(variables()), False)
    assert n, "nothing was rendered"
    return f"ok, {n} texts"


if os.environ.get("LEAT_CHAT_TEMPLATES"):
    def test_models(_folder):
        """Templates of real models: leat may refuse what it does not know, but never renders something else."""
        utils = transformers_utils()
        files = sorted(pathlib.Path(os.environ["LEAT_CHAT_TEMPLATES"]).glob("*.jinja"))
        n = sum(compare(utils, file.read_bytes().decode(), list(variables()), True) for file in files)
        return f"ok, {n} texts by {len(files)} templates"


REFUSED = [
    ("{% include 'x' %}", 1, 4), ("{% extends 'x' %}", 1, 4), ("{% import 'x' as y %}", 1, 4), ("a\n{{ x | urlize }}", 2, 8),
    ("{{ x is nonsense }}", 1, 9), ("{% if x %}", 1, 11), ("{{ x", 1, 3), ("{{ 'x }}", 1, 4), ("{% for x in %}{% endfor %}", 1, 13),
    ("{{ (1 }}", 1, 7), ("{{ 1 + }}", 1, 8), ("{% break %}", 1, 4), ("{{ a.b.'c' }}", 1, 8), ("{# x", 1, 3), ("{% raw %} x", 1, 10),
    ("{{ " + "(" * 300 + "1" + ")" * 300 + " }}", 1, None), ("{% endif %}", 1, 4), ("{{ 99999999999999999999 }}", 1, 4), ("{{ a! }}", 1, 5),
]


def test_refused(_folder):
    """What is not understood is refused with its place, before anything is rendered."""
    for template, line, column in REFUSED:
        answer, = render(template, [{"messages": []}])
        assert answer.get("line") == line and column in (None, answer["column"]), f"{template[:60]!r}: {answer}"


BOUNDS = [
    "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(x='x') %}{% for a in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=[]) %}{% for a in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "{% for a in range(100000) %}{{ 'x' * 1000000 }}{% endfor %}",
    "{{ 'x' * 99999999999 }}", "{{ range(99999999) }}", "{{ [0] * 99999999 }}", "{{ 2 ** 999999 }}",
    "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}", "{{ ('\n' * 1000000) | indent(60, blank=true) | indent(60, blank=true) }}",
    "{{ ('a' * 100000).split('a') | join('b' * 1000000) }}",
    *["{% set x = '" + character + "' * 1000000 %}{% for a in range(1000) %}{{ " + call + " }}{% endfor %}"
      for character, call in [("a", "x.islower()"), ("a", "x is lower"), ("A", "x.isupper()"), ("A", "x is upper"), ("a", "x.isascii()"), (" ", "x.isspace()"),
                              (" ", "x.strip()"), ("a", "x | wordcount")]],
    "{{ ('a' * 1000000).strip('b' * 1000000 ~ 'a') }}",
]


def test_bounds(_folder):
    """A template can use up neither time nor memory nor the stack."""
    for template in BOUNDS:
        answer, = render(template, [{"messages": []}])
        assert "error" in answer, f"{template}: {str(answer)[:200]}"


if __name__ == "__main__":
    leat_tokenize.main(globals())

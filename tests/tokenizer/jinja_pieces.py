"""Templates that use each construct of the language, for test_jinja.py. `n`, `t`, `l`, `d` and `m` are variables of it."""

VARIABLES = {"n": 3, "t": "hello", "l": [1, 2, 3], "d": {"k": "v", "b": 2}, "m": [{"role": "user", "content": "Hi"}, {"role": "tool", "content": None}], "e": []}

# One template a line; they are also changed by chance, token by token.
PIECES = r"""
{% for x in l %}{{ x }}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% else %}none{% endfor %}
{% for x in e %}{{ x }}{% else %}{{ loop is defined }}none{{ x is defined }}{% endfor %}
{% for x in l %}{{ loop.previtem }}<{{ loop.nextitem }}>{{ loop.previtem is defined }}{{ loop.nextitem is undefined }}{% endfor %}
{% for x in l if x is odd %}{{ loop.index }}/{{ loop.length }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.revindex }}{% else %}no{% endfor %}
{% for x in l if x > 9 %}{{ x }}{% else %}no{{ n }}{% endfor %}
{% for x in l if x / 0 %}{{ x }}{% endfor %}
{% for x in l if loop.index %}{{ x }}{% endfor %}
{% for x in l %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% if x == 3 %}{% break %}{% endif %}!{% endfor %}
{% for x in l %}{% for y in l %}{% if y == x %}{% break %}{% endif %}{{ y }}{% else %}E{% endfor %}{{ x }}{% endfor %}
{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x // 2) }}{{ loop.changed(n, t) }}{% endfor %}
{% for x in l %}{{ loop.cycle() }}{% endfor %}
{% for x in l %}{{ loop.changed() }}{{ loop.cycle(*l) }}{% endfor %}
{% for a, b in d.items() %}{{ a }}={{ b }},{% endfor %}{% for a, b in [[1, 2], (3, 4), 'xy'] %}{{ a }}{{ b }}{% endfor %}
{% for a, b in l %}{{ a }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}
{% for (a, b), c in [[[1, 2], 3]] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for x in d %}{{ x }}{% endfor %}{% for x in t %}[{{ x }}]{% endfor %}{% for x in missing %}!{% else %}?{% endfor %}
{% for x in 3 %}{% endfor %}
{% for x in none %}{% endfor %}
{% for x in l recursive %}{{ x }}{{ loop(e) }}{% else %}E{% endfor %}
{% for x in [1, [2, [3, []]]] recursive %}{% if x is iterable %}({{ loop(x) }}{{ loop.depth }}){% else %}{{ x }}{% endif %}{% endfor %}
{% for x in l if x > 1 recursive %}{{ x }}{% if loop.depth < 3 %}{{ loop([x - 1, x]) }}{% endif %}{% endfor %}
{% for x in l %}{{ loop(x) }}{% endfor %}
{% for x in l recursive %}{{ loop() }}{% endfor %}
{% for x in l recursive %}{{ loop(3) }}{% endfor %}
{% for x in l recursive %}{{ loop(l, l) }}{% endfor %}
{% for x in l recursive %}{{ loop(iterable=e) }}{% endfor %}
{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}{{ loop is defined }}
{% for x in l %}{% set loop = 5 %}{{ loop }}{% endfor %}
{% for loop in l %}{{ loop }}{% endfor %}
{% for x in (1, 2), (3, 4) %}{{ x }}{% endfor %}{% for x in 1, 2 %}{{ x }}{% endfor %}{% for x, in [[1]] %}{{ x }}{% endfor %}
{% for x in l | reverse %}{{ x }}{{ loop.length }}{% endfor %}{% for x in l | map('string') if x != '2' %}{{ x }}{% endfor %}
{% for x in 'a' if n else l %}{{ x }}{% endfor %}
{% for x in l %}{% set n = n + x %}{{ n }}{% endfor %}{{ n }}
{% set x = 1 %}{% for y in l %}{{ x }}{% set x = x + y %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 7 %}{% endif %}{{ x }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}{% set c = 1, %}{{ c }}{% set (f, g) = [8, 9] %}{{ f }}{{ g }}
{% set a, b = 1 %}
{% set a, b = [1, 2, 3] %}
{% set a = %}
{% set a.b = 1 %}
{% set t.b = 1 %}
{% set missing.b = 1 %}
{% set 1 = 1 %}
{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{% set ns.y = [ns.x] %}{{ ns.x }}{{ ns.y }}{{ ns.z is defined }}{{ ns['x'] }}{% set ns._z = 1 %}
{% set ns = namespace({'x': 1}, y=2) %}{{ ns.x }}{{ ns.y }}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{% set ns.items = 5 %}{{ ns.items }}
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}
{% set ns = namespace(_x=1) %}
{% set ns = namespace(l) %}
{% set ns = namespace([['a', 1]]) %}{{ ns.a }}
{% set ns = namespace(a=1) %}{{ ns.b }}{{ ns.b is undefined }}{{ ns['c'] }}{{ ns.b.c }}
{% set b %}x{{ n }}{% set i = 1 %}y{% endset %}{{ b }}{{ i is defined }}{{ b | length }}
{% set b | upper | replace('X', '-') %}x{{ t }}{% endset %}{{ b }}{% set ns = namespace() %}{% set ns.b %}q{% endset %}{{ ns.b }}
{% set b | int %}5{% endset %}{{ b + 1 }}
{% set a, b %}x{% endset %}
{% macro f(a, b='B', c=a) %}<{{ a }}|{{ b }}|{{ c }}>{% endmacro %}{{ f() }}{{ f(1) }}{{ f(1, 2) }}{{ f(1, c=3) }}{{ f(b=1, a=2) }}{{ f.name }}
{% macro f(a) %}{{ varargs }}{{ kwargs }}{{ caller is defined }}{% endmacro %}{{ f(1, 2, 3, k=4) }}{{ f() }}{{ f(*l, **d) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}
{% macro f(a, b) %}{{ a is defined }}{{ b }}{{ b.c is defined }}{% endmacro %}{{ f(1) }}
{% macro f(a, a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a=1, b) %}{{ a }}{{ b }}{% endmacro %}{{ f(1, 2) }}
{% macro f(x=n, y=x) %}{{ x }}{{ y }}{% set n = 9 %}{{ n }}{% endmacro %}{{ f() }}{{ n }}{% set n = 4 %}{{ f() }}
{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}g{% endmacro %}{{ f() }}
{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}{{ f }}
{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}in{{ n }}{% endcall %}{% call f() %}{% endcall %}
{% macro f() %}{{ caller(1, b=2) }}{{ caller(3) }}{% endmacro %}{% call(a, b='d') f() %}{{ a }}{{ b }};{% endcall %}
{% macro f() %}{{ caller(1) }}{% endmacro %}{% call f() %}{% endcall %}
{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}
{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}
{% macro f(caller=5) %}{{ caller }}{% endmacro %}{{ f() }}
{% macro f(caller) %}{{ caller }}{% endmacro %}{{ f(1) }}
{% macro f(x) %}{{ x }}{{ caller.name }}{{ kwargs }}{% endmacro %}{% call f(2) %}y{% endcall %}
{% macro f(varargs, kwargs=1) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}{{ f(1, kwargs=3) }}
{% macro f(varargs) %}{{ varargs }}{% endmacro %}{{ f(1, 2) }}
{% macro f(kwargs) %}{{ kwargs }}{% endmacro %}{{ f(1, x=2) }}
{% macro f() %}{% macro g(kwargs) %}{{ kwargs }}{% endmacro %}{{ g(1) }}{% endmacro %}{{ f() }}
{% macro f(a=varargs) %}{{ a }}{% endmacro %}{{ f() }}{% macro h(x=1) %}{{ varargs }}{{ x }}{% endmacro %}{{ h(1, 2, 3) }}
{% macro f(loop) %}{{ loop }}{% endmacro %}{{ f(1) }}{% for x in l %}{{ f(x) }}{% set y = loop %}{{ y.index }}{% endfor %}
{% for x in l %}{% set y, loop = 1, 2 %}{% endfor %}
{% for x in l %}{% macro g() %}{% set loop = 1 %}{% endmacro %}{% endfor %}
{% set loop = 1 %}{{ loop }}{% for x in l %}{{ loop.index }}{% else %}{% endfor %}{{ loop }}
{% for x in l %}{% else %}{% set loop = 1 %}{% endfor %}
{% for x in l %}{% continue %}{% else %}E{% endfor %}{% for x in l if x > 2 %}{% break %}{% else %}F{% endfor %}{% for x in l %}{% if x == 3 %}{% continue %}{% endif %}{% else %}G{% endfor %}
{% for x in l recursive %}{% if loop.depth > 1 %}{% break %}{% endif %}{{ loop([x]) }}{% else %}E{% endfor %}
{% for x in l %}{% set b %}{{ x }}{% if x == 2 %}{% continue %}{% endif %}{% endset %}{{ b }}{% endfor %}{% for x in l %}{% filter upper %}a{{ x }}{% if x == 2 %}{% break %}{% endif %}{% endfilter %}{% endfor %}
{% for x in l %}{{ n }}{% endfor %}{% set n = 1 %}{{ n }}
{% set n %}[{{ n }}]{% endset %}{{ n }}{{ t }}{% set t %}[{{ t }}]{% endset %}{{ t }}
{% macro f() %}{{ n }}{{ t }}{% endmacro %}{{ f() }}{% set n, q = 1, 2 %}{{ f() }}{% if t %}{% set t = 5 %}{% endif %}{{ f() }}
{% macro f() %}{{ n }}{{ t }}{% endmacro %}{{ f() }}{% if e %}{% set n = 1 %}{% else %}{% set t = 2 %}{% endif %}{{ f() }}
{% macro f() %}{{ range is defined }}{{ n }}{% endmacro %}{{ f() }}{% set range = n %}{{ f() }}{% for x in n | string %}{% set n = 5 %}{% endfor %}
{% with a = n %}{{ t }}{% endwith %}{% set n = 1 %}{% set t = 2 %}{% filter replace('3', n) %}{{ n }}{% endfilter %}
{% generation %}{{ n }}{% endgeneration %}{% macro n() %}{% endmacro %}{{ n is callable }}
{% for x in l %}{{ d.k }}{{ e }}{% endfor %}{% set d.k = 1 %}
{% call t() %}y{% endcall %}
{% call t %}y{% endcall %}
{% macro f() %}{% for x in l %}{{ x }}{% break %}{% endfor %}{% endmacro %}{% for y in l %}{{ f() }}{% endfor %}
{% for x in l %}{% macro f() %}{{ x }}{{ loop.index }}{% endmacro %}{{ f() }}{% endfor %}{{ f is defined }}
{% for x in l %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}
{% filter upper %}a{{ t }}{% set z = 1 %}{% endfilter %}{{ z is defined }}{% filter replace('a', 'b') | upper %}aha{% endfilter %}{% filter trim %} x {% endfilter %}
{% filter length %}abc{% endfilter %}{% filter list %}ab{% endfilter %}
{% filter nothing %}x{% endfilter %}
{% filter upper %}{% for x in l %}{% break %}{% endfor %}{% endfilter %}
{% for x in l %}{% filter upper %}{{ x }}{% continue %}{% endfilter %}{% endfor %}
{% for x in l %}{% with %}{{ x }}{% continue %}{% endwith %}{% endfor %}{% for x in l %}{% set b %}{{ x }}{% break %}{% endset %}{{ b }}{% endfor %}
{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{% with n = n + 1 %}{{ n }}{% endwith %}{{ n }}
{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{% with a = 1 b = 2 %}{% endwith %}
{% with a, b = 1 %}{% endwith %}
{% generation %}x{{ n }}{% endgeneration %}{% for x in l %}a{% generation %}{{ loop.index }}é{% endgeneration %}{% endfor %}
{% set b %}{% generation %}x{% endgeneration %}{% endset %}z{{ b }}{% macro f() %}a{% generation %}y{% endgeneration %}{% endmacro %}{{ f() }}{{ 'q' ~ f() }}{{ 'q' + f() }}
{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}
{% if n %}a{% elif t %}b{% else %}c{% endif %}{% if e %}a{% elif t %}b{% else %}c{% endif %}{% if e %}a{% elif missing %}b{% else %}c{% endif %}{% if e %}a{% endif %}
{% if n == 3 and not e or missing %}x{% endif %}{% if (n, t) %}y{% endif %}{% if n, %}z{% endif %}{% if n: %}w{% endif %}{% for x in l: %}v{% endfor %}
{% if n in l and n not in e and not n in [] %}{{ not n in l }}{{ n is not in l }}{% endif %}
{{ 1 + 2 * 3 - 4 / 2 }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}{{ (-2) ** 2 }}{{ 7 // 2 * 2 }}{{ 7 % 4 ~ 1 }}{{ 1 ~ 2 + 3 }}{{ - - 2 }}{{ + -2 }}{{ 2 - -2 }}{{ not not n }}
{{ 1 if n else 2 }}{{ 1 if e }}{{ (1 if e) is undefined }}{{ 1 if e else 2 if e else 3 }}{{ [1 if n else 2, 3] }}{{ 'a' if not e }}
{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 3 > 2 == 2 }}{{ 1 in l in [l] }}{{ 1 == 1 != 2 >= 1 <= 4 }}{{ (1 < 2) < 3 }}{{ n is odd and t is string }}
{{ n is divisibleby 3 }}{{ n is divisibleby(2) }}{{ n is eq 3 }}{{ n is not eq 3 or true }}{{ n is in [1, 3] }}{{ t is in 'hello' }}{{ n is in l }}{{ n is odd is true }}
{{ n is sameas none }}{{ none is sameas none }}{{ n is number ~ 'x' }}{{ n is number + 1 }}{{ n is defined.x }}{{ n is number if e else 5 }}{{ n is lower | upper }}
{{ n is divisibleby l[1] }}{{ n is divisibleby l.0 }}{{ n is divisibleby -1 }}{{ n is eq 'x' 'y' }}{{ n is eq {'a': 1} }}{{ n is in (1, 3) }}
{{ t | upper | lower | replace('l', 'L') | length + 1 }}{{ -n | abs }}{{ (-n) | abs }}{{ 'a' ~ 'b' | upper }}{{ 1 + '2' | int }}{{ n | string * 2 }}{{ t | upper() | title }}
{{ t.upper() | lower }}{{ t | upper.x }}{{ (t | upper).lower() }}{{ t | upper[0] }}{{ t | replace('h', 'j')[0] }}{{ l | map('string') | join(',') | upper }}
{{ t|default }}{{ missing|default('x', true)|upper }}{{ missing | d(5) + 1 }}{{ e or 'x' | upper }}{{ l[0] + l[-1] }}{{ l[0:2] + l[2:] }}{{ d.k ~ d['b'] ~ d.get('z', 1) }}
{{ [1, 2,] }}{{ [] }}{{ () }}{{ (1,) }}{{ (1) }}{{ 1, 2 }}{{ 1, }}{{ {'a': 1,} }}{{ {} }}{{ {'a': {'b': [()]}} }}{{ {1: 2, 1.5: 3, none: 4, true: 5} }}{{ {'a': 1, 'a': 2} }}
{{ [1 2] }}
{{ {'a' 1} }}
{{ {'a': 1 'b': 2} }}
{{ {'a'} }}
{{ (1, }}
{{ , }}
{{ }}
{{ [1, , 2] }}
{{ {[1]: 2} }}
{{ {(1, 2): 3} }}
{{ 'a' 'b' "c" }}{{ 'it\'s' }}{{ "q\"q" }}{{ '\\' }}{{ '\n\t\r\a\b\f\v\0' | length }}{{ '\x41\u00e9\U0001F600\101\7' }}{{ '\q\8' }}{{ 'é\é' }}{{ 'a\
b' }}
{{ '\x4' }}
{{ '\u00e' }}
{{ '\U00110000' }}
{{ '\ud800' }}
{{ '\N{DIGIT ONE}' }}
{{ '\400' }}{{ '\08' }}{{ '\x00' | length }}
{{ 'a }}
{{ 'a\' }}
{{ 'a
b' }}
{{ 1_000 }}{{ 1_0.5_0 }}{{ 1e3 }}{{ 1E+3 }}{{ 1.5e-3 }}{{ 1.e }}{{ l.0 }}{{ [[5]].0.0 }}{{ 00 }}{{ 1e1_0 }}
{{ 0x1F }}
{{ 0b11 + 0o17 }}
{{ 012 }}
{{ 1__0 }}
{{ 1_ }}
{{ 1a }}
{{ .5 }}
{{ 5. }}
{{ 1.2.3 }}
{{ 9223372036854775807 }}{{ -9223372036854775808 }}
{{ é }}
{{ $ }}
{{ a ? b }}
{{ a && b }}
{{ a! }}
{{ a; b }}
{{ a @ b }}
{{ true }}{{ True }}{{ TRUE is defined }}{{ none }}{{ None }}{{ false }}{{ False }}{{ null is defined }}{{ true.x is defined }}{{ none | default('x') }}
{{ n.x.y is defined }}
{{ d.k.upper() }}{{ d['k'].upper() }}{{ d.items() | list }}{{ d | items | list }}{{ d.x is defined }}{{ d.x.y }}
{{ t.upper(1) }}
{{ t.upper() ~ t['upper']() }}{{ t.nothing is defined }}{{ t.nothing() }}
{{ range(3) | list }}{{ range(1, 3) | list }}{{ range(5, 0, -2) | list }}{{ range(0) | list }}{{ range(-3) | list }}{{ range(3)[1] }}{{ range(9)[2:8:2] | list }}{{ 2 in range(3) }}{{ range(3) | length }}{{ range(3) == range(0, 3) }}{{ range(true) | list }}
{{ range() }}
{{ range(1, 2, 0) }}
{{ range(1, 2, 3, 4) }}
{{ range('a') }}
{{ range(1.5) }}
{{ range(stop=2) }}
{{ range(100001) }}
{{ range(-9223372036854775807, 9223372036854775807) }}
{{ dict(a=1) }}{{ dict({'a': 1}, b=2) }}{{ dict([('a', 1), ['b', 2], 'cd']) }}{{ dict() }}{{ dict(d.items()) }}{{ dict(a=1).a }}{{ dict(d, k=1) }}
{{ dict(1) }}
{{ dict([1]) }}
{{ dict([(1, 2, 3)]) }}
{{ dict({}, {}) }}
{{ dict.fromkeys('ab') }}
{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.current }}{{ c.next() }}{{ c.foo is defined }}
{{ cycler() }}
{{ cycler(a=1) }}
{% set j = joiner() %}{{ j() }}a{{ j() }}b{{ j() }}{% set k = joiner('|') %}{{ k() }}{{ k() }}{% set q = joiner(sep='-') %}{{ q() }}{{ q() }}
{{ joiner(1, 2) }}
{% for k in range(1, 100) %}{{ 2.0 ** (k * 10) }} {{ 2.0 ** -(k * 10 + 4) }} {{ 3.0 ** k }} {{ 0.1 * 7 ** k }} {{ -(2.0 ** (3 * k)) }} {% endfor %}{{ 2 ** 345.0 }}
{{ strftime_now('%Y-%m-%d %A %a %B %b %e %j %F %% x') }}
{{ strftime_now() }}
{{ strftime_now(format='%d') }}{{ strftime_now('') }}{{ strftime_now('é') }}
{{ strftime_now(5) }}
{{ strftime_now('%') }}
{{ strftime_now('%H') }}
{{ raise_exception('x' ~ n) }}
{{ raise_exception(n) }}
{{ raise_exception('') }}
{{ raise_exception() }}
{{ raise_exception(message='x') }}
{{ raise_exception('a', 'b') }}
{{ t(1) }}
{{ n() }}
{{ missing() }}
{{ missing.x }}
{{ missing['x'] }}
{{ missing[0] }}
{{ missing + 'x' }}
{{ -missing }}
{{ missing ~ 'x' }}{{ missing | upper }}{{ missing | list }}{{ missing | length }}{{ missing == missing }}{{ missing in [missing] }}{{ not missing }}{{ [missing] }}{{ {'a': missing} }}{{ missing is none }}
{{ missing < 1 }}
{{ missing | tojson }}
{{ missing | abs }}
{{ m | tojson }}{{ d | tojson(indent=2) }}{{ 'é"\\/<>\u2028\x7f\n' | tojson }}{{ 'é🎉' | tojson(ensure_ascii=true) }}{{ [1, 1.5, true, none, 1e16, {}] | tojson }}{{ [[], {}, [[]]] | tojson(indent=1) }}{{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }}
{{ {'b': 1, 'a': [2]} | tojson(sort_keys=true, indent='> ', separators=(',', '=')) }}{{ l | tojson(separators=[';', ':']) }}{{ l | tojson(none, none, none, none) }}{{ l | tojson(true, 1) }}{{ l | tojson(indent=0) }}{{ l | tojson(indent=-1) }}
{{ {'a': 1, 1: 2} | tojson(sort_keys=true) }}
{{ range(3) | tojson }}
{{ ('a', 1) | tojson }}{{ (t | safe) | tojson }}
{{ '<a>' | safe }}{{ ('<a>' | safe) ~ '<b>' }}{{ ('<a>' | safe) + '<b>&"\'' }}{{ '<c>' + ('<a>' | safe) }}{{ ('<a>' | safe) | length }}{{ ('<a>' | safe) is string }}{{ ('<a>' | safe) | string }}{{ ('a' | safe) == 'a' }}{{ ('a' | safe) is escaped }}
{{ ('<a>' | safe) % 1 }}
{{ ('<a>' | safe) * 2 }}
{{ ('<a>' | safe).upper() }}
{{ ('<a>' | safe) | upper }}
{{ ('<a>' | safe)[0] }}
{{ [('<a>' | safe)] }}
{{ [('<a>' | safe)] | join('<') }}
{{ ['a', ('<' | safe)] | map('upper') | list }}
{{ '%s' | format('<' | safe) }}{{ 'a' in ('abc' | safe) }}{{ ('abc' | safe).startswith('a') }}
{{ 'x' + 'y' + n | string + ('<' | safe) + '<' }}{{ 'x' + 'y' + 'z' }}{{ [1] + [2] + [3] }}{{ 1 + 2 + 3 }}{{ 'a' + 1 }}
{{ 1 + 2 + 'a' }}
{{ 'a' + 'b' + 1 }}
{{ 'a' + 'b' + none }}
{{ 'a' + t + (missing or 'x') + d.k }}{{ n ~ t + 'x' ~ l }}{{ (n ~ t) + 'x' }}{{ 'a' ~ missing ~ none }}
{{ m | map(attribute='role') | list }}{{ m | map(attribute='content.x') | list }}{{ m | map(attribute='zz', default='-') | list }}{{ m | map(attribute='role', foo=1) | list }}
{{ m | map('attr', 'role') | list }}{{ l | map('string') | list }}{{ l | map('round', 1) | list }}{{ l | map('default', 1) | list }}{{ [' a '] | map('trim') | map('upper') | first }}
{{ l | map }}
{{ l | map('nothing') | list }}
{{ l | map(attribute=none) | list }}{{ [[1, 2]] | map(attribute=1) | list }}{{ [[1, 2]] | map(attribute='1') | list }}{{ [[[5]]] | map(attribute='0.0') | list }}{{ [{'': 1}] | map(attribute='') | list }}
{{ l | map(attribute=1.5) | list }}
{{ m | selectattr('role') | list }}{{ m | selectattr('role', 'equalto', 'tool') | list }}{{ m | rejectattr('content') | list }}{{ m | rejectattr('content', 'none') | list }}{{ m | selectattr('role', 'in', ['user']) | list }}{{ m | selectattr('x.y', 'undefined') | list }}
{{ m | selectattr }}
{{ m | selectattr('role', 'nothing') | list }}
{{ l | select | list }}{{ l | select('odd') | list }}{{ l | reject('odd') | list }}{{ l | select('gt', 1) | list }}{{ l | select('in', [1]) | list }}{{ l | reject | list }}{{ l | select('divisibleby', 2) | list }}{{ l | select('divisibleby', num=3) | list }}
{{ l | select('nothing') | list }}
{{ l | select('gt') | list }}
{{ [3, 1, 2] | sort }}{{ ['b', 'A', 'c'] | sort }}{{ ['b', 'A', 'B', 'a'] | sort(case_sensitive=true) }}{{ [3, 1, 2] | sort(true) }}{{ m | sort(attribute='role', reverse=true) }}{{ [[2, 1], [1, 2]] | sort(attribute=1) }}{{ m | sort(attribute='zz') }}{{ [none, none] | sort }}{{ [{}, {}] | sort }}
{{ [1, 'a'] | sort }}
{{ [none, 1] | sort }}
{{ m | sort(attribute='content') }}
{{ [1, 2.5, true] | sort }}{{ [(2, 'a'), (1, 'b')] | sort }}{{ 'hello' | sort }}{{ d | sort }}{{ e | sort }}{{ ['a', 'A', 'b', 'B'] | sort }}{{ ['A', 'a', 'B', 'b'] | sort(reverse=true) }}{{ m | sort(attribute='role,content') | list }}
{{ d | dictsort }}{{ {'b': 1, 'A': 2, 'a': 3} | dictsort }}{{ {'b': 1, 'A': 2} | dictsort(true) }}{{ {'b': 1, 'A': 2} | dictsort(false, 'value') }}{{ {'b': 1, 'A': 2} | dictsort(reverse=true) }}{{ {'b': 'X', 'c': 'a'} | dictsort(by='value') }}
{{ d | dictsort(by='x') }}
{{ {1: 2, 'a': 3} | dictsort }}
{{ [1, 2, 1, 'a', 'A', 1.0, true] | unique | list }}{{ ['a', 'A'] | unique(case_sensitive=true) | list }}{{ m | unique(attribute='role') | list }}{{ [none, none, missing] | unique | list }}{{ e | unique | list }}
{{ l | min }}{{ l | max }}{{ ['b', 'A'] | min }}{{ ['b', 'A'] | max }}{{ ['b', 'A'] | min(case_sensitive=true) }}{{ m | max(attribute='role') }}{{ e | min is undefined }}{{ e | max }}{{ [1, 1.0, true] | max }}{{ [1.0, 1] | min }}
{{ [1, 'a'] | max }}
{{ l | sum }}{{ l | sum(start=10) }}{{ [[1], [2]] | sum(start=[]) }}{{ [{'a': 1}, {'a': 2}] | sum(attribute='a') }}{{ [1.5, 2] | sum }}{{ e | sum }}
{{ ['a'] | sum }}
{{ l | batch(2) | list }}{{ l | batch(2, '-') | list }}{{ l | batch(2, none) | list }}{{ l | batch(5) | list }}{{ l | batch(linecount=1, fill_with=0) | list }}{{ e | batch(2) | list }}
{{ l | first }}{{ l | last }}{{ e | first is undefined }}{{ e | last is undefined }}{{ t | first }}{{ t | last }}{{ d | first }}{{ d | last }}{{ l | reverse | list }}{{ t | reverse }}{{ l | reverse | first }}{{ range(3) | last }}
{{ l | reverse | last }}
{{ 1 | first }}
{{ l | join }}{{ l | join(', ') }}{{ m | join('-', attribute='role') }}{{ l | join(1) }}{{ [none, true, 1.5, [1]] | join('|') }}{{ t | join('.') }}{{ e | join(',') }}{{ l | join(d=';') }}{{ [missing, 1] | join(',') }}
{{ 1 | join }}
{{ '5' | int }}{{ '5.9' | int }}{{ ' 7 ' | int }}{{ '-3' | int }}{{ '+4' | int }}{{ 'x' | int }}{{ 'x' | int(9) }}{{ '1_000' | int }}{{ '1__0' | int }}{{ '_1' | int }}{{ '1_' | int }}{{ '' | int }}{{ ' ' | int }}{{ '1e3' | int }}{{ 'inf' | int }}{{ 'nan' | int(1) }}{{ '0x1F' | int }}{{ none | int }}{{ l | int }}{{ true | int }}{{ 3.99 | int }}{{ -3.99 | int }}{{ '1 2' | int }}{{ '\u00a05\u3000' | int }}{{ '5\x1c' | int }}{{ '- 5' | int }}
{{ '１２' | int }}
{{ '日本' | int(3) }}{{ '日本' | float(3) }}{{ '5é' | int }}
{{ '1.5' | float }}{{ '1_0.5' | float }}{{ 'inf' | float }}{{ '-Infinity' | float }}{{ 'nan' | float }}{{ 'infi' | float }}{{ '1e400' | float }}{{ '1e-400' | float }}{{ '.5' | float }}{{ '5.' | float }}{{ '.' | float }}{{ 'e5' | float }}{{ '1e' | float }}{{ '1e5' | float }}{{ '+1' | float }}{{ '--1' | float }}{{ '0x1p3' | float }}{{ 'nan(1)' | float }}{{ 1 | float }}{{ true | float }}{{ none | float(2) }}{{ 'x' | float('y') }}{{ ' 1 ' | float }}{{ '1 1' | float }}
{{ '1.00000000000000000000000000000000000000000000000000000000000000000000000000000001' | float }}{{ '000000000000000000000000000000000000000000000000000000000000000000000000000000000000005' | int }}
{{ '99999999999999999999' | int }}
{{ 1e300 | int }}
{{ 2.5 | round }}{{ 3.5 | round }}{{ -2.5 | round }}{{ 2.567 | round(2) }}{{ 2.675 | round(2) }}{{ 1.005 | round(2) }}{{ 5 | round }}{{ 5 | round(2) }}{{ true | round }}{{ 2.1 | round(method='ceil') }}{{ 2.9 | round(0, 'floor') }}{{ -0.5 | round(0, 'ceil') }}{{ -0.5 | round }}{{ 2.345 | round(2, 'ceil') }}{{ 2.345 | round(1, 'floor') }}{{ 7 | round(1, 'ceil') }}{{ 1e300 | round(2) }}{{ 1e20 | round(0, 'floor') }}
{{ 2.5 | round(1, 'x') }}
{{ 2.5 | round(none) }}
{{ 1234.5 | round(-2) }}
{{ 2.5 | round(1.0) }}
{{ '2.5' | round }}
{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(1, blank=true) }}|{{ 'a\nb' | indent('> ') }}|{{ '' | indent }}|{{ 'a\n' | indent(2) }}|{{ '\na' | indent(2, true, true) }}|{{ 'a\nb' | indent(0) }}|{{ 'a\nb' | indent(-1) }}|{{ 'a\nb' | indent(true) }}|{{ '\n\n' | indent(1, true, true) }}
{{ 'a\nb' | indent(1.5) }}
{{ 'a\nb' | indent(100) }}
{{ l | indent }}
{{ 'a b-c d(e [f {g <h _i' | title }}{{ "it's x2y" | title }}{{ 'HELLO wORLD' | capitalize }}{{ 'a\tb\nc' | title }}{{ 'one two, three_four 5' | wordcount }}{{ '' | wordcount }}{{ 'xxaxx' | trim('x') }}{{ ' a ' | trim }}{{ 'abc' | trim('ca') }}{{ 5 | trim }}{{ 'a' | trim(none) }}{{ 'aXa' | replace('a', 'b', 1) }}{{ 121 | replace(1, 3) }}{{ 'aa' | replace('', '-', 2) }}{{ 'aa' | replace('a', 'b', 0) }}{{ 'aa' | replace('a', 'b', -1) }}
{{ t | attr('upper') is callable }}{{ t | attr('nothing') is defined }}{{ n | attr('x') is undefined }}
{{ t | attr(1) }}
{{ t | nothing }}
{{ t is nothing }}
{{ t | upper(1) }}
{{ t | replace('a') }}
{{ t | replace('a', 'b', 'c', 'd') }}
{{ t | replace(old='l', new='L') }}{{ t | replace('l', new='L') }}{{ t | replace('l', 'L', count=1) }}
{{ t | replace('l', old='L') }}
{{ t | replace('l', foo='L') }}
{{ t | upper | }}
{{ | upper }}
{{ t | 'upper' }}
{{ t is 'x' }}
{{ t is }}
{{ t is not }}
{{ t. }}
{{ t.'x' }}
{{ t[ }}
{{ t[] }}
{{ t[1:2:3:4] }}
{{ t[:] }}{{ t[::] }}{{ t[1:] }}{{ t[:1] }}{{ t[-2:] }}{{ t[::-1] }}{{ t[1:4:2] }}{{ l[::-1] }}{{ l[5:] }}{{ t[1] }}{{ t[-1] }}{{ t[9] is undefined }}{{ 'é日🎉'[1] }}{{ 'é日🎉'[-1] }}{{ 'é日🎉'[1:] }}{{ 'é日🎉'[::-1] }}{{ l[true] }}{{ l['0'] is defined }}{{ d[0] is defined }}{{ t[none] is defined }}
{{ f(a, ) }}
{{ f(, a) }}
{{ f(a=1, 2) }}
{{ f(*l, 2) }}
{{ f(**d, 2) }}
{{ f(**d, *l) }}
{{ dict(**{'a': 1}, b=2) }}{{ dict(b=2, **{'a': 1}) }}{{ '{}{}'.format(*[1, 2]) }}{{ '{}{}'.format(1, *[2]) }}{{ '{a}'.format(a=1, **{}) }}
{{ dict(a=1, a=2) }}
{{ dict(a=1, **{'a': 2}) }}
{{ dict(**{1: 2}) }}
{{ dict(**l) }}
{{ '{}'.format(*5) }}
{{ f(a b) }}
{{ n if }}
{{ n else 1 }}
{{ not }}
{{ and n }}
{{ n or }}
{{ n + }}
{{ n not 1 }}
{{ n not in }}
{{ n is not none }}{{ n is not defined }}{{ not n is none }}{{ n not in [1] }}{{ n is not not none }}
{{ n == }}
{{ == n }}
{{ n = 1 }}
{{ n := 1 }}
{{ (n }}
{{ n) }}
{{ [n }}
{{ n] }}
{{ {n }}
{{ [(n]) }}
{{ n }
{{ n
{{ {{ n }} }}
{% if n %}{{ n }}
{% if n %}{% else %}{% else %}{% endif %}
{% if n %}{% else %}{% elif t %}{% endif %}
{% if %}{% endif %}
{% if n }}{% endif %}
{% else %}
{% endif %}
{% endfor %}
{% for %}{% endfor %}
{% for x %}{% endfor %}
{% for x in %}{% endfor %}
{% for x in l %}{% endif %}
{% for 1 in l %}{% endfor %}
{% for x.y in l %}{% endfor %}
{% for x in l %}{% else %}{% else %}{% endfor %}
{% for x in l if %}{% endfor %}
{% for x in l recursive if x %}{% endfor %}
{% for x of l %}{% endfor %}
{% for true in l %}{% endfor %}
{% set true = 1 %}
{% set none %}{% endset %}
{% macro true() %}{% endmacro %}
{% macro f %}{% endmacro %}
{% macro f( %}{% endmacro %}
{% macro f(a b) %}{% endmacro %}
{% macro f(a,) %}{{ a }}{% endmacro %}{{ f(1) }}
{% macro f(1) %}{% endmacro %}
{% macro f(a=) %}{% endmacro %}
{% macro f(*a) %}{% endmacro %}
{% macro 1() %}{% endmacro %}
{% macro f() %}
{% endmacro f %}
{% macro f() %}x{% endmacro f %}{{ f() }}
{% for x in l %}{% endfor x %}
{% call %}{% endcall %}
{% call f %}{% endcall %}
{% call(1) f() %}{% endcall %}
{% call(a f() %}{% endcall %}
{% filter %}{% endfilter %}
{% filter upper( %}{% endfilter %}
{% filter 1 %}{% endfilter %}
{% with 1 %}{% endwith %}
{% with a %}{% endwith %}
{% with a = %}{% endwith %}
{% with a = 1, %}{% endwith %}
{% set %}
{% set a %}
{% set a b %}
{% set a | %}{% endset %}
{% set a | nothing %}{% endset %}
{% set a.b.c = 1 %}
{% set a[0] = 1 %}
{% set a = 1 %}{% endset %}
{% set a = 1 b = 2 %}
{% set a += 1 %}
{% nothing %}
{% %}
{% 1 %}
{% 'x' %}
{% break %}
{% continue %}
{% if n %}{% break %}{% endif %}
{% for x in l %}{% else %}{% break %}{% endfor %}
{% for x in l %}{% break 1 %}{% endfor %}
{% include 'x' %}
{% import 'x' as y %}
{% from 'x' import y %}
{% extends 'x' %}
{% block b %}x{% endblock %}
{% do l %}
{% autoescape true %}x{% endautoescape %}
{% trans %}x{% endtrans %}
{% raw %}{{ n }}{% if %}{% endraw %}{{ n }}{%- raw -%} x {%- endraw -%} y{%+ raw %} z {% endraw +%}
{% raw %}x
{% raw %}x{% endraw
{% raw x %}{% endraw %}
{% rawx %}{% endrawx %}
{% raw %}{% endraw x %}{% endraw %}
{% endraw %}
{# n #}a{#- b -#} c {#+ d +#}{# {{ n }} {% if %} #}{##}{#-#}{#--#}
{# x
a {# {# #} #}
{# x #
#}{{ n }}%}}}
{{ n -}} x {{- n }}{{+ n +}}
{{- n -}}{%- if n -%} a {%- endif -%} b
{{ n - }}
{{ n -}}}{{ '}}' }}{{ "%}" }}{{ {'a': {'b': 1}}}}
{{ {'a': {'b': 1}} }}{{ '{{' }}{% set x = '%}' %}{{ x }}{{ {'a': 1}['a'] }}{{ [l][0][1] }}{{ (l)[0] }}{{ 'abc'[1] }}{{ 'abc'.upper() }}{{ 1.real is defined }}{{ 1.5.x is defined }}{{ [1].x is defined }}
{{ ['\x00\x1f\x7f\x80\x85\xa0\xad\u0300\u2028\u2029\ue000\ufeff\U000e0001\U0001F600\\', 'q\'q', 'q"q', 'q\'"q', 'a\nb\rc\td'] }}{{ '\x00\x01\b\f\v\x1f\x7f\x80\u2028' | tojson }}{{ '\x00é\U0001F600' | tojson(true) }}
{{ 'a\vb\fc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\u2027j\u00a0k\x1fl\rm\r'.splitlines() }}{{ 'a\r\nb\n\rc\x85\u2028'.splitlines(true) }}{{ '\n'.splitlines() }}{{ ''.splitlines() }}{{ 'é\u2030\xc2'.splitlines() }}
{{ 'é\u2030\u2027\xc2\u20ac' | indent(1, true) }}
{{ 'a\u2028b' | indent }}
{{ 'a\u2029b' | indent }}
{{ 'a\x85b' | indent }}
{{ 'a\vb' | indent }}
{{ 'a\fb' | indent }}
{{ 'a\x1cb' | indent }}
{{ 'a\x1eb' | indent }}
{{ 'a\rb' | indent }}
{{ 9223372036854775807 + 1 }}
{{ -9223372036854775807 - 2 }}
{{ 9223372036854775807 * 2 }}
{{ 9223372036854775807 ** 2 }}
{{ 3 ** 40 }}
{{ 2 ** 62 }}{{ (-2) ** 63 }}{{ 3 ** 39 }}{{ 1 ** 999 }}{{ (-1) ** 999 }}{{ 0 ** 0 }}{{ 2 ** -2 }}{{ 10 ** 18 }}{{ (-2) ** 3 }}
{{ 2 ** 63 }}
{{ (-9223372036854775807 - 1) // -1 }}
{{ (-9223372036854775807 - 1) % -1 }}
{{ (-9223372036854775807 - 1) // 3 }}{{ (-9223372036854775807 - 1) % 7 }}{{ (-9223372036854775807 - 1) is divisibleby(2) }}{{ 5 is divisibleby(-1) }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 7 % -3 }}{{ 7.5 // -2 }}{{ -7.5 % 2 }}
{{ -(-9223372036854775807 - 1) }}
{{ (-9223372036854775807 - 1) | abs }}
{{ 0 ** -1 }}
{{ 1 // 0 }}
{{ 1.5 % 0 }}
{{ 1.5 // 0.0 }}
{{ 5 is divisibleby(0) }}
{{ 5 is divisibleby('a') }}
{{ missing is divisibleby(2) }}
{{ true is sameas(true) }}{{ true is sameas(false) }}{{ none is sameas(none) }}{{ 1 is sameas(true) }}{{ none is sameas(missing) }}{{ true is sameas(1) }}
{{ range(1, 2, -9223372036854775807 - 1) | list }}
{{ range(5, 1, -9223372036854775807 - 1) | list }}
{{ range(9223372036854775807, 9223372036854775807) | list }}{{ range(9223372036854775800, 9223372036854775807, 5) | list }}
{% for x in l recursive %}{{ loop(l, iterable=l) }}{% endfor %}
{{ dict([[[1], 2]]) }}
{{ dict([[(1, 2), 2]]) }}
{{ namespace([[1, 2]]).x is defined }}
{{ namespace([['', 2]]) is defined }}
{{ cycler(1, a=2) }}
{{ t[1:3][0] }}{{ t[1:][1:][0] }}{{ (t[1:3], 1)[0] }}{{ l[1:][::-1][0] }}{{ l[l[0]:l[1]] }}{{ l[(1, 2)[0]] }}{{ [l[1:]][0] }}
{{ t[1:2, 3] }}
{{ l.1 }}{{ l.0.x is defined }}{{ [[1, 2], [3]].0.1 }}{{ [5][0].real is defined }}
{{ l.1.5 }}
{{ l.-1 }}
{{ [{'a': [{'b': 7}]}] | map(attribute='a.0.b') | list }}{{ [{'1': 2}] | map(attribute='1') | list }}{{ [{'a': 1}] | map(attribute='a.b.c', default=4) | list }}{{ l | map(attribute='12345678901') | list }}{{ [{'a': {'1x': 5}}] | map(attribute='a.1x') | list }}
{{ {'a': 1} == {'a': 1.0} }}{{ {'a': 1} == {'b': 1} }}{{ {'a': 1} == {'a': 1, 'b': 2} }}{{ {'a': [1]} == {'a': [2]} }}{{ [1, [2]] == [1, [2]] }}{{ (1,) == [1] }}{{ [1] < [1, 2] }}{{ [2] < [1, 2] }}{{ (1, 'a') < (1, 'b') }}{{ 'é' > 'z' }}{{ '' < 'a' }}{{ true < 2 }}{{ 1 < 1.5 }}{{ d.items() == d.items() }}{{ range(3) == range(3) }}{{ f == f }}
{{ [1] < ['a'] }}
{{ [[1]] < [[none]] }}
{{ {} < {} }}
{{ l.index(2) }}{{ l.count(2) }}{{ (1, 2).index(2) }}{{ (1, 1).count(1) }}{{ l.copy() }}{{ d.copy() }}{{ [[1], [1]].count([1]) }}
{{ l.index(9) }}
{{ l.index() }}
{{ 'abcabc'.find('c') }}{{ 'abcabc'.rfind('c') }}{{ 'é日é'.find('日') }}{{ 'é日é'.rfind('é') }}{{ 'abc'.find('') }}{{ 'abc'.rfind('') }}{{ ''.find('a') }}{{ 'aaa'.count('aa') }}{{ 'é'.count('') }}{{ 'abc'.index('c') }}
{{ 'abc'.index('x') }}
{{ 'abc'.find('c', 1) }}
{{ 'a-b'.partition('-') }}{{ 'ab'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'ab'.rpartition('-') }}{{ '-'.join(['a', 'b']) }}{{ '-'.join('ab') }}{{ ''.join([]) }}
{{ 'a'.partition('') }}
{{ '-'.join([1]) }}
{{ '-'.join(5) }}
{{ 'abc'.startswith(('x', 'a')) }}{{ 'abc'.startswith(()) }}{{ 'abc'.endswith(('c',)) }}{{ 'abc'.startswith('') }}{{ 'a'.startswith('abc') }}
{{ 'abc'.startswith(['a']) }}
{{ 'abc'.startswith((1,)) }}
{{ 'abc'.removeprefix('ab') }}{{ 'abc'.removesuffix('bc') }}{{ 'abc'.removeprefix('x') }}{{ 'abc'.removesuffix('') }}{{ 'upper'.removesuffix('er') }}
{{ raise_exception('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' * 200) }}
{{ '{aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}'.format(1) }}
{{ t.upper(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1) }}
{{ t | replace(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1) }}
{% macro f() %}{% endmacro %}{{ f(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1) }}
{{ dict(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1, **{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': 2}) }}
{{ t | aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }}
{{ t is aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }}
{% aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa %}
{{ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }}
{{ t['__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'] is defined }}
{{ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.x }}
{{ 11111111111111111111111111111111111111111111111111111111111111111111.5 }}
{{ 1.5_ }}
{{ 1e }}{{ 1.e5 }}
{{ 1e5_ }}
{{ '\x4g' }}
{{ '\x }}
{{ '\u00 }}
{{ 1 if n else }}
{{ n | upper( }}
{{ n is eq( }}
{{ f(*) }}
{{ f(**) }}
{{ f(a=) }}
{{ f(a=1, *l) }}{{ f }}
{{ dict(*[[['a', 1]]], b=2) }}{{ dict(b=2, *[[['a', 1]]]) }}
{{ d | items(1) }}
{{ 5 | items }}
{{ missing | items | list }}
{{ 5 | dictsort }}
{{ l | batch }}
{{ l | batch('a') }}
{{ l | tojson(separators=[1, 2]) }}
{{ l | tojson(separators=5) }}
{{ l | tojson(separators=['a']) }}
{{ l | tojson(separators='ab') }}
{{ {d.k: 1, t: 2} | tojson }}
{{ [namespace()] | tojson }}
{{ [m, d] | tojson(indent='\t') }}{{ {'é': 'ü'} | tojson(ensure_ascii=true, indent=2) }}
{% if n -%} a {% endif %}{% if n +%}
 a{% endif %}
""".strip("\n")


def pieces():
    """The lines of PIECES; a line that ends within a text or a tag goes on."""
    found = []
    for line in PIECES.split("\n"):
        if found and line in ("b' }}", " a{% endif %}", "{% endmacro f %}"):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found

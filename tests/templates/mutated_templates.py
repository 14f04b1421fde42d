"""Templates broken at random, and what must become of each: a text, or an error with a place. Nothing else."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import yaml
from template_worlds import HERE

from reactor.language.templates import Limits, TemplateError
from reactor.language.templates.sandbox.engine import sandboxed_engine

SECONDS = 1.5
BOUNDS = Limits(seconds=SECONDS)
"""Lower than the usual 5 s: what is ended by the deadline is within 2 s, and counted."""
CONTEXT = {
    "a": 1,
    "s": "text",
    "l": [1, "b", None, 2.5],
    "d": {"k": "v", "n": {"m": [1, 2]}},
    "e": {},
    "f": 1.5,
}

_JINJA = (
    "{% for x in l %}{{ x }}{% if loop.first %},{% endif %}{% else %}-{% endfor %}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(b=1, a=[2]) }}",
    "{% set n = namespace(x=1) %}{% for i in range(3) %}{% set n.x = n.x * 2 + i %}{% endfor %}{{ n.x }}",
    "{{ s|upper|center(20)|replace('T', 'x') }}{{ f|round(2, 'ceil') }}{{ l|join('-') }}{{ d|tojson(2) }}",
    "{{ '%5d|%-8s|%.3f' % (a, s, f) }}{{ s[1:3] }}{{ d.n.m[0] ** 3 // 2 % 5 }}{{ s ~ a ~ l }}",
    "{{ l|map('string')|sort|batch(2)|list }}{{ s|indent(4)|wordwrap(3)|truncate(9) }}{{ '12'|int(0, 16) }}",
    "{% filter upper %}{% raw %}{{ x }}{% endraw %}{% endfilter %}{% with q = 3 %}{{ q }}{% endwith %}{# c #}",
    "{{ d|dictsort|pprint }}{{ s|urlize }}{{ '<b>'|e|striptags }}{{ [[a, [l]], {'x': [s]}] }}{{ 9|filesizeformat }}",
)
_NUMBERS = ("0", "-1", "40000000", "999999999999", "1" * 30, "1e308", "-0.0", "0x" + "f" * 20, "1" * 4400)
_HUGE = (
    "%999999999d",
    "%.999999d",
    "%*d",
    "(" * 60,
    "[" * 60,
    "]" * 60,
    "{" * 40,
    "%" + "0" * 4000,
    "x" * 5000,
)


def sources(kind: str) -> list[str]:
    """Templates that are as they should be."""
    if kind == "jinja":
        return list(_JINJA)
    cases = yaml.load((HERE / f"{kind}-cases.yaml").read_text(), yaml.CSafeLoader)["cases"]
    return [case["input"] for case in cases]


def mutated(rng: random.Random, originals: list[str]) -> str:
    """One of the ``originals`` after one to four changes."""
    text = rng.choice(originals)
    for _ in range(rng.randint(1, 4)):
        start, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        other = rng.choice(originals)
        at = rng.randrange(len(other) + 1)
        part = rng.choice((
            "", text[start:end] * 2, other[at : at + rng.randrange(20)], rng.choice(_NUMBERS), rng.choice(_HUGE),
            chr(rng.choice((0, 9, 10, 34, 39, 37, 96, 123, 125, 233, 0x1F600, 0xD800))),
        ))  # fmt: skip
        text = text[:start] + part + text[end if rng.random() < 0.3 else start :]
    return text


def broken(kind: str, seed: int, count: int) -> Iterator[str]:
    """``count`` sources, the same for the same seed."""
    rng, originals = random.Random(f"{kind} {seed}"), sources(kind)
    return (mutated(rng, originals) for _ in range(count))


def fault_of(kind: str, source: str) -> tuple[str | None, bool, float]:
    """What is wrong with how it ended, whether by an error, and after how many seconds."""
    compiled = sandboxed_engine(kind, BOUNDS).compile(source, name="t", delimiters=None, loader={}.get)
    start = time.monotonic()
    try:
        compiled.render(CONTEXT, {})
    except TemplateError as error:
        spent = time.monotonic() - start
        odd = ("the template failed", "No module named", "the process that", "ended the process")
        if any(words in error.message for words in odd):
            return f"unexpected: {error.message}", True, spent
        if not (error.name and error.line >= 1 and error.column >= 1):
            return f"no place: {error}", True, spent
        return None, True, spent
    except Exception as error:  # noqa: BLE001 - finding these is what this is for
        return f"{type(error).__name__}: {error}", True, time.monotonic() - start
    return None, False, time.monotonic() - start

"""How the tests of templates render, and where their cases are."""

from pathlib import Path

import yaml

from reactor.language.templates import template_engine

HERE = Path(__file__).parent


def render(kind, source, context=None, functions=None, *, templates=None, delimiters=None):
    """What ``source``, called t, makes of ``context``; other templates come from ``templates``."""
    compiled = template_engine(kind).compile(
        source, name="t", delimiters=delimiters, loader=(templates or {}).get
    )
    return compiled.render(context or {}, functions or {})


def cases(name):
    """The context of a file of cases, and the cases."""
    loaded = yaml.load((HERE / name).read_text(), yaml.CSafeLoader)
    return loaded["context"], loaded["cases"]


def rendered(kind, case, context):
    """What the template of a case makes."""
    delimiters = tuple(case["delimiters"]) if "delimiters" in case else None
    return render(kind, case["input"], context, templates=case.get("templates"), delimiters=delimiters)

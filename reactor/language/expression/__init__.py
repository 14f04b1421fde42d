"""The expression language of manifests, inside ``{{ }}`` and ``${ }``: Expr, over JSON-like values.

The language is described at https://expr-lang.org. ``parse_template`` parses a string that may contain expressions,
``parse_expression`` a bare expression. The rest is imported when the first expression is parsed: most values contain
none, and neither do many manifests.

Each part imports only the parts above it:

- ``limits``: limits the work of one evaluation;
- ``scope``: what the host program provides: roots, functions, secrets, limits;
- ``lexer``, ``nodes``, ``operands``, ``parser``: from a string to tokens, and from tokens to a tree;
- ``access``, ``operators``, ``builtins/``: members, operators and functions of values;
- ``analysis``: finds the paths that an expression may read, and the keys that may be missing, without evaluating it;
- ``evaluation``: the state of one evaluation; ``gjson/``: the paths of ``lookup``;
- ``evaluator/``: compiles the tree to Python closures;
- ``expression``: one expression that can be evaluated; ``template``: a string that contains expressions;
- ``validators``: the functions of ``@validate`` annotations.

Nothing here reads an attribute of a value. Values are read by subscript only, so no expression can reach Python.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactor.language.expression.expression import Expression
    from reactor.language.expression.template import Template

__all__ = ["parse_expression", "parse_template", "were_parsed"]


def parse_template(text: str) -> Template | None:
    """Parse the string ``text``; return None if it contains no expression. Raises ExpressionError."""
    if "{{" not in text and "${" not in text:
        return None
    return _short_template(text) if len(text) <= _SHORT else _template(text)


def were_parsed() -> bool:
    """Whether this process has ever parsed an expression: what does that is imported with the first one."""
    return any(f"{__name__}.{module}" in sys.modules for module in ("expression", "template"))


def _template(text: str) -> Template | None:
    from reactor.language.expression.template import Template  # noqa: PLC0415 - see the module docstring

    template = Template(text)
    return template if template.holds else None


_SHORT = 500
"""The longest string in characters that is kept: a loop evaluates the same few ones for each element."""
_short_template = lru_cache(maxsize=64)(_template)


def parse_expression(text: str) -> Expression:
    """Parse the bare expression ``text``, as in ``if:`` and ``@validate``. Raises ExpressionError."""
    from reactor.language.expression.expression import cached_expression  # noqa: PLC0415 - see the module docstring

    return cached_expression(text)

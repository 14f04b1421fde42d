"""The door: ``parse`` for a text that may hold expressions, ``expression`` for a bare one.

What is behind it is imported when the first expression turns up: most values hold none, and many manifests neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactor.language.expression.rendering import Expression, Template

__all__ = ["Expression", "Template", "expression", "parse"]


def parse(text: str) -> Template | None:
    """The template of ``text``, None when no expression is in it; raises ExpressionError."""
    if "{{" not in text and "${" not in text:
        return None
    from reactor.language.expression.rendering import Template  # noqa: PLC0415 - see above

    template = Template(text)
    return template if template.holds else None


def expression(text: str) -> Expression:
    """The bare expression ``text``, as ``if:`` and ``@validate`` have it; raises ExpressionError."""
    from reactor.language.expression import rendering  # noqa: PLC0415 - see above

    return rendering.expression(text)

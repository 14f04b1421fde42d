"""What can go wrong in an expression.

``ExpressionError`` is for the people who write manifests and has a position. ``FunctionError`` has none: what an
operator or a function raises, because it does not know where it was called. The evaluator turns the second into the
first at the node that called.
"""

from __future__ import annotations

_LONGEST = 200
"""Characters of a message; what it quotes may be much longer."""


class FunctionError(Exception):
    """An operator or a function can't do what was asked; ``hint`` says how to mend it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
        self.hint = hint if hint is None or len(hint) <= _LONGEST else None


class NotBrieflyError(Exception):
    """An evaluation that must be brief is not: it goes on where it holds nobody up. No error of the expression."""


class ExpressionError(Exception):
    """An expression is wrong, or failed.

    ``start`` and ``end`` are offsets in characters of the whole text that was handed in, so that a caret can point at
    the culprit inside a YAML value.
    """

    def __init__(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint
        self.others: tuple[ExpressionError, ...] = ()
        """What else is wrong with the same text."""

    def moved(self, by: int) -> ExpressionError:
        """The same error for a text in which this expression begins ``by`` characters later."""
        return ExpressionError(self.message, self.start + by, self.end + by, self.hint)

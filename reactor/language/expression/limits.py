"""How much work one evaluation may do, and how large its results may be.

The language has no loops except predicates, and no recursion. So the evaluator bounds the time by charging steps: a
predicate charges the number of its nodes for each element, an operation on lists one step for each element, and one on
strings one step for every 64 characters. A step takes at most about a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import merge
from typing import Any, Protocol

from reactor.language.errors import FunctionError

MAX_STEPS = 1_000_000
MAX_BRIEF_STEPS = 20_000
"""What an evaluation may do where others wait for it: some milliseconds."""
MAX_RESULT_LENGTH = 1 << 24
"""Characters of one text that an expression makes."""
MAX_TOKENS = 10_000
MAX_NESTING = 100
"""Of parentheses and operators in an expression, and of lists and maps in a value: Python's stack is finite."""
CHARACTERS_PER_STEP = 64
MAX_INPUT_LENGTH = 1 << 20
"""Characters of one text that a function may work on: in C, where nothing else goes on meanwhile."""
MAX_SEARCHED_LENGTH = 1 << 22
"""Characters of one text that a regular expression may be looked for in."""
MAX_ARGUMENT_STEPS = 200_000
"""Steps that measuring what one function takes may cost: elements of its lists, and texts in them."""
BYTES_PER_CHARACTER = 4
"""Bytes of a character in a text that is not all ASCII, at most: such a text counts for as many."""


def check_input_length(text: str, most: int = MAX_INPUT_LENGTH) -> None:
    """Refuse to work on ``text`` as a whole when it has more than ``most`` characters."""
    if len(text) > most:
        raise FunctionError(
            f"memory budget exceeded: a text of {len(text)} characters is too long to work on",
            f"the most is {most}; split it into smaller files",
            code="R0305",
        )


def check_result_length(characters: int) -> None:
    """Refuse to make a text of so many ``characters``; called before it is made."""
    if characters > MAX_RESULT_LENGTH:
        raise FunctionError(
            f"memory budget exceeded: a text of {characters} characters",
            f"the most is {MAX_RESULT_LENGTH}",
            code="R0305",
        )


class WorkMeter(Protocol):
    """Pays for work and notes secrets; ``reactor.language.expression.evaluation.Run`` is one."""

    @property
    def strict(self) -> bool:
        """Whether a key that no element of a list has is missing, and not an empty list."""

    def charge(self, steps: int) -> None:
        """Pay for ``steps``; raises FunctionError when the budget is used up."""

    def measure(self, value: Any) -> None:
        """Pay for looking at all of ``value``, and note a secret in it."""

    def note_secret(self, value: Any) -> Any:
        """``value``, noted when it is a secret."""


_PIECE = 20_000
"""Elements that are worked on at once: some milliseconds for the slowest to compare."""


def int_range(low: int, high: int) -> list[int]:
    """All from ``low`` to ``high``, both included."""
    found: list[int] = []
    for start in range(low, high + 1, _PIECE):
        found.extend(range(start, min(start + _PIECE, high + 1)))
    return found


def sorted_in_chunks(
    items: Sequence[Any], *, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> Any:
    """The list that `sorted` makes: what is equal stays in its order."""
    starts = range(0, len(items), _PIECE)
    pieces = [sorted(items[start : start + _PIECE], key=key, reverse=reverse) for start in starts]
    return pieces[0] if len(pieces) == 1 else list(merge(*pieces, key=key, reverse=reverse))

"""The limits of the work of one evaluation, and of the size of its results.

The language has no loops except predicates, and no recursion. So the evaluator limits the time by charging steps. A
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
"""The most steps of an evaluation that must be brief: some milliseconds."""
MAX_RESULT_LENGTH = 1 << 24
"""The longest string, in characters, that an expression can make."""
MAX_TOKENS = 10_000
MAX_NESTING = 100
"""The maximum depth of parentheses and operators in an expression, and of lists and maps in a value.

Python's stack is finite.
"""
CHARACTERS_PER_STEP = 64
MAX_INPUT_LENGTH = 1 << 20
"""The longest string, in characters, that a function processes: it does so in C, which blocks other threads."""
MAX_SEARCHED_LENGTH = 1 << 22
"""The longest string, in characters, that a regular expression searches."""
MAX_ARGUMENT_STEPS = 200_000
"""The most steps for measuring the arguments of one function: elements of its lists, and strings in them."""
BYTES_PER_CHARACTER = 4
"""The most bytes of one character. A string that is not ASCII counts as four times its length."""


def check_input_length(text: str, most: int = MAX_INPUT_LENGTH) -> None:
    """Raise FunctionError if ``text`` has more than ``most`` characters: too many to process in one call."""
    if len(text) > most:
        raise FunctionError(
            f"memory budget exceeded: a string of {len(text)} characters is too long to process",
            f"the most is {most}; split it into smaller files",
            code="R0305",
        )


def check_result_length(characters: int) -> None:
    """Raise FunctionError if a string of ``characters`` characters is too long. Call it before making the string."""
    if characters > MAX_RESULT_LENGTH:
        raise FunctionError(
            f"memory budget exceeded: a string of {characters} characters",
            f"the most is {MAX_RESULT_LENGTH}",
            code="R0305",
        )


class WorkMeter(Protocol):
    """Charges for work and notes secrets. ``reactor.language.expression.evaluation.Evaluation`` implements it."""

    @property
    def strict(self) -> bool:
        """Whether a key that no element of a list has is MISSING; else it is an empty list."""

    def charge(self, steps: int) -> None:
        """Charge ``steps`` steps. Raises FunctionError if there are not enough left."""

    def measure(self, value: Any) -> None:
        """Charge for reading all of ``value``, and note whether it contains a secret."""

    def note_secret(self, value: Any) -> Any:
        """Return ``value``, after noting whether it is a secret."""


_PIECE = 20_000
"""The most elements for one call into C, which blocks all other threads: some milliseconds at most."""


def int_range(low: int, high: int) -> list[int]:
    """Return the integers from ``low`` to ``high``, both included. Makes them in chunks."""
    found: list[int] = []
    for start in range(low, high + 1, _PIECE):
        found.extend(range(start, min(start + _PIECE, high + 1)))
    return found


def sorted_in_chunks(
    items: Sequence[Any], *, key: Callable[[Any], Any] | None = None, reverse: bool = False
) -> Any:
    """Return the same list as `sorted`, but sort in chunks. The sort is stable."""
    starts = range(0, len(items), _PIECE)
    pieces = [sorted(items[start : start + _PIECE], key=key, reverse=reverse) for start in starts]
    return pieces[0] if len(pieces) == 1 else list(merge(*pieces, key=key, reverse=reverse))

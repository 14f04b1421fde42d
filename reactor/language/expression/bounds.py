"""How much work one evaluation may do, and how large what it makes may be.

The language has no loops but predicates, and no recursion. So the time of an evaluation is bounded by charging the
predicates (each element costs the nodes of the predicate), and everything whose cost grows with its values (each
element of a list a step, each 64 characters of a text a step). A step is at most about a microsecond.
"""

from __future__ import annotations

from reactor.language.expression.errors import FunctionError

STEPS = 1_000_000
BRIEF_STEPS = 20_000
"""What an evaluation may do where others wait for it: some milliseconds."""
MAX_TEXT = 1 << 24
"""Characters of one text that an expression makes."""
MAX_TOKENS = 10_000
MAX_NESTING = 100
"""Of parentheses and operators in an expression, and of lists and maps in a value: Python's stack is finite."""
CHARACTERS_PER_STEP = 64
MAX_WORKED = 1 << 20
"""Characters of one text that a function may work on: in C, where nothing else goes on meanwhile."""
MAX_SEARCHED = 1 << 22
"""Characters of one text that a regular expression may be looked for in."""
MAX_TAKEN = 200_000
"""Steps that measuring what one function takes may cost: elements of its lists, and texts in them."""
WIDE = 4
"""Bytes of a character in a text that is not all ASCII, at most: such a text counts for as many."""

INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1


def allow_work(text: str, most: int = MAX_WORKED) -> None:
    """Refuse to work on ``text`` as a whole when it has more than ``most`` characters."""
    if len(text) > most:
        raise FunctionError(
            f"memory budget exceeded: a text of {len(text)} characters is too long to work on",
            f"the most is {most}; split it into smaller files",
            code="R0305",
        )


def allow_text(characters: int) -> None:
    """Refuse to make a text of so many ``characters``; called before it is made."""
    if characters > MAX_TEXT:
        raise FunctionError(
            f"memory budget exceeded: a text of {characters} characters",
            f"the most is {MAX_TEXT}",
            code="R0305",
        )


def integer(value: int) -> int:
    """``value``, which must fit into 64 bits as all numbers of the language do."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise FunctionError("integer overflow: the result needs more than 64 bits", "use a float: 1.0 * ...")

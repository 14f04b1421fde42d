"""The scope of expressions: what the host program provides to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from reactor.language.errors import ExpressionError
from reactor.language.expression.limits import MAX_STEPS


class Warnings:
    """Missing keys that evaluations allowed, in a scope that is not strict. ``found`` has their places in the file."""

    def __init__(self) -> None:
        self.pending: list[ExpressionError] = []
        """The warnings of the current evaluation, with offsets in its text."""
        self.found: dict[tuple[str, int, int], tuple[int, str, ExpressionError]] = {}
        """Each warning once: the offset of its text in the file, that text, and the warning."""
        self._taken: set[tuple[str, int, int]] = set()

    def for_thread(self) -> Warnings:
        """Return warnings for another thread. A warning that one of the two has returned, the other does not return again."""
        found = Warnings()
        found._taken = self._taken
        return found

    def locate(self, at: int, text: str) -> None:
        """Set the place of the pending warnings: ``text``, which was just evaluated, is at the offset ``at`` of the file."""
        for warning in self.pending:
            self.found.setdefault((warning.message, at, warning.start), (at, text, warning))
        self.pending.clear()

    def prefix(self, first: int, what: str) -> None:
        """Name the file or template ``what`` in the pending warnings from index ``first`` on: their text is in there."""
        for index, warning in enumerate(self.pending[first:], first):
            self.pending[index] = ExpressionError(f"{what}: {warning.message}", 0, 0, warning.hint)

    def take_new(self) -> list[tuple[int, str, ExpressionError]]:
        """Return the warnings not returned before, each with the offset of its text in the file, and that text."""
        taken = [warning for key, warning in self.found.items() if key not in self._taken]
        self._taken.update(self.found)
        self.found.clear()
        return taken


class Scope:
    """The names and functions that an expression may use.

    ``names`` are the roots, such as ``Facts``, ``Data`` and ``Environ``: JSON-like values, of which only the protocols
    of Mapping and Sequence are used, so a mapping may be lazy. ``lookup`` reads the same values under lower-case names.
    ``functions`` are called with positional arguments; they raise ``FunctionError`` for errors of the user, and any
    other exception passes through the evaluation unchanged; a builtin of the same name wins. ``missing`` says what
    ``lookup`` does about a missing key without a default: an error, or an empty string. When ``strict``, every other
    missing key is an error too, and so is nil within a string; else they are added to ``warnings``. ``absent`` has the
    hint for a root that this scope does not have.
    ``secrets`` are paths from a root on, such as ``("Data", "db", "password")``; see ``reactor.language.secrets``.
    ``hide`` is called with each string that an evaluation makes from a secret, without the text around it. ``scrambled``
    returns the same scope with other secrets, to find these strings; without it, all of a value that touched a secret
    counts. ``steps`` limits the work of one evaluation.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        missing: Literal["error", "empty"] = "error",
        strict: bool = False,
        absent: Mapping[str, str] = MappingProxyType({}),
        secrets: frozenset[tuple[str, ...]] = frozenset(),
        hide: Callable[[str], None] = lambda _: None,
        scrambled: Callable[[], Scope] | None = None,
        steps: int = MAX_STEPS,
    ) -> None:
        self.names = names
        self.functions = functions or {}
        self.missing = missing
        self.strict = strict
        self.absent = absent
        self.warnings = Warnings()
        self.secrets = secrets
        self.hide = hide
        self.scrambled = scrambled
        self.steps = steps
        self.moment: datetime | None = None
        """The time that ``now()`` returns; None: the time of each call."""
        self.is_brief = False
        """Whether more than `MAX_BRIEF_STEPS` raise BriefLimitError; a slow function of the host raises it too."""
        self.steps_left: int | None = None
        """The steps that the current evaluation has left. An evaluation inside one of its functions uses the same steps."""

    @cached_property
    def lookup_names(self) -> Mapping[str, Any]:
        """The roots by the names that ``lookup`` uses, in lower case."""
        return {name.lower(): self.names[name] for name in self.names}


class TextMap(dict[str, str]):
    """A root like CCM's ``Environ``: a missing key is an empty string, not nil."""

"""The scope of expressions: the names, functions and limits that the host program provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from reactor.language.errors import ExpressionError
from reactor.language.expression.limits import MAX_STEPS


class Warnings:
    """The warnings about missing keys, in a scope that is not strict, and about openers without an end.

    ``found`` has those with a known place in the file.
    """

    def __init__(self) -> None:
        self.pending: list[ExpressionError] = []
        """The warnings of the current evaluation. Their offsets refer to its text."""
        self.found: dict[tuple[str, int, int], tuple[int, str, ExpressionError]] = {}
        """Each warning once: the offset in the file of the text that has it, that text, and the warning."""
        self._taken: set[tuple[str, int, int]] = set()

    def for_thread(self) -> Warnings:
        """Return empty warnings for another thread. The two objects together return each warning only once."""
        found = Warnings()
        found._taken = self._taken
        return found

    def locate(self, at: int, text: str) -> None:
        """Set the place of the pending warnings: ``text``, which was just evaluated, is at the offset ``at``."""
        for warning in self.pending:
            self.found.setdefault((warning.message, at, warning.start), (at, text, warning))
        self.pending.clear()

    def prefix(self, first: int, what: str) -> None:
        """Put the name of the file or template before the pending warnings from index ``first`` on."""
        for index, warning in enumerate(self.pending[first:], first):
            self.pending[index] = ExpressionError(f"{what}: {warning.message}", 0, 0, warning.hint)

    def take_new(self) -> list[tuple[int, str, ExpressionError]]:
        """Return the new warnings, each with the offset in the file of the text that has it, and that text."""
        taken = [warning for key, warning in self.found.items() if key not in self._taken]
        self._taken.update(self.found)
        self.found.clear()
        return taken


class Scope:
    """The names and functions that an expression can use.

    ``names`` has the roots, such as ``Facts``, ``Data`` and ``Environ``. They are JSON-like values. Only the protocols
    of Mapping and Sequence are used, so a mapping may be lazy. ``lookup`` reads the same values under lower-case
    names. ``functions`` are called with positional arguments. They raise ``FunctionError`` for errors of the user; any
    other exception passes through unchanged. A builtin has priority over a function of the same name. ``missing`` says
    what ``lookup`` does for a missing key without a default: raise an error, or return an empty string. When
    ``strict``, every other missing key is an error too, and so is nil within a string; else these are added to
    ``warnings``. ``absent`` has the hints for roots and functions that this scope
    does not have.

    ``secrets`` has paths that begin with a root, such as ``("Data", "db", "password")``; see
    ``reactor.language.secrets``. ``hide`` is called with each string that an evaluation makes from a secret, without
    the text around it. ``scrambled`` returns the same scope with other secrets, which is used to find these strings.
    Without it, the whole value counts as secret if its evaluation touched a secret. ``steps`` limits the work of one
    evaluation.
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
        """The time that ``now()`` returns. None means the time of each call."""
        self.is_brief = False
        """Whether more than `MAX_BRIEF_STEPS` steps raise BriefLimitError.

        Slow functions of the host raise it then too.
        """
        self.steps_left: int | None = None
        """The steps that the current evaluation has left. An evaluation inside one of its functions shares them."""

    @cached_property
    def lookup_names(self) -> Mapping[str, Any]:
        """The roots by the names that ``lookup`` uses: in lower case."""
        return {name.lower(): self.names[name] for name in self.names}


class TextMap(dict[str, str]):
    """A root like CCM's ``Environ``, where a missing key is an empty string, not nil."""

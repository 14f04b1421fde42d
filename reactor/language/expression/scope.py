"""What the host program hands to an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from reactor.language.errors import ExpressionError
from reactor.language.expression.limits import MAX_STEPS


class Warnings:
    """What evaluations in a scope that is not strict have let pass. ``found`` tells where the texts stand."""

    def __init__(self) -> None:
        self.pending: list[ExpressionError] = []
        """Those of the evaluation that goes on, their offsets in its text."""
        self.found: dict[tuple[str, int, int], tuple[int, str, ExpressionError]] = {}
        """Each once: the offset of its text in the file, that text, and what is wrong."""
        self._taken: set[tuple[str, int, int]] = set()

    def for_thread(self) -> Warnings:
        """The same for another thread: what one has taken, the other does not take again."""
        found = Warnings()
        found._taken = self._taken
        return found

    def locate(self, at: int, text: str) -> None:
        """Say where the text stands that has just been evaluated."""
        for warning in self.pending:
            self.found.setdefault((warning.message, at, warning.start), (at, text, warning))
        self.pending.clear()

    def prefix(self, first: int, what: str) -> None:
        """What is pending from ``first`` on stands in ``what``, which the text around it only names."""
        for index, warning in enumerate(self.pending[first:], first):
            self.pending[index] = ExpressionError(f"{what}: {warning.message}", 0, 0, warning.hint)

    def take_new(self) -> list[tuple[int, str, ExpressionError]]:
        """Those not taken before, each with the offset of its text in the file, and that text."""
        taken = [warning for key, warning in self.found.items() if key not in self._taken]
        self._taken.update(self.found)
        self.found.clear()
        return taken


class Scope:
    """The names and functions that an expression may use.

    ``names`` are the roots, such as ``Facts``, ``Data`` and ``Environ``: JSON-like values, of which only the protocols
    of Mapping and Sequence are used, so a mapping may be lazy. ``lookup`` reads the same values under lower-case names.
    ``functions`` are called with positional arguments; they raise ``FunctionError`` for what the user can mend, and
    any other exception passes through the evaluation untouched; a builtin of the same name is stronger. ``missing`` says what ``lookup`` does about a key that
    is not there and has no default: an error, or an empty text. When ``strict``, every other key that is missing is an
    error too, and so is nil within a text; else ``warnings`` learns of them. ``absent`` says why a root is not there.
    ``secrets`` are paths from a root on, such as ``("Data", "db", "password")``; see ``reactor.language.secrets``.
    ``hide`` is told what evaluations make of secrets, without what is around it: it may show elsewhere. ``scrambled`` gives
    the same scope with other secrets, to tell the one from the other; without it, all of a value that touched a secret
    counts. ``steps`` bounds the work of one evaluation.
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
        """What ``now()`` is; None: the time of each call."""
        self.is_brief = False
        """Whether more than `MAX_BRIEF_STEPS` raise BriefLimitError; a function of the host that takes long raises it too."""
        self.steps_left: int | None = None
        """What the evaluation that goes on has left: one that a function of it begins takes from the same."""

    @cached_property
    def lookup_names(self) -> Mapping[str, Any]:
        """The roots as ``lookup`` names them."""
        return {name.lower(): self.names[name] for name in self.names}


class TextMap(dict[str, str]):
    """A root like CCM's ``Environ``: a key that is not there is an empty text, not nil."""

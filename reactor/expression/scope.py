"""What the host program hands to an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

from reactor.expression.bounds import STEPS


class Scope:
    """The names and functions that an expression may use.

    ``names`` are the roots, such as ``Facts``, ``Data`` and ``Environ``: JSON-like values, of which only the protocols
    of Mapping and Sequence are used, so a mapping may be lazy. ``lookup`` reads the same values under lower-case names.
    ``functions`` are called with positional arguments; they raise ``FunctionError`` for what the user can mend, and
    any other exception passes through the evaluation untouched; a builtin of the same name is stronger. ``missing`` says what ``lookup`` does about a key that
    is not there and has no default: an error, or an empty text. ``secrets`` are paths from a root on, such as
    ``("Data", "db", "password")``; see ``reactor.expression.secret``. ``hide`` is told each piece of a text that touched
    a secret: it may show elsewhere without the text around it. ``steps`` bounds the work of one evaluation.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        missing: Literal["error", "empty"] = "error",
        secrets: frozenset[tuple[str, ...]] = frozenset(),
        hide: Callable[[str], None] = lambda _: None,
        steps: int = STEPS,
    ) -> None:
        self.names = names
        self.functions = functions or {}
        self.missing = missing
        self.secrets = secrets
        self.hide = hide
        self.steps = steps
        self.is_brief = False
        """Whether more than `BRIEF_STEPS` raise NotBrieflyError; a function of the host that takes long raises it too."""
        self.left: int | None = None
        """What the evaluation that goes on has left: one that a function of it begins takes from the same."""

    @cached_property
    def looked_up(self) -> Mapping[str, Any]:
        """The roots as ``lookup`` names them."""
        return {name.lower(): self.names[name] for name in self.names}


class TextMap(dict[str, str]):
    """A root like ``Environ``: a key that is not there is an empty text, not nil."""

    def __missing__(self, key: str) -> str:
        return ""

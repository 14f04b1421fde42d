"""Missing values that a template prints, iterates over, or uses in calculations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactor.language.errors import Fault, TemplateError, located
from reactor.suggestions import closest


class MissingValues:
    """How one rendering treats missing values: as errors when ``strict``, else as ``warnings``."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.warnings: list[TemplateError] = []

    def report(self, fault: Fault, name: str, source: str, offset: int) -> None:
        """Report the missing value at ``offset`` of ``source``. Raises ``fault`` if that is an error."""
        if self.strict:
            raise fault
        self.warnings.append(located(fault, name, source, offset))


def no_such_key(key: Any, known: Iterable[Any], remedy: str) -> Fault:
    """Return the error that a map with the keys ``known`` has no ``key``.

    ``remedy`` is the hint if no known key is similar.
    """
    near = closest(str(key), known)
    return Fault(f"there is no key '{key}'", f"did you mean {near}?" if near else remedy)


def no_value(remedy: str) -> Fault:
    """Return the error that a value is nil."""
    return Fault("the value is nil", remedy)

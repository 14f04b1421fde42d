"""Values that are missing where a template prints, repeats or computes with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reactor.language.errors import Fault, TemplateError, located
from reactor.language.suggestions import closest


class MissingValues:
    """What one rendering does about values that are missing: when ``strict`` they are errors, else ``told`` has them."""

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.warnings: list[TemplateError] = []

    def report(self, fault: Fault, name: str, source: str, offset: int) -> None:
        """There is no value at ``offset`` of ``source``. Raises ``fault`` when that is an error."""
        if self.strict:
            raise fault
        self.warnings.append(located(fault, name, source, offset))


def no_such_key(key: Any, known: Iterable[Any], remedy: str) -> Fault:
    """The fault that ``key`` is not among those of a map; ``remedy`` is for one that is not misspelt."""
    near = closest(str(key), known)
    return Fault(f"there is no key '{key}'", f"did you mean {near}?" if near else remedy)


def no_value(remedy: str) -> Fault:
    """The fault that a value is nil."""
    return Fault("the value is nil", remedy)

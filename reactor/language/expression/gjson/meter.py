"""What a walk must tell the evaluation it is part of."""

from __future__ import annotations

from typing import Any, Protocol


class Meter(Protocol):
    """Pays for work and notes secrets; ``reactor.language.expression.run.Run`` is one."""

    @property
    def strict(self) -> bool:
        """Whether a key that no element of a list has is missing, and not an empty list."""

    def charge(self, steps: int) -> None:
        """Pay for ``steps``; raises FunctionError when the budget is used up."""

    def measure(self, value: Any) -> None:
        """Pay for looking at all of ``value``, and note a secret in it."""

    def touch(self, value: Any) -> Any:
        """``value``, noted when it is a secret."""

"""The result of one check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A check called ``name``.

    If it is ok, ``seen`` has the finding; else ``problem`` is set, and ``hint`` says how to fix it.
    """

    name: str
    seen: str = ""
    problem: str = ""
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problem


def wrong(name: str, problem: str, hint: str | None) -> Check:
    """Return a failed check."""
    return Check(name, problem=problem, hint=hint or "")

"""One thing that was tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """``name``: what was tried. ``seen``: what was found, if all is well; else ``problem``, and ``hint`` says how to fix it."""

    name: str
    seen: str = ""
    problem: str = ""
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether all is well."""
        return not self.problem


def wrong(name: str, problem: str, hint: str | None) -> Check:
    """Return that something is wrong."""
    return Check(name, problem=problem, hint=hint or "")

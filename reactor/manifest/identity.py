"""Who may be called what: every ref, by name or by alias, leads to one resource."""

from __future__ import annotations

from reactor.manifest.source import Problems


class Identities:
    """The refs taken so far, each with the place that took it."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._taken: dict[str, int] = {}

    def claim(self, ref: str, at: int, hint: str) -> bool:
        """Take ``ref`` for the resource at the offset ``at``. A ref taken before is a problem, and False."""
        if ref in self._taken:
            notes = [("first declared here", self._taken[ref])]
            self._problems.add(f"{ref} is declared twice", at, hint, notes)
            return False
        self._taken[ref] = at
        return True

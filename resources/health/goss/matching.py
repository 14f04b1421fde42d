"""The rule ``matching``: something that the manifest gives, usually by an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule


class MatchingRule(Rule):
    """A value and what is expected of it."""

    content: Any
    matches: Expected

    async def find(self, key: str) -> Mapping[str, Any]:  # noqa: ARG002 - the key is only a name
        """Nothing is to be looked for."""
        return {"matches": self.content}

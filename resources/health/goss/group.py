"""The rule ``group``: a group in /etc/group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resources.accounts.database import find_group
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule


class GroupRule(Rule):
    """A group."""

    groupname: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    gid: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the account file."""
        group = find_group(self.groupname or key)
        return {"exists": False} if group is None else {"exists": True, "gid": group.gid}

"""The rule ``user``: an account in /etc/passwd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resources.accounts.database import find_user, groups
from reactor.resources.health.goss.matchers import Expected
from reactor.resources.health.goss.rule import Rule


class UserRule(Rule):
    """A user, and the groups it is in."""

    username: str | None = None
    """The name; by default the key."""
    exists: Expected = True
    uid: Expected = None
    gid: Expected = None
    groups: Expected = None
    home: Expected = None
    shell: Expected = None

    async def find(self, key: str) -> Mapping[str, Any]:
        """Read the account files."""
        user = find_user(self.username or key)
        if user is None:
            return {"exists": False}
        of_it = {group.name for group in groups() if group.gid == user.gid or user.name in group.members}
        return {
            "exists": True,
            "uid": user.uid,
            "gid": user.gid,
            "groups": sorted(of_it),
            "home": user.home,
            "shell": user.shell,
        }

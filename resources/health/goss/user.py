"""The rule ``user``: an account in /etc/passwd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resources.health.goss.accounts import groups, users
from resources.health.goss.matchers import Expected
from resources.health.goss.rule import Rule


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
        name = self.username or key
        entry = users.entry(name)
        if entry is None:
            return {"exists": False}
        _, _, uid, gid, _, home, shell = entry
        others = [fields[0] for fields in groups.entries() if name in fields[3].split(",")]
        return {
            "exists": True,
            "uid": int(uid),
            "gid": int(gid),
            "groups": sorted({groups.name(int(gid)), *others}),
            "home": home,
            "shell": shell,
        }

"""The names of the formats, and the format of a path."""

from __future__ import annotations

import re
from typing import Literal

Format = Literal["ini", "systemd", "sshd", "keyvalue", "json", "toml", "yaml"]

TYPED = frozenset(("json", "toml", "yaml"))
"""The formats whose values have types, and whose keys may be in each other."""

_KNOWN: tuple[tuple[str, Format], ...] = (
    (r"/(sshd_config|ssh_config)(\.d/.*)?", "sshd"),
    (r"/etc/systemd/.*\.conf", "systemd"),
    (r".*\.(service|socket|timer|mount|automount|swap|path|slice|scope|target|network|netdev|link|nspawn)", "systemd"),
    (r".*/[^/]+\.(service|socket|timer|mount|path|slice|network|netdev|link)\.d/[^/]+\.conf", "systemd"),
    (r".*\.json", "json"),
    (r".*\.toml", "toml"),
    (r".*\.ya?ml", "yaml"),
    (r".*(\.(ini|cfg|desktop|repo|cnf)|/\.?gitconfig|/\.?my\.cnf|/\.npmrc|/\.?pip\.conf)", "ini"),
    (r"/etc/sysctl(\.d/.*)?\.conf", "keyvalue"),
    (r"/etc/(default|sysconfig)/.*", "keyvalue"),
    (r".*/(login\.defs|environment|os-release|nsswitch\.conf|adduser\.conf|useradd)", "keyvalue"),
    (r".*(/|\.)env", "keyvalue"),
    (r".*\.properties", "keyvalue"),
)  # fmt: skip


def format_of(path: str) -> Format | None:
    """The format that files with this path usually have; None if it is not known."""
    return next((name for pattern, name in _KNOWN if re.fullmatch(f".*{pattern}", path)), None)

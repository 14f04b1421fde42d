"""Verifies the signatures of .rpm files that are installed from a file or URL, where the configuration of dnf asks for it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from reactor import ResourceError

Simulate = Callable[..., Awaitable[tuple[int, str]]]
"""Runs a program that changes nothing: its exit code and its output."""

_SETTING: Final = re.compile(r"^localpkg_gpgcheck\s*=\s*(\S+)", re.MULTILINE)
_TRUE: Final = ("1", "yes", "true", "on")
_REQUIRED: Final = ("--define", "_pkgverify_level signature")


def are_required(configuration: str) -> bool:
    """Whether the configuration file of dnf asks for signatures of files: ``localpkg_gpgcheck``."""
    with suppress(OSError), open(configuration, encoding="utf-8", errors="replace") as lines:
        found = _SETTING.findall(lines.read())
        return bool(found) and found[-1].lower() in _TRUE
    return False


async def require_signature(path: str, root: str, simulate: Simulate) -> None:
    """Raise ResourceError if no key in the database of rpm verifies the signature of the file at ``path``."""
    in_root = ("--root", root) if root else ()
    code, text = await simulate("rpmkeys", *in_root, *_REQUIRED, "--checksig", path)
    if code != 0:
        lines = "".join(f"\n  {line.removeprefix(f'{path}: ')}" for line in text.splitlines() if line.strip())
        hint = "import the key of its maker (rpm --import), name a signed file, or set localpkg_gpgcheck=0"
        words = "its signature is not that of a key that rpm knows, and dnf.conf has localpkg_gpgcheck=1"
        raise ResourceError(f"{words}{lines}", hint)

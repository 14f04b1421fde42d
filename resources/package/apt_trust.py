"""Finds out whether apt would refuse packages that it can't authenticate, which its simulation does not test."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from reactor import ResourceError
from reactor.resources.enumeration import listed

_TARGETS: Final = ("apt-get", "indextargets", "--format", "$(TRUSTED) $(REPO_URI)")
_ALLOWED: Final = ("apt-config", "shell", "allowed", "APT::Get::AllowUnauthenticated/b")
_DOWNLOAD: Final = re.compile(r"^'(\S+)' ([^\s_]+)_", re.MULTILINE)
"""A line of ``--print-uris``: the URI and the name of a package to fetch."""
_REFUSED: Final = "unauthenticated packages"
"""What apt says when it refuses such packages."""
HINT: Final = "have the repository signed, and run apt-get update; if nobody can change it on the way, declare it with trusted: true"

Read = Callable[..., Awaitable[str]]
"""Runs a program; returns all its output. Raises ResourceError when it fails."""


async def refuse_unauthenticated(arguments: Sequence[str], read: Read) -> None:
    """Raise ResourceError if ``apt-get`` with these ``arguments`` would fetch packages that it can't authenticate."""
    found = [line.split() for line in (await read(*_TARGETS)).splitlines()]
    signed = tuple(line[1] for line in found if line[0] == "yes" and len(line) > 1)
    unsigned = tuple(
        {line[1]: None for line in found if line[0] == "no" and len(line) > 1 and line[1] not in signed}
    )
    if not unsigned or "true" in await read(*_ALLOWED):
        return
    downloads = _DOWNLOAD.findall(await read("apt-get", "--print-uris", *arguments))
    if names := [name for uri, name in downloads if uri.startswith(unsigned)]:
        raise ResourceError(
            f"apt can't authenticate {listed(names)}: the lists of {listed(unsigned)} are not signed", HINT
        )


def advice(words: str) -> str | None:
    """The hint for the error in ``words``, if it is that refusal."""
    return HINT if _REFUSED in words else None

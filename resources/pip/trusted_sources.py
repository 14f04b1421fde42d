"""Refuses sources of packages in which other users could make pip run their code with our rights.

A file of requirements can name any index, and the setup of a package runs as the user that pip runs as.
"""

from __future__ import annotations

import os

from reactor.resources.trusted_sources import refuse_foreign_directory, refuse_foreign_file

_WHAT = "what pip would install with our rights"
_OTHERWISE = "add user"


def refuse_foreign_sources(uid: int, requirements: str | None, find_links: str | None) -> None:
    """Raise ResourceError if pip runs as ``uid``, which is root or our own user, and others can change what it installs.

    What is missing is no source.
    """
    if uid not in (0, os.geteuid()):
        return
    if requirements is not None:
        refuse_foreign_file(requirements, _WHAT, _OTHERWISE)
    if find_links is not None:
        refuse_foreign_directory(find_links, _WHAT, _OTHERWISE)

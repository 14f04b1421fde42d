"""A download as a file of its own, for a kind that needs what is at a URL once, and keeps nothing of where it came from."""

from __future__ import annotations

import math
import os

import trio

from reactor import ResourceError
from reactor.hostfs import Explaining, Parent
from reactor.resources.download.download_origin import Origin
from reactor.resources.download.fetching import fetch
from reactor.resources.download.partial_download import Partial
from reactor.resources.download.source import Source, split_credentials

_PRIVATE = 0o600


async def fetch_to(url: str, path: str, *, max_size: int, patience: float) -> None:
    """Fetch what is at ``url`` to ``path``, in a directory that is ours alone; nothing is remembered of it.

    ``max_size`` is in bytes, ``patience`` in seconds. Raises ResourceError.
    """
    bare, credentials = split_credentials(url)
    source = Source(bare, {}, credentials, max_size, patience, "name a smaller file")
    with (
        Explaining(f"download {source.shown}"),
        Parent(path) as (directory, _),
        Partial(directory, path) as partial,
    ):
        await fetch_in_time(source, partial, None)
        partial.origin = None
        await partial.place((os.geteuid(), os.getegid()), _PRIVATE)


async def fetch_in_time(source: Source, partial: Partial, known: Origin | None) -> bool:
    """Fetch as `fetch` does, within the timeout of ``source``. Raises ResourceError, also when that has passed."""
    timeout = source.timeout
    with trio.move_on_after(timeout or math.inf):
        return await fetch(source, partial, known)
    hint = "raise the timeout; what has come is gone on with, if the server can do that"
    raise ResourceError(f"download failed: it took longer than its timeout of {timeout:g} s", hint)

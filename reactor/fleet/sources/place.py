"""The parts of a URL that names a key of a key-value bucket, or an object of an object store."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from reactor.fleet.link.key_value import is_key
from reactor.source.address import SUFFIXES

_BUCKET = re.compile(r"[A-Za-z0-9_-]+")


class Place(NamedTuple):
    """The place of a manifest or data: a bucket and a key."""

    scheme: Literal["kv", "obj"]
    bucket: str
    key: str


def parse_place(url: str) -> Place:
    """Parse ``kv://BUCKET/KEY`` or ``obj://BUCKET/KEY``. Raises ValueError with the reason."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"the name of the bucket is not valid in {scheme}://...")
    if not key or not key.isprintable():
        raise ValueError(f"{scheme}://{bucket} names no key")
    if scheme == "obj":
        return Place("obj", bucket, key)
    if not is_key(key):
        raise ValueError(f"the key is not valid in {url}")
    return Place("kv", bucket, key)


def fault(url: str, *, archive: bool) -> tuple[str, str] | None:
    """Return why ``url`` can't name an archive, or data, and how to fix it; None if it can."""
    try:
        place = parse_place(url)
    except ValueError as error:
        return str(error), f"write it as {url.partition('://')[0]}://BUCKET/KEY"
    if archive and place.scheme == "kv":
        return url, "a manifest is kept in an object store: obj://BUCKET/KEY.tar.gz"
    if archive and not place.key.endswith(SUFFIXES):
        return f"{url} is not a .tar.gz archive", "pack manifest.yaml and what belongs to it with tar -czf"
    return None

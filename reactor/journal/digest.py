"""A short proof of what a resource is to be, to tell an edit of the manifest from a drift of the world."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from pydantic_core import PydanticSerializationError

from reactor.resource.base import Resource

_ABOUT_THE_RUN = {
    "meta", "require", "subscribe", "after", "alias", "health_checks", "register_when_stable",
}  # fmt: skip
"""When and in what order it is checked, and who is told, changes nothing on the host."""


def desired_digest(resource: Resource) -> str:
    """The digest of the desired state: the properties that the manifest gives, but not those of order.

    Of the files that a resource reads, a stat stands for their content, which may be large.
    """
    return _digest("\n".join([_properties(resource), *map(_stamp, resource.reads())]))


def manifest_digest(resources: Iterable[Resource]) -> str:
    """The digest of all that a manifest says, whatever the order it is written in."""
    lines = sorted(f"{resource.ref}\n{_digest(_properties(resource))}\n" for resource in resources)
    return _digest("".join(lines))


def _properties(resource: Resource) -> str:
    try:
        return resource.model_dump_json(exclude=_ABOUT_THE_RUN, exclude_defaults=True)
    except PydanticSerializationError:  # a third party's property type that has no JSON
        return repr(resource)


def _stamp(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

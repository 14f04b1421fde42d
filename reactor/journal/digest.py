"""A short proof of what a resource is to be, to tell an edit of the manifest from a drift of the world."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pydantic_core import PydanticSerializationError

from reactor.resource.base import Resource

_ABOUT_THE_RUN = {"meta", "require", "subscribe", "after", "alias"}
"""When and in what order it is checked changes nothing on the host."""


def desired_digest(resource: Resource) -> str:
    """The digest of the desired state: the properties that the manifest gives, but not those of order."""
    try:
        text = resource.model_dump_json(exclude=_ABOUT_THE_RUN, exclude_defaults=True)
    except PydanticSerializationError:  # a third party's property type that has no JSON
        text = repr(resource)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def manifest_digest(resources: Iterable[Resource]) -> str:
    """The digest of all that a manifest desires, whatever the order it is written in."""
    lines = sorted(f"{resource.ref}\n{desired_digest(resource)}\n" for resource in resources)
    return hashlib.sha256("".join(lines).encode(errors="surrogatepass")).hexdigest()

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


class Digests:
    """Makes the digests of a manifest and of what each resource of it is to be, from one look at its properties."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Resource, str]] = {}

    def of_manifest(self, resources: Iterable[Resource]) -> str:
        """The digest of all that a manifest says, whatever the order it is written in."""
        self._found = {each.ref: (each, _digest(_properties(each))) for each in resources}
        return _digest("".join(sorted(f"{ref}\n{digest}\n" for ref, (_, digest) in self._found.items())))

    def of_desired(self, resource: Resource) -> str:
        """The digest of the desired state: the properties that the manifest gives, but not those of order.

        Of the files that a resource reads, a stat stands for their content, which may be large.
        """
        found, digest = self._found.pop(resource.ref, (None, ""))  # it is asked for once, as a rule
        stamps = [*map(_stamp, resource.source_files())]
        if found is resource and not stamps:
            return digest
        return _digest("\n".join([_properties(resource), *stamps]))


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
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()

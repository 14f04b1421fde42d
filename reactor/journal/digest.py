"""Digests of the desired state of resources, to distinguish an edit of the manifest from drift of the host.

A digest is a number of 128 bits: as a text, which the file has, it would take twice the memory for each resource. One more
bit says that the resource held secrets: what a later change removes may be one of them, which nobody knows any more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pydantic_core import PydanticSerializationError

from reactor.resource.base import Resource
from reactor.resource.hashes import blake2b
from reactor.resource.redaction import knows_secrets

_ABOUT_THE_RUN = {
    "meta", "require", "subscribe", "after", "alias", "health_checks", "register_when_stable",
}  # fmt: skip
"""Properties that only affect when a resource is checked, in what order, and what is refreshed."""


_BITS = 128
_HELD_SECRETS = 1 << _BITS


def held_secrets(digest: int) -> bool:
    """Whether the resource with this digest held secrets."""
    return digest > 0 and bool(digest & _HELD_SECRETS)


def text_of(digest: int) -> str:
    """The digest as the file has it: 32 hexadecimal digits, and one before them if the resource held secrets."""
    return f"{digest:032x}"


def parse_digest(text: str) -> int:
    """The digest that `text_of` returned as ``text``. For any other text, one that no resource has."""
    try:
        return int(text, 16)
    except ValueError:
        return -1


class ManifestDigest:
    """The digest of all resources of a manifest; their order does not matter.

    ``known`` has digests of resources that were made before, by ref: a reload makes those of the resources that differ,
    which are in ``made``. Can be made in a thread.
    """

    def __init__(self, resources: Mapping[str, Resource], known: Mapping[str, tuple[Resource, int]]) -> None:
        self.made: dict[str, tuple[Resource, int]] = {}
        total = 0  # sorting the lines would hold the lock of Python's interpreter for milliseconds
        for ref, resource in resources.items():
            found, digest = known.get(ref, (None, 0))
            if found is not resource:
                digest = _marked(resource, _digest(_declared(resource)))
                self.made[ref] = (resource, digest)
            total += _digest(f"{ref}\n{text_of(digest)}".encode(errors="surrogatepass"))
        self.digest = text_of(total % (1 << _BITS))


class Digests:
    """Makes the digests of the desired state of resources; serializes each resource only once."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Resource, int]] = {}

    def adopt(self, manifest: ManifestDigest) -> None:
        """Use the digests that were made for ``manifest``, which is now in force."""
        self._found = manifest.made

    def of_desired(self, resource: Resource) -> int:
        """The digest of the desired state: all properties except those in `_ABOUT_THE_RUN`, and what templates see.

        A file that the resource reads counts with its size and time, not with its content, which may be large.
        """
        found, digest = self._found.get(resource.ref, (None, 0))
        stamps = [*map(_stamp, resource.source_files())]
        if found is resource and not stamps:
            return digest
        return _marked(resource, _digest(b"\n".join([_declared(resource), *stamps])))

    def forget(self, ref: str) -> None:
        """Forget the digest of ``ref``: a digest is rarely needed once the state that it stands for is applied."""
        if self._found.pop(ref, None) and not self._found:
            self._found = {}  # emptied, it would still take the memory of all that it held


def _marked(resource: Resource, digest: int) -> int:
    return digest | _HELD_SECRETS if knows_secrets() and resource.holds_secrets else digest


def _declared(resource: Resource) -> bytes:
    """What the manifest says: the properties, and other inputs where there are any."""
    inputs = resource.inputs_digest()
    return b"\n".join([_properties(resource), inputs]) if inputs else _properties(resource)


def _properties(resource: Resource) -> bytes:
    """The properties as JSON, without the default values. Half the time of ``model_dump_json``, which makes a string."""
    try:
        serializer = resource.__pydantic_serializer__
        return serializer.to_json(resource, exclude=_ABOUT_THE_RUN, exclude_defaults=True)
    except PydanticSerializationError:  # a plugin's property type that has no JSON form
        return repr(resource).encode(errors="surrogatepass")


def _stamp(path: str) -> bytes:
    try:
        found = os.stat(path)
    except OSError:
        return b""
    return b"%d %d %d" % (found.st_ino, found.st_size, found.st_mtime_ns)


def _digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=_BITS // 8).digest(), "big")

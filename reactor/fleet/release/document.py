"""A release: a signed document that names the bundle of a channel, with a serial and the previous release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from reactor.errors import ReactorError
from reactor.fleet.documents import DocumentError, canonical, parsed, to_time_text

_FIELDS = frozenset(
    (
        *("v", "channel", "serial", "bundle", "size", "previous", "floor", "targets"),
        *("created", "not_before", "expires", "note", "by"),
    )
)
_MOST_BYTES_OF_A_BUNDLE = 1 << 40


class ReleaseError(ReactorError):
    """The fields of a release contradict each other."""

    code = "R1004"


@dataclass(frozen=True)
class Release:
    """A release.

    ``bundle``: its digest; ``size``: of the bundle in bytes; ``previous``: the digest of the previous release.

    ``floor``: no host that took this release takes one with a lower serial. ``targets``: an expression of facts that
    must be true on the host; empty for all. ``created``, ``not_before`` and ``expires`` in seconds since 1970.
    """

    channel: str
    serial: int
    bundle: str
    size: int
    previous: str | None
    created: float
    floor: int = 1
    targets: str = ""
    not_before: float | None = None
    expires: float | None = None
    note: str = ""
    by: str = ""

    def to_bytes(self) -> bytes:
        """Return the canonical bytes, which are signed."""
        return canonical(self.to_fields())

    def to_fields(self) -> dict[str, Any]:
        """Return the release as values for JSON."""
        return {
            "v": 1,
            "channel": self.channel,
            "serial": self.serial,
            "bundle": self.bundle,
            "size": self.size,
            "previous": self.previous,
            "floor": self.floor,
            "targets": self.targets,
            "created": to_time_text(self.created),
            "not_before": _text(self.not_before),
            "expires": _text(self.expires),
            "note": self.note,
            "by": self.by,
        }

    @property
    def digest(self) -> str:
        """The name of the release."""
        return digest_of_release(self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """Read a release. Raises DocumentError, also if the bytes are not canonical."""
        document = parsed(data, "the release")
        document.require_version()
        document.require_known(_FIELDS)
        release = cls(
            channel=document.name_of_host("channel"),
            serial=document.integer("serial", least=1),
            bundle=document.digest("bundle"),
            size=document.integer("size", least=1, most=_MOST_BYTES_OF_A_BUNDLE),
            previous=document.optional_digest("previous"),
            created=document.time("created"),
            floor=document.integer("floor", least=1),
            targets=document.text("targets"),
            not_before=document.optional_time("not_before"),
            expires=document.optional_time("expires"),
            note=document.text("note"),
            by=document.text("by"),
        )
        if release.to_bytes() != data:
            raise DocumentError("the release is not in canonical form, so its name is not certain")
        return release


def require_consistent(release: Release, previous: Release | None) -> None:
    """Refuse a release that could not be rolled back or would never be taken. Raises ReleaseError.

    ``previous`` is the release that it names as the previous one.
    """
    if release.floor > release.serial:
        raise ReleaseError(
            f"the floor {release.floor} is above the serial {release.serial} of the release itself"
        )
    begin = release.created if release.not_before is None else release.not_before
    if release.expires is not None and release.expires <= begin:
        raise ReleaseError("the release expires before it may be taken")
    if previous is None:
        return
    if previous.serial >= release.serial:
        raise ReleaseError(
            f"the previous release has the serial {previous.serial}, and this one {release.serial}"
        )
    if previous.channel != release.channel:
        raise ReleaseError(
            f"the previous release is one of the channel {previous.channel}, not {release.channel}"
        )
    if previous.serial < release.floor:
        hint = "a release with a floor above the previous release can't be rolled back: set the floor in the next one"
        raise ReleaseError(
            f"the floor {release.floor} is above the previous release, {previous.serial}", hint
        )


def digest_of_release(data: bytes) -> str:
    """Return the name of the release with these bytes."""
    return "sha256-" + hashlib.sha256(data).hexdigest()


def _text(moment: float | None) -> str | None:
    return None if moment is None else to_time_text(moment)

"""The schemes of URLs besides http and https. Each is brought by an entry point, whose value is a `Link`.

An `Address` says where something is, and a `Version` which one it is, whatever the scheme.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol, cast

from reactor.resource.entry_points import installed_entry_points
from reactor.resource.network_value import NetworkValue

if TYPE_CHECKING:
    from reactor.resource.common_properties import Registration

GROUP = "reactor.links"
"""The group of the entry points. Their names are the schemes."""


@dataclass(frozen=True, slots=True)
class Address:
    """``url`` has no credentials: these are in ``user`` and ``password``. ``shown`` is for messages.

    ``link`` reads it if its scheme is not http or https, with the settings that ``context`` names.
    """

    url: str
    shown: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    context: str = ""
    link: Link | None = None

    @property
    def identity(self) -> str:
        """The address and the context: in two contexts, one address is of two places."""
        return self.url if self.link is None else f"{self.context} {self.url}"


@dataclass(frozen=True, slots=True)
class Version:
    """The server's identifiers of a version of an archive. They are empty if it sends none."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> dict[str, str]:
        """Return the request headers that ask for any version except this one."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


class Publisher(Protocol):
    """Publishes registrations while their resources are stable."""

    def stable(self, ref: str, registrations: Sequence[Registration]) -> None:
        """A check of ``ref`` has ended well: publish now, and again while that stays true."""

    def unstable(self, ref: str) -> None:
        """The resource is not stable any more, or has left the manifest: publish nothing for it."""

    async def run(self, warn: Callable[[str], None]) -> None:
        """Publish until cancelled."""

    async def drain(self) -> None:
        """Wait until nothing is due."""


State = Callable[[str, str], None]
"""Takes a new state of a connection: ``armed``, ``down`` or ``denied``, and the server or the reason."""


class LinkedValues(Protocol):
    """The values of a network that one command reads."""

    def read(self, function: str, arguments: tuple[str, ...], *, briefly: bool) -> NetworkValue | None:
        """Implements `reactor.resource.network_value.Network`."""

    def warnings(self) -> list[str]:
        """Implements `reactor.resource.network_value.Network`."""

    def use(self, state: str) -> None:
        """Read the last values below the state directory ``state``."""

    def stale(self) -> dict[str, str]:
        """Return the warnings about values that are not current, by mirror file."""

    def keep(self) -> None:
        """Write the values below the state directory from now on. Raises OSError."""

    async def run(self, warn: Callable[[str], None]) -> None:
        """Follow all values that expressions have read or will read, until cancelled."""


class Link(Protocol):
    """Reads manifests and data from a network, and follows them. An `Address` names the context to connect with."""

    def fault(self, url: str, *, archive: bool) -> tuple[str, str] | None:
        """Return why ``url`` can't be the address of an archive, or of data, and how to fix it; None if it can."""

    def download(self, address: Address, known: Version, to: IO[bytes]) -> Version | None:
        """Do as `reactor.source.download.download`. Raises ReactorError."""

    async def follow(
        self, addresses: Sequence[Address], changed: Callable[[], None], warn: Callable[[str], None]
    ) -> None:
        """Call ``changed`` when the content of an address may have changed, until cancelled.

        ``warn`` gets warnings, such as the reason why changes are not seen at once.
        """

    def network(self, context: str, stream: str | None) -> LinkedValues:
        """Return the values that expressions may read. ``stream`` has the registrations; None for the usual one."""

    def publisher(self, context: str, destination: str, stream: str | None) -> Publisher:
        """Return the publisher of the registrations of a run to ``destination``: ``nats`` or ``jetstream``."""

    def watch_state(self, context: str, changed: State) -> None:
        """Call ``changed`` at each change of the state of the connection that this process keeps."""


def link_of(url: str) -> Link | None:
    """Return the link that reads ``url``; None if no entry point has its scheme, as for http."""
    entry = installed_entry_points(GROUP).get(url.partition("://")[0])
    return None if entry is None else cast("Link", entry.load())

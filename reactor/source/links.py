"""The schemes of URLs besides http and https. Each is brought by an entry point, whose value is a `Link`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Protocol, cast

from reactor.resource.entry_points import installed_entry_points

if TYPE_CHECKING:
    from reactor.source.address import Address
    from reactor.source.download import Version

GROUP = "reactor.links"
"""The group of the entry points. Their names are the schemes."""


class Link(Protocol):
    """Reads manifests and data from a network, and follows them. An `Address` names the context to connect with."""

    def fault(self, url: str, *, archive: bool) -> tuple[str, str] | None:
        """Return why ``url`` can't be the address of an archive, or of data, and how to fix it; None if it can."""

    def download(self, address: Address, known: Version, to: IO[bytes]) -> Version | None:
        """Do as `reactor.source.download.download`. Raises ReactorError."""

    async def follow(
        self, addresses: Sequence[Address], changed: Callable[[], None], tell: Callable[[str], None]
    ) -> None:
        """Call ``changed`` when the content of an address may have changed, until cancelled.

        ``tell`` gets what people should know, such as the reason why changes are not seen at once.
        """


def link_of(url: str) -> Link | None:
    """Return what reads ``url``; None if no entry point has its scheme, as for http."""
    entry = installed_entry_points(GROUP).get(url.partition("://")[0])
    return None if entry is None else cast("Link", entry.load())

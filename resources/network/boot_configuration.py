"""The network configurations that a host may have for its next boot, and the files that each of them reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from reactor.resources.network.boot_files import BootFile, BootRoute, FoundFile, read
from reactor.resources.network.link_properties import LinkProperties
from reactor.resources.network.property_types import IPInterface, Persist


class Configuration(Protocol):
    """The interface of the modules `networkd`, `ifupdown` and `netplan`."""

    require: Callable[[], None]
    """Raises ResourceError unless the host has the program, and it reads our files."""

    def address_file(self, link: str, address: IPInterface, *, present: bool) -> BootFile:
        """The file of one address."""

    def route_file(self, link: str, route: BootRoute, *, present: bool) -> BootFile:
        """The file of one route."""

    def link_files(self, wanted: LinkProperties) -> Iterator[BootFile]:
        """The files of one link."""


def configuration(persist: Persist) -> Configuration:
    """The module that writes for ``persist``."""
    return cast(Configuration, import_module(f"reactor.resources.network.{persist}"))


def read_files(persist: Persist | None, files: Iterable[BootFile]) -> tuple[FoundFile, ...]:
    """The present state of the desired files. Raises ResourceError if the host could not use one that is desired."""
    if persist is None:
        return ()
    found = read(files)
    if any(each.wanted.text is not None for each in found):
        configuration(persist).require()
    return found

"""The one module that imports a D-Bus library, for writing messages and for authentication; `wire` reads them.

dbus-next can't be imported on Python 3.15 and later; its maintained fork dbus-fast has the same modules. Either
imports asyncio, whose loop never runs here. The private names of both are used in this module and nowhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal

from reactor.watchers.dbus.errors import NoBusError

LibraryName = Literal["dbus_next", "dbus_fast"]

DEFAULT: LibraryName = "dbus_next" if sys.version_info < (3, 15) else "dbus_fast"

_NO_REPLY_EXPECTED = 1


class Library:
    """What we use of a D-Bus library."""

    def __init__(self, name: LibraryName) -> None:
        self._message = import_module(f"{name}.message").Message
        self._flags = import_module(f"{name}.constants").MessageFlag
        self._external = import_module(f"{name}.auth").AuthExternal
        self._refusal = import_module(f"{name}.errors").AuthError

    def call(
        self, serial: int, target: Sequence[str], signature: str, body: Sequence[Any], *, wants_reply: bool
    ) -> bytes:
        """The bytes of a call. ``target``: destination, path, interface and member.

        Raises what the library raises when the body does not fit the signature, or a name is none.
        """
        flags = self._flags(0 if wants_reply else _NO_REPLY_EXPECTED)
        message = self._message(*target, flags=flags, signature=signature, body=list(body), serial=serial)
        return bytes(message._marshall(False))  # noqa: SLF001 - this module is there to know the private names

    def handshake(self) -> Handshake:
        """The authentication of a new connection."""
        return Handshake(self._external(), self._refusal)


class Handshake:
    """Line by line until the bus knows who we are. The lines have no line ends."""

    def __init__(self, external: Any, refusal: type[Exception]) -> None:
        self._external = external
        self._refusal = refusal

    def begin(self) -> str:
        """The first line to send."""
        return str(self._external._authentication_start())  # noqa: SLF001

    def answer(self, line: str) -> str:
        """What to answer; after BEGIN, messages follow. Raises NoBusError when we are turned away."""
        try:
            return str(self._external._receive_line(line))  # noqa: SLF001
        except self._refusal as error:
            raise NoBusError(str(error)) from error


@cache
def library(name: LibraryName = DEFAULT) -> Library:
    """The library, imported when it is first wanted."""
    return Library(name)

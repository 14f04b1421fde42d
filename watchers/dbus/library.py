"""The one module that imports a D-Bus library, for its marshalling and its authentication.

dbus-next can't be imported on Python 3.15 and later; its maintained fork dbus-fast has the same modules. Either
imports asyncio, whose loop never runs here. The private names of both are used in this module and nowhere else.
"""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Literal

from watchers.dbus.errors import CallError, NoBusError

LibraryName = Literal["dbus_next", "dbus_fast"]

DEFAULT: LibraryName = "dbus_next" if sys.version_info < (3, 15) else "dbus_fast"

_NO_REPLY_EXPECTED = 1
_HEADER = 16
_LITTLE_ENDIAN = ord("l")


class Message:
    """What came from the bus: the reply to a call, or a signal."""

    __slots__ = ("_read_body", "error_name", "interface", "is_signal", "member", "path", "reply_serial")

    def __init__(self, header: Any, read_body: Callable[[], list[Any]]) -> None:
        self.is_signal: bool = header.message_type.name == "SIGNAL"
        self.reply_serial: int | None = header.reply_serial
        self.error_name: str | None = header.error_name
        self.path: str = header.path
        self.interface: str = header.interface
        self.member: str = header.member
        self._read_body = read_body

    @property
    def body(self) -> list[Any]:
        """The arguments, without the wrappings of variants. Read when asked for: most signals only say "look"."""
        return self._read_body()

    def error(self) -> CallError | None:
        """The error that this reply is, if it is one."""
        if self.error_name is None:
            return None
        return CallError(self.error_name, str((*self.body, self.error_name)[0]))


class Library:
    """What we use of a D-Bus library."""

    def __init__(self, name: LibraryName) -> None:
        self._message = import_module(f"{name}.message").Message
        self._flags = import_module(f"{name}.constants").MessageFlag
        self._variant = import_module(f"{name}.signature").Variant
        self._unmarshaller = import_module(f"{name}._private.unmarshaller").Unmarshaller
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

    def parse(self, frame: bytes) -> Message:
        """The message in a frame. Raises NoBusError for what is none: the rest of the stream is worth nothing then."""
        body_length = int.from_bytes(frame[4:8], "little" if frame[0] == _LITTLE_ENDIAN else "big")
        header = frame[:4] + bytes(4) + frame[8 : len(frame) - body_length]
        return Message(self._read(header), lambda: self._plain(self._read(frame).body))

    def _read(self, frame: bytes) -> Any:
        try:
            return self._unmarshaller(io.BytesIO(frame)).unmarshall()
        except Exception as error:  # the libraries raise whatever their parsing stumbles over
            raise NoBusError(f"the bus sent what is no message: {error}") from error

    def _plain(self, value: Any) -> Any:
        if type(value) is self._variant:
            return self._plain(value.value)
        if isinstance(value, dict):
            return {key: self._plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        return value

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


def frame_length(buffer: bytearray) -> int:
    """The length of the message that ``buffer`` begins with, once its fixed header is there; before, that of this."""
    if len(buffer) < _HEADER:
        return _HEADER
    order = "<" if buffer[0] == _LITTLE_ENDIAN else ">"
    body, _, fields = struct.unpack_from(f"{order}III", buffer, 4)
    return int(_HEADER + fields + (-fields & 7) + body)

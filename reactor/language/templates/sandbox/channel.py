"""The channel between a worker process and its parent. Messages are JSON and strings, each preceded by its length.

A message is a JSON object and any number of strings. Long strings are sent outside the JSON, because parsing them as
JSON would hold Python's lock for too long.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

_HEAD: Final = struct.Struct("!II")
_LENGTH: Final = struct.Struct("!I")
_MOST_TEXTS: Final = 100_000
_MOST_BYTES: Final = 1 << 30
_PIECE: Final = 1 << 20

Message = tuple[dict[str, Any], list[str]]


class ChannelError(Exception):
    """The other process has ended, or sent an invalid message."""


class Channel:
    """One end of a connected pair of stream sockets.

    It accepts at most ``most_words`` bytes of JSON and ``most_text`` bytes of strings in one message.
    """

    def __init__(
        self, end: socket.socket, *, most_words: int = _MOST_BYTES, most_text: int = _MOST_BYTES
    ) -> None:
        self._end = end
        self._most_words = most_words
        self._most_text = most_text

    def send(
        self,
        message: dict[str, Any],
        texts: Sequence[str] = (),
        *,
        deadline: float | None = None,
        default: Callable[[Any], Any] | None = None,
    ) -> None:
        """Send a message. ``default`` converts values that are not JSON.

        Raises ChannelError, and TimeoutError at the ``deadline``. Raises TypeError, ValueError or RecursionError for a
        value that can't be converted to JSON; then nothing was sent.
        """
        words = json.dumps(message, default=default, separators=(",", ":")).encode()
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        head = _HEAD.pack(len(words), len(encoded)) + b"".join(_LENGTH.pack(len(text)) for text in encoded)
        try:
            self._end.settimeout(_left(deadline))
            self._end.sendall(b"".join((head, words, *encoded)))
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelError(f"the other side has gone: {error.strerror}") from error

    def receive(self, *, deadline: float | None = None) -> Message:
        """Receive the next message.

        Raises ChannelError; TimeoutError at the ``deadline``, a time of `time.monotonic`.
        """
        length, count = _HEAD.unpack(self._read(_HEAD.size, deadline))
        if length > self._most_words or count > _MOST_TEXTS:
            raise ChannelError("a message is too long")
        sizes = [size for (size,) in _LENGTH.iter_unpack(self._read(_LENGTH.size * count, deadline))]
        if sum(sizes) > self._most_text:
            raise ChannelError("the texts of a message are too long")
        try:
            message = json.loads(self._read(length, deadline))
            texts = [str(self._read(size, deadline), "utf-8", "surrogatepass") for size in sizes]
        except (ValueError, RecursionError) as error:
            raise ChannelError("a message can't be read") from error
        if not isinstance(message, dict):
            raise ChannelError("a message is not an object")
        return message, texts

    def _read(self, size: int, deadline: float | None) -> bytearray:
        read = bytearray(size)
        view = memoryview(read)
        while view:
            try:
                self._end.settimeout(_left(deadline))
                got = self._end.recv_into(view[:_PIECE])
            except TimeoutError:
                raise
            except OSError as error:
                raise ChannelError(f"the other side has gone: {error.strerror}") from error
            if not got:
                raise ChannelError("the other side has gone")
            view = view[got:]
        return read

    def close(self) -> None:
        """Close this end."""
        self._end.close()


def _left(deadline: float | None) -> float | None:
    """Return the seconds until the ``deadline``, None if there is none. Raises TimeoutError when it has passed."""
    if deadline is None:
        return None
    if (left := deadline - time.monotonic()) <= 0:
        raise TimeoutError
    return left

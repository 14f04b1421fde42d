"""The content of a compressed file, as a stream that can be read once, with bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Self, cast

from reactor.unpacking.members import UnpackingError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MEMORY = 128 << 20
"""The most bytes of a decompressor's window. The strongest usual settings of xz and zstd need no more."""
_PIECE = 64 * 1024


def decompressed(file: IO[bytes], archive_format: str) -> IO[bytes]:
    """Return the decompressed stream of ``file``, which is in ``archive_format``. Closing it leaves ``file`` open."""
    openers: dict[str, Callable[[IO[bytes]], object]] = {
        "gz": lambda packed: gzip.GzipFile(fileobj=packed),
        "bz2": bz2.BZ2File,
        "xz": lambda packed: io.BufferedReader(_Xz(packed), _PIECE),
        "zst": _zstd,
    }
    opener = openers.get(archive_format.removeprefix("tar."))
    return file if opener is None else cast("IO[bytes]", opener(file))


class _Xz(io.RawIOBase):
    """Concatenated xz streams. Replaces `lzma.LZMAFile`, which has no memory limit: a header may demand any amount."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._stream = lzma.LZMADecompressor(memlimit=_MEMORY)
        self._left = b""

    def readable(self) -> bool:
        """Return True: the stream is readable."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into ``buffer``. Return the number of bytes, 0 at the end. Raises EOFError if a stream is truncated."""
        view = memoryview(buffer).cast("B")
        while True:
            if self._stream.eof:
                self._left = (self._stream.unused_data or self._packed.read(_PIECE)).lstrip(b"\0")  # padding
                if not self._left:
                    return 0
                self._stream = lzma.LZMADecompressor(memlimit=_MEMORY)
            elif self._stream.needs_input:
                self._left = self._packed.read(_PIECE)
                if not self._left:
                    raise EOFError("the end is missing")
            data = self._stream.decompress(self._left, max_length=len(view))
            self._left = b""
            if data:
                view[: len(data)] = data
                return len(data)


if sys.version_info >= (3, 14):

    def _zstd(packed: IO[bytes]) -> object:
        from compression import zstd  # noqa: PLC0415 - few archives need it

        options = {zstd.DecompressionParameter.window_log_max: _MEMORY.bit_length() - 1}
        return _Translated(zstd.ZstdFile(packed, options=options), zstd.ZstdError)

else:

    def _zstd(packed: IO[bytes]) -> object:
        import zstandard  # noqa: PLC0415 - few archives need it

        decompressor = zstandard.ZstdDecompressor(max_window_size=_MEMORY)
        reader = decompressor.stream_reader(packed, read_across_frames=True, closefd=False)
        return _Translated(reader, zstandard.ZstdError)


class _Translated:
    """A stream that raises UnpackingError in place of its library's own error."""

    def __init__(self, stream: IO[bytes], error: type[Exception]) -> None:
        self._stream = stream
        self._error = error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end. Raises UnpackingError if the data are not zstd."""
        try:
            return self._stream.read(size)
        except self._error as error:
            raise UnpackingError(f"the archive is damaged: {error}") from error

    def close(self) -> None:
        """Free the decompressor's memory."""
        self._stream.close()

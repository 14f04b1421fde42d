"""Finds and writes the lines of authorized_keys. Other lines are no keys, and stay as they are."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from reactor.resources.shared_lines import replaced, without
from reactor.resources.ssh import key_options
from reactor.resources.ssh.public_key import PublicKey, is_blob_of

_BLANK = b" \t"
_QUOTE = b'\\"'
"""A quote inside of quotes."""
_MARK = re.compile(rb'\\"|["\x20\t]')


class KeyLine(NamedTuple):
    """A line with a key. The text may hold any bytes, as surrogates."""

    options: tuple[str, ...]
    key: PublicKey


@lru_cache(maxsize=4096)
def parse_line(line: bytes) -> KeyLine | None:
    """The key in ``line``; None for a comment, an empty line, and anything else."""
    text = line.strip(b" \t\r\n")
    if text.startswith(b"#"):
        return None
    if (key := _key_of(text)) is not None:
        return KeyLine((), key)
    end = _end_of_options(text)
    key = _key_of(text[end:].lstrip(_BLANK))
    if key is None:
        return None
    return KeyLine(key_options.split(text[:end].decode("utf-8", "surrogateescape")), key)


def _key_of(text: bytes) -> PublicKey | None:
    words = text.split(None, 2)
    if len(words) < 2 or not is_blob_of(words[0], words[1]):  # noqa: PLR2004 - a type and a blob
        return None
    kind, blob, *comment = (word.decode("utf-8", "surrogateescape") for word in words)
    return PublicKey(kind, blob, *comment)


def _end_of_options(text: bytes) -> int:
    """The end of the options: the first blank outside of quotes, as in sshd(8)."""
    quoted = False
    for found in _MARK.finditer(text):
        if found[0] == b'"':
            quoted = not quoted
        elif found[0] != _QUOTE and not quoted:
            return found.start()
    return len(text)


def key_id(key: PublicKey) -> str:
    """A digest of the key, without its comment."""
    return sha256(" ".join(key.identity).encode("utf-8", "surrogateescape")).hexdigest()


def places_of(lines: Sequence[bytes], key: PublicKey) -> list[int]:
    """The numbers of the lines with ``key``. sshd takes the first."""
    blob = key.blob.encode()
    found = ((at, parse_line(line)) for at, line in enumerate(lines) if blob in line)
    return [at for at, each in found if each is not None and each.key.identity == key.identity]


def unmanaged_lines(lines: Sequence[bytes], owned: Collection[str]) -> list[int]:
    """The numbers of the lines with a key whose `key_id` is not in ``owned``."""
    found = ((at, parse_line(line)) for at, line in enumerate(lines))
    return [at for at, each in found if each is not None and key_id(each.key) not in owned]


class DesiredKey(NamedTuple):
    """The desired line of one key. ``comment`` None keeps the one that is there; ``default`` is for a new line.

    ``owned`` has the `key_id` of every key that may stay; None leaves the others alone.
    """

    key: PublicKey
    options: tuple[str, ...]
    comment: str | None
    default: str
    is_present: bool
    owned: Collection[str] | None = None

    def found(self, lines: Sequence[bytes]) -> KeyLine | None:
        """The first line with the key."""
        places = places_of(lines, self.key)
        return parse_line(lines[places[0]]) if places else None

    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that the lines need, in words; none if they are as desired."""
        places, words = places_of(lines, self.key), []
        if not self.is_present:
            words += ["removed the key"] if places else []
        elif not places:
            words += ["added the key"]
        elif len(places) > 1:
            words += ["removed the repetition of the key"]
        if self.is_present and (found := self.found(lines)) is not None:
            words += self._differences(found)
        if others := self._unmanaged(lines):
            words += [f"removed {len(others)} other key{'s' if len(others) > 1 else ''}"]
        return words

    def apply(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines."""
        if others := self._unmanaged(lines):
            lines = without(lines, others)
        places = places_of(lines, self.key)
        if not self.is_present:
            return without(lines, places)
        found = self.found(lines)
        if found is not None and not self._differences(found):
            return without(lines, places[1:])
        return replaced(lines, places, self._line(found))

    def _unmanaged(self, lines: Sequence[bytes]) -> list[int]:
        return [] if self.owned is None else unmanaged_lines(lines, self.owned)

    def _differences(self, found: KeyLine) -> list[str]:
        words = ["changed the options of the key"] if found.options != self.options else []
        if self.comment not in (None, found.key.comment):
            words.append("changed the comment of the key")
        return words

    def _line(self, found: KeyLine | None) -> bytes:
        comment = self.comment
        if comment is None:
            comment = self.default if found is None else found.key.comment
        parts = (",".join(self.options), *self.key.identity, comment)
        return " ".join(filter(None, parts)).encode("utf-8", "surrogateescape")

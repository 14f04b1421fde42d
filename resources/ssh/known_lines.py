"""Finds and writes the lines of known_hosts, see sshd(8). Lines with a marker, such as @revoked, are left alone."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import NamedTuple

from reactor.resources.shared_lines import replaced
from reactor.resources.ssh.public_key import PublicKey, is_blob_of

_MAGIC = "|1|"


class HostLine(NamedTuple):
    """A line: its names, of which a hashed one begins with ``|1|``, its key, and the rest."""

    names: tuple[str, ...]
    type: str
    blob: str
    rest: str

    def without(self, names: Sequence[str]) -> HostLine:
        """The line without those of its names that mean one of ``names``."""
        kept = tuple(each for each in self.names if not any(is_name(each, name) for name in names))
        return self._replace(names=kept)

    @property
    def text(self) -> bytes:
        """The line, without its end."""
        words = (",".join(self.names), self.type, self.blob, self.rest)
        return " ".join(filter(None, words)).encode("utf-8", "surrogateescape")


def parse_line(line: bytes) -> HostLine | None:
    """The host in ``line``; None for a comment, a line with a marker, and a malformed line."""
    words = line.strip(b" \t\r\n").split(None, 3)
    if len(words) < 3 or words[0][:1] in (b"#", b"@") or not is_blob_of(words[1], words[2]):  # noqa: PLR2004
        return None
    names, kind, blob, *rest = (word.decode("utf-8", "surrogateescape") for word in words)
    return HostLine(tuple(names.split(",")), kind, blob, *(rest or [""]))


def is_name(written: str, name: str) -> bool:
    """Whether ``written``, plain or hashed, means the host ``name``."""
    if not written.startswith(_MAGIC):
        return written.lower() == name.lower()
    salt, _, digest = written.removeprefix(_MAGIC).partition("|")
    try:
        expected = hmac.digest(base64.b64decode(salt), name.lower().encode(), hashlib.sha1)
        return hmac.compare_digest(base64.b64decode(digest), expected)
    except binascii.Error:
        return False


class DesiredHost(NamedTuple):
    """The desired line of a host: its names, and its key of one type. Without a key, there must be no line."""

    names: tuple[str, ...]
    key: PublicKey | None
    is_present: bool

    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that the lines need, in words."""
        found = [each for each in map(parse_line, lines) if each is not None and self._concerns(each)]
        wrong = [each for each in found if not self._is_right(each)]
        if not self.is_present:
            return ["removed the host"] if wrong else []
        missing = [name for name in self.names if not self._is_known(found, name)]
        if wrong:
            return ["changed the key of the host"]
        if missing == [*self.names]:
            return ["added the host"]
        return [f"added {', '.join(missing)} to the host"] if missing else []

    def apply(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines. A name of another host in the same line keeps its key."""
        after: list[bytes] = []
        places: list[int] = []
        for line in lines:
            found = parse_line(line)
            if found is None or not self._concerns(found):
                after.append(line)
            elif self._is_right(found):
                places.append(len(after))
                after.append(line)
            elif (others := found.without(self.names)).names:
                after.append(others.text + line[len(line.rstrip(b"\r\n")) :])
        return self._completed(after, places) if self.is_present else after

    def _completed(self, lines: list[bytes], places: list[int]) -> list[bytes]:
        """``lines``, which have the key at ``places``, with all names."""
        ours = [each for each in (parse_line(lines[at]) for at in places) if each is not None]
        missing = tuple(name for name in self.names if not self._is_known(ours, name))
        if not missing or self.key is None:
            return lines
        plain = [at for at, each in zip(places, ours, strict=True) if not each.names[0].startswith(_MAGIC)]
        if plain and (first := parse_line(lines[plain[0]])) is not None:
            return replaced(lines, plain[:1], first._replace(names=(*first.names, *missing)).text)
        new = HostLine(missing, *self.key.identity, self.key.comment)
        return replaced(lines, [], new.text)

    def _concerns(self, line: HostLine) -> bool:
        """Whether the line is of one of the names, and of the type of the key."""
        if self.key is not None and line.type != self.key.type:
            return False
        return any(is_name(each, name) for each in line.names for name in self.names)

    def _is_right(self, line: HostLine) -> bool:
        return self.is_present and self.key is not None and line.blob == self.key.blob

    def _is_known(self, found: Sequence[HostLine], name: str) -> bool:
        return any(is_name(each, name) for line in found if self._is_right(line) for each in line.names)

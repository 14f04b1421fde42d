"""The users and groups of this host's own files. Those of a directory service are not looked up, as in goss."""

from __future__ import annotations

from collections.abc import Iterator

_PASSWD_FIELDS = 7
_GROUP_FIELDS = 4


class Accounts:
    """One account file: lines of ``size`` fields, a name first and its id third. It is read at every question."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = size

    def entries(self) -> Iterator[list[str]]:
        """The fields of every line."""
        with open(self._path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                fields = line.rstrip("\n").split(":")
                if len(fields) == self._size and fields[2].isdigit():
                    yield fields

    def entry(self, name: str) -> list[str] | None:
        """The fields of the line for ``name``."""
        return next((fields for fields in self.entries() if fields[0] == name), None)

    def name(self, number: int) -> str:
        """The name for an id, or the id as text when it has none."""
        return next((fields[0] for fields in self.entries() if int(fields[2]) == number), str(number))


users = Accounts("/etc/passwd", _PASSWD_FIELDS)
groups = Accounts("/etc/group", _GROUP_FIELDS)

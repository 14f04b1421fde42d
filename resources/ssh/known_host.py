"""The kind `known_host`: its properties, and the rules for their combinations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict

from reactor import AbsolutePath, Claim, PropertyProblem, ResourceError
from reactor.resources.default_name import name_problems
from reactor.resources.owned_lines import OwnedLines
from reactor.resources.shared_lines import Found
from reactor.resources.ssh import public_key
from reactor.resources.ssh.known_lines import DesiredHost, parse_line

_NAME = re.compile(r"[A-Za-z0-9_.:%-]+")
_WITH_PORT = re.compile(r"\[([A-Za-z0-9_.:%-]+)\]:([0-9]{1,5})")
_USUAL_PORT = 22
_HIGHEST_PORT = 65535


def _check_host(name: str) -> str:
    if match := _WITH_PORT.fullmatch(name):
        port = int(match[2])
        if port == _USUAL_PORT:
            raise ValueError(f"port 22 is the usual one: write {match[1]}")
        if not 0 < port <= _HIGHEST_PORT:
            raise ValueError(f"there is no port {port}")
    elif not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a host: write it as example.com, 192.0.2.1 or [example.com]:2222")
    return name


Host = Annotated[str, AfterValidator(_check_host)]
"""A name or address, with a port as in ``[example.com]:2222``."""


class KnownHost(OwnedLines, kind="known_host"):
    """Manage the SSH key of one type that a host is known by. Other lines of the file stay as they are."""

    example = "git.example.com absent"
    provides_only_its_own = True
    model_config = ConfigDict(hide_input_in_errors=True)

    ensure: Literal["present", "absent"] = "present"
    host: Host | None = None
    """The host, such as `example.com` or `[example.com]:2222`; by default the name of the resource."""
    key: Annotated[str, AfterValidator(public_key.check)] | None = None
    """The public key: its type and blob, as `ssh-keyscan` prints them. With absent and without a key, all keys go."""
    aliases: tuple[Host, ...] = ()
    """Further names and addresses of the host."""
    path: AbsolutePath = "/etc/ssh/ssh_known_hosts"
    """The file."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A name that is no host, and a missing key."""
        yield from super().property_problems()
        yield from name_problems(self, "host", _check_host)
        if self.ensure == "present" and self.key is None:
            hint = "add it: ssh-keyscan prints it; compare its fingerprint with that of the host"
            yield PropertyProblem((), "key is required, unless ensure is absent", hint)
        names = [name.lower() for name in self._names]
        for index, name in enumerate(names[1:]):
            if name in names[: index + 1]:
                yield PropertyProblem(("aliases", index), f"{name} is listed twice", "remove one of them")

    def claims(self) -> Iterable[Claim]:
        """The file, and each name of the host with the type of its key."""
        yield from super().claims()
        for name in self._names:
            which = f"{name.lower()} in {self.path}"
            if self.ensure == "present" or self.key is None:
                yield Claim("known host", which, {"ensure": self.ensure})
            if (key := self._key) is not None:
                yield Claim(f"{key.type} key of the host", which, {"ensure": self.ensure, "key": key.blob})

    @property
    def file_path(self) -> str:
        """The absolute path of the file."""
        return self.path

    def differences(self, lines: Sequence[bytes]) -> list[str]:
        """The changes that ``lines`` need, in words."""
        return self._wanted.differences(lines)

    def changed(self, lines: Sequence[bytes]) -> list[bytes]:
        """The desired lines."""
        return self._wanted.apply(lines)

    async def describe(self) -> Mapping[str, Any]:
        """Whether the host is known by the key; without a key, by any."""
        state = await self.observe()
        gone = self._wanted._replace(is_present=False).differences(state.lines if state else [])
        return {"ensure": "present" if gone else "absent", "path": self.path}

    async def reversal(self, state: Found | None) -> Self:
        """The key of the same type as it was, or none."""
        concerned = self._wanted._replace(is_present=False)
        lines = [line for line in (state.lines if state else []) if concerned.differences([line])]
        properties = {"host": self._names[0], "aliases": self.aliases, "path": self.path}
        if not lines:
            return type(self)(name=self.name, key=self.key, ensure="absent", **properties)
        found = parse_line(lines[0])
        if len(lines) > 1 or found is None or self.key is None:
            words = "reverse could not restore the lines of the host"
            raise ResourceError(words, "change them by hand, or remove reverse")
        try:
            return type(self)(name=self.name, key=f"{found.type} {found.blob}", **properties)
        except ValueError as error:  # also pydantic's
            raise ResourceError("reverse could not restore the key of the host", "remove reverse") from error

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless it is another host now, in another file, or has a key of another type."""
        former, names = ({name.lower() for name in each} for each in (recorded._names, self._names))
        types = {public_key.parse(each.key).type for each in (recorded, self) if each.key is not None}
        return True if names <= former and recorded.path == self.path and len(types) <= 1 else None

    @property
    def _names(self) -> tuple[str, ...]:
        return (self.host or self.name, *self.aliases)

    @property
    def _key(self) -> public_key.PublicKey | None:
        return None if self.key is None else public_key.parse(self.key)

    @property
    def _wanted(self) -> DesiredHost:
        return DesiredHost(self._names, self._key, self.ensure == "present")

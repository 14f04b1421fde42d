"""The kind `ntp`: its properties, state and plan."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Literal, NamedTuple, Self

from reactor import (
    Claim,
    OneOrMany,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    matching_text,
)
from reactor.hostfs import Attributes, create_directory
from reactor.resources import textfile
from reactor.resources.managed_header import HEADER

TIMESYNCD = "/etc/systemd/timesyncd.conf.d/reactor.conf"
CHRONY = "/etc/chrony/sources.d/reactor.sources"
_FILES = {"timesyncd": TIMESYNCD, "chrony": CHRONY}
_SERVER = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?|[0-9a-fA-F:]+")
_DIRECTORY_MODE = 0o755


Servers = OneOrMany[
    Annotated[
        str, matching_text(_SERVER, "is not a server: write a name or an address, as in ntp.example.org")
    ]
]


class NtpState(NamedTuple):
    """The content of our file, None if it does not exist; and whether the daemon reads the directory of the file."""

    text: str | None
    is_read: bool = True


class Ntp(Resource[NtpState], kind="ntp", providers=("timesyncd", "chrony")):
    """Manage the servers that set the clock of the host, in a file of the NTP daemon."""

    example = "pool --servers ntp.example.org"

    ensure: Literal["present", "absent"] = "present"
    servers: Servers = ()
    """The servers to ask."""
    pools: Servers = ()
    """Names that stand for several servers each; timesyncd asks one of them."""
    fallback: Servers = ()
    """Servers for when no other is known; only timesyncd has these."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Servers that are missing, or that have no effect."""
        yield from super().property_problems()
        if self.ensure == "present" and not (self.servers or self.pools or self.fallback):
            yield PropertyProblem((), "there are no servers", "add them: servers: [ntp.example.org]")
        if self.ensure == "absent" and (self.servers or self.pools or self.fallback):
            yield PropertyProblem(("ensure",), "servers are only valid with 'ensure: present'", "remove them")
        if self.fallback and self.provider == "chrony":
            yield PropertyProblem(("fallback",), "chrony has no fallback servers", "name them in servers")

    def watches(self) -> Iterable[Watch]:
        """The file."""
        yield PathWatch(self._path)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The file.

        Depends on: The directory of chrony, which its package brings.
        """
        needed = (os.path.dirname(CHRONY),) if self._path == CHRONY else ()
        if self.ensure == "absent":
            return Relations(removes=(self._path,), depends_on=needed)
        return Relations(provides=(self._path,), depends_on=needed)

    def sandbox_access(self) -> Iterable[str]:
        """The file."""
        return (self._path,)

    def claims(self) -> Iterable[Claim]:
        """The file."""
        yield Claim("path", self._path, {"ensure": self.ensure, "content": self._text})

    async def observe(self) -> NtpState:
        """The content of the file. Raises ResourceError when it can't be read."""
        is_read = self._path == TIMESYNCD or os.path.isdir(os.path.dirname(CHRONY))  # noqa: ASYNC240 - a local file
        return NtpState(textfile.read(self._path), is_read)

    def plan(self, state: NtpState, *, refresh: bool) -> Plan:  # noqa: ARG002  a file has nothing to refresh
        """Write or remove the file. Raises ResourceError when chrony has no directory for it."""
        path, text = self._path, self._text
        if state.text == text:
            return ()
        if text is not None and not state.is_read:
            directory = os.path.dirname(CHRONY)
            hint = "install the package chrony, or require the resource that does"
            raise ResourceError(f"chrony has no directory {directory}", hint, missing=directory)
        write = None if text is None else partial(self._write, text)
        return (textfile.replace_step(path, text, write),)

    async def preflight(self, state: NtpState) -> None:  # noqa: ARG002 - something would be changed
        """Check that the file can be written."""
        textfile.refuse_unwritable(self._path)

    async def reversal(self, state: NtpState) -> Self:
        """No file where there was none; a former one can't be written as properties."""
        if state.text is None:
            return type(self)(name=self.name, provider=self.provider, ensure="absent")
        words = f"reverse could not restore the former content of {self._path}"
        raise ResourceError(words, "remove it by hand before, or remove reverse")

    @property
    def _path(self) -> str:
        is_chrony = os.path.isdir(os.path.dirname(os.path.dirname(CHRONY)))
        return _FILES[self.provider or ("chrony" if is_chrony else "timesyncd")]

    @property
    def _text(self) -> str | None:
        """The desired content of the file; None for no file."""
        if self.ensure == "absent":
            return None
        if self._path == CHRONY:
            lines = [
                *(f"server {each} iburst" for each in self.servers),
                *(f"pool {each} iburst" for each in self.pools),
            ]
        else:
            lines = ["[Time]"]
            if asked := (*self.servers, *self.pools):
                lines += ["NTP=", f"NTP={' '.join(asked)}"]  # the empty one takes away what other files say
            if self.fallback:
                lines += ["FallbackNTP=", f"FallbackNTP={' '.join(self.fallback)}"]
        return HEADER + "".join(f"{line}\n" for line in lines)

    async def _write(self, text: str) -> None:
        directory = os.path.dirname(self._path)
        if not os.path.isdir(directory):  # noqa: ASYNC240 - a local file
            await create_directory(directory, Attributes(os.geteuid(), os.getegid(), _DIRECTORY_MODE))
        await textfile.replace(self._path, text)

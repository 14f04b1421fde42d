"""Answers the challenges of an ACME server: by a file in a webroot (http-01), or by a command (dns-01)."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import trio

from reactor import ResourceError
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    Parent,
    create_directory,
    forget_record,
    read_record,
    refuse_forbidden,
    refuse_read_only,
    remove_path,
    write_file,
    write_record,
)
from reactor.resources.process import ENVIRONMENT, Command, output_tail, require_startable, run, split_words

_WAY = ".well-known/acme-challenge"
_RECORD = "certificate challenge"


class Challenge(NamedTuple):
    """A challenge for one name. ``answer`` proves that the account is ours."""

    name: str
    token: str
    answer: str


class Responder(Protocol):
    """A way to answer challenges."""

    @property
    def type(self) -> str:
        """The type of the challenges that it answers."""

    @property
    def hint(self) -> str:
        """The hint for an answer that the server could not verify."""

    def answering(self, challenge: Challenge) -> AbstractAsyncContextManager[None]:
        """Answer the challenge during the block. Raises ResourceError."""

    async def refuse_unusable(self) -> None:
        """Raise ResourceError when challenges can't be answered. Changes nothing."""


@dataclass(frozen=True, slots=True)
class Webroot:
    """Answers by a file in the directory that a web server serves for the names."""

    path: str
    owner: str
    """The resource: by it, the next run finds the file that a killed run left."""
    type: str = "http-01"
    hint: str = "a web server must serve the webroot at port 80 of the name"

    @asynccontextmanager
    async def answering(self, challenge: Challenge) -> AsyncIterator[None]:
        """Write the file, and remove it after the block. Raises ResourceError."""
        await self._remove_left()
        directory = f"{self.path}/{_WAY}"
        path = f"{directory}/{challenge.token}"
        ours = (os.geteuid(), os.getegid())
        for each in (os.path.dirname(directory), directory):
            if not os.path.isdir(each):  # noqa: ASYNC240 - as fast as what follows
                await create_directory(each, Attributes(*ours, 0o755))
        with ErrorContext("record the challenge"):
            write_record(_RECORD, self.owner, {"path": path})
        try:
            await write_file(path, Inline(challenge.answer), Attributes(*ours, 0o644))
            yield
        finally:
            with trio.CancelScope(shield=True):
                await self._remove_left(path)

    async def refuse_unusable(self) -> None:
        """Raise ResourceError when there is no such directory, or nothing can be written to it."""
        with ErrorContext(f"write {self.path}"), Parent(f"{self.path}/.") as (directory, _):
            refuse_read_only(directory)
            refuse_forbidden(directory)

    async def _remove_left(self, path: str | None = None) -> None:
        left = path or (read_record(_RECORD, self.owner) or {}).get("path")
        if isinstance(left, str) and os.path.lexists(left):  # noqa: ASYNC240 - as above
            await remove_path(left, recursive=False)
        forget_record(_RECORD, self.owner)


@dataclass(frozen=True, slots=True)
class DnsCommand:
    """Answers by a command, which sets a TXT record, and is called again to remove it. ``timeout`` is in seconds."""

    command: str
    timeout: float
    type: str = "dns-01"
    hint: str = "dns_command must end only when the record can be seen"

    @asynccontextmanager
    async def answering(self, challenge: Challenge) -> AsyncIterator[None]:
        """Call the command with ACTION=add before the block, and with ACTION=remove after it. Raises ResourceError."""
        await self._call("add", challenge)
        try:
            yield
        finally:
            with trio.CancelScope(shield=True):
                await self._call("remove", challenge)

    async def refuse_unusable(self) -> None:
        """Raise ResourceError when the program of the command is missing."""
        await require_startable(self._command({}))

    async def _call(self, action: str, challenge: Challenge) -> None:
        digest = hashlib.sha256(challenge.answer.encode()).digest()
        value = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        name = f"_acme-challenge.{challenge.name}"
        done = await run(self._command({"ACTION": action, "RECORD": name, "VALUE": value}))
        if done.exit_code != 0:
            words = output_tail(done.stdout, done.stderr)
            raise ResourceError(f"dns_command failed with exit code {done.exit_code}{words}", self.hint)

    def _command(self, variables: dict[str, str]) -> Command:
        return Command(split_words(self.command), "/", {**ENVIRONMENT, **variables}, self.timeout)


WELL_KNOWN_SERVERS: Final = {
    "letsencrypt": "https://acme-v02.api.letsencrypt.org/directory",
    "letsencrypt-staging": "https://acme-staging-v02.api.letsencrypt.org/directory",
}
"""The names of servers that may stand for their URL."""

"""The kind `ca_certificate`: its properties, state and plan."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    Watch,
    matching_text,
)
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    content_diff,
    forget_record,
    read_record,
    refuse_replacement,
    remove_path,
    write_file,
    write_record,
)
from reactor.resources.ca_certificate.store import Store, certificates_in, read_file, store_of_host
from reactor.resources.trusted_sources import refuse_foreign_file

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_WANTED = Attributes(0, 0, 0o644)
_PENDING = "ca store"


def _check_content(text: str) -> str:
    if "PRIVATE KEY-----" in text:
        raise ValueError("this holds a private key, which all users could read: give the certificate alone")
    if len(certificates_in(text.encode())) != 1:
        raise ValueError("content is one certificate in PEM: -----BEGIN CERTIFICATE-----")
    return text


class StoreState(NamedTuple):
    """The file of the authority, its desired content, and whether the store was made from the present files."""

    found: bytes | None
    wanted: bytes | None
    is_trusted: bool = False
    """Whether the file that programs read has the authority."""
    is_pending: bool = False
    """Whether a run was killed before it made that file."""


class CaCertificate(Resource[StoreState], kind="ca_certificate"):
    """Let the host trust one certificate authority, or not. The name is free, and becomes that of a file."""

    example = "our-ca absent"

    name: Annotated[
        str, matching_text(_NAME, "can't be the name of a file: use letters, digits, '_', '-' and '.'")
    ]
    ensure: Literal["present", "absent"] = "present"
    content: Annotated[str, AfterValidator(_check_content)] | None = None
    """The certificate in PEM."""
    source: AbsolutePath | None = None
    """A file with the certificate in PEM, on this host."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "present" and (self.content is None) == (self.source is None):
            words = "content or source must be set, and not both"
            yield PropertyProblem((), words, "add source: /etc/ssl/ca/cert.pem")

    def watches(self) -> Iterable[Watch]:
        """The file of the authority, the file that programs read, and the source."""
        yield PathWatch(self._path)
        if self.ensure == "present":
            yield PathWatch(self._store.bundle)
        for source in self.source_files():
            yield PathWatch(source, is_input=True)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The file of the authority.

        Depends on: The source.
        """
        if self.ensure == "absent":
            return Relations(removes=(self._path,))
        return Relations(provides=(self._path,), depends_on=tuple(self.source_files()))

    def claims(self) -> Iterable[Claim]:
        """The file of the authority."""
        content = self.content or ("copied from", self.source)
        desired = {"ensure": self.ensure} | ({"content": content} if self.ensure == "present" else {})
        yield Claim("path", self._path, desired)

    def source_files(self) -> Collection[str]:
        """The source."""
        return () if self.source is None or self.ensure == "absent" else (self.source,)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """Everything: the programs that make the store run the commands of others."""
        yield SandboxAccess.ANYTHING

    async def observe(self) -> StoreState:
        """The file, and whether the store has the authority. Raises ResourceError."""
        with ErrorContext(f"read {self._path}"):
            found = read_file(self._path)
        is_pending = read_record(_PENDING, self.name) is not None
        if self.ensure == "absent":
            return StoreState(found, None, is_pending=is_pending)
        wanted = self._wanted_content()
        with ErrorContext(f"read {self._store.bundle}"):
            bundle = read_file(self._store.bundle) or b""
        is_trusted = certificates_in(wanted)[0] in certificates_in(bundle)
        return StoreState(found, wanted, is_trusted, is_pending)

    def plan(self, state: StoreState, *, refresh: bool) -> Plan:  # noqa: ARG002 - there is nothing to refresh
        """Write or remove the file, and make the store."""
        if state.found != state.wanted:
            if state.wanted is None:
                words = "no longer trusts the authority"
                would = "Would no longer have trusted the authority"
                return (Action(would, words, self._change, partial(content_diff, self._path, None, ())),)
            content = Inline(state.wanted)
            words = (
                "trusts the authority"
                if state.found is None
                else "trusts the authority by its new certificate"
            )
            run = partial(self._change, state.wanted)
            return (
                Action(
                    f"Would have made the host trust it: {words}",
                    words,
                    run,
                    partial(content_diff, self._path, content, ()),
                ),
            )
        if state.is_pending or (state.wanted is not None and not state.is_trusted):
            return (Action.saying("made the store again", self._update),)
        return ()

    async def preflight(self, state: StoreState) -> None:  # noqa: ARG002 - it is the same for every state
        """Check that the program that makes the store exists, and that the file can be written."""
        await self._store.refuse_unusable()
        if os.path.isdir(self._store.directory):  # noqa: ASYNC240 - a directory of the system
            refuse_replacement(self._path)

    async def describe(self) -> Mapping[str, Any]:
        """Whether there is such a file."""
        with ErrorContext(f"read {self._path}"):
            found = read_file(self._path)
        return {"ensure": "absent" if found is None else "present"}

    async def reversal(self, state: StoreState) -> Self:
        """The certificate as it was; or none."""
        if state.found is None:
            return type(self)(name=self.name, ensure="absent")
        try:
            return type(self)(name=self.name, content=state.found.decode())
        except ValueError as error:  # also pydantic's
            words = f"reverse could not restore what is in {self._path}"
            raise ResourceError(words, "remove it yourself, or remove reverse") from error

    def _wanted_content(self) -> bytes:
        """The certificate in PEM. Raises ResourceError when the source does not have it."""
        if self.source is None:
            return (self.content or "").encode()
        refuse_foreign_file(self.source, "which authority the host trusts")
        with ErrorContext(f"read {self.source}"):
            text = read_file(self.source)
        if text is None:
            hint = "require the resource that makes it, or correct source"
            raise ResourceError(f"there is no {self.source}", hint, missing=self.source)
        try:
            return _check_content(text.decode("utf-8", "replace")).encode()
        except ValueError as error:
            raise ResourceError(f"{self.source} can't be used: {error}", "correct source") from None

    async def _change(self, content: bytes | None = None) -> None:
        self._record()
        if content is None:
            await remove_path(self._path, recursive=False)
        else:
            os.makedirs(self._store.directory, 0o755, exist_ok=True)
            await write_file(self._path, Inline(content), _WANTED)
        await self._update()

    async def _update(self) -> None:
        self._record()
        await self._store.update()
        forget_record(_PENDING, self.name)

    def _record(self) -> None:
        """Note that the store is out of date: a run that is killed leaves that to the next one."""
        with ErrorContext("record the change of the store"):
            write_record(_PENDING, self.name, {"pending": True})

    @property
    def _store(self) -> Store:
        return store_of_host()

    @property
    def _path(self) -> str:
        store = self._store
        return f"{store.directory}/{self.name}{store.suffix}"

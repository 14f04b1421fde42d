"""The kind `repository`: its properties, state and plan."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from reactor import (
    Action,
    Claim,
    Diff,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    Watch,
    fragile_mounts,
    in_thread,
    register_url_secrets,
)
from reactor.hostfs import ErrorContext
from reactor.resources import textfile
from reactor.resources.package.provider import Provider
from reactor.resources.package.providers import PROVIDERS, provider_of
from reactor.resources.repository.formats import FORMATS, Description, Format
from reactor.resources.trusted_sources import refuse_foreign_file, refuse_foreign_tree

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CREDENTIALS = re.compile(r"//[^/@]*@")
_LOCAL = re.compile(r"(?:file|copy):(?://(?:localhost)?(?=/))?(?P<path>/.*)")
_KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


def _without_credentials_shown(url: str) -> str:
    register_url_secrets(url)
    return url


Word = Annotated[str, Field(pattern=r"^[^\s\x00]+$")]
"""A string without white space, which would end a field or a line of the file."""


MODE = 0o644
"""The mode of the files. All users may read them, because a user other than root downloads packages."""


class RepositoryState(NamedTuple):
    """The content of the files; None for a missing file."""

    text: str | None
    key: str | None
    modes: tuple[tuple[str, int], ...] = ()
    """The files whose mode is not `MODE`, with that mode."""


class Repository(Resource[RepositoryState], kind="repository", providers=PROVIDERS):
    """Manage one repository of packages: its file, its signing key, and the list of its packages."""

    example = "app --url https://example.com/debian --suites bookworm --components main --key /usr/share/keyrings/app.asc"

    ensure: Literal["present", "absent"] = "present"
    url: Annotated[Word, AfterValidator(_without_credentials_shown)] | None = None
    """The URL of the packages."""
    suites: tuple[Word, ...] = ()
    """For apt: the suites, such as `bookworm`. A repository without suites is flat."""
    components: tuple[Word, ...] = ()
    """For apt: the components, such as `main`."""
    key: str | None = None
    """The public key that signs the repository: the key itself, or the absolute path of its file."""
    trusted: Flag = False
    """Whether to accept unsigned packages."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Names that are not valid file names, and missing properties."""
        yield from super().property_problems()
        if not _NAME.fullmatch(self.name):
            hint = "use letters, digits and . _ -, as in nginx or docker-ce"
            yield PropertyProblem(
                ("name",), f"repository name contains invalid characters: {self.name!r}", hint
            )
        elif self.name == "main" and self.provider in (None, "dnf") and self._provider.name == "dnf":
            hint = "give it another name, as in app-main"
            yield PropertyProblem(
                ("name",), "dnf uses [main] for its own settings, and not for a repository", hint
            )
        yield from self._suites_problems()
        if self.ensure == "present" and self.url is None:
            yield PropertyProblem(
                ("url",), "url is missing", "add the address of the packages: url: https://..."
            )
        if self.key is not None and not (self._has_key_text or self.key.startswith("/")):
            hint = f"write an absolute path, or the key itself, from {_KEY} on"
            yield PropertyProblem(("key",), "this is neither a public key nor the path of one", hint)

    def watches(self) -> Iterable[Watch]:
        """Its file and its key."""
        return map(PathWatch, self._files)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Its file and its key, which packages need.

        Depends on: The directories of its files, and a key that is managed elsewhere.
        """
        directories = tuple(map(os.path.dirname, self._files))
        key = () if self.key is None or self._has_key_text else (self.key,)  # another resource manages it
        if self.ensure == "absent":
            return Relations(removes=self._files[:1], depends_on=(*directories, *key))
        return Relations(provides=self._files, depends_on=(*directories, *key))

    def claims(self) -> Iterable[Claim]:
        """Its files, and the URL, with suite and component: a package manager refuses a second description of them.

        For apt, one URL and suite has one signing key.
        """
        (file, key_file), desired = self._files, self._desired
        yield Claim.of_file(file, desired.text, mode=MODE)
        if desired.key is not None:
            yield Claim.of_file(key_file, desired.key, mode=MODE)
        if self.ensure == "absent" or self.url is None:
            return
        url = _CREDENTIALS.sub("//", self.url).rstrip("/")
        if self._provider.name != "apt":
            yield Claim("repository", url, {"name": self.name})
            return
        for suite in self.suites or ("./",):
            for component in self.components or ("",):
                yield Claim("repository", f"{url} {suite} {component}".rstrip(), {"name": self.name})
            key = key_file if self._has_key_text else self.key
            yield Claim("signature of the repository", f"{url} {suite}", {"key": key})

    async def observe(self) -> RepositoryState:
        """The content of its files. Raises ResourceError when they can't be read, or others decide what root installs."""
        if self.ensure == "present":
            await self._refuse_foreign()
        file, key_file = self._files
        text = textfile.read(file)
        key = textfile.read(key_file) if self._has_own_key(text) else None
        found = [path for path, content in ((file, text), (key_file, key)) if content is not None]
        modes = ((path, mode) for path in found if (mode := textfile.mode(path)) not in (None, MODE))
        return RepositoryState(text, key, tuple(modes) if self.ensure == "present" else ())

    def plan(self, state: RepositoryState, *, refresh: bool) -> Plan:  # noqa: ARG002 - a refresh means nothing to a file
        """Write both files, or remove them."""
        modes = tuple(self._set_mode(path, mode) for path, mode in state.modes)
        if state[:2] == self._desired[:2]:
            return modes
        if self.ensure == "absent":
            key = "" if state.key is None else f" and its key {self._files[1]}"
            words = f"removed the repository{key}"
            return (Action.proven(words, self._remove),)
        what = "added the repository" if state.text is None else "changed the repository"
        return (Action.proven(what, self._add, self._diff), *modes)

    async def preflight(self, state: RepositoryState) -> None:
        """Check that its files can be written or removed."""
        for path, found, wanted in zip(self._files, state[:2], self._desired[:2], strict=True):
            if found != wanted:
                textfile.refuse_unwritable(path)

    async def reversal(self, state: RepositoryState) -> Self:
        """No repository, if there was none.

        Raises ResourceError if there was one, since its properties are not known.
        """
        if state[:2] != (None, None):
            raise ResourceError(
                f"the repository {self.name} was there before, and reverse could not restore it",
                "remove reverse; a repository that leaves the manifest then stays on the host",
            )
        return type(self)(name=self.name, provider=self.provider, ensure="absent")

    def _suites_problems(self) -> Iterable[PropertyProblem]:
        """Suites that apt rejects as malformed, see sources.list(5): a flat suite is a path that ends in ``/``."""
        if self.ensure == "absent" or self._provider.name != "apt":
            return
        flat = [suite for suite in self.suites or ("./",) if suite.endswith("/")]
        others = [suite for suite in self.suites if suite not in flat]
        if flat and self.components:
            hint = "remove them, or name the suite that has them, such as bookworm"
            yield PropertyProblem(("components",), "a flat repository has no components", hint)
        elif others and not self.components:
            hint = "add them, such as main, or let the suite end in / if it is a path to a flat repository"
            yield PropertyProblem(("suites",), f"the suite {others[0]} has no components", hint)

    @property
    def _has_key_text(self) -> bool:
        return self.key is not None and self.key.lstrip().startswith(_KEY)

    def _has_own_key(self, text: str | None) -> bool:
        """Whether the key file belongs to the repository.

        If not, another program may have stored a key for another use. It belongs to the repository if the manifest
        contains the key itself, or the repository file ``text`` names the key file.
        """
        key_file = self._files[1]
        is_named = text is not None and any(word.endswith(key_file) for word in text.split())
        return self._has_key_text or (self.key != key_file and is_named)

    @property
    def _provider(self) -> Provider:
        return provider_of(self.provider)

    @property
    def _format(self) -> Format:
        return FORMATS[self._provider.name]

    @property
    def _files(self) -> tuple[str, str]:
        root = self._provider.root
        return (f"{root}{self._format.file(self.name)}", f"{root}{self._format.key_file(self.name)}")

    @property
    def _desired(self) -> RepositoryState:
        """The desired content of the files. The key file of the user is not copied."""
        if self.ensure == "absent":
            return RepositoryState(None, None)
        key = self.key if self._has_key_text else None
        return RepositoryState(self._text(self._files[1]), key)

    def _text(self, key_file: str) -> str:
        """The content of the repository file. If the manifest contains the key itself, ``key_file`` is its file."""
        key = key_file if self._has_key_text else self.key
        description = Description(self.name, self.url or "", self.suites, self.components, key, self.trusted)
        return self._format.text(description)

    async def _add(self) -> None:
        """Add the repository.

        Its file comes last, after its package lists were fetched: a bad repository breaks nothing.
        """
        file, key_file = self._files
        text, key, _ = self._desired
        await self._refuse_missing_key()
        for path in self._files:
            with ErrorContext(f"create {os.path.dirname(path)}"):
                os.makedirs(os.path.dirname(path), exist_ok=True)
        await self._try(key)
        had_own_key = self._has_own_key(textfile.read(file))
        if key is not None:
            await textfile.replace(key_file, key)
        await textfile.replace(file, text or "")
        if key is None and had_own_key:
            _unlink(key_file)

    def _set_mode(self, path: str, mode: int) -> Action:
        words = f"changed mode of {path} from {mode:04o} to {MODE:04o}"
        run = partial(in_thread, textfile.set_mode, path, MODE)
        return Action.proven(words, run)

    async def _try(self, key: str | None) -> None:
        """Fetch the package lists with copies of both files.

        The copy of the key is in the same directory as the key, which the program that checks signatures can read. Its
        name begins with a dot, so it can't be the key of another repository.
        """
        file, key_file = self._files
        new_key = os.path.join(os.path.dirname(key_file), f".{os.path.basename(key_file)}")
        try:
            if key is not None:
                await textfile.replace(new_key, key)
            with tempfile.TemporaryDirectory(prefix="reactor-") as directory:
                staged = os.path.join(directory, os.path.basename(file))
                await textfile.replace(staged, self._text(new_key))
                await self._provider.fetch_from(staged)
        finally:
            _unlink(new_key)

    async def _refuse_foreign(self) -> None:
        """Raise ResourceError if another user can change the key, or a repository on this host that needs no signature."""
        what = "which packages root installs"
        if self.key is not None and not self._has_key_text:
            await fragile_mounts().ask(self.key)
            refuse_foreign_file(self.key, what)
        if self.trusted and (local := _LOCAL.fullmatch(self.url or "")):
            await fragile_mounts().ask(local["path"])
            await refuse_foreign_tree(local["path"], what)

    async def _refuse_missing_key(self) -> None:
        """Raise ResourceError for a missing key.

        Otherwise only the installation of a package would fail, since dnf reads the key no earlier.
        """
        if self.key is None or self._has_key_text:
            return
        await fragile_mounts().ask(self.key)
        if not os.path.exists(self.key):  # noqa: ASYNC240 - its mount has just answered
            hint = "correct the path, or require the resource that creates it"
            raise ResourceError(f"the key {self.key} does not exist", hint)

    async def _remove(self) -> None:
        """Remove the key, then the file: without the file, it is unknown whether the key belongs to the repository."""
        file, key_file = self._files
        if self._has_own_key(textfile.read(file)):
            _unlink(key_file)
        _unlink(file)

    async def _diff(self) -> Diff:
        text = self._desired.text or ""
        return await textfile.diff(self._files[0], lambda _: text)


def _unlink(path: str) -> None:
    with ErrorContext(f"remove {path}"), suppress(FileNotFoundError):
        os.unlink(path)

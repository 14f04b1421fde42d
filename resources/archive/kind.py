"""The kind `archive`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from reactor import (
    AbsolutePath,
    Claim,
    Duration,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    SingleFile,
    UnpackingLimits,
    archive_format,
    in_thread,
    register_secret,
    single_name,
)
from reactor.hostfs import (
    ErrorContext,
    FileType,
    Parent,
    accounts_of,
    checksum_of,
    first_missing_path,
    names_of,
    refuse_replacement,
)
from reactor.resources.archive.observer import Observer
from reactor.resources.archive.planner import plan_archive
from reactor.resources.archive.property_types import (
    ArchivePath,
    ArchiveUrl,
    Count,
    Headers,
    Size,
    UnpackedMode,
)
from reactor.resources.archive.staging import refuse_other_than_directory
from reactor.resources.archive.state import ArchiveState, Desired
from reactor.resources.download.remote_source import Source
from reactor.resources.download.source import Checksum, split_credentials, unprotected
from reactor.resources.file.property_types import Account, parse_mode
from reactor.resources.trusted_directory import refuse_unwritable


class Archive(Resource[ArchiveState], kind="archive", providers=("http",)):
    """Download one archive, and unpack it if requested."""

    model_config = ConfigDict(hide_input_in_errors=True)
    example = "/opt/app.tar.gz --url https://example.com/app.tar.gz --extract-parent /opt/app"
    deferred_properties = frozenset(("checksum", "headers", "password"))

    name: ArchivePath
    ensure: Literal["present", "absent"]
    url: ArchiveUrl
    """The http or https URL of the archive; of the same type (suffix) as the name."""
    headers: Headers = Field(default_factory=dict, repr=False)
    """Header fields for the requests, sent to the host of the URL only; never shown."""
    username: str | None = None
    """The user for basic authentication, with `password`."""
    password: str | None = Field(default=None, repr=False)
    """The password for basic authentication; never shown."""
    checksum: Checksum | None = None
    """The SHA-256 in hex. Unset, an existing archive is as desired unless it is known to come from another URL."""
    extract_parent: AbsolutePath | None = None
    """The directory to unpack it into; created if it is missing."""
    cleanup: Flag = False
    """Whether the archive is removed once it is unpacked."""
    creates: AbsolutePath | None = None
    """A path that exists once the archive is unpacked; if it is missing, the archive is unpacked again."""
    strip_components: Annotated[int, Field(ge=0)] = 0
    """The leading components to drop from each path in it, as with tar; a path without any others is left out."""
    mode: UnpackedMode | None = None
    """The permissions, in octal, of the file unpacked from a gz, bz2, xz or zst; 0644 by default."""
    owner: Account
    """The owner of the archive and of its unpacked content: a user name or a numeric id."""
    group: Account
    """The group of the archive and of its unpacked content: a group name or a numeric id."""
    timeout: Duration = 600.0
    """The longest time that a download may take; 0 means no limit."""
    max_size: Size = 4 << 30
    """The largest archive that is downloaded."""
    max_unpacked: Size = 16 << 30
    """The largest total size of the unpacked content."""
    max_members: Count = 100_000
    """The most files, directories and links that it may contain."""
    max_ratio: Count = 200
    """The largest ratio of unpacked to packed size, for content of more than 64 MiB."""

    def model_post_init(self, context: Any, /) -> None:
        """Treat the credentials as secrets, also if the manifest does not mark them."""
        super().model_post_init(context)
        register_secret(self.password)

    def secret_properties(self) -> Collection[str]:
        """The credentials that are given."""
        return [name for name in ("password", "headers") if getattr(self, name)]

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:  # noqa: ARG003 - the same for all
        """The archive belongs to the user that runs the command."""
        owner, group = names_of(os.geteuid(), os.getegid())
        return {"owner": owner, "group": group}

    async def describe(self) -> Mapping[str, Any]:
        """The state in terms of the properties; owner and group by name if they have one."""
        try:
            found = os.lstat(self.name)
        except (FileNotFoundError, NotADirectoryError):
            return {"ensure": "absent"}
        owner, group = names_of(found.st_uid, found.st_gid)
        checksum = (await self.outputs())["checksum"]
        return {
            "ensure": "present",
            "owner": owner,
            "group": group,
            "checksum": checksum,
            "size": found.st_size,
        }

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        there, here = archive_format(urlsplit(self.url).path), archive_format(self.name)
        if there != here:
            words = f"url and name must have the same archive type: url is {there}, name is {here}"
            yield PropertyProblem(("url",), words, "give both the same ending")
        if self.cleanup:
            needed = {"extract_parent": self.extract_parent, "creates": self._created}
            for name, value in needed.items():
                if value is None:
                    words = f"cleanup requires {name} to be set"
                    yield PropertyProblem(("cleanup",), words, f"add {name}, or remove cleanup")
        yield from self._of_unpacking()
        if self.password is not None and self.username is None:
            words = "password requires username to be set"
            yield PropertyProblem(("password",), words, "add username")

    def _of_unpacking(self) -> Iterable[PropertyProblem]:
        is_single = single_name(self.name) is not None
        for name, given in (("strip_components", self.strip_components), ("mode", self.mode)):
            if given and self.extract_parent is None:
                words = f"{name} requires extract_parent to be set"
                yield PropertyProblem((name,), words, f"add extract_parent, or remove {name}")
        if self.strip_components and is_single:
            words = "strip_components is only valid for an archive: a compressed file holds one file without a path"
            yield PropertyProblem(("strip_components",), words, "remove strip_components")
        if self.mode is not None and not is_single:
            words = (
                "mode is only valid for a single compressed file: an archive sets the modes of its members"
            )
            yield PropertyProblem(
                ("mode",), words, "remove mode, or manage what is unpacked with the kind file"
            )

    def warnings(self) -> Iterable[PropertyProblem]:
        """A download that an attacker on the network could replace."""
        if self.ensure == "present":
            yield from unprotected(self.url, self.checksum)

    def watches(self) -> Iterable[PathWatch]:
        """The archive, and the path that unpacking creates."""
        yield PathWatch(self.name)
        if self._created is not None:
            yield PathWatch(self._created)
        elif self.extract_parent is not None:
            yield PathWatch(self.extract_parent, is_name=True)

    async def observe(self) -> ArchiveState:
        """The state on this host. The server is not asked."""
        return await self._observer.observe()

    def plan(self, state: ArchiveState, *, refresh: bool) -> Plan:  # noqa: ARG002  there is nothing to refresh
        """The plan by the decision table, `plan_archive`. Raises ResourceError."""
        return plan_archive(self._observer.desired, state)

    async def preflight(self, state: ArchiveState) -> None:
        """Check that the directories of the archive and of its content exist or can be created.

        The server is not asked.
        """
        if self.ensure == "absent":
            return
        with ErrorContext(f"write {self.name}"), Parent(self.name):
            pass
        if state.type is FileType.ABSENT:
            refuse_replacement(self.name)
        if self.extract_parent is None or (self._created is not None and state.creates_exists):
            return
        with (
            ErrorContext(f"unpack {self.name} into {self.extract_parent}"),
            Parent(first_missing_path(self.extract_parent)),
        ):
            refuse_other_than_directory(self.extract_parent)
            if state.type is FileType.ABSENT:
                refuse_unwritable(first_missing_path(self.extract_parent))

    async def outputs(self) -> Mapping[str, Any]:
        """The path of the archive, and its SHA-256, which is None if there is no archive."""
        checksum = await in_thread(checksum_of, self.name)
        return {"path": self.name, "checksum": checksum}

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The archive, unless it is removed after unpacking, and the path that unpacking creates.

        Depends on: The directories of the archive and of its content, and the owners.
        """
        directory = os.path.dirname(self.name)
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=(directory,))
        kept = () if self.cleanup else (self.name,)
        unpacked = (path for path in (self.extract_parent, self._created) if path is not None)
        target = () if self.extract_parent is None else (self.extract_parent,)
        owners = accounts_of(self.owner, self.group)
        return Relations(provides=(*kept, *unpacked), depends_on=(directory, *target, *owners))

    def claims(self) -> Iterable[Claim]:
        """The path, unless the archive is removed after unpacking."""
        if self.ensure == "absent":
            yield Claim("path", self.name, {"ensure": "absent"})
        elif not self.cleanup:
            desired = {"ensure": "present", "owner": self.owner, "group": self.group}
            yield Claim("path", self.name, desired)
        if self.ensure == "present" and (file := self._single_path) is not None:
            owned = {"ensure": "present", "owner": self.owner, "group": self.group}
            content = ("unpacked from", self.url)
            yield Claim("path", file, {**owned, "mode": self._single_mode, "content": content})

    @property
    def _created(self) -> str | None:
        """The path that exists once the archive is unpacked; known for a single compressed file."""
        return self.creates or self._single_path

    @property
    def _single_path(self) -> str | None:
        """The path of the only file in a compressed file without an archive format."""
        name = single_name(self.name)
        if name is None or self.extract_parent is None:
            return None
        return os.path.join(self.extract_parent, name)

    @property
    def _single_mode(self) -> int:
        return parse_mode(self.mode or "0644")

    def run_again(self) -> None:
        """Forget what the last check has seen."""
        self.__dict__.pop("_observer", None)

    @cached_property
    def _observer(self) -> Observer:
        single = single_name(self.name)
        url, credentials = split_credentials(self.url)
        if self.username is not None:
            credentials = (self.username, self.password or "")
        return Observer(
            Desired(
                ref=self.ref,
                path=self.name,
                ensure=self.ensure,
                format=archive_format(self.name) or "",
                source=Source(url, self.headers, credentials, self.max_size, self.timeout),
                owner=self.owner,
                group=self.group,
                checksum=self.checksum,
                extract_parent=self.extract_parent,
                creates=self._created,
                cleanup=self.cleanup,
                strip=self.strip_components,
                single=None if single is None else SingleFile(single, self._single_mode),
                limits=UnpackingLimits(self.max_members, self.max_unpacked, self.max_ratio),
            )
        )

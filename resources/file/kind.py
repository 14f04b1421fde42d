"""The kind `file`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os.path
import stat
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field

from reactor import (
    AbsolutePath,
    Claim,
    Flag,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    ResourceError,
    SandboxAccess,
    in_thread,
    own_renames,
)
from reactor.hostfs import (
    Content,
    FileType,
    Inline,
    Source,
    accounts_of,
    checksum_of,
    keep_for_undo,
    names_of,
)
from reactor.resources.download.source import Checksum, is_url, split_credentials, unprotected
from reactor.resources.download.source import Source as Download
from reactor.resources.file.observer import Observer
from reactor.resources.file.planner import plan_file
from reactor.resources.file.preflight import preflight
from reactor.resources.file.property_types import (
    MAX_MODE,
    Account,
    Mode,
    SourcePath,
    Text,
    enterable,
    mode_properties,
    parse_mode,
    special_bits,
)
from reactor.resources.file.state import Desired, FileState
from reactor.resources.file.validator import PLACEHOLDER, Validator, paths_in, validator_problem

_LARGEST = 4 << 30
"""The largest download, in bytes."""
_PACKED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".br", ".Z")
"""The ends of URLs of files that many servers call encoded."""
_TIMEOUT = 600.0
"""The longest time of a download, in seconds."""


class File(Resource[FileState], kind="file", providers=("posix",)):
    """Manage one file or directory: existence, content, owner, group and mode.

    ``content`` and ``source`` are two ways to set the content. With neither, only owner, group and mode
    are managed, and the content is never read.
    """

    example = "/tmp/motd --content 'Welcome' --mode 0644"  # noqa: S108 - an example that needs no root
    deferred_properties = frozenset(("content", "source", "checksum"))

    name: AbsolutePath
    ensure: Literal["present", "absent", "directory"]
    content: Text | None = None
    """The content of the file, as a string."""
    source: SourcePath | None = None
    """A file to copy, relative to the directory of the manifest; or an http or https URL."""
    checksum: Checksum | None = None
    """The SHA-256 in hex of the content at the URL; the server is not asked about a file that has it."""
    owner: Account | None = None
    """The owner: a user name, or an id in digits."""
    group: Account | None = None
    """The group: a name, or an id in digits."""
    mode: Mode | None = None
    """Permissions in octal, at most 0777. For a directory, read or write includes execute: 0640 becomes 0750."""
    setgid: Flag | None = None
    """The setgid bit: new files in a directory get its group. Unset, a directory keeps the bit and a file loses it."""
    sticky: Flag | None = None
    """The sticky bit of a directory: only the owner of a file may remove it. Unset, the bit is not managed."""
    validate_with: str | None = Field(default=None, alias="validate")  # pydantic has a method of that name
    """A command that validates the new content before it replaces the old content: ``visudo -cf {path}``."""
    force: Flag = False
    """Whether ``ensure: absent`` may remove a directory that is not empty."""

    mounted_root: Flag = False
    """Whether owner and mode are those of the root of a file system that others have mounted on the directory."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:
        """An existing file keeps its owner, group and mode; a new one gets those of a file that this user creates."""
        if ensure == "absent":
            return {}
        try:
            found = os.stat(name)
        except (OSError, ValueError):
            mode = "0755" if ensure == "directory" else "0644"
            return {"owner": str(os.geteuid()), "group": str(os.getegid()), "mode": mode}
        mode = f"{found.st_mode & MAX_MODE:04o}"
        return {"owner": str(found.st_uid), "group": str(found.st_gid), "mode": mode}

    async def describe(self) -> Mapping[str, Any]:
        """The state in terms of the properties; owner and group by name if they have one."""
        state = await self.observe()
        if state.type is FileType.ABSENT:
            return {"ensure": "absent"}
        words = {FileType.FILE: "present", FileType.DIRECTORY: "directory"}
        owner, group = names_of(state.uid, state.gid)
        found: dict[str, Any] = {
            "ensure": words.get(state.type, state.type.value),
            "owner": owner,
            "group": group,
        }
        found |= mode_properties(state.mode)
        if state.type is FileType.FILE:
            found["checksum"] = (await self.outputs())["checksum"]
        return found

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.content is not None and self.source is not None:
            yield PropertyProblem(
                ("source",), "'content' and 'source' are mutually exclusive", "remove one of them"
            )
        if self.source == self.name and self.ensure == "present":
            hint = "name another file, or remove source: the content is then not managed"
            yield PropertyProblem(("source",), "the source is the file itself", hint)
        if self.validate_with is not None:
            yield from self._validation_problem(self.validate_with)
        if self.checksum is not None and (self.source is None or not is_url(self.source)):
            words = "checksum is only valid with a source over http or https"
            yield PropertyProblem(("checksum",), words, "remove checksum, or name a URL as source")
        yield from self._of_directories_alone()
        if self.ensure != "absent":
            if None in (self.owner, self.group, self.mode):
                yield from self._missing()
            if self.force:
                words = f"'force: true' is only valid with 'ensure: absent', got 'ensure: {self.ensure}'"
                yield PropertyProblem(("force",), words, "remove force")
        elif self.force and self.name == "/":
            words = "'force: true' cannot be used with the filesystem root"
            yield PropertyProblem(("force",), words, "name the file or directory to remove")
        if self.force and self.meta.reverse:
            words = "the content of a directory is not backed up, so its removal with 'force: true' can't be undone"
            yield PropertyProblem(("meta", "reverse"), words, "remove reverse, or force")

    def warnings(self) -> Iterable[PropertyProblem]:
        """A download that an attacker on the network could replace."""
        if self.ensure == "present" and self.source is not None:
            yield from unprotected(self.source, self.checksum)

    def _of_directories_alone(self) -> Iterable[PropertyProblem]:
        if self.ensure != "directory":
            if self.sticky is not None:
                words = "sticky is only valid with 'ensure: directory'"
                yield PropertyProblem(("sticky",), words, "remove sticky: it means nothing to a file")
            return
        for name in ("content", "source"):
            if getattr(self, name) is not None:
                hint = f"remove {name}, or write ensure: present for a file"
                yield PropertyProblem((name,), f"a directory has no {name}", hint)

    def _validation_problem(self, text: str) -> Iterable[PropertyProblem]:
        if self.ensure != "present" or (self.content is None and self.source is None):
            words = "there is nothing to validate: only new content is"
            yield PropertyProblem(("validate",), words, "add content or source, or remove validate")
        if fault := validator_problem(text):
            hint = f"write one command, its quotes in pairs: visudo -cf {PLACEHOLDER}"
            yield PropertyProblem(("validate",), fault, hint)

    def _missing(self) -> Iterable[PropertyProblem]:
        examples = {"owner": "owner: root", "group": "group: root", "mode": 'mode: "0644"'}
        for name, example in examples.items():
            if getattr(self, name) is None:
                words = f"{name} is required, unless ensure is absent"
                yield PropertyProblem((), words, f"add it, for example {example}")

    def watches(self) -> Iterable[PathWatch]:
        """The path, and the source file."""
        yield PathWatch(self.name)
        for source in self.source_files():
            yield PathWatch(source, is_input=True)

    def observe(self) -> Coroutine[Any, Any, FileState]:
        """The state of the path. Raises ResourceError when it can't be read."""
        # Not self._observer: the lock of cached_property costs as much as a stat at the first check of each file.
        found: Observer | None = self.__dict__.get("_observer")
        if found is None:
            found = self.__dict__["_observer"] = Observer(self._desired())
        return found.observe()

    def plan(self, state: FileState, *, refresh: bool) -> Plan:  # noqa: ARG002  a file has nothing to refresh
        """The plan by the decision table, `plan_file`. Raises ResourceError."""
        return plan_file(self._observer.desired, state)

    async def verify(self) -> Plan:
        """The remaining plan after an apply."""
        if self.ensure == "present":
            self._observer.expect_file()
        if not (plan := self.plan(await self._observer.observe(), refresh=False)):
            own_renames.verify(self.name)
        return plan

    async def preflight(self, state: FileState) -> None:
        """Check that the source, the validator and a writable directory exist."""
        await preflight(self._observer.desired, state)

    async def reversal(self, state: FileState) -> Self:
        """The file or directory as it was, with its content if that is managed; or no file."""
        if state.type is FileType.ABSENT:
            return type(self)(name=self.name, ensure="absent")
        whole = FileType.DIRECTORY if self.ensure == "directory" else FileType.FILE
        if state.type is not whole and not (self.ensure == "absent" and state.type is FileType.DIRECTORY):
            words = f"{self.name} is {state.type.value}, which could not be brought back"
            raise ResourceError(words, "remove it yourself, or remove reverse")
        if state.mode & stat.S_ISUID or (state.mode & stat.S_ISVTX and state.type is FileType.FILE):
            words = f"the setuid or sticky bit of {self.name} could not be brought back"
            raise ResourceError(words, "take it away yourself, or remove reverse")
        found: dict[str, Any] = {"owner": str(state.uid), "group": str(state.gid)}
        found |= mode_properties(state.mode)
        if state.type is FileType.DIRECTORY:
            return type(self)(
                name=self.name, ensure="directory", **{"setgid": False, "sticky": False} | found
            )
        if self.ensure == "absent" or self.content is not None or self.source is not None:
            found["source"] = await keep_for_undo(self.name, self.ref)
        return type(self)(name=self.name, ensure="present", **found)

    async def outputs(self) -> Mapping[str, Any]:
        """The path, and the SHA-256 of the content."""
        checksum = await in_thread(checksum_of, self.name)
        return {"path": self.name, "checksum": checksum}

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The path, unless it is removed.

        Depends on: The parent directory, the source, the owners, and the files that the validator runs and reads.
        """
        dependencies = tuple(self._dependencies())
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=dependencies)
        return Relations(provides=(self.name,), depends_on=dependencies)

    def might_provide(self, missing: str) -> bool:
        """Whether ``missing`` may be its path, a path above that, or neither a path nor an account.

        A file may make a package available, for example.
        """
        if not missing.startswith(("/", "user#", "group#")):
            return True
        provided = f"{self.name}/" if self.ensure == "directory" else self.name
        return self.ensure != "absent" and (missing == self.name or provided.startswith(f"{missing}/"))

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The path; the setgid bit; everything, if a command validates the content."""
        yield self.name
        if self.ensure == "directory" or self.setgid:
            yield SandboxAccess.SETGID
        if self.validate_with is not None:
            yield SandboxAccess.ANYTHING

    def source_files(self) -> Collection[str]:
        """The source, if it is on this host."""
        if self.source is None or self.ensure != "present" or is_url(self.source):
            return ()
        return (self.source,)

    def _dependencies(self) -> Iterator[str]:
        """The parent directory, the source, the owners, and the files that the validator runs and reads."""
        if self.name != "/":
            yield self.name.rpartition("/")[0] or "/"
        yield from self.source_files()
        yield from accounts_of(self.owner, self.group)
        if self.validate_with is not None:
            yield from paths_in(self.validate_with)

    def claims(self) -> Iterable[Claim]:
        """The path, with all its managed properties."""
        desired: dict[str, object] = {"ensure": self.ensure}
        if self.ensure != "absent":
            desired.update(owner=self.owner, group=self.group, mode=self._permissions & MAX_MODE)
            special = {"setgid": self.setgid, "sticky": self.sticky}
            desired.update({name: value for name, value in special.items() if value is not None})
            if self.content is not None:
                desired["content"] = self.content
            elif self.source is not None:
                desired["content"] = ("copied from", self.source)
        yield Claim("path", self.name, desired)

    def __copy__(self) -> Self:
        """Copy the properties only: a copy with other properties needs its own observer."""
        copied = super().__copy__()
        copied.__dict__.pop("_observer", None)
        return copied

    def _desired(self) -> Desired:
        if self.owner is None or self.group is None or self.mode is None or self.ensure == "absent":
            return Desired(self.name, "absent", force=self.force)
        validator = None if self.validate_with is None else Validator(self.validate_with)
        special = special_bits(self.setgid is not None, self.sticky is not None)
        content = Inline(self.content) if self.content is not None else self._wanted_source()
        return Desired(
            self.name,
            self.ensure,
            content,
            self.owner,
            self.group,
            self._permissions,
            validator=validator,
            special=special,
            is_covered=self.declared.is_covered,
            mounted_root=self.mounted_root or self.declared.form.is_ccm,
        )

    @property
    def _permissions(self) -> int:
        """The mode with all twelve bits."""
        mode = parse_mode(self.mode or "0")
        special = special_bits(self.setgid, self.sticky)
        return special | (enterable(mode) if self.ensure == "directory" else mode)

    def _wanted_source(self) -> Content | None:
        if self.source is None:
            return None
        return self._remote(self.source) if is_url(self.source) else Source(self.source)

    def _remote(self, url: str) -> Content:
        from reactor.resources.file.remote import Remote  # noqa: PLC0415 - few files are copied from a server

        bare, credentials = split_credentials(url)
        is_plain = self.checksum is None and not bare.partition("?")[0].endswith(_PACKED)
        hint = "name a smaller file"
        download = Download(bare, {}, credentials, _LARGEST, _TIMEOUT, hint, is_plain=is_plain)
        return Remote(self.name, download, self.checksum, self.meta.poll)

    @cached_property
    def _observer(self) -> Observer:
        return Observer(self._desired())

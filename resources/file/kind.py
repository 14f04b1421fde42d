"""The properties of a file resource, and what of them goes together."""

from __future__ import annotations

import os.path
import stat
from collections.abc import Collection, Coroutine, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo

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
)
from reactor.hostfs import (
    MAX_ID,
    Content,
    Explaining,
    FileType,
    Inline,
    Parent,
    Source,
    accounts_of,
    checksum_of,
    first_made,
    is_id,
    keep_for_undo,
    names_of,
    open_path,
    refuse_foreign_link,
    refuse_read_only,
)
from reactor.resources.download.properties import Checksum, check_url, is_url, resolve_source
from reactor.resources.file.observer import Observer
from reactor.resources.file.planner import plan_file, stores
from reactor.resources.file.state import Desired, FileState
from reactor.resources.file.validator import PLACEHOLDER, Validator, fault_of, paths_in

_MAX_MODE = 0o777
_LARGEST = 4 << 30
"""Bytes of a file on a server."""
_PATIENCE = 600.0
"""Seconds that a download may take."""


@lru_cache(maxsize=64)
def parse_mode(text: str) -> int:
    """The permission bits in ``0644``, ``644``, ``0o644`` or ``0O644``. Raises ValueError for anything else."""
    digits = text[2:] if text[:2] in ("0o", "0O") else text
    if not digits or not set(digits) <= set("01234567"):
        raise ValueError(f"mode {text!r} is not a valid octal number: write it as 0644")
    mode = int(digits, 8)
    if mode > _MAX_MODE:
        raise ValueError(
            f"mode {text!r} exceeds the maximum 0777: write setgid: true or sticky: true; setuid can't be set"
        )
    return mode


def _enterable(mode: int) -> int:
    """The mode of a directory: whoever may read or write in it may enter it too, as in CCM."""
    return mode | (mode & 0o444) >> 2 | (mode & 0o222) >> 1


def _special(setgid: bool | None, sticky: bool | None) -> int:
    """The bits of the mode."""
    return (stat.S_ISGID if setgid else 0) | (stat.S_ISVTX if sticky else 0)


def _in_words(mode: int) -> dict[str, Any]:
    """All twelve bits, as properties have them; those of the special ones that are set."""
    special = {"setuid": stat.S_ISUID, "setgid": stat.S_ISGID, "sticky": stat.S_ISVTX}
    return {"mode": f"{mode & _MAX_MODE:04o}", **{name: True for name, bit in special.items() if mode & bit}}


def _check_mode(text: str) -> str:
    parse_mode(text)
    return text


def _check_account(name: str) -> str:
    if not name:
        raise ValueError("it must not be empty: write a name or a numeric id")
    if "\0" in name:
        raise ValueError("it must not hold a NUL character: write a name or a numeric id")
    if is_id(name) and int(name) > MAX_ID:
        raise ValueError(f"{name} is not an id: the highest is {MAX_ID}")
    return name


def _check_content(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start + 1} can't be written as UTF-8: use source for binary content"
        ) from None
    return text


def _resolve_source(path: str, info: ValidationInfo) -> str:
    return check_url(path) if is_url(path) else resolve_source(path, info)


SourcePath = Annotated[str, AfterValidator(_resolve_source)]
"""Where to copy from: a URL, or an absolute path in one spelling; a relative one starts at the directory of the manifest."""

Account = Annotated[str, AfterValidator(_check_account)]
"""The name of a user or group, or its id in decimal digits."""


class File(Resource[FileState], kind="file", providers=("posix",)):
    """Manage one file or directory: existence, content, owner, group and mode.

    ``content`` and ``source`` are two ways to say what a file holds. With neither, only owner, group and mode
    are managed, and what is in the file is never read.
    """

    example = "/tmp/motd --content 'Welcome' --mode 0644"  # noqa: S108 - an example that needs no root
    deferred_properties = frozenset(("content", "source", "checksum"))

    name: AbsolutePath
    ensure: Literal["present", "absent", "directory"]
    content: Annotated[str, AfterValidator(_check_content)] | None = None
    """What the file holds, as text."""
    source: SourcePath | None = None
    """A file to copy, relative to the directory of the manifest; or an http or https URL."""
    checksum: Checksum | None = None
    """The SHA-256 in hex of what the URL leads to; with it, a right file is right without a question to the server."""
    owner: Account | None = None
    """The user it belongs to: a name, or an id in digits."""
    group: Account | None = None
    """The group it belongs to: a name, or an id in digits."""
    mode: Annotated[str, AfterValidator(_check_mode)] | None = None
    """Permissions in octal, at most 0777. Who may read or write a directory may also enter it: 0640 is 0750 there."""
    setgid: Flag | None = None
    """The setgid bit: what is made in a directory belongs to its group. Unset, a directory keeps it and a file loses it."""
    sticky: Flag | None = None
    """The sticky bit of a directory: only its owner may remove a file in it. Unset leaves it alone."""
    validate_with: str | None = Field(default=None, alias="validate")  # pydantic has a method of that name
    """A command that looks at the new content before it is put in place: ``visudo -cf {path}``."""
    force: Flag = False
    """Whether ``ensure: absent`` may remove a directory that is not empty."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:
        """Owner, group and mode stay as they are; what is new is like any file that this user makes."""
        if ensure == "absent":
            return {}
        try:
            found = os.stat(name)
        except (OSError, ValueError):
            mode = "0755" if ensure == "directory" else "0644"
            return {"owner": str(os.geteuid()), "group": str(os.getegid()), "mode": mode}
        mode = f"{found.st_mode & _MAX_MODE:04o}"
        return {"owner": str(found.st_uid), "group": str(found.st_gid), "mode": mode}

    async def describe(self) -> Mapping[str, Any]:
        """In the words of the properties; owner and group by name where they have one."""
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
        found |= _in_words(state.mode)
        if state.type is FileType.FILE:
            found["checksum"] = (await self.outputs())["checksum"]
        return found

    def property_problems(self) -> Iterable[PropertyProblem]:
        """What is wrong with the properties taken together."""
        yield from super().property_problems()
        if self.content is not None and self.source is not None:
            yield PropertyProblem(
                ("source",), "'content' and 'source' are mutually exclusive", "remove one of them"
            )
        if self.source == self.name and self.ensure == "present":
            hint = "name another file, or remove source: what the file holds is then left as it is"
            yield PropertyProblem(("source",), "the source is the file itself", hint)
        if self.validate_with is not None:
            yield from self._fault_of_validation(self.validate_with)
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
            yield PropertyProblem(("force",), words, "name what is to be removed")
        if self.force and self.meta.reverse:
            words = "what a directory holds is not kept, so its removal with 'force: true' can't be undone"
            yield PropertyProblem(("meta", "reverse"), words, "remove reverse, or force")

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

    def _fault_of_validation(self, text: str) -> Iterable[PropertyProblem]:
        if self.ensure != "present" or (self.content is None and self.source is None):
            words = "there is nothing to validate: only new content is"
            yield PropertyProblem(("validate",), words, "add content or source, or remove validate")
        if fault := fault_of(text):
            hint = f"write one command, its quotes in pairs: visudo -cf {PLACEHOLDER}"
            yield PropertyProblem(("validate",), fault, hint)

    def _missing(self) -> Iterable[PropertyProblem]:
        examples = {"owner": "owner: root", "group": "group: root", "mode": 'mode: "0644"'}
        for name, example in examples.items():
            if getattr(self, name) is None:
                words = f"{name} is required, unless ensure is absent"
                yield PropertyProblem((), words, f"add it, for example {example}")

    def watches(self) -> Iterable[PathWatch]:
        """The path, and the source whose changes are to be copied."""
        yield PathWatch(self.name)
        for source in self.source_files():
            yield PathWatch(source, is_input=True)

    def observe(self) -> Coroutine[Any, Any, FileState]:
        """The state of the path. Raises ResourceError when it can't be told."""
        return self._observer.observe()

    def plan(self, state: FileState, *, refresh: bool) -> Plan:  # noqa: ARG002  a file has nothing to refresh
        """What to do, by the decision table. Raises ResourceError where that says so."""
        return plan_file(self._observer.desired, state)

    async def preflight(self, state: FileState) -> None:
        """Look whether there is something to copy, a validator, and a directory where something can be changed."""
        desired = self._observer.desired
        if stores(desired, state) and desired.content is not None:
            if desired.validator is not None:
                await desired.validator.require_startable()
            with Explaining(f"write {self.name}"):
                await desired.content.prepare()
                desired.content.head(0)
        made = (
            first_made(self.name)
            if self.ensure == "directory" and state.type is FileType.ABSENT
            else self.name
        )
        with Explaining(f"{self._doing(state)} {self.name}"), Parent(made) as (directory, _):
            refuse_read_only(directory)
        if state.type is not FileType.ABSENT:
            self._rehearse_attributes(state)

    def _doing(self, state: FileState) -> str:
        """What the change is called when it fails."""
        if self.ensure == "absent":
            return "remove"
        if state.type is (FileType.DIRECTORY if self.ensure == "directory" else FileType.FILE):
            return "write" if stores(self._observer.desired, state) else "set the attributes of"
        return "create the directory" if self.ensure == "directory" else "write"

    def _rehearse_attributes(self, state: FileState) -> None:
        """Look whether owner, group and mode may be set on the file that is there, where they are all that is managed."""
        found = (state.uid, state.gid, state.mode)
        if state.shared and self._observer.desired.content is None and found != state.wanted:
            with Explaining(f"set the attributes of {self.name}"):
                fd = open_path(self.name)
                try:
                    refuse_foreign_link(fd, self.name)
                finally:
                    os.close(fd)

    async def reversal(self, state: FileState) -> Self:
        """The file or directory that was found, with its content if that is managed; or nothing at the path."""
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
        found |= _in_words(state.mode)
        if state.type is FileType.DIRECTORY:
            return type(self)(
                name=self.name, ensure="directory", **{"setgid": False, "sticky": False} | found
            )
        if self.ensure == "absent" or self.content is not None or self.source is not None:
            found["source"] = await keep_for_undo(self.name, self.ref)
        return type(self)(name=self.name, ensure="present", **found)

    async def outputs(self) -> Mapping[str, Any]:
        """The path, and the SHA-256 of what the file holds."""
        checksum = await in_thread(checksum_of, self.name)
        return {"path": self.name, "checksum": checksum}

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The path, unless it is to go.

        Depends on: The parent directory, the source, the owners, and what the validator runs and reads.
        """
        dependencies = tuple(self._dependencies())
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=dependencies)
        return Relations(provides=(self.name,), depends_on=dependencies)

    def might_provide(self, missing: str) -> bool:
        """Of paths, its own and, for a directory, those above it; no account. A package may come by what a file says."""
        if not missing.startswith(("/", "user#", "group#")):
            return True
        brought = f"{self.name}/" if self.ensure == "directory" else self.name
        return self.ensure != "absent" and (missing == self.name or brought.startswith(f"{missing}/"))

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The path; a command may validate what is to be there, and a directory keeps its setgid bit."""
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
        """The parent directory, the source, the owners, and what the validator runs and reads."""
        if self.name != "/":
            yield self.name.rpartition("/")[0] or "/"
        yield from self.source_files()
        yield from accounts_of(self.owner, self.group)
        if self.validate_with is not None:
            yield from paths_in(self.validate_with)

    def claims(self) -> Iterable[Claim]:
        """The path, with all that is managed of it."""
        wishes: dict[str, object] = {"ensure": self.ensure}
        if self.ensure != "absent":
            wishes.update(owner=self.owner, group=self.group, mode=self._permissions & _MAX_MODE)
            special = {"setgid": self.setgid, "sticky": self.sticky}
            wishes.update({name: wish for name, wish in special.items() if wish is not None})
            if self.content is not None:
                wishes["content"] = self.content
            elif self.source is not None:
                wishes["content"] = ("copied from", self.source)
        yield Claim("path", self.name, wishes)

    def __copy__(self) -> Self:
        """Copy the properties only: what was derived from them does not fit a copy with other ones."""
        copied = super().__copy__()
        copied.__dict__.pop("_observer", None)
        return copied

    def _desired(self) -> Desired:
        if self.owner is None or self.group is None or self.mode is None or self.ensure == "absent":
            return Desired(self.name, "absent", force=self.force)
        validator = None if self.validate_with is None else Validator(self.validate_with)
        special = _special(self.setgid is not None, self.sticky is not None)
        content, mode = self._wanted_content(), self._permissions
        return Desired(
            self.name,
            self.ensure,
            content,
            self.owner,
            self.group,
            mode,
            validator=validator,
            special=special,
            is_covered=self.declared.is_covered,
        )

    @property
    def _permissions(self) -> int:
        """All twelve bits."""
        mode = parse_mode(self.mode or "0")
        special = _special(self.setgid, self.sticky)
        return special | (_enterable(mode) if self.ensure == "directory" else mode)

    def _wanted_content(self) -> Content | None:
        if self.content is not None:
            return Inline(self.content)
        if self.source is None:
            return None
        return self._remote(self.source) if is_url(self.source) else Source(self.source)

    def _remote(self, url: str) -> Content:
        from reactor.resources.download.source import Source as Download  # noqa: PLC0415 - few files come from a server
        from reactor.resources.download.source import split_credentials  # noqa: PLC0415
        from reactor.resources.file.remote import Remote  # noqa: PLC0415

        bare, credentials = split_credentials(url)
        download = Download(bare, {}, credentials, _LARGEST, _PATIENCE)
        return Remote(self.name, download, self.checksum, self.meta.poll)

    @cached_property
    def _observer(self) -> Observer:
        return Observer(self._desired())

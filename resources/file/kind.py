"""The kind `file`: its properties, and the rules for their combinations."""

# No `from __future__ import annotations` here: pydantic would compile each annotation from its text, and again for each
# class that inherits it.

import os.path
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import Field

from reactor import (
    AbsolutePath,
    ChangedPaths,
    Claim,
    Flag,
    PathState,
    PathWatch,
    Plan,
    PropertyProblem,
    Relations,
    Resource,
    SandboxAccess,
    TemplateSource,
    in_thread,
    own_renames,
)
from reactor.hostfs import accounts_of
from reactor.resources.download.source import Checksum, is_url
from reactor.resources.file.make_reconciler import permissions_of, reconciler_for
from reactor.resources.file.property_types import (
    MAX_MODE,
    Account,
    Acl,
    Capabilities,
    LinkTarget,
    Mode,
    SourcePath,
    Template,
    Text,
    Xattrs,
)
from reactor.resources.file.rules import problems_of, warnings_of
from reactor.resources.file.state import FileState
from reactor.resources.file.validator import paths_in

if TYPE_CHECKING:
    from reactor.resources.file.property_types import TemplatePath
    from reactor.resources.file.reconciler import Reconciler
    from reactor.resources.file.template import TemplateContent

_CLAIMED_IF_GIVEN = ("setgid", "sticky", "acl", "xattrs", "capabilities")
_RARELY_CLAIMED = frozenset(("recurse", *_CLAIMED_IF_GIVEN))
_RARE_DEPENDENCIES = frozenset(("source", "template", "target", "acl", "validate_with", "verify_with"))
"""Properties with paths or accounts that the file depends on, besides its directory, owner and group."""

_NEEDING_JOB = frozenset(("source", "template", "recurse", "validate_with", "verify_with"))
"""Properties with which a check may take long."""


class File(Resource[FileState], kind="file", providers=("posix",)):
    """Manage one file, directory or symlink: existence, content, owner, group and mode.

    ``content``, ``source`` and ``template`` are three ways to set the content. With none, only owner, group and mode
    are managed, and the content is never read.
    """

    example = "/tmp/motd --content 'Welcome' --mode 0644"  # noqa: S108 - an example that needs no root
    deferred_properties = frozenset(("content", "source", "checksum"))

    name: AbsolutePath
    ensure: Literal["present", "absent", "directory", "link"]
    content: Text | None = None
    """The content of the file, as a string."""
    source: SourcePath | None = None
    """A file to copy, relative to the directory of the manifest; or an http or https URL."""
    template: Template | None = None
    """A template that renders the content; relative to the directory of the manifest."""
    engine: Literal["jinja", "go", "jet"] = "jinja"
    """The language of the template. The default is jet in a manifest of the `ccm:` form."""
    data: dict[str, Any] | None = None
    """The variable ``data`` of the template, instead of the data of the manifest."""
    checksum: Checksum | None = None
    """The SHA-256 in hex of the content at the URL; the server is not asked about a file that has it."""
    target: LinkTarget | None = None
    """What the link points to: a path, absolute or relative to the directory of the link. It need not exist."""
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
    recurse: Flag = False
    """Whether owner, group and, for directories, ``mode`` are those of everything in the directory."""
    file_mode: Mode | None = None
    """With ``recurse``, the permissions of the files in it. An executable file stays executable for all that may read it."""
    acl: Acl | None = None
    """The exact list of further users and groups: ``u:alice:rw``, ``g:web:rx``; ``d:u:alice:rwx`` for new files in it."""
    xattrs: Xattrs | None = None
    """Extended attributes: ``user.origin: backup``. One with null is removed; others are left alone."""
    capabilities: Capabilities | None = None
    """The capabilities of a program: ``cap_net_bind_service=ep``; empty for none."""
    validate_with: str | None = Field(default=None, alias="validate")  # pydantic has a method of that name
    """A command that validates the new content before it replaces the old content: ``visudo -cf {path}``."""
    verify_with: str | None = Field(default=None, alias="verify")  # the base class has a method of that name
    """A command that must succeed once the new content is in place; otherwise the former file is put back."""
    force: Flag = False
    """Whether ``ensure: absent`` may remove a directory that is not empty, and a link replace a file or a directory."""

    mounted_root: Flag = False
    """Whether owner and mode are those of the root of a file system that others have mounted on the directory."""

    @classmethod
    def shell_defaults(cls, name: str, ensure: str) -> Mapping[str, str]:
        """An existing file keeps its owner, group and mode; a new one gets those of a file that this user creates."""
        if ensure in ("absent", "link"):
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
        from reactor.resources.file.description import description_of  # noqa: PLC0415 - only to show a file

        return await description_of(self.name, await self.observe())

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        return chain(super().property_problems(), problems_of(self))

    def warnings(self) -> Iterable[PropertyProblem]:
        """A download that an attacker on the network could replace, and statements of Jinja in the content."""
        return warnings_of(self)

    def watches(self) -> Iterable[PathWatch]:
        """The path, and the source file; the template, and what it has read."""
        if self.template is not None:
            self.__dict__["has_moving_watches"] = (
                True  # of this file alone: a class attribute would cost all of them
            )
        yield PathWatch(self.name, self.changed_paths) if self.recurse else PathWatch(self.name)
        for source in self.source_files():
            yield PathWatch(source, is_input=True)

    def observe(self) -> Coroutine[Any, Any, FileState]:
        """The state of the path. Raises ResourceError when it can't be read."""
        # Not self._reconciler: the lock of cached_property costs as much as a stat at the first check of each file.
        found: Reconciler | None = self.__dict__.get("_reconciler")
        if found is None:
            found = self.__dict__["_reconciler"] = reconciler_for(self)
        return found.observe()

    def plan(self, state: FileState, *, refresh: bool) -> Plan:  # noqa: ARG002  a file has nothing to refresh
        """The plan by the decision table of files, `plan_file`, or of links. Raises ResourceError."""
        return self._reconciler.plan(state)

    async def verify(self) -> Plan:
        """The remaining plan after an apply."""
        if self.ensure == "present":
            self._reconciler.expect_file()
        if not (plan := self._reconciler.plan(await self._reconciler.observe())):
            own_renames.verify(self.name)
        return plan

    async def preflight(self, state: FileState) -> None:
        """Check that the source, the validator and a writable directory exist."""
        await self._reconciler.preflight(state)

    async def reversal(self, state: FileState) -> Self:
        """The file or directory as it was, with its content if that is managed; or no file."""
        from reactor.resources.file.undoing import reversal_of  # noqa: PLC0415 - few files can be undone

        return await reversal_of(self, state)

    def is_undone_by(self, recorded: Self) -> bool:
        """Whether it has the content, and this puts nothing else in the place of what was there."""
        from reactor.resources.file.undoing import is_undone_by  # noqa: PLC0415 - as above

        return is_undone_by(self, recorded)

    async def outputs(self) -> Mapping[str, Any]:
        """The path, and the SHA-256 of the content or the target of the link."""
        if self.ensure == "link":
            return {"path": self.name, "target": self.target}
        from reactor.hostfs import checksum_of  # noqa: PLC0415 - only to show a file

        checksum = await in_thread(checksum_of, self.name)
        return {"path": self.name, "checksum": checksum}

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The path, unless it is removed.

        Depends on: The parent directory, the source, the target of a link, the owners, and the files that the
        commands run and read.
        """
        dependencies = self._dependencies()
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=dependencies)
        purges = self.name if self.recurse else None  # so that `declared` names what others manage in it
        return Relations((self.name,), (), (), dependencies, purges)  # with names, it takes twice as long

    def might_provide(self, missing: str) -> bool:
        """Whether ``missing`` may be its path, a path above that, or neither a path nor an account.

        A file may make a package available, for example.
        """
        if not missing.startswith(("/", "user#", "group#")):
            return True
        path = f"{self.name}/"
        return self.ensure != "absent" and path.startswith(f"{missing}/")

    def lasting_state(self) -> Sequence[PathState] | None:
        """The file or directory, if there is nothing but content, owner, group and mode, with ids that can't change."""
        from reactor.resources.file.lasting import lasting_state_of  # noqa: PLC0415 - once, at the end of a run

        return lasting_state_of(self)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The path; the setgid bit; everything, for a command, or for ``trusted.`` attributes."""
        yield self.name
        if self.ensure == "directory" or self.setgid:
            yield SandboxAccess.SETGID
        needs_administrator = any(not name.startswith("user.") for name in self.xattrs or ())
        if self.validate_with is not None or self.verify_with is not None or needs_administrator:
            yield SandboxAccess.ANYTHING

    def source_files(self) -> Collection[str]:
        """The source, if it is on this host; the template, and what it has read."""
        if self.ensure != "present":
            return ()
        if self.template is not None:
            return sorted(self.rendered.inputs)
        return () if self.source is None or is_url(self.source) else (self.source,)

    def _dependencies(self) -> tuple[str, ...]:
        """The parent directory, the source or target, the owners, and the files that the commands run and read."""
        needed = [] if self.name == "/" else [self.name.rpartition("/")[0] or "/"]
        if _RARE_DEPENDENCIES.isdisjoint(self.__dict__):  # as most; a default value is slow to read
            return (*needed, *accounts_of(self.owner, self.group))
        needed += self.source_files()
        if self.target is not None:
            needed.append(os.path.normpath(os.path.join(os.path.dirname(self.name), self.target)))
        needed += accounts_of(self.owner, self.group)
        if self.acl is not None:
            from reactor.resources.file.extended import accounts_in  # noqa: PLC0415 - few files have an ACL

            needed += accounts_in(self.acl)
        for command in (self.validate_with, self.verify_with):
            needed += paths_in(command or "")
        return tuple(needed)

    def claims(self) -> Iterable[Claim]:
        """The path, with all its managed properties."""
        desired: dict[str, object] = {"ensure": self.ensure}
        if self.ensure == "link":
            values = {"target": self.target, "owner": self.owner, "group": self.group}
            desired.update((name, value) for name, value in values.items() if value is not None)
        elif self.ensure != "absent":
            desired["owner"], desired["group"] = self.owner, self.group
            desired["mode"] = permissions_of(self) & MAX_MODE
            if not _RARELY_CLAIMED.isdisjoint(self.__dict__):
                if self.recurse:
                    desired.update(recurse=True, file_mode=self.file_mode)
                given = {name: getattr(self, name) for name in _CLAIMED_IF_GIVEN}
                desired.update((name, value) for name, value in given.items() if value is not None)
            if self.content is not None:
                desired["content"] = self.content
            elif self.source is not None:
                desired["content"] = ("copied from", self.source)
            elif self.template is not None:
                desired["content"] = ("rendered from", self.template, self.data)
        return (Claim("path", self.name, desired),)

    @cached_property
    def changed_paths(self) -> ChangedPaths:
        """The paths in the directory that had events, with ``recurse``."""
        return ChangedPaths()

    @cached_property
    def rendered(self) -> "TemplateContent":
        """The content that the template renders."""
        from reactor.resources.file.template import TemplateContent  # noqa: PLC0415 - few files have one

        path = cast("TemplatePath", self.template)
        return TemplateContent(path, self._used_engine, self.data, is_secret=bool(self.secrets))

    @property
    def _used_engine(self) -> str:
        is_set = "engine" in self.model_fields_set or not self.declared.form.is_ccm
        return self.engine if is_set else "jet"

    def template_sources(self) -> Iterable[TemplateSource]:
        """The template."""
        if self.template is None or self.ensure != "present":
            return ()
        from reactor.resources.file.template import template_source  # noqa: PLC0415 - as above

        return (template_source(cast("TemplatePath", self.template), self._used_engine),)

    @property
    def holds_secrets(self) -> bool:
        """Whether the content may show a secret: of a property, or of the data of the template."""
        return bool(self.secrets) or (self.template is not None and self.rendered.is_secret)

    @property
    def needs_job(self) -> bool:
        """Whether it runs a command, renders a template, asks a server, or has a whole tree."""
        if _NEEDING_JOB.isdisjoint(self.__dict__):  # as most; a default value is slow to read
            return False
        is_local = self.source is None or not is_url(self.source)
        return (
            not (is_local and self.template is self.validate_with is self.verify_with is None) or self.recurse
        )

    def has_same_inputs(self, other: Self) -> bool:
        """Whether the manifest's data, as far as a template sees them, are the same."""
        if self.template is None or other.template is None:
            return True
        return self.rendered.values.matches(other.rendered.values)

    def inputs_digest(self) -> bytes:
        """The digest of the manifest's data that a template sees."""
        return b"" if self.template is None else self.rendered.values.digest

    def run_again(self) -> None:
        """Forget what the last check has seen."""
        self.__dict__.pop("_reconciler", None)

    @cached_property
    def _reconciler(self) -> "Reconciler":
        return reconciler_for(self)

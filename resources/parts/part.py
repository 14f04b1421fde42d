"""The common base of the kinds `line`, `block` and `setting`. The parts of one file are written together."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Self
from weakref import WeakValueDictionary

import trio
from pydantic import Field

from reactor import (
    AbsolutePath,
    Action,
    Claim,
    Contradiction,
    Diff,
    Flag,
    PathState,
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
    INLINE_LIMIT,
    Attributes,
    Change,
    ErrorContext,
    Inline,
    Parent,
    accounts,
    accounts_of,
    content_diff,
    new_file_diff,
    refuse_replacement,
)
from reactor.resources.file.property_types import Account, Mode, parse_mode
from reactor.resources.file.validator import PLACEHOLDER, Validator, paths_in, validator_problem
from reactor.resources.parts.compose import Composed, compose, contradictions
from reactor.resources.parts.document import Document, Edit
from reactor.resources.parts.shared_file import Found, distrust, lock_of, look, look_again, look_now, store

_MODE, _SECRET_MODE = "0644", "0600"
_PART = "a part of it"
_ATTEMPTS = 5
"""How often a change is made again because another program changed the file meanwhile."""
_PAUSE = 0.01
"""Seconds before the second attempt; twice that before the third, and so on."""
_declared: dict[str, WeakValueDictionary[int, Part]] = {}
"""By path, all resources that a graph has: one may create the file, or validate it, for the others."""


class PartState(NamedTuple):
    """Whether the file exists, and the changes that it needs, in words: none if the part is as desired."""

    exists: bool
    change: str = ""
    found: Found | None = None


_AS_DESIRED = PartState(True)
_UNKNOWN: tuple[object, PartState] = (None, _AS_DESIRED)


class Part(Resource[PartState]):
    """A part of a file. A subclass has the properties of the part, and `edit`."""

    grouped_as = "part"
    may_undo = frozenset(("line", "block", "setting"))

    name: str = Field(min_length=1)
    path: AbsolutePath
    """The file. A symlink to it is followed, and stays."""
    ensure: Literal["present", "absent"] = "present"
    create: Flag = False
    """Whether a missing file is created. Otherwise, it is an error."""
    owner: Account | None = None
    """With ``create``: the owner of a new file, root by default. An existing file keeps its own."""
    group: Account | None = None
    """With ``create``: the group of a new file, root by default."""
    mode: Mode | None = None
    """With ``create``: the permissions of a new file; by default 0644, or 0600 if a part of it is secret."""
    validate_with: str | None = Field(default=None, alias="validate")  # pydantic has a method of that name
    """A command that validates the whole new file before it replaces the old one: ``visudo -cf {path}``."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """The property that identifies the part."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The part, in words: ``the line 'Port 22'``."""

    @abstractmethod
    def edit(self, document: Document) -> Edit | None:
        """The change that makes the part as desired; None if it is. Raises ResourceError when it can't be made."""

    def change(self, document: Document) -> Edit | None:
        """As `edit`. Raises ResourceError if the part would not be as desired after it, so nothing is written.

        In a file whose last line goes on, for example, a new line would be a part of that one.
        """
        edit = self.edit(document)
        if edit is not None and self.edit(edit.after) is not None:
            words = f"{self.path} can't hold {self.title}: it would be read back as something else"
            raise ResourceError(words, "see the lines around it, such as one that ends with a backslash")
        return edit

    @property
    def waits_for_others(self) -> bool:
        """Whether the place of the part depends on other lines, which another part may bring."""
        return False

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        for name in ("owner", "group", "mode"):
            if getattr(self, name) is not None and not self.create:
                words = f"{name} is only valid with 'create: true': an existing file keeps its own"
                yield PropertyProblem((name,), words, f"add create: true, or set the {name} by the kind file")
        if self.create and self.ensure == "absent":
            words = "create is only valid with 'ensure: present'"
            yield PropertyProblem(("create",), words, "remove create")
        if self.validate_with is not None and (problem := validator_problem(self.validate_with)):
            hint = f"write one command, its quotes in pairs: visudo -cf {PLACEHOLDER}"
            yield PropertyProblem(("validate",), problem, hint)

    def unreadable(self) -> PropertyProblem | None:
        """The problem of a part that would not be found again in the file once it is written."""
        try:
            edit = self.edit(Document())
            if edit is None or self.edit(edit.after) is None:
                return None
            words = f"this {self.subject} can't be written: it would be read back as something else"
            return PropertyProblem((self.subject,), words, "write it with the quotes that the format needs")
        except ResourceError as error:
            return PropertyProblem((self.subject,), error.message, error.hint)

    def watches(self) -> Iterable[PathWatch]:
        """The file."""
        yield PathWatch(self.path)

    def lasting_state(self) -> Sequence[PathState]:
        """The file."""
        return (PathState(self.path, "read"),)

    async def observe(self) -> PartState:
        """The state of the part. The file is read and parsed once for all its parts."""
        found = await look(self.path)
        # Not a private attribute: pydantic takes longer for one than the stat of the file.
        known: tuple[object, PartState] | None = self.__dict__.get("_known")
        if known is not None and known[0] is found.document.token:
            return known[1]
        return await self._judge(found)

    async def _judge(self, found: Found) -> PartState:
        if found.attributes is None:
            return self._missing(found)
        edit = await self._changed(found.document)
        state = _AS_DESIRED if edit is None else PartState(True, edit.did, found)
        if edit is None:  # a state that differs is compared again, so that a plan never uses an old one
            self.__dict__["_known"] = (found.document.token, state)
        return state

    async def _changed(self, document: Document) -> Edit | None:
        if len(document.data) > INLINE_LIMIT:
            return await in_thread(self.change, document)
        return self.change(document)

    def _missing(self, found: Found) -> PartState:
        if self.ensure == "absent":
            return PartState(False)
        if not self.create and not any(peer.create for peer in _peers(self.path)):
            hint = "add create: true, or require the resource that creates it"
            raise ResourceError(f"{self.path} does not exist", hint, missing=self.path)
        edit = self.edit(Document())
        words = ["created the file"] if self.create else []
        return PartState(False, ", ".join(words if edit is None else [*words, edit.did]), found)

    def plan(self, state: PartState, *, refresh: bool) -> Plan:  # noqa: ARG002  a part has nothing to refresh
        """One change of the file, or none."""
        if not state.change or state.found is None:
            return ()
        return (Action.proven(state.change, self._apply_alone, partial(self._diff, state.found)),)

    async def preflight(self, state: PartState) -> None:
        """Check that the validator can be started, and that the file can be replaced."""
        for command in self._commands(self.path, (self,)):
            await Validator(command).require_startable()
        real = state.found.real if state.found is not None else self.path
        with ErrorContext(f"write {self.path}"), Parent(real):  # its directory must be there
            refuse_replacement(real)
        if not state.exists and self.create:
            await self._attributes()

    def group_key(self) -> Hashable:
        """The file: everything that changes in it is written at once."""
        return self.path

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Read the file, change all parts in the order of the manifest, validate the result and write it once."""
        return (await _compose_and_store(members[0].path, members)).refusals

    def run_again(self) -> None:
        """Let the next look read the file."""
        distrust(self.path)

    @classmethod
    def all_as_desired(cls, members: Sequence[Self], evidence: object) -> object:
        """The token of the document if it has all parts. It is read and parsed once for them."""
        found = look_now(members[0].path)
        if found is None or found.attributes is None:
            return None
        document, token = found.document, found.document.token
        if token is evidence:
            return token
        for each in members:
            if each.__dict__.get("_known", _UNKNOWN)[0] is not token:
                if each.change(document) is not None:
                    return None
                each.__dict__["_known"] = (token, _AS_DESIRED)
        return token

    @classmethod
    def contradictions(cls, members: Sequence[Self]) -> Iterable[Contradiction]:
        """The parts of one file that undo each other."""
        return contradictions(members)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The file, of which it changes a part.

        Depends on: The file, if another resource manages it as a whole; its directory; the owners; and the files that
        the validator runs and reads.
        """
        needed = [self.path, *accounts_of(self.owner, self.group)]
        if self.validate_with is not None:
            needed += paths_in(self.validate_with)
        return Relations(provides=(self.path,), depends_on=needed, edits=(self.path,))

    def might_provide(self, missing: str) -> bool:
        """Whether ``missing`` is its file and may be created, or is neither a path nor an account."""
        if missing.startswith(("/", "user#", "group#")):
            return self.create and missing == self.path
        return True

    def claims(self) -> Iterable[Claim]:
        """The file: another resource must not have the whole content, and attributes must not differ."""
        _declared.setdefault(self.path, WeakValueDictionary())[id(self)] = self
        wishes: dict[str, object] = {"content": _PART}
        if self.ensure == "present":
            wishes["ensure"] = "present"
        given = {"owner": self.owner, "group": self.group}
        wishes.update({name: value for name, value in given.items() if value is not None})
        if self.mode is not None:
            wishes["mode"] = parse_mode(self.mode)
        yield Claim("path", self.path, wishes)

    def sandbox_access(self) -> Iterable[SandboxAccess | str]:
        """The file; everything, if a command validates it."""
        yield self.path
        if self.validate_with is not None:
            yield SandboxAccess.ANYTHING

    async def describe(self) -> Mapping[str, Any]:
        """Whether the part is as desired."""
        state = await self.observe()
        is_present = (self.ensure == "present") is not bool(state.change)
        return {"ensure": "present" if is_present else "absent", "path": self.path}

    async def _apply_alone(self) -> None:
        composed = await _compose_and_store(self.path, (self,))
        if self.ref in composed.refusals:
            raise composed.refusals[self.ref]

    async def _diff(self, found: Found) -> Diff:
        edit = await self._changed(found.document)
        content = Inline(b"" if edit is None else edit.after.data)
        if found.attributes is not None:
            return await content_diff(found.real, content, ())
        new = {"owner": self.owner or "root", "group": self.group or "root", "mode": self._mode}
        changes = tuple(Change(name, "", value) for name, value in new.items())
        return await new_file_diff(self.path, content, changes)

    async def _attributes(self) -> Attributes:
        """The attributes of a new file."""
        owner, group = self.owner or str(os.geteuid()), self.group or str(os.getegid())
        ids = accounts.known(owner, group) or await accounts.look_up(owner, group)
        return Attributes(*ids, parse_mode(self._mode))

    @property
    def _mode(self) -> str:
        """The mode of a new file: other users can't read a file that may hold a secret."""
        is_secret = self.holds_secrets or any(peer.holds_secrets for peer in _peers(self.path))
        return self.mode or (_SECRET_MODE if is_secret else _MODE)

    @classmethod
    def _commands(cls, path: str, members: Sequence[Part]) -> list[str]:
        """The commands that validate the file, of all resources that have one."""
        all_of_them = (*members, *_peers(path))
        return list(dict.fromkeys(each.validate_with for each in all_of_them if each.validate_with))


def _peers(path: str) -> list[Part]:
    """All resources of the file that a graph has."""
    return list(_declared.get(path, {}).values())


async def _compose_and_store(path: str, members: Sequence[Part]) -> Composed:
    """Change all parts in the present content and write it, if it differs. Raises ResourceError."""
    async with lock_of((await look(path)).real):
        for number in range(_ATTEMPTS):
            await trio.sleep(number * _PAUSE)  # a program that truncates a file first has written it by then
            if (composed := await _attempt(path, members)) is not None:
                return composed
    words = f"another program changed {path} during each attempt to edit it"
    raise ResourceError(words, "see what writes it: lsof, or fatrace")


async def _attempt(path: str, members: Sequence[Part]) -> Composed | None:
    """As `_compose_and_store`; None if another program changed the file meanwhile, so that nothing was written."""
    before = await look_again(path)
    if len(before.document.data) > INLINE_LIMIT:
        composed = await in_thread(compose, before.document, members)
    else:
        composed = compose(before.document, members)
    changed = [member for member in members if member.ref not in composed.refusals]
    creators = [member for member in changed if member.create]
    if before.attributes is None and not creators:
        raise ResourceError(f"{path} does not exist", "require what creates it", missing=path)
    if not changed or (before.attributes and composed.after.data == before.document.data):
        return composed
    attributes = before.attributes or await creators[0]._attributes()  # noqa: SLF001 - a part of this class
    validators = [Validator(command) for command in Part._commands(path, changed)]  # noqa: SLF001 - as above
    return composed if await store(before, composed.after, attributes, validators) else None

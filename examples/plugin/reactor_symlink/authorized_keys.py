"""The kind ``authorized_keys``: the SSH keys that may log in as a user."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from functools import partial
from typing import Literal, NamedTuple

from reactor import AbsolutePath, Action, Claim, PathWatch, Plan, PropertyProblem, Relations, Resource, Watch
from reactor.hostfs import (
    Attributes,
    ErrorContext,
    Inline,
    accounts,
    accounts_of,
    content_diff,
    open_content,
    read,
    remove_path,
    set_attributes,
    write_file,
)


class KeysState(NamedTuple):
    """The content and attributes of the file; None if it does not exist. ``wanted`` are the desired attributes."""

    text: str | None
    attributes: Attributes | None
    wanted: Attributes


class AuthorizedKeys(Resource[KeysState], kind="authorized_keys"):
    """Manage the whole file of SSH keys that may log in as a user."""

    name: AbsolutePath
    ensure: Literal["present", "absent"] = "present"
    owner: str
    group: str
    keys: tuple[str, ...] = ()

    def property_problems(self) -> Iterable[PropertyProblem]:
        """A key must be one line: a second line in it would be another key."""
        yield from super().property_problems()
        for index, key in enumerate(self.keys):
            if not key.strip() or not key.isprintable():
                yield PropertyProblem(("keys", index), "a key is one line of text", "see ssh-keygen -y")

    def watches(self) -> Iterable[Watch]:
        """The file."""
        yield PathWatch(self.name)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: The file.
        Depends on: The directory, and the accounts of the owner.
        """
        needed = (os.path.dirname(self.name), *accounts_of(self.owner, self.group))
        if self.ensure == "absent":
            return Relations(removes=(self.name,), depends_on=needed)
        return Relations(provides=(self.name,), depends_on=needed)

    def sandbox_access(self) -> Iterable[str]:
        """As a service, the right to write the file."""
        return (self.name,)

    def claims(self) -> Iterable[Claim]:
        """The path: another resource with other content for it is an error of the manifest."""
        yield Claim("path", self.name, {"ensure": self.ensure, "content": self._text})

    async def observe(self) -> KeysState:
        """Read the file through one descriptor, without following a symlink of the user."""
        ids = accounts.known(self.owner, self.group) or await accounts.look_up(self.owner, self.group)
        wanted = Attributes(*ids, 0o600)
        with ErrorContext(f"read {self.name}"):
            try:
                fd = open_content(self.name)
            except FileNotFoundError:
                return KeysState(None, None, wanted)
            try:
                found = os.fstat(fd)
                text = read(fd, found.st_size).decode(errors="replace")
            finally:
                os.close(fd)
        return KeysState(text, Attributes(found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)), wanted)

    def plan(self, state: KeysState, *, refresh: bool) -> Plan:  # noqa: ARG002 - a refresh means nothing to a file
        """Replace the file, correct its attributes, or remove it."""
        if self.ensure == "absent":
            if state.text is None:
                return ()
            run = partial(remove_path, self.name, recursive=False)
            diff = partial(content_diff, self.name, None, ())
            return (Action("Would have removed the keys", "removed the keys", run, diff, is_proof=True),)
        if state.text != self._text:
            content = Inline(self._text)
            run = partial(write_file, self.name, content, state.wanted)
            diff = partial(content_diff, self.name, content, ())
            return (Action("Would have written the keys", "wrote the keys", run, diff, is_proof=True),)
        if state.attributes != state.wanted:
            run = partial(set_attributes, self.name, state.wanted)
            words = "set owner, group and mode"
            return (Action(f"Would have {words}", words, run, is_proof=True),)
        return ()

    @property
    def _text(self) -> str:
        return "".join(f"{key}\n" for key in self.keys)

"""The kind `authorized_key`: its properties, and the rules for their combinations."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, PrivateAttr

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
    Watch,
    fragile_mounts,
)
from reactor.hostfs import Attributes
from reactor.resources import shared_lines
from reactor.resources.accounts.database import PASSWD, find_user
from reactor.resources.accounts.property_types import AccountName
from reactor.resources.ssh import key_options, public_key, strict_modes
from reactor.resources.ssh.authorized_lines import DesiredKey, key_id
from reactor.resources.ssh.key_file import (
    Account,
    KeyState,
    attribute_steps,
    directory_at,
    directory_steps,
    find_account,
    require_home,
    usual_path,
)

_FILE_MODE = 0o600
_SPACE = "authorized keys of"


def _check_comment(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("a comment is one line of text, without blanks around it")
    return text


class AuthorizedKey(Resource[KeyState], kind="authorized_key"):
    """Manage one SSH key that may log in as a user. The name is free, and is the comment of a key without one."""

    example = (
        "ada-laptop --user root --options no-pty"
        " --key 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0lz3NMSaHdJz5Nj6tfW9uNEJnsBej9x8HXNHd2SKtz'"
    )
    provides_only_its_own = True
    has_moving_watches = True
    model_config = ConfigDict(hide_input_in_errors=True)

    _account: Account | None = PrivateAttr(default=None)

    ensure: Literal["present", "absent"] = "present"
    user: AccountName
    """The user that the key may log in as."""
    key: Annotated[str, AfterValidator(public_key.check)]
    """The key, as in the `.pub` file: type, blob, and perhaps a comment. It is found by type and blob."""
    options: tuple[Annotated[str, AfterValidator(key_options.check)], ...] = ()
    """The options of the key, such as `no-pty` and `from="10.0.0.0/8"`, see sshd(8)."""
    comment: Annotated[str, AfterValidator(_check_comment)] | None = None
    """The comment; unset, that of `key`. If there is none either, the comment in the file is left as it is."""
    path: AbsolutePath | None = None
    """The file; unset, `.ssh/authorized_keys` in the home of the user. For `AuthorizedKeysFile` of sshd_config(5)."""
    exclusive: Flag = False
    """Whether every key of the user that no resource names is removed."""
    strict_modes: Flag = True
    """Whether it is an error if others may write in a directory of the way, because sshd then ignores the file."""

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent" and self.exclusive:
            words = "exclusive is only valid with 'ensure: present'"
            yield PropertyProblem(("exclusive",), words, "write it at a key that the user keeps")
        if not self.name.isprintable():
            yield PropertyProblem(
                ("name",), "the name must be one line of text", "write a name such as ada-laptop"
            )
        names = [option.partition("=")[0].lower() for option in self.options]
        for index, name in enumerate(names):
            if name in names[:index] and name not in ("environment", "permitlisten", "permitopen"):
                yield PropertyProblem(("options", index), f"{name} is listed twice", "remove one of them")

    def watches(self) -> Iterable[Watch]:
        """The file, its directory, the home of the user, and the file of users."""
        yield PathWatch(PASSWD)
        if path := self._known_path():
            yield PathWatch(path)
            yield PathWatch(os.path.dirname(path))
        if (home := self._home()) and not self.path:
            yield PathWatch(home)

    def relations(self) -> Relations:
        """Its relations to other resources.

        Provides: Nothing.

        Depends on: The user, and the directory of the file.
        """
        path = self._known_path() or usual_path(f"/home/{self.user}")
        needed = (f"user#{self.user}", PASSWD, path)
        owned = f"{_SPACE} {self.user}"
        provided = () if self.ensure == "absent" else (f"{owned}/{key_id(self._key)}",)
        return Relations(provides=provided, depends_on=needed, purges=owned if self.exclusive else None)

    def sandbox_access(self) -> Iterable[str]:
        """The file, or the homes."""
        return (os.path.dirname(self.path) if self.path else self._home() or "/home",)

    def claims(self) -> Iterable[Claim]:
        """The key of the user, that the user exists, and the file, which no other resource may write as a whole."""
        desired: dict[str, object] = {"ensure": self.ensure, "path": self.path}
        if self.ensure == "present":
            comment = {} if self._comment is None else {"comment": self._comment}
            desired |= {"options": self.options, **comment}
            yield Claim("user", self.user, {"ensure": "present"})
            if path := self._known_path():
                yield Claim("path", path, {"ensure": "present", "content": f"{_SPACE} {self.user}"})
        yield Claim("authorized key", f"{self._key.blob} of {self.user}", desired)

    def lasting_state(self) -> Sequence[PathState] | None:
        """The file of users and that of keys, in the home or with all modes: where else a home leads would count, too."""
        is_elsewhere = self.path is not None and self.strict_modes
        if self._account is None or is_elsewhere or find_user(self.user) is None:
            return None
        path = self.path or usual_path(self._account.home)
        return PathState(PASSWD, "read"), PathState(path, "read")

    async def observe(self) -> KeyState:
        """The account and its file of keys.

        Raises ResourceError when there is no such user or home, and when sshd would ignore the file.
        """
        account = self._account = await find_account(self.user, must_exist=self.ensure == "present")
        path = self.path or usual_path(account.home)
        await fragile_mounts().ask(path)
        if self.path is None and self.ensure == "present":
            require_home(self.user, account)
        directory = directory_at(os.path.dirname(path))
        file = shared_lines.find(path) if directory is not None else None
        state = KeyState(account, path, file, directory)
        if self.strict_modes and self.ensure == "present" and (directory is not None or state.is_usual):
            own = os.path.dirname(path) if state.is_usual else None
            strict_modes.refuse_exposed(path, account.home, account.uid, but=own)
        return state

    def plan(self, state: KeyState, *, refresh: bool) -> Plan:  # noqa: ARG002  a key has nothing to refresh
        """The directory, then the lines, then owner and mode of the file, as far as sshd asks for them."""
        steps = [*directory_steps(state)] if self.ensure == "present" else []
        lines = state.file.lines if state.file else []
        if differences := self._wanted.differences(lines):
            words = " and ".join(differences)
            run = partial(self._edit, state, [self._wanted.apply])
            steps.append(Action.proven(words, run, partial(self._diff, state)))
        if state.file is not None and self.ensure == "present":
            steps += attribute_steps(state.file.path, state.file.attributes, state.account, "the file")
        return tuple(steps)

    async def preflight(self, state: KeyState) -> None:
        """Check that the directory exists or can be made, and is writable."""
        made = os.path.dirname(state.path) if state.directory is None and state.is_usual else state.path
        shared_lines.refuse_unwritable(state.file.path if state.file else made)

    async def describe(self) -> Mapping[str, Any]:
        """Whether the user has the key."""
        state = await self.observe()
        lines = state.file.lines if state.file else []
        absent = self._wanted._replace(is_present=False, owned=None).differences(lines)
        return {"ensure": "present" if absent else "absent", "path": state.path}

    def group_key(self) -> Hashable:
        """The keys of one user in one file are written together."""
        return self.user, self.path

    @classmethod
    def contradictions(cls, members: Sequence[Self]) -> Iterable[Contradiction]:  # noqa: ARG003 - see below
        """None: their claims, which the graph has compared, say what they own, and the rest is shared."""
        return ()

    @classmethod
    async def apply_group(cls, members: Sequence[Self]) -> Mapping[str, ResourceError]:
        """Write the file once for all keys of one user."""
        state = await members[0].observe()
        present = next((each for each in members if each.ensure == "present"), members[0])
        for each in directory_steps(state) if present.ensure == "present" else ():
            await each.make()
        await present._edit(state, [each._wanted.apply for each in members])  # noqa: SLF001 - of our own class
        for each in present.plan(await present.observe(), refresh=False):
            await each.make()
        return {}

    async def reversal(self, state: KeyState) -> Self:
        """The key as it was, with its options and its comment; or no key."""
        found = self._wanted.found(state.file.lines if state.file else [])
        if found is None:
            return type(self)(name=self.name, user=self.user, key=self.key, path=self.path, ensure="absent")
        if self.exclusive:
            raise ResourceError("reverse could not restore the other keys of the user", "remove reverse")
        words = "reverse could not restore the options or the comment of the key"
        try:
            return type(self)(
                name=self.name, user=self.user, key=self.key, path=self.path,
                options=found.options, comment=found.key.comment,
            )  # fmt: skip
        except ValueError as error:  # also pydantic's
            raise ResourceError(words, "change them by hand, or remove reverse") from error

    def is_undone_by(self, recorded: Self) -> bool | None:
        """Always, unless it is another key now, or one of another user or file."""
        former, now = ((each.user, each.path, public_key.parse(each.key).blob) for each in (recorded, self))
        return True if former == now else None

    @property
    def _key(self) -> public_key.PublicKey:
        return public_key.parse(self.key)

    @property
    def _comment(self) -> str | None:
        return self.comment if self.comment is not None else self._key.comment or None

    @property
    def _wanted(self) -> DesiredKey:
        present = self.ensure == "present"
        owned: Collection[str] | None = None
        if self.exclusive:
            others = (path.rpartition("/")[2] for path in self.declared.managed_paths)
            owned = frozenset((key_id(self._key), *others))
        return DesiredKey(self._key, self.options, self._comment, self.name, present, owned)

    def _home(self) -> str | None:
        """The home of the user as far as it is known without asking a directory service."""
        if self._account is not None:
            return self._account.home
        try:
            user = find_user(self.user)
        except ResourceError:
            return None
        return None if user is None or not user.home.startswith("/") else os.path.normpath(user.home)

    def _known_path(self) -> str | None:
        return self.path or (usual_path(home) if (home := self._home()) else None)

    async def _edit(self, state: KeyState, changes: Sequence[shared_lines.Change]) -> None:
        new = Attributes(state.account.uid, state.account.gid, _FILE_MODE)
        await shared_lines.edit(state.path, changes, new)

    async def _diff(self, state: KeyState) -> Diff:
        return await shared_lines.diff(state.path, [self._wanted.apply])

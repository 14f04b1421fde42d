"""The properties of the kind `user`, and the rules for their combinations."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from reactor import AbsolutePath, Flag, PropertyProblem, Resource, register_secret
from reactor.resources.accounts.database import is_date
from reactor.resources.accounts.memberships import Membership
from reactor.resources.accounts.numbers import GROUP_NUMBERS, USER_NUMBERS
from reactor.resources.accounts.passwords import has_hash
from reactor.resources.accounts.property_types import AccountId, AccountName, AccountNames
from reactor.resources.accounts.user_state import UserState

# crypt(5): a method, optional parameters, salt and hash; a leading ! locks the password, and ! or * alone is none.
_HASH = re.compile(r"!{0,2}(\$[a-z0-9-]+\$[./A-Za-z0-9$=,+_-]+)|[!*]{1,2}")


def _check_password(text: str) -> str:
    register_secret(text)  # before anything can fail: errors quote the manifest
    if not _HASH.fullmatch(text):
        raise ValueError(
            "this is not the hash of a password: make one with openssl passwd -6, or write '*' for none"
        )
    return text


def _check_comment(text: str) -> str:
    if ":" in text or not text.isprintable():
        raise ValueError("a comment is one line of text without colons")
    return text


def _check_no_colon(path: str) -> str:
    if ":" in path or not path.isprintable():
        raise ValueError("colons and control characters can't be in the path of an account")
    return path


def _check_expiry(text: str) -> str:
    if text != "never" and not is_date(text):
        raise ValueError(f"{text!r} is not a date: write it as 2030-12-31, or never")
    return text


Days = Annotated[int, Field(ge=-1, le=99999)]
"""A number of days, or -1."""

AccountPath = Annotated[AbsolutePath, AfterValidator(_check_no_colon)]
"""A path that can be written in a line of passwd(5)."""


class UserProperties(Resource[UserState]):
    """The properties of a user."""

    model_config = ConfigDict(hide_input_in_errors=True)

    name: AccountName
    ensure: Literal["present", "absent"] = "present"
    uid: AccountId | None = None
    """The number of the user."""
    group: AccountName | AccountId | None = None
    """The primary group, by name or number; unset, a new user gets a group of the same name."""
    groups: AccountNames | None = None
    """The supplementary groups of the user."""
    membership: Membership = "minimum"
    """Whether the user may be in other groups, too: `minimum` keeps these, `inclusive` removes the user from them."""
    home: AccountPath | None = None
    """The home directory."""
    manage_home: Flag = False
    """Whether the home directory is created with the user, moved when `home` changes, and removed with the user."""
    create_home: Flag = False
    """Whether a missing home directory is created, with the files of `/etc/skel`, also for a user who exists."""
    shell: AccountPath | None = None
    """The login shell."""
    comment: Annotated[str, AfterValidator(_check_comment)] | None = None
    """The name of the person, or the purpose of the account."""
    system: Flag = False
    """Whether a new user gets a number from the range for system users."""
    password: Annotated[str, AfterValidator(_check_password)] | None = Field(default=None, repr=False)
    """The hash of the password, as in shadow(5). Never shown, and no other process can see it."""
    expires: Annotated[str, AfterValidator(_check_expiry)] | None = None
    """The day from which the account can no longer be used, such as `2030-12-31`; or `never`."""

    locked: Flag | None = None
    """Whether the password is locked, so that none is right. Its hash is kept, for the day on which it is unlocked."""
    password_max_age: Days | None = None
    """The days after which the password must be changed; -1 for never."""
    password_min_age: Days | None = None
    """The days for which a new password can't be changed; -1 for none."""
    password_warn_days: Days | None = None
    """The days before that in which the user is warned; -1 for none."""
    non_unique: Flag = False
    """Whether another user may have the same ``uid``."""

    @property
    def chosen_numbers(self) -> tuple[str, ...]:
        """The spaces in which a new user gets a free number: that of uids, and that of gids for a group of its own."""
        uid = (USER_NUMBERS,) if self.uid is None else ()
        return (*uid, GROUP_NUMBERS) if self.group is None else uid

    def secret_properties(self) -> Collection[str]:
        """The password, if one is given."""
        return () if self.password is None else ("password",)

    def property_problems(self) -> Iterable[PropertyProblem]:
        """Combinations of properties that are not allowed."""
        yield from super().property_problems()
        if self.ensure == "absent" and (self.name == "root" or self.uid == 0):
            yield PropertyProblem(("ensure",), "the user root can't be absent", "name the user to remove")
        if self.non_unique and self.uid is None:
            yield PropertyProblem(("non_unique",), "non_unique requires uid", "add uid, or remove non_unique")
        if self.locked is False and self.password is not None and not has_hash(self.password):
            words = "without a password, there is nothing to unlock"
            yield PropertyProblem(("locked",), words, "write the hash as password, or remove locked")
        if self.groups is not None and self.group in self.groups:
            message = f"{self.group} is the primary group already"
            yield PropertyProblem(("groups",), message, "leave it out of groups")

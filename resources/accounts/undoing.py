"""What undoes the change of a user with ``meta: {reverse: true}``."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from reactor.resources.accounts.property_types import irreversible
from reactor.resources.accounts.user_properties import UserProperties
from reactor.resources.accounts.user_state import UserState

_UserT = TypeVar("_UserT", bound=UserProperties)
_AGES = ("max_age", "min_age", "warn_days")
_RESTORED = (
    "uid",
    "home",
    "shell",
    "comment",
    "groups",
    "password",
    "expires",
    *(f"password_{name}" for name in _AGES),
)


def reversal_of(user: _UserT, state: UserState) -> _UserT:
    """The user as it was, or no user. Raises ResourceError when that is impossible."""
    account = state.account
    if account is None:
        return type(user)(name=user.name, ensure="absent", manage_home=user.manage_home)
    found: dict[str, Any] = {
        "uid": account.uid,
        "group": account.gid,
        "home": account.home,
        "shell": account.shell or None,
        "comment": account.comment,
    }
    if state.shadow is not None:
        shadow = state.shadow
        found |= {"password": shadow.password, "expires": shadow.expires}
        found |= {f"password_{name}": getattr(shadow, name) for name in _AGES}
        if user.locked is not None and user.password is None:
            found["locked"] = shadow.is_locked
    if state.numbers.get(user.name) == account.gid:
        del found["group"]  # it is removed and created with the user
    whole = user.ensure == "absent"
    kept = {key: value for key, value in found.items() if whole or getattr(user, key) is not None}
    if whole or user.groups is not None:
        kept |= {"groups": state.groups, "membership": "inclusive"}
    try:
        return type(user)(name=user.name, manage_home=user.manage_home, **kept)
    except ValidationError as error:
        raise irreversible(f"the user {user.name}") from error


def has_all_of(recorded: UserProperties, user: UserProperties) -> bool:
    """Whether ``recorded``, an earlier reversal, restores all that ``user`` may change.

    The group and the lock are not asked for: that they were as by default is not recorded.
    """
    changed = [name for name in _RESTORED if user.ensure == "absent" or getattr(user, name) is not None]
    return recorded.ensure == "absent" or all(name in recorded.model_fields_set for name in changed)

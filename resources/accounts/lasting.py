"""The users whose state depends on nothing but the account files, and on whether a home is there."""

from __future__ import annotations

from collections.abc import Sequence

from reactor import PathState
from reactor.resources.accounts.database import find_user, groups
from reactor.resources.accounts.user_properties import UserProperties


def lasting_state_of(user: UserProperties, files: Sequence[str]) -> Sequence[PathState] | None:
    """What a check of ``user`` compares; None if a directory service may say which group it has. Raises ResourceError.

    Of a home it is only known whether it answers, is there, and whose it is.
    """
    read = [PathState(path, "read") for path in files]
    if user.ensure == "absent":
        return read
    account = find_user(user.name)
    if account is None or not any(group.gid == account.gid for group in groups()):
        return None
    has_home = user.manage_home or user.create_home
    return [*read, PathState(account.home, "way")] if has_home else read

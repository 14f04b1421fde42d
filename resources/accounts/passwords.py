"""Plans the password of a user: its hash, whether it is locked, and its ages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reactor import ResourceError
from reactor.resources.accounts.database import ShadowLine

IN_SHADOW = (
    "password",
    "expires",
    "locked",
    "password_max_age",
    "password_min_age",
    "password_warn_days",
)
"""The properties of a user that are in shadow(5)."""

_AGES = {"max_age": "--maxdays", "min_age": "--mindays", "warn_days": "--warndays"}
"""The options of chage(1)."""


def has_hash(password: str) -> bool:
    """Whether a field of shadow(5) holds a hash, locked or not."""
    return bool(password.lstrip("!").lstrip("*"))


def wanted_password(password: str | None, locked: bool | None) -> str | None:
    """The field of shadow(5) that the properties ask for; None if no hash is given."""
    if password is None or locked is None:
        return password
    bare = password.lstrip("!")
    return f"!{bare}" if locked else bare


def lock_option(found: ShadowLine | None, locked: bool | None) -> str | None:
    """The option of usermod(8) that changes whether the password is locked; None if nothing must change.

    ``found`` None means a new user, whose password is locked, since there is none. Raises ResourceError instead of
    unlocking a user without a password, who could then log in without one.
    """
    password = "!" if found is None else found.password
    is_locked = password.startswith("!")
    if locked is None or locked == is_locked:
        return None
    if not locked and not has_hash(password):
        words = "there is no password to unlock: the user could log in without one"
        raise ResourceError(words, "write the hash as password, or remove locked")
    return "--lock" if locked else "--unlock"


def age_options(
    found: ShadowLine | None, wanted: Mapping[str, int | None]
) -> Iterator[tuple[str, str, str, str]]:
    """The ages that differ: the property, the days found (empty for a new user), the days wanted, and the option."""
    for name, option in _AGES.items():
        days, has = wanted[name], None if found is None else getattr(found, name)
        if days is not None and days != has:
            yield f"password_{name}", "" if has is None else str(has), str(days), option

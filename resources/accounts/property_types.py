"""Property types of accounts: names, ids and lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from reactor import ResourceError

MAX_ID = 2**32 - 2
"""The highest id: the next one means "do not change" to chown(2)."""

_MAX_LENGTH = 32
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?")


def _check_name(name: str) -> str:
    """Accept POSIX names, also with a final ``$``, as in the machine accounts of Samba."""
    if "," in name:
        raise ValueError(
            f"{name!r} is several names in one: write each by itself, as in [adm, sudo], or with an option of its own"
        )
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is not a valid account name: use letters, digits, _, - and ., a letter first"
        )
    if len(name) > _MAX_LENGTH:
        raise ValueError(f"an account name has at most {_MAX_LENGTH} characters, this one has {len(name)}")
    return name


def _check_no_repetition(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is listed twice")
    return names


AccountName = Annotated[str, AfterValidator(_check_name)]
"""The name of a user or group."""

AccountNames = Annotated[tuple[AccountName, ...], AfterValidator(_check_no_repetition)]
"""Names of users or groups, each once."""

AccountId = Annotated[int, Field(ge=0, le=MAX_ID)]
"""The number of a user or group."""


def accounts_named(kind: str, name: str, number: int | None) -> Iterator[str]:
    """The refs by which other resources may name the account."""
    yield f"{kind}#{name}"
    if number is not None:
        yield f"{kind}#{number}"


def irreversible(what: str) -> ResourceError:
    """The error for a present state that no manifest could declare, so that reverse could not restore it."""
    return ResourceError(
        f"reverse could not restore {what} as it is now", "change it by hand, or remove reverse"
    )

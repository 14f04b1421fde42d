"""The option ``--trust-owner``: further users whose files are trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import click

from reactor.named_tuple import NamedTuple
from reactor.trust.inputs import trust_owners


class Owner(NamedTuple):
    """A user or a group, by number."""

    number: int
    is_group: bool


def _owners(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Owner, ...]:
    """``USER`` or ``:GROUP``, by name or number, as in chown(1). Raises BadParameter for a name that does not exist."""
    return tuple(_owner(value, context, parameter) for value in values)


def _owner(value: str, context: click.Context, parameter: click.Parameter) -> Owner:
    name = value.removeprefix(":")
    is_group = name != value
    number = int(name) if name.isascii() and name.isdigit() else _number_of(name, is_group=is_group)
    if number is None:
        words = f"there is no {'group' if is_group else 'user'} {name!r}"
        raise click.BadParameter(words, context, parameter)
    return Owner(number, is_group)


def _number_of(name: str, *, is_group: bool) -> int | None:
    import grp
    import pwd

    try:
        return grp.getgrnam(name).gr_gid if is_group else pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


def trust_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--trust-owner``; the command gets ``trusted_owners``."""
    option = click.option(
        "--trust-owner",
        "trusted_owners",
        multiple=True,
        metavar="USER",
        callback=_owners,
        help="Trust manifests, data and templates that this user, or ':GROUP', could change. Repeatable.",
    )
    return option(command)


def trusting_owners(owners: Iterable[Owner], *, caller: bool = True) -> AbstractContextManager[None]:
    """Trust the files of these owners within the block. With ``caller``, also trust the user who called sudo(8)."""
    owners = tuple(owners)
    users = (each.number for each in owners if not each.is_group)
    groups = (each.number for each in owners if each.is_group)
    return trust_owners(users, groups, caller=caller)

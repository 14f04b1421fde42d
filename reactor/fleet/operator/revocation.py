"""Revokes users of an account: those of hosts, and those of operators.

The list of revoked keys is in the JWT of the account. The servers keep the newest JWT of each account (a resolver of the
type ``full``), hand it to each other, and disconnect at once the users whose keys it revokes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import trio

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import IdentityError, LinkError
from reactor.fleet.operator import accounts
from reactor.fleet.operator.account_lookup import account_tokens
from reactor.fleet.operator.account_update import Confirmations, update_account
from reactor.fleet.operator.cluster import server_state
from reactor.fleet.operator.cluster_members import PATIENCE
from reactor.fleet.operator.doctor.judgements import clock_check
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.keyring import AccountName
from reactor.fleet.operator.server_config import SYSTEM_CREDENTIALS, OperatorDirectory, save_account
from reactor.fleet.operator.session import operator_options
from reactor.fleet.wire.tokens import claims_of


async def revoke_users(
    files: OperatorDirectory, account: AccountName, revoked: Mapping[str, int], *, since: int = 0
) -> tuple[OperatorDirectory, Confirmations]:
    """Revoke users of an account, on the servers and in the files. Raises LinkError, OSError.

    ``revoked``: as of `accounts.account_token`. What was revoked for a time until ``since`` is dropped. Returns the files as
    they are now, and which servers have taken it.
    """
    key = files.keys.accounts[account].public
    async with connected(operator_options(files.directory, SYSTEM_CREDENTIALS)) as connection:
        known = await account_tokens(connection, key, files.keys.operator.public)
        if account in files.tokens:
            known.append(files.tokens[account])
        all_of_them = _revoked_in_any(known, since) | dict(revoked)
        newest = max(known, key=_issued, default=None)
        token = accounts.account_token(files.keys, account, all_of_them, newest)
        confirmations = await update_account(connection, token)
    return save_account(files, account, token), confirmations


async def agree_on_accounts(
    files: OperatorDirectory,
) -> tuple[OperatorDirectory, dict[AccountName, Confirmations]]:
    """Let the servers and the files have the same accounts, with all that either of them revokes.

    Another operator may have revoked what this directory does not know, and servers that lost their disks forget it.
    Returns the files as they are now, and which servers have taken each account that was different. Raises LinkError, OSError.
    """
    found: dict[AccountName, list[str]] = {}
    failures: list[LinkError] = []
    async with connected(operator_options(files.directory, SYSTEM_CREDENTIALS)) as connection:

        async def look_up(account: AccountName, key: str) -> None:
            try:
                found[account] = await account_tokens(connection, key, files.keys.operator.public)
            except LinkError as error:
                failures.append(error)

        async with trio.open_nursery() as nursery:
            for account, key in files.keys.accounts.items():
                nursery.start_soon(look_up, account, key.public)
    if failures:
        raise failures[0]
    taken: dict[AccountName, Confirmations] = {}
    for account in files.keys.accounts:
        if found[account] != [files.tokens[account]]:
            files, taken[account] = await revoke_users(files, account, {})
    return files, taken


async def require_right_clock(directory: str) -> None:
    """Raise RefusedError if the clock of this machine differs from that of a server. Raises LinkError.

    Credentials are revoked by the time when they were issued. If this clock is behind, newer ones stay good; if it is
    ahead, the servers refuse new ones that another machine makes.
    """
    try:
        async with connected(operator_options(directory, SYSTEM_CREDENTIALS)) as connection:
            state = await server_state(connection, seconds=PATIENCE)
    except IdentityError:
        return  # They were revoked elsewhere: only the new credentials can ask anything.
    found = clock_check("clock", state.ahead)
    if not found.ok:
        raise RefusedError(f"nothing is revoked: {found.problem}", found.hint)


async def revoke_operators(files: OperatorDirectory, moment: int) -> Confirmations:
    """Revoke all users of FLEET and SYS that were issued until ``moment``; return which servers have taken both.

    The credentials in the directory must be newer: they are used for it. Raises LinkError, OSError.
    """
    files, fleet = await revoke_users(files, "FLEET", {accounts.EVERY_USER: moment})
    _, system = await revoke_users(files, "SYS", {accounts.EVERY_USER: moment})
    missing = {*fleet.missing, *system.missing}
    known = {*fleet.confirmed, *system.confirmed, *missing}
    unnamed = max(fleet.unnamed, system.unnamed)
    return Confirmations(tuple(sorted(known - missing)), tuple(sorted(missing)), unnamed)


def _revoked_in_any(tokens: Iterable[str], since: int) -> dict[str, int]:
    """The keys that any of the JWTs revokes for a time after ``since``: one may lack what another has."""
    found: dict[str, int] = {}
    for token in tokens:
        for key, until in accounts.revoked_in(token).items():
            if until > since:
                found[key] = max(until, found.get(key, until))
    return found


def _issued(token: str) -> int:
    return int(claims_of(token).get("iat", 0))

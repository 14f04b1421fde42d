"""The part of CONNECT that identifies the client. Files are read again at each connection: they may be renewed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from reactor.fleet.link.errors import ContextError, ExpiredError, NoKeysError
from reactor.fleet.link.options import Options, read_small_file
from reactor.fleet.link.servers import Server
from reactor.fleet.wire.credentials import Credentials, CredentialsError, parse_credentials, parse_seed
from reactor.fleet.wire.tokens import TokenError, expiry_of

_LONGEST_NONCE = 1024


def identity(options: Options, server: Server, nonce: object) -> dict[str, Any]:
    """Return the fields of CONNECT. Raises ContextError, ExpiredError or NoKeysError."""
    credentials = _credentials(options)
    if credentials is not None:
        if not isinstance(nonce, str) or not nonce.isascii() or not 0 < len(nonce) <= _LONGEST_NONCE:
            raise _no_keys(options, server)
        return dict(credentials.answer(nonce))
    if options.token is not None:
        return {"auth_token": options.token}
    if options.user is not None:
        return {"user": options.user, "pass": options.password or ""}
    if server.user is not None and server.password is None:
        return {"auth_token": server.user}
    if server.user is not None:
        return {"user": server.user, "pass": server.password}
    return {}


def require_credentials(options: Options) -> None:
    """Raise ContextError or ExpiredError if the key of these options can't be used now, without a connection."""
    _credentials(options)


def described(options: Options, server: Server) -> str:
    """Return the identity that the client claims, for messages, without secrets."""
    if options.credentials:
        return f"the credentials {options.credentials}"
    if options.nkey:
        return f"the nkey {options.nkey}"
    if options.jwt:
        return "the JWT of the user"
    if options.token is not None or (options.user is None and server.user and server.password is None):
        return "the token"
    user = options.user or server.user
    return f"the password of user {user!r}" if user else "a client without user and password"


def _credentials(options: Options) -> Credentials | None:
    try:
        found = _read(options)
    except CredentialsError as error:
        file = options.credentials or options.nkey or "the seed of the user"
        hint = "copy the file again from where it was made, such as `nsc generate creds`"
        raise ContextError(f"{file} can't be used: {error}", hint) from error
    except ImportError as error:
        hint = "install it: pip install 'reactor-converge[fleet]'"
        raise ContextError("nkeys and credentials need the Python library cryptography", hint) from error
    if found is not None and found.jwt is not None:
        _check_expiry(found.jwt, options)
    return found


def _read(options: Options) -> Credentials | None:
    if options.credentials:
        return parse_credentials(read_small_file(options.credentials, "credentials file", options.origin))
    key = None
    if options.nkey:
        key = parse_seed(read_small_file(options.nkey, "nkey file", options.origin)).key
    elif options.seed:
        key = parse_seed(options.seed).key
    if options.jwt is None:
        return Credentials(key) if key is not None else None
    if key is None:
        raise CredentialsError("there is a JWT, but no seed of its key")
    return Credentials(key, options.jwt)


def _check_expiry(jwt: str, options: Options) -> None:
    try:
        expires = expiry_of(jwt)
    except TokenError as error:
        raise CredentialsError(str(error)) from None
    if expires is not None and expires <= time.time():
        when = datetime.fromtimestamp(min(expires, 253402300799), UTC)
        where = options.credentials or "the user JWT"
        hint = f"{options.renewal}, and check the clock of this host"
        raise ExpiredError(f"the JWT in {where} expired on {when:%Y-%m-%d %H:%M:%S} UTC", hint)


def _no_keys(options: Options, server: Server) -> NoKeysError:
    hint = "give a user and password, or let the server use nkeys or accounts"
    return NoKeysError(
        f"the NATS server {server} takes no keys, so {described(options, server)} can't be used", hint
    )

"""Checks the files of an operator: their permissions and their content."""

from __future__ import annotations

import os
import ssl
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from reactor.errors import ReactorError
from reactor.fleet.link.errors import ContextError
from reactor.fleet.link.options import Options, read_small_file
from reactor.fleet.operator.credentials_life import ends_soon, expiry_in
from reactor.fleet.operator.doctor.check import Check, wrong
from reactor.fleet.operator.doctor.judgements import certificate_check
from reactor.fleet.operator.keyring import ADMITTING, KEYS, AdmittingKeys
from reactor.fleet.operator.server_config import (
    ADMITTING_CREDENTIALS,
    CONFIG,
    OPERATOR_CREDENTIALS,
    SYSTEM_CREDENTIALS,
    TOKENS,
    is_current,
    load_operator_directory,
)
from reactor.fleet.release.signers import parse_signers

_FILES = (KEYS, TOKENS, CONFIG, OPERATOR_CREDENTIALS, SYSTEM_CREDENTIALS, ADMITTING, ADMITTING_CREDENTIALS)
_SERVERS = "servers.json"
_OTHERS = 0o077


def directory_checks(home: str, init: str) -> Iterator[Check]:
    """Check the directory of the operator. ``init``: the command that makes missing files."""
    try:
        directory = os.stat(home)
    except OSError as error:
        yield wrong(f"directory {home}", f"can't be read: {error.strerror}", f"make it: {init}")
        return
    yield _mode_check(f"directory {home}", home, directory)
    for name in (*_FILES, _SERVERS):
        path = os.path.join(home, name)
        try:
            yield _mode_check(f"file {path}", path, os.lstat(path))
        except OSError as error:
            hint = "restore it from a backup" if name == KEYS else init
            yield wrong(f"file {path}", error.strerror or "can't be read", hint)
        if check := _expiry_check(path, init):
            yield check
    yield _content_check(home, init)


def _mode_check(name: str, path: str, found: os.stat_result) -> Check:
    mode = stat.S_IMODE(found.st_mode)
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        return wrong(name, "it is not a regular file", "replace it by a regular file")
    if found.st_uid not in (0, os.geteuid()):
        return wrong(name, f"it belongs to the user {found.st_uid}, who can change it", f"chown root {path}")
    if mode & _OTHERS:
        return wrong(name, f"other users may use it: mode {mode:04o}", f"chmod go= {path}")
    if not os.access(path, os.R_OK):
        return wrong(name, "this user can't read it", "run this as the user who made it")
    return Check(name)


def _expiry_check(path: str, init: str) -> Check | None:
    """Check how long credentials are good; None if they are so for ever."""
    if (expires := expiry_in(path)) is None:
        return None
    when = f"{datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if not ends_soon(path):
        return Check(f"credentials {path}", f"good until {when}")
    word = "expired" if expires <= time.time() else "expire"
    return wrong(f"credentials {path}", f"they {word} on {when}", f"renew them: {init}")


def _content_check(home: str, init: str) -> Check:
    """Check that the keys can be read, and that this version made the accounts."""
    name = "keys and accounts"
    try:
        files = load_operator_directory(home)
        AdmittingKeys.load(home)
        if not is_current(files):
            return wrong(
                name, "the accounts are not as this version of reactor makes them", f"renew them: {init}"
            )
    except ReactorError as error:
        return wrong(name, error.message, error.hint)
    except OSError as error:
        return wrong(name, f"can't be read: {error.strerror}", "run this as the user who made them")
    except ValueError as error:
        return wrong(name, f"can't be read: {error}", f"remove {home}/{TOKENS}, then {init}")
    return Check(name)


def signers_check(path: str) -> Check:
    """Check that the file of signers can be read, and has a key that may sign now."""
    name = f"signers {path}"
    hint = "write a line NAME ssh-ed25519 KEY for each person who may sign, or give --signers"
    try:
        people = parse_signers(read_small_file(path, "file of signers", "--signers"), path)
    except ContextError as error:
        return wrong(name, error.message, hint)
    except ReactorError as error:
        return wrong(name, error.message, error.hint)
    able = {each.name for each in people if each.may_sign("reactor-release", time.time()) is None}
    if not able:
        return wrong(name, "no key in it may sign releases now", hint)
    return Check(name, f"{len(able)} may sign: {', '.join(sorted(able))}")


def authority_checks(options: Options) -> Iterator[Check]:
    """Check how long each certificate in the file of the CA is valid."""
    if options.ca is None:
        return
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cafile=options.ca)
        found = context.get_ca_certs()
    except OSError as error:
        hint = "put the certificate of the authority there, as PEM"
        yield wrong(f"CA {options.ca}", f"can't be read: {error.strerror or error}", hint)
        return
    for each in found:
        yield certificate_check(f"CA {options.ca}", str(each["notAfter"]))

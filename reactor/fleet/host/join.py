"""Lets a host join a fleet: it makes its keys, asks with a token, verifies the answer, and writes its configuration.

Everything is in the directory of the configuration. ``fleet.yaml`` is written last, so a host that is killed earlier
has not joined, and the next attempt uses the same keys.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import trio
import yaml

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.documents import DocumentError
from reactor.fleet.enrolment.card import Card, CardError, SignedCard
from reactor.fleet.enrolment.invitation import Token, TokenError, digest_of_signers
from reactor.fleet.enrolment.requests import SUBJECT, Answer, Request
from reactor.fleet.host.keys import PRIVATE, FileKeys, age_recipient
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import ContextError, DisconnectedError, ExpiredError, NoAnswerError
from reactor.fleet.link.options import Options, read_small_file
from reactor.fleet.link.servers import Pool
from reactor.fleet.release.signers import parse_signers
from reactor.fleet.wire import tokens
from reactor.trust.inputs import make_own_directory

CREDENTIALS, AGE_KEY, CARD, CA, SIGNERS = (
    "fleet.creds",
    "fleet-age.key",
    "fleet-card.json",
    "fleet-ca.pem",
    "fleet-signers",
)
PUBLIC = 0o644
_OF_THE_HOST = ("windows", "facts", "summary_interval")
"""Settings that no token has: a host that joins again keeps them."""
_AGAIN = 1.0
"""Seconds that a request waits for its answer, and between two requests."""
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class NotAdmittedError(ReactorError):
    """The admitting service refuses this host, or does not answer."""

    code = "R1022"


@dataclass(frozen=True)
class Joined:
    """The result: the card, and the files that were written."""

    card: Card
    files: tuple[str, ...]


async def join(
    token: Token,
    name: str,
    config: str,
    *,
    facts: Mapping[str, str],
    seconds: float,
    wait: Callable[[], None] = lambda: None,
) -> Joined:
    """Let this host join as ``name``, and write ``config`` and the files beside it.

    ``seconds``: how long to wait to be admitted; ``wait`` is called once if that is not at once.
    Raises CardError, TokenError, NotAdmittedError, LinkError, OSError.
    """
    directory = directory_of(config)
    make_own_directory(directory, 0o755)
    _refuse_other_host(config, name)
    _require_servers(token)
    keys = FileKeys.made(os.path.join(directory, CREDENTIALS))
    age = age_recipient(os.path.join(directory, AGE_KEY))
    request = Request("join", name, keys.public, age, token.invitation, facts)
    with tempfile.TemporaryDirectory(prefix="reactor-join-") as temporary:
        sent = request.sealed(keys.sign, token.secret)
        options = _options(token, temporary)
        try:
            answer = await _answered(options, sent, request, token.card_key, seconds, wait)
        except ExpiredError as error:
            hint = "make a new one: reactor fleet invite; and check the clock of this host"
            raise ExpiredError("the token has expired, or the clock of this host is wrong", hint) from error
    jwt, signed, card = admitted(answer, request, token.card_key)
    signers = _verified_signers(answer.signers, token.signers)
    files = _write(directory, config, token, keys, jwt, signed, signers)
    return Joined(card, files)


def admitted(answer: Answer, request: Request, card_key: str) -> tuple[str, SignedCard, Card]:
    """Return the JWT and the card of an answer, if they are for this host. Raises NotAdmittedError, CardError, DocumentError."""
    if answer.refused or answer.jwt is None or answer.card is None:
        raise NotAdmittedError(answer.refused or "the answer has no card", answer.hint or None)
    card = answer.card.verified(card_key)
    is_mine = (card.host, card.key) == (request.host, request.key)
    if not is_mine or (request.kind == "join" and card.age != request.age):
        raise CardError(f"the card is for {card.host} with other keys, not for this host")
    if not _JWT.fullmatch(answer.jwt):
        raise CardError("the answer has no JWT")
    try:
        claims = tokens.claims_of(answer.jwt)
        expires = tokens.expiry_of(answer.jwt)
    except (tokens.TokenError, ValueError) as error:
        raise CardError(f"the JWT in the answer can't be read: {error}") from error
    if (claims.get("sub"), claims.get("name")) != (request.key, request.host) or expires is None:
        raise CardError("the JWT in the answer is not for this host")
    return answer.jwt, answer.card, card


async def ask(
    connection: Connection, sent: bytes, card_key: str, nonce: str, *, seconds: float = 5.0
) -> Answer:
    """Send a request; return its answer. Raises LinkError, CardError, DocumentError."""
    answer = await connection.request(SUBJECT, sent, seconds=seconds)
    return Answer.opened(answer.data, card_key, nonce)


async def _answered(  # noqa: PLR0917 - what `join` has
    options: Options,
    sent: bytes,
    request: Request,
    card_key: str,
    seconds: float,
    wait: Callable[[], None],
) -> Answer:
    """Repeat the request until it is answered: an operator may have to admit the host first."""
    is_announced = False
    async with connected(options) as connection:
        with trio.move_on_after(seconds):
            while True:
                try:
                    return await ask(connection, sent, card_key, request.nonce, seconds=_AGAIN)
                except (NoAnswerError, DisconnectedError):
                    if not is_announced:
                        is_announced = True
                        wait()
                await trio.sleep(_AGAIN)
    raise NotAdmittedError(
        f"nobody has admitted {request.host} within {seconds:g} s",
        f"let the service run: reactor fleet admit; or admit this host: reactor fleet admit {request.host}",
    )


def _options(token: Token, directory: str) -> Options:
    ca = None
    if token.ca is not None:
        ca = os.path.join(directory, CA)
        replace_file(ca, token.ca.encode(), PRIVATE)
    name = f"join-{token.invited.id}"
    return Options(
        servers=token.servers, name=name, jwt=token.jwt, seed=token.seed, ca=ca, inbox_prefix=f"_INBOX_{name}"
    )


def _require_servers(token: Token) -> None:
    """Raise TokenError unless the servers in the token can be written into the configuration."""
    try:
        Pool(token.servers)
        invited = token.invited
    except (ContextError, DocumentError) as error:
        raise TokenError(f"the token can't be used: {error.message}") from error
    if not invited.channels:
        raise TokenError(
            "the token names no channel", "make another one: reactor fleet invite --channel NAME"
        )


def _verified_signers(text: str | None, digest: str) -> str:
    """The file of signers, if it is the one that the token names. Raises CardError, SignersError."""
    if text is None or digest_of_signers(text) != digest:
        raise CardError("the people who may sign are not those of the token", "make a new token")
    parse_signers(text, SIGNERS)
    return text


def directory_of(config: str) -> str:
    """Return the directory of a configuration, which has all files of the host."""
    return os.path.dirname(os.path.abspath(config))


def _refuse_other_host(config: str, name: str) -> None:
    there = host_in(config)
    if there is not None and there != name:
        hint = f"join as {there}, or remove {config}, {CREDENTIALS} and {AGE_KEY} beside it first"
        raise NotAdmittedError(f"this host is {there} already", hint)


def host_in(config: str) -> str | None:
    """The id in an existing configuration, None if there is none. Raises ContextError."""
    found = _settings_in(config)
    return str(found["id"]) if "id" in found else None


def _settings_in(config: str) -> dict[str, Any]:
    """The settings in an existing configuration; none if they can't be read. Raises ContextError."""
    if not os.path.lexists(config):
        return {}
    text = read_small_file(config, "configuration", "")
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _write(  # noqa: PLR0917 - what `join` has
    directory: str,
    config: str,
    token: Token,
    keys: FileKeys,
    jwt: str,
    card: SignedCard,
    signers: str,
) -> tuple[str, ...]:
    files = {SIGNERS: signers.encode(), CARD: card.to_bytes()}
    if token.ca is not None:
        files[CA] = token.ca.encode()
    for name, content in files.items():
        replace_file(os.path.join(directory, name), content, PUBLIC)
    keys.save(jwt)
    text = _config(token, card.verified(token.card_key), _settings_in(config))
    replace_file(config, text.encode(), PUBLIC)
    names = (*files, CREDENTIALS, AGE_KEY)
    return (*(os.path.join(directory, each) for each in names), config)


def _config(token: Token, card: Card, before: dict[str, Any]) -> str:
    """The text of the configuration. Settings of ``before`` that only this host has stay, and so does a stricter ``require``."""
    people = before.get("require")
    require = max(token.invited.require, people if isinstance(people, int) else 1)
    settings = {
        "id": card.host,
        "servers": list(token.servers),
        "credentials": CREDENTIALS,
        "card": CARD,
        "card_key": token.card_key,
        "signers": SIGNERS,
        **({"ca": CA} if token.ca is not None else {}),
        **({"require": require} if require > 1 else {}),
        **{name: before[name] for name in _OF_THE_HOST if name in before},
    }
    return "# Written by reactor fleet join.\n" + yaml.safe_dump(settings, sort_keys=False)

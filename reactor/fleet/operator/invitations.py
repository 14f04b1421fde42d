"""Makes tokens, and counts how often each was used."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from reactor.fleet.bucket_names import INVITATIONS
from reactor.fleet.documents import canonical, parsed
from reactor.fleet.enrolment.invitation import Invitation, Token, digest_of_signers, secret_of
from reactor.fleet.link.errors import WrongRevisionError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import KeyValue
from reactor.fleet.link.options import Options
from reactor.fleet.operator.accounts import joining_user
from reactor.fleet.operator.clock import ServerClock
from reactor.fleet.operator.errors import RefusedError
from reactor.fleet.operator.keyring import Keyring

_ATTEMPTS = 20
_LATER = 86_400
"""Seconds for which an invitation is stored after its end: for this time, the refusal says that it has expired."""


@dataclass(frozen=True)
class Uses:
    """The stored part of an invitation.

    ``signers``: the file for hosts; ``used``: the hosts that have joined with it.
    """

    invitation: Invitation
    signers: str
    used: tuple[str, ...]
    revision: int = 0

    def to_bytes(self) -> bytes:
        """Return the document."""
        return canonical({"v": 1, "signers": self.signers, "used": list(self.used)})

    @classmethod
    async def read(cls, bucket: KeyValue, invitation: Invitation) -> Uses:
        """Read it. Raises RefusedError if it was withdrawn, DocumentError, LinkError."""
        entry = await bucket.get(invitation.id)
        if entry is None:
            raise RefusedError("the token was withdrawn", "make a new one: reactor fleet invite")
        document = parsed(entry.value, "the uses of the token")
        document.require_version()
        signers = document.text("signers", most=len(entry.value))
        return cls(invitation, signers, document.texts("used"), entry.revision)

    async def take(self, bucket: KeyValue, use: str, when: float) -> None:
        """Count a use, unless it is counted already. Raises RefusedError if no use is left, LinkError."""
        uses = self
        for _ in range(_ATTEMPTS):
            if use in uses.used:
                return
            if len(uses.used) >= uses.invitation.uses:
                raise RefusedError(
                    f"the token was used {len(uses.used)} times, as often as it may be",
                    "make a new one: reactor fleet invite",
                )
            new = Uses(uses.invitation, uses.signers, (*uses.used, use))
            try:
                life = _life(uses.invitation, when)
                await bucket.update(uses.invitation.id, new.to_bytes(), uses.revision, ttl=life)
            except WrongRevisionError:
                uses = await Uses.read(bucket, uses.invitation)
                continue
            return
        raise RefusedError("others use the token all the time", "ask again")


@dataclass(frozen=True)
class TokenOptions:
    """The properties of a new token. ``life`` in seconds; ``signers``: the text of the file of signers."""

    channels: Sequence[str]
    groups: Sequence[str]
    uses: int
    life: float
    require: int
    signers: str


async def invite(
    js: JetStream, keys: Keyring, options: Options, ca: str | None, wanted: TokenOptions
) -> Token:
    """Make a token, and store its invitation to count the uses. ``ca``: PEM. Raises LinkError.

    It expires by the clock of the servers: that of this machine may be wrong.
    """
    now = await ServerClock(js).now()
    expires = float(math.ceil(now + wanted.life))
    invitation = Invitation(
        id=secrets.token_hex(6),
        channels=tuple(wanted.channels),
        groups=tuple(wanted.groups),
        uses=wanted.uses,
        expires=expires,
        require=wanted.require,
    )
    text = invitation.to_bytes()
    user = joining_user(keys, f"join-{invitation.id}", int(expires))
    uses = Uses(invitation, wanted.signers, ())
    ttl = _life(invitation, now)
    await js.key_value(INVITATIONS).create(invitation.id, uses.to_bytes(), ttl=ttl)
    return Token(
        servers=options.servers,
        ca=ca,
        card_key=keys.cards.public,
        signers=digest_of_signers(wanted.signers),
        invitation=text.decode(),
        secret=secret_of(text, keys.invitations),
        jwt=user.jwt or "",
        seed=user.key.seed,
    )


async def withdraw(js: JetStream, name: str) -> bool:
    """Make the token ``name`` invalid; return whether there was one. Raises LinkError."""
    bucket = js.key_value(INVITATIONS)
    if await bucket.get(name) is None:
        return False
    await bucket.delete(name)
    return True


def _life(invitation: Invitation, when: float) -> int:
    return max(1, int(invitation.expires - when)) + _LATER

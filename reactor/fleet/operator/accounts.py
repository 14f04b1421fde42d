"""The two accounts and the permissions of a host, as JWTs.

FLEET owns all streams; operators, drivers and the admitting service are its users. HOSTS owns nothing, and its users
reach FLEET only by imports. Within one account every user can make the server publish to any subject, by the reply
subject of a direct get or the deliver subject of a consumer; across accounts the reply is mapped, and that fails. So no
user of HOSTS may ever make a consumer, and none is a user of FLEET.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from reactor.fleet.bucket_names import HOSTS, INVITATIONS
from reactor.fleet.enrolment.requests import SUBJECT as JOIN
from reactor.fleet.operator.keyring import AccountName, AdmittingKeys, Keyring, now
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key
from reactor.fleet.wire.tokens import claims_of, signed_token

_GET = "$JS.API.DIRECT.GET"
_ME = "{{name()}}"

ONE_ANSWER = (
    f"{_GET}.KV_reactor_channels.$KV.reactor_channels.*",
    f"{_GET}.KV_reactor_hosts.$KV.reactor_hosts.*",
    f"{_GET}.KV_reactor_secrets.$KV.reactor_secrets.>",
    f"{_GET}.KV_reactor_slots.$KV.reactor_slots.>",
    f"{_GET}.OBJ_reactor_bundles.$O.reactor_bundles.M.*",
    "$KV.reactor_state.*",
    "$KV.reactor_shared.*.*",
    "$KV.reactor_slots.*.*.*",
    "reactor.event.*",
    "choria.ccm.registration.v1.>",
    JOIN,
)
"""The services that FLEET exports to HOSTS with one answer to a request."""
MANY_ANSWERS = (f"{_GET}.KV_reactor_shared", f"{_GET}.KV_reactor_slots", f"{_GET}.OBJ_reactor_bundles")
HINTS = ("reactor.changed.>",)

HOST_PUBLISHES = (
    f"$KV.reactor_state.{_ME}",
    f"reactor.event.{_ME}",
    f"$KV.reactor_shared.{_ME}.*",
    f"$KV.reactor_slots.*.*.{_ME}",
    "choria.>",
    f"{_GET}.KV_reactor_channels.>",
    f"{_GET}.KV_reactor_hosts.$KV.reactor_hosts.{_ME}",
    f"{_GET}.KV_reactor_secrets.$KV.reactor_secrets.{_ME}.*",
    f"{_GET}.KV_reactor_slots.>",
    f"{_GET}.OBJ_reactor_bundles.>",
    *MANY_ANSWERS,
    JOIN,
)
"""Each word of these takes memory of the server for each connected host. Where all hosts may do the same, they are short: what
FLEET offers is the limit, and in HOSTS nobody may listen.
"""
HOST_SUBSCRIBES = (
    f"_INBOX_{_ME}.>",
    f"reactor.changed.host.{_ME}",
    "reactor.changed.channel.*",
    "reactor.changed.shared.>",
    "reactor.changed.slot.>",
)
ADMITTING_PUBLISHES = (
    *(f"$KV.{bucket}.*" for bucket in (HOSTS, INVITATIONS)),
    *(f"{_GET}.KV_{bucket}.$KV.{bucket}.*" for bucket in (HOSTS, INVITATIONS)),
    *(f"$JS.API.STREAM.INFO.KV_{bucket}" for bucket in (HOSTS, INVITATIONS)),
)
_ANSWERS = {"max": 1, "ttl": 60_000_000_000}
"""A service may send one answer to each request within a minute."""
_UNLIMITED = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1) | {
    "wildcards": True
}
_STORES = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)
_STORES_NOTHING = dict.fromkeys(_STORES, 0)
_LARGEST_MESSAGE_OF_A_HOST = 1 << 20
_EVERYTHING: dict[str, Any] = {"pub": {}, "sub": {}}
EVERY_USER = "*"
"""Among the revoked keys of an account: all of its users."""


def operator_token(keys: Keyring, old: str | None) -> str:
    """Return the JWT of the operator, which every server has."""
    claims = {"system_account": keys.system.public}
    return _renewed(old, "operator", keys.operator, "reactor", keys.operator, claims)


def account_token(keys: Keyring, name: AccountName, revoked: Mapping[str, int], old: str | None) -> str:
    """Return the JWT of an account. ``revoked``: public key of a user, or `EVERY_USER` -> the time before which its JWTs are void."""
    make = {"SYS": _system_token, "FLEET": _fleet_token, "HOSTS": hosts_token}[name]
    return make(keys, revoked, old)


def _system_token(keys: Keyring, revoked: Mapping[str, int], old: str | None) -> str:
    """The JWT of the account SYS, for the servers themselves."""
    claims = {"limits": _UNLIMITED | _STORES_NOTHING, **_revocations(revoked)}
    return _renewed(old, "account", keys.system, "SYS", keys.operator, claims)


def _fleet_token(keys: Keyring, revoked: Mapping[str, int], old: str | None) -> str:
    """The JWT of the account FLEET, which owns the streams and exports the services for hosts."""
    exports = [
        *({"name": each, "subject": each, "type": "service"} for each in ONE_ANSWER),
        *(
            {"name": each, "subject": each, "type": "service", "response_type": "Stream"}
            for each in MANY_ANSWERS
        ),
        *({"name": each, "subject": each, "type": "stream"} for each in HINTS),
    ]
    claims = {
        "limits": _UNLIMITED | _STORES,
        "exports": exports,
        "default_permissions": _EVERYTHING,
        **_revocations(revoked),
    }
    return _renewed(old, "account", keys.fleet, "FLEET", keys.operator, claims)


def hosts_token(keys: Keyring, revoked: Mapping[str, int], old: str | None = None) -> str:
    """Return the JWT of the account HOSTS. ``revoked``: as of `account_token`."""
    imports = [
        *(_import(keys, each, "service") for each in (*ONE_ANSWER, *MANY_ANSWERS)),
        *(_import(keys, each, "stream") for each in HINTS),
    ]
    claims = {
        "limits": _UNLIMITED | _STORES_NOTHING,
        "imports": imports,
        "signing_keys": [
            _scope(keys.hosts_signing, "host", HOST_PUBLISHES, HOST_SUBSCRIBES),
            _scope(keys.joining, "joining", (JOIN,), (f"_INBOX_{_ME}.>",)),
        ],
        "default_permissions": _EVERYTHING,
        **_revocations(revoked),
    }
    return _renewed(old, "account", keys.hosts, "HOSTS", keys.operator, claims)


def _revocations(revoked: Mapping[str, int]) -> dict[str, Any]:
    return {"revocations": dict(revoked)} if revoked else {}


def _scope(key: Key, role: str, publishes: Iterable[str], subscribes: Iterable[str]) -> dict[str, Any]:
    """The permissions of the users whose JWT ``key`` signs, whatever that JWT says."""
    template = {
        "subs": -1,
        "data": -1,
        "payload": _LARGEST_MESSAGE_OF_A_HOST,
        "pub": {"allow": list(publishes)},
        "sub": {"allow": list(subscribes)},
    }
    return {"kind": "user_scope", "key": key.public, "role": role, "template": template}


def revoked_in(token: str) -> dict[str, int]:
    """Return the keys that the JWT of an account revokes."""
    found = claims_of(token).get("nats", {}).get("revocations", {})
    return {str(key): int(when) for key, when in found.items()}


def operator_user(
    keys: Keyring,
    name: str,
    account: Literal["fleet", "system"],
    expires: int | None,
    *,
    issued: int | None = None,
) -> Credentials:
    """Make a user of FLEET or SYS with all permissions in that account. ``issued``: now, if it is not given."""
    issuer: Key = getattr(keys, account)
    user = Key.generate("user")
    claims = {**_EVERYTHING, "subs": -1, "data": -1, "payload": -1}
    token = signed_token("user", user.public, name, issuer, claims, issued=issued or now(), expires=expires)
    return Credentials(user, token)


def admitting_user(keys: Keyring, expires: int | None = None, *, issued: int | None = None) -> Credentials:
    """Make the user of FLEET for the admitting service. ``issued``: as of `operator_user`."""
    user = Key.generate("user")
    claims = {
        "pub": {"allow": list(ADMITTING_PUBLISHES)},
        "sub": {"allow": [JOIN, "_INBOX.>"]},
        "resp": _ANSWERS,
        **dict.fromkeys(("subs", "data", "payload"), -1),
    }
    token = signed_token(
        "user", user.public, "admit", keys.fleet, claims, issued=issued or now(), expires=expires
    )
    return Credentials(user, token)


def host_token(keys: AdmittingKeys, name: str, public: str, expires: int | None) -> str:
    """Return the JWT of the host ``name`` with that public key: its permissions are in the template of HOSTS."""
    claims = {"issuer_account": keys.hosts}
    return signed_token("user", public, name, keys.hosts_signing, claims, issued=now(), expires=expires)


def joining_user(keys: Keyring, name: str, expires: int) -> Credentials:
    """Make the user of HOSTS in a token: it may only send requests to join."""
    user = Key.generate("user")
    claims = {"issuer_account": keys.hosts.public}
    token = signed_token("user", user.public, name, keys.joining, claims, issued=now(), expires=expires)
    return Credentials(user, token)


def _import(keys: Keyring, subject: str, kind: str) -> dict[str, Any]:
    return {
        "name": subject,
        "subject": subject,
        "account": keys.fleet.public,
        "type": kind,
        "local_subject": subject,
    }


def _renewed(  # noqa: PLR0917 - as `signed_token`
    old: str | None,
    role: Literal["operator", "account"],
    subject: Key,
    name: str,
    issuer: Key,
    claims: Mapping[str, Any],
) -> str:
    """Return ``old`` if it has the same claims, else a new JWT that servers accept as newer."""
    issued = now()
    if old is not None:
        found = claims_of(old)
        if (found.get("sub"), found.get("iss")) == (subject.public, issuer.public):
            known = {key: value for key, value in found["nats"].items() if key not in ("type", "version")}
            if known == dict(claims):
                return old
            issued = max(issued, int(found["iat"]) + 1)
    return signed_token(role, subject.public, name, issuer, claims, issued=issued)

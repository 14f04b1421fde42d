"""A server whose accounts and users are signed: operator, one account, and credentials of its users."""

import time

from reactor.fleet.wire.credentials import Credentials, encode_credentials
from reactor.fleet.wire.nkeys import Key
from reactor.fleet.wire.tokens import signed_token

LIMITS = dict.fromkeys(
    (
        "subs",
        "data",
        "payload",
        "imports",
        "exports",
        "conn",
        "leaf",
        "mem_storage",
        "disk_storage",
        "streams",
        "consumer",
    ),
    -1,
) | {"wildcards": True}


class SignedAccounts:
    """The keys of an operator and of one account with JetStream."""

    def __init__(self):
        self._operator, self._account, self._system = (
            Key.generate(each) for each in ("operator", "account", "account")
        )

    def configuration(self):
        now = int(time.time())
        tokens = {}
        for key, name, limits in (
            (self._account, "FLEET", LIMITS),
            (
                self._system,
                "SYS",
                LIMITS | dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), 0),
            ),
        ):
            tokens[key.public] = signed_token(
                "account", key.public, name, self._operator, {"limits": limits}, issued=now
            )
        operator = signed_token(
            "operator",
            self._operator.public,
            "OP",
            self._operator,
            {"system_account": self._system.public},
            issued=now,
        )
        preload = "\n".join(f"{public}: {token}" for public, token in tokens.items())
        return f"operator: {operator}\nsystem_account: {self._system.public}\nresolver: MEMORY\nresolver_preload: {{\n{preload}\n}}"

    def credentials(self, name, *, expires=None, **claims):
        """The content of a `.creds` file."""
        key = Key.generate()
        everything = {"subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}}
        token = signed_token(
            "user",
            key.public,
            name,
            self._account,
            everything | claims,
            issued=int(time.time()),
            expires=expires,
        )
        return encode_credentials(Credentials(key, token))

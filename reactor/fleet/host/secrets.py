"""Keeps the secrets of a host as encrypted files, which only the age key of the host decrypts.

The host reads its own keys by name: it may not list them. So it reads the names that its manifest uses, and the names
of its files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

import trio

from reactor.atomic_write import replace_file
from reactor.errors import ReactorError
from reactor.fleet.bucket_names import CHANGED_HOST, SECRETS
from reactor.fleet.debounced_event import DebouncedEvent
from reactor.fleet.host.look_rate import LookRate
from reactor.fleet.host.ports import Pace
from reactor.fleet.link.connection import Connection
from reactor.fleet.link.errors import LinkError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.key_value import Entry
from reactor.fleet.sealed_secret import SealedSecret, is_secret_name

FOLDER = "secrets"
_PRIVATE = 0o600
_AGAIN = 3.0
"""Seconds between a hint and a second read: the replica of a server may have been behind."""


class SecretFollower:
    """Keeps the files in ``directory`` equal to the secrets of ``host`` on the servers.

    ``card_key``: the public card key, which must have signed each; ``used``: the names that the manifest reads;
    ``warn`` is called with a message about each secret that is refused, or that the servers have lost.
    """

    def __init__(
        self,
        host: str,
        card_key: str,
        directory: str,
        used: Callable[[], Iterable[str]],
        warn: Callable[[str], None],
    ) -> None:
        self.trigger = DebouncedEvent()
        self._host = host
        self._card_key = card_key
        self._directory = directory
        self._used = used
        self._warn = warn
        self._warned: dict[str, str] = {}
        self._looked: frozenset[str] = frozenset()

    def names_changed(self) -> bool:
        """Whether the manifest uses a name that was not read yet."""
        return not self._looked.issuperset(self._used())

    async def run(self, connection: Connection, pace: Pace) -> None:
        """Read at each hint, after each connection, and at an interval, until cancelled."""
        with (
            connection.subscribed(f"{CHANGED_HOST}{self._host}", lambda _: self.trigger.set()),
            connection.watched(lambda _: self.trigger.set()),
        ):
            again, rate = False, LookRate(pace.burst)
            while True:
                await connection.wait_up()
                await rate.turn()
                try:
                    await self._look(JetStream(connection))
                    wait = _AGAIN if again else pace.look
                except (LinkError, OSError):
                    wait = _AGAIN
                began = trio.current_time()
                await self.trigger.wait(wait)
                again = trio.current_time() - began < wait / 2

    async def _look(self, js: JetStream) -> None:
        """Bring each file up to date. Raises LinkError, OSError."""
        names = sorted({*self._used(), *self._kept()})
        bucket = js.key_value(SECRETS)
        for name in names:
            entry = await bucket.last(f"{self._host}.{name}")
            await trio.to_thread.run_sync(self._keep, name, entry)
        self._looked = frozenset(names)

    def _keep(self, name: str, entry: Entry | None) -> None:
        """Write the ciphertext, or remove the file of a deleted secret. A secret that is lost or refused changes nothing."""
        path = os.path.join(self._directory, name)
        if entry is None:
            if os.path.lexists(path):
                self._warn_once(
                    name, "is not on the servers any more, and was not removed: this host keeps it"
                )
            return
        if entry.deleted:
            with suppress(FileNotFoundError):
                os.unlink(path)
            return
        try:
            sealed = SealedSecret.from_bytes(entry.value)
            sealed.verify(self._card_key, self._host, name)
        except ReactorError as error:
            self._warn_once(name, f"is refused: {error.message}")
            return
        self._warned.pop(name, None)
        if _content(path) != sealed.data:
            replace_file(path, sealed.data, _PRIVATE)

    def _warn_once(self, name: str, words: str) -> None:
        if self._warned.get(name) != words:
            self._warned[name] = words
            self._warn(f"the secret {name} {words}")

    def _kept(self) -> list[str]:
        return [name for name in os.listdir(self._directory) if is_secret_name(name)]


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None

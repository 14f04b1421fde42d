"""The values of the secrets of one run. They are only in memory."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactor.language.secrets import SecretText
from reactor.resource.property_types import format_duration
from reactor.resource.redaction import register_secret
from reactor.secrets.declarations import Source, Vault
from reactor.secrets.errors import SecretError
from reactor.secrets.files import as_text, read_bytes

if TYPE_CHECKING:
    from reactor.secrets.fleet_place import FleetPlace
    from reactor.secrets.vault import VaultClient
    from reactor.secrets.vault_login import VaultLogin

RETRY = 15.0
"""Seconds between two attempts to ask a source that did not answer; never more than its own interval."""
_OURS = ("SOPS_AGE_KEY", "VAULT_TOKEN", "VAULT_SECRET_ID")


@dataclass(eq=False, slots=True)
class _Asked:
    """The last answer of a command or of Vault. ``due`` is when to ask next, on the clock of the store."""

    name: str
    source: Source
    base: str
    due: float
    load: int
    value: Any = None
    is_known: bool = False
    error: SecretError | None = None
    client: VaultClient | None = field(default=None)


class SecretStore:
    """Reads secrets for the loads of one run. Threads may share it.

    ``clock`` returns seconds; it decides when a source is due. ``fleet``: where the secrets of a fleet are.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        fleet: FleetPlace | None = None,
    ) -> None:
        self._fleet = fleet
        self._environ = dict(os.environ if environ is None else environ)
        self._clock = clock
        self._asked: dict[tuple[str, Source], _Asked] = {}
        self._load = 0
        self._lock = threading.Lock()
        self._logins: dict[Any, VaultLogin] = {}
        register_secret([self._environ[name] for name in _OURS if self._environ.get(name)])

    def begin_load(self) -> None:
        """Forget the sources that the load before did not use, and start another one."""
        with self._lock:
            self._asked = {key: each for key, each in self._asked.items() if each.load == self._load}
            self._load += 1
        if self._fleet is not None:
            self._fleet.begin_load()

    def value(self, name: str, source: Source, base: str, reads: set[str]) -> Any:
        """Return the value of a secret declared as ``name`` in the directory ``base``, with its strings marked.

        Adds the files that it depends on to ``reads``. May block for the timeout of the source. Raises SecretError.
        """
        if source.fleet is not None:
            return self._kept(self._of_fleet(source, source.fleet, reads))
        if not source.is_asked:
            return self._kept(self._read_file(source, base, reads))
        with self._lock:
            asked = self._asked.get((base, source))
            if asked is None:
                asked = _Asked(name, source, base, due=-1.0, load=self._load)
                self._asked[base, source] = asked
            asked.load = self._load
            if asked.due <= self._clock():
                self._ask(asked)
            if not asked.is_known:
                raise asked.error or SecretError("it was not read")
            return asked.value

    def seconds_left(self) -> float | None:
        """Return the time until a source is due; None if no source is asked."""
        with self._lock:
            due = [each.due for each in self._asked.values()]
        return max(0.0, min(due) - self._clock()) if due else None

    def refresh(self) -> bool:
        """Ask the sources that are due. Return whether a value has changed, or became known. May block."""
        changed = False
        with self._lock:
            for asked in self._asked.values():
                if asked.due <= self._clock():
                    before = (asked.is_known, asked.value)
                    self._ask(asked)
                    changed |= before != (asked.is_known, asked.value)
        return changed

    def states(self) -> dict[str, tuple[bool, str]]:
        """Return for each source that is asked whether its value is known, and a sentence about it. Never waits."""
        return {each.name: (each.is_known, _sentence(each)) for each in [*self._asked.values()]}

    def _ask(self, asked: _Asked) -> None:
        try:
            asked.value = self._kept(self._answer(asked))
            asked.is_known, asked.error = True, None
        except SecretError as error:
            asked.error = error
        wait = asked.source.every if asked.error is None else min(RETRY, asked.source.every)
        asked.due = self._clock() + wait

    def _answer(self, asked: _Asked) -> Any:
        source = asked.source
        if source.vault is not None:
            from reactor.secrets.vault import VaultClient  # noqa: PLC0415 - most runs ask no Vault

            if asked.client is None:
                vault = _placed(source.vault, asked.base)
                asked.client = VaultClient(vault, self._environ, source.timeout, self._logins)
            value = asked.client.read()
            return value.rstrip("\n") if source.trim and isinstance(value, str) else value
        from reactor.secrets.commands import output_of  # noqa: PLC0415 - most runs ask no command

        content = output_of(source.command or (), asked.base, source.timeout, self._environ)
        return _trimmed(as_text(content, f"the output of {source.shown}"), source, usual=True)

    def _read_file(self, source: Source, base: str, reads: set[str]) -> Any:
        """Return the value of a source that is a file."""
        path = self._path(source, base)
        reads.add(path)
        what = f"the file {path}"
        if source.systemd_creds is not None:
            from reactor.secrets.commands import output_of  # noqa: PLC0415 - most runs have no such file

            read_bytes(path, "the credential")  # by the rule for inputs
            command = ("systemd-creds", "decrypt", "--quiet", path, "-")
            content = output_of(command, base, 30.0, self._environ)
        else:
            content = read_bytes(path, "the secret")
        if source.sops is not None:
            return self._of_sops(source, content, path, base, reads)
        if source.age is not None:
            from reactor.secrets.age import decrypt  # noqa: PLC0415 - most runs have no such file

            content = decrypt(content, self._keys(source, base, reads), what)
        return _trimmed(as_text(content, f"the secret in {what}"), source, usual=False)

    def _of_sops(self, source: Source, content: bytes, path: str, base: str, reads: set[str]) -> Any:
        from reactor.secrets.sops import decrypt_sops  # noqa: PLC0415 - most runs have no such file
        from reactor.secrets.sops_formats import format_of  # noqa: PLC0415

        form = source.format or format_of(path)
        value = decrypt_sops(content, form, self._keys(source, base, reads), f"the file {path}")
        return _trimmed(value, source, usual=False) if isinstance(value, str) else value

    def _of_fleet(self, source: Source, name: str, reads: set[str]) -> Any:
        """Return a secret of the fleet. It may come or be set again at any time, so each of its errors may pass."""
        if self._fleet is None:
            message = f"the secret {name} of a fleet can't be read: this run follows no fleet"
            raise SecretError(message, "let the host join a fleet, and run: reactor fleet follow")
        path, identity = self._fleet.path(name), self._fleet.identity
        reads.update((path, identity))
        if not os.path.exists(path):
            hint = f"give it to this host: reactor fleet secret set {name} --for HOST; or reactor fleet secret sync"
            raise SecretError(f"the fleet has not given the secret {name} to this host", hint, may_pass=True)
        from reactor.secrets.age import decrypt, keys_from  # noqa: PLC0415 - most runs have no such secret

        what = f"the secret {name} of the fleet"
        try:
            content = decrypt(read_bytes(path, what), keys_from(identity, {}), what)
            return _trimmed(as_text(content, what), source, usual=False)
        except SecretError as error:
            raise SecretError(error.message, error.hint, code=error.code, may_pass=True) from None

    def _keys(self, source: Source, base: str, reads: set[str]) -> Any:
        from reactor.secrets.age import key_file, keys_from  # noqa: PLC0415 - most runs need no keys

        identity = None if source.identity is None else _absolute(source.identity, base)
        if path := key_file(identity, self._environ):
            reads.add(os.path.abspath(path))
        return keys_from(identity, self._environ)

    def _path(self, source: Source, base: str) -> str:
        if source.credential is None:
            return _absolute(source.file or source.age or source.sops or source.systemd_creds or "", base)
        directory = self._environ.get("CREDENTIALS_DIRECTORY")
        if not directory:
            message = f"there is no credential {source.credential}: CREDENTIALS_DIRECTORY is not set"
            hint = "run reactor as a service with LoadCredential= or SetCredentialEncrypted="
            raise SecretError(message, hint, code="R0136")
        if "/" in source.credential or source.credential in (".", ".."):
            raise SecretError(
                "the name of a credential has no '/'", "name it as LoadCredential= does", code="R0136"
            )
        path = os.path.join(directory, source.credential)
        if not os.path.exists(path):
            message = f"systemd passed no credential {source.credential} to this service"
            raise SecretError(
                message, f"add LoadCredential={source.credential}:FILE to the unit", code="R0136"
            )
        return path

    @staticmethod
    def _kept(value: Any) -> Any:
        register_secret(value, from_outside=True)
        return marked(value)


def _sentence(asked: _Asked) -> str:
    words = f"{asked.source.shown} is asked every {format_duration(asked.source.every)}"
    if asked.error is None:
        return words
    last = ", and the last value is used" if asked.is_known else ""
    return f"{words}: {asked.error.message}{last}"


def marked(value: Any) -> Any:
    """Return a copy of ``value`` with every string and number marked as a secret."""
    if isinstance(value, dict):
        return {str(key): marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return SecretText(value) if isinstance(value, str) else value


def _trimmed(text: str, source: Source, *, usual: bool) -> str:
    return text.rstrip("\r\n") if (usual if source.trim is None else source.trim) else text


def _absolute(path: str, base: str) -> str:
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))


def _placed(vault: Vault, base: str) -> Vault:
    """Return the declaration of Vault with absolute paths."""
    names = ("token_file", "secret_id_file", "ca_file")
    found = {name: _absolute(path, base) for name in names if (path := getattr(vault, name))}
    return vault.model_copy(update=found)

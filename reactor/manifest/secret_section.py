"""The section ``secrets``: declares where secrets come from. ``Secrets`` in expressions holds their values."""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Any, NoReturn

from pydantic import ValidationError

from reactor.manifest.declaration import Declaration
from reactor.manifest.evaluation import UnknownSecretError
from reactor.manifest.inputs import SecretReader
from reactor.manifest.nodes import INVALID, Mapping
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems
from reactor.manifest.validation import Inspector
from reactor.manifest.values import ValueReader, checked_map

SECTION = "secrets"


class Secrets(dict[str, Any]):
    """The root ``Secrets``. ``waiting`` has the secrets that are not known: reading one raises UnknownSecretError."""

    def __init__(self, known: Map[str, Any], waiting: Map[str, tuple[str, str | None]]) -> None:
        super().__init__(known)
        self.waiting = waiting

    def __getitem__(self, name: str) -> Any:
        if name in self.waiting:
            self._fail(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a secret."""
        if name in self.waiting:
            self._fail(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.waiting

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.waiting.keys() == getattr(other, "waiting", {}).keys()

    def __ne__(self, other: object) -> bool:  # that of dict would compare only what is known
        return not self == other

    __hash__ = None

    def _fail(self, name: str) -> NoReturn:
        reason, hint = self.waiting[name]
        raise UnknownSecretError(f"waits for the secret {name}: {reason}", hint)

    def over(self, other: Secrets) -> Secrets:
        """Return these secrets, and those of ``other`` under names that are not here."""
        others = {name: other.waiting[name] for name in other.waiting if name not in self}
        known = {name: value for name, value in other.items() if name not in self.waiting}
        return Secrets({**known, **self}, {**others, **self.waiting})


NO_SECRETS = Secrets({}, {})


def secrets_of(
    root: Mapping, problems: Problems, reader: SecretReader | None, base: str
) -> tuple[Secrets, set[str]]:
    """Return the secrets that ``root`` declares, and the files they were read from.

    Without a ``reader``, no source is read or asked, and every secret is unknown.
    """
    node = checked_map(SECTION, root, problems, "write each as 'NAME: {age: FILE}'")
    if node is None:
        return NO_SECRETS, set()
    found = _Found(problems, reader, base)
    for name in node:
        found.add(node, name)
    return Secrets(found.known, found.waiting), found.reads


class _Found:
    """Collects the secrets of one section."""

    def __init__(self, problems: Problems, reader: SecretReader | None, base: str) -> None:
        self.known: dict[str, Any] = {}
        self.waiting: dict[str, tuple[str, str | None]] = {}
        self.reads: set[str] = set()
        self._problems = problems
        self._reader = reader
        self._base = base

    def add(self, node: Mapping, name: str) -> None:
        """Add the secret that ``node`` declares as ``name``."""
        source = _source(node, name, self._problems)
        if source is None:
            self.waiting[name] = ("its declaration is not valid", None)
        elif self._reader is None:
            self.waiting[name] = ("this command reads no secrets", None)
        else:
            self._read(node, name, source, self._reader)

    def _read(self, node: Mapping, name: str, source: Any, reader: SecretReader) -> None:
        from reactor.secrets.errors import SecretError  # noqa: PLC0415 - most manifests declare no secrets

        try:
            self.known[name] = reader.value(name, source, self._base, self.reads)
        except SecretError as error:
            self.waiting[name] = (error.message, error.hint)
            if not error.may_pass:
                at = node.value_at(name)
                self._problems.add(error.code, f"the secret {name}: {error.message}", at, error.hint)


def _source(node: Mapping, name: str, problems: Problems) -> Any:
    """Return the declaration of one secret; None if it is not valid."""
    from reactor.secrets.declarations import Source  # noqa: PLC0415 - most manifests declare no secrets

    body = node[name]
    if not isinstance(body, Mapping):
        if body is not INVALID:
            message = f"a secret is a map that names its source, not {shown(body)}"
            problems.add("R0109", message, node.value_at(name), "as in: {age: secrets/token.age}")
        return None
    values = ValueReader(problems).read(body, Source)
    try:
        return Source.model_validate(values.plain)
    except ValidationError as error:
        Inspector(problems, Source, Declaration(node.key_at(name), body), f"the secret {name}").report(
            error, values
        )
        return None

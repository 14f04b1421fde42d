"""Reads the secrets of one run. Imports the stores of secrets only for a manifest that declares some."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.secrets.fleet_place import FleetPlace
    from reactor.secrets.store import SecretStore


class RunSecrets:
    """Implements `reactor.manifest.inputs.SecretReader` for one run: its values survive reloads, in memory.

    ``fleet``: where the secrets of a fleet are; None for a run that follows none.
    """

    def __init__(self, fleet: FleetPlace | None = None) -> None:
        self._has_store = False
        self._fleet = fleet

    @cached_property
    def _store(self) -> SecretStore:
        from reactor.secrets.store import SecretStore  # noqa: PLC0415 - most manifests declare no secrets

        self._has_store = True
        return SecretStore(fleet=self._fleet)

    def begin_load(self) -> None:
        """Forget the sources that the load before did not use, and start another one."""
        if self._has_store:
            self._store.begin_load()

    def value(self, name: str, source: Any, base: str, reads: set[str]) -> Any:
        """Return the value of a secret, and add the files that it depends on to ``reads``. Raises SecretError."""
        return self._store.value(name, source, base, reads)

    def refresh(self) -> bool:
        """Ask the sources that are due again, and return whether a value has changed. May block."""
        return self._has_store and self._store.refresh()

    def seconds_left(self) -> float | None:
        """Return the time until a source is due; None if no source is asked at an interval."""
        return self._store.seconds_left() if self._has_store else None

    def states(self) -> Mapping[str, tuple[bool, str]]:
        """Return for each source that is asked at an interval whether its value is known, and a sentence about it."""
        return self._store.states() if self._has_store else {}

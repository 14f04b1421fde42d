"""What a continuous run starts with if the newest version of its manifest at a URL is invalid: the last valid version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from reactor.loading import is_elsewhere, shown
from reactor.resource.diagnostic import ManifestError
from reactor.source.cache import last_valid, record_valid

if TYPE_CHECKING:
    from reactor.loading import LoadedManifest
    from reactor.manifest.inputs import Inputs


class LastValidLoader:
    """Loads the manifests ``names``, some of which are at URLs, with ``load``.

    If the first load finds an invalid version, the last valid one is loaded: the host would be without repairs otherwise
    until somebody corrects the manifest. Later, the run has a valid version in force.
    """

    def __init__(self, names: Sequence[str], load: Callable[[Sequence[str], Inputs], LoadedManifest]) -> None:
        self._names = names
        self._load = load
        self._has_loaded = False

    def load(self, inputs: Inputs) -> LoadedManifest:
        """Load the newest version. Raises ManifestError."""
        try:
            loaded = self._load(self._names, inputs)
        except ManifestError as error:
            if self._has_loaded:
                raise
            loaded = self._last_valid(inputs, error)
        self._has_loaded = True
        with suppress(OSError):  # what is kept is for a later start
            for url in filter(is_elsewhere, self._names):
                record_valid(url, loaded.files, inputs.cache, inputs.context)
        return loaded

    def _last_valid(self, inputs: Inputs, error: ManifestError) -> LoadedManifest:
        """Load the last valid version. Raises ``error``, that of the newest, if there is no other that is valid now."""
        try:
            names = [self._file(name, inputs) for name in self._names]
            if names == [*self._names]:
                raise error
            loaded = self._load(names, inputs)
        except ManifestError:
            raise error from None
        return loaded._replace(path=shown(self._names), rejected=error)

    @staticmethod
    def _file(name: str, inputs: Inputs) -> str:
        return (is_elsewhere(name) and last_valid(name, inputs.cache, inputs.context)) or name

"""The bundle in force in a channel, and the previous one. One rename switches both.

Below ``fleet/<channel>/``::

    now         -> generations/7    the only link that is ever replaced
    current     -> now/bundle       a run follows current/manifest.yaml
    previous    -> now/previous
    facts.json  -> now/facts.json   the facts that were sent with the bundle
    generations/7/                  bundle -> ../../../bundles/sha256-..., previous, facts.json; never changed

So the bundle, the previous one and the facts always belong together, also when a process is killed at any step.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reactor.atomic_write import replace_file, sync_directory
from reactor.fleet.bundle.digest import is_digest
from reactor.fleet.bundle.errors import BundleError
from reactor.fleet.bundle.store import BundleStore

FACTS = "facts.json"
_GENERATIONS, _NOW = "generations", "now"
_BUNDLE, _PREVIOUS = "bundle", "previous"
_FIXED = {"current": f"{_NOW}/{_BUNDLE}", "previous": f"{_NOW}/{_PREVIOUS}", FACTS: f"{_NOW}/{FACTS}"}


class Channel:
    """The channel ``name`` of a store. Hold the lock of the store to change it."""

    def __init__(self, store: BundleStore, name: str) -> None:
        self._store = store
        self.path = os.path.join(store.root, name)
        self.current_path = os.path.join(self.path, "current")
        self.facts_path = os.path.join(self.path, FACTS)

    @property
    def current(self) -> str | None:
        """The digest of the bundle in force; None before the first."""
        return self._linked(_BUNDLE)

    @property
    def previous(self) -> str | None:
        """The digest of the previous bundle; None if there is none, or if it was removed."""
        digest = self._linked(_PREVIOUS)
        return digest if digest is not None and self._store.has(digest) else None

    @property
    def facts(self) -> Any:
        """The facts in force; None before the first bundle, or if their file can't be read."""
        try:
            with open(self.facts_path, "rb") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def switch(self, digest: str, facts: Mapping[str, Any]) -> bool:
        """Put the kept bundle ``digest`` into force, with these facts. Return whether anything differed.

        Raises BundleError and OSError.
        """
        if not self._store.has(digest):
            raise BundleError(f"this host has no bundle {digest}")
        before = self.current
        if before == digest and self.facts == facts:
            return False
        previous = self._linked(_PREVIOUS) if before == digest else before
        generation = self._new_generation(digest, previous, facts)
        link = os.path.join(self.path, _NOW)
        aside = os.path.join(self.path, f".{_NOW}")
        with suppress(FileNotFoundError):
            os.unlink(aside)
        os.symlink(os.path.relpath(generation, self.path), aside)
        os.rename(aside, link)
        sync_directory(self.path)
        self._remove_old(generation)
        return True

    def _linked(self, name: str) -> str | None:
        try:
            target = os.readlink(os.path.join(self.path, _NOW, name))
        except (FileNotFoundError, NotADirectoryError):
            return None
        digest = os.path.basename(target)
        return digest if is_digest(digest) else None

    def _new_generation(self, digest: str, previous: str | None, facts: Mapping[str, Any]) -> str:
        generations = os.path.join(self.path, _GENERATIONS)
        for directory in (self.path, generations):
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
        for name, target in _FIXED.items():
            with suppress(FileExistsError):
                os.symlink(target, os.path.join(self.path, name))
        numbers = [int(name) for name in os.listdir(generations) if name.isdecimal()]
        generation = os.path.join(generations, str(max(numbers, default=0) + 1))
        os.mkdir(generation, 0o700)
        os.symlink(self._link_to(digest, generation), os.path.join(generation, _BUNDLE))
        if previous is not None:
            os.symlink(self._link_to(previous, generation), os.path.join(generation, _PREVIOUS))
        replace_file(os.path.join(generation, FACTS), json.dumps(facts).encode(), 0o600)
        sync_directory(generations)
        return generation

    def _link_to(self, digest: str, generation: str) -> str:
        return os.path.relpath(self._store.path_of(digest), generation)

    def _remove_old(self, current: str) -> None:
        generations = os.path.dirname(current)
        for name in os.listdir(generations):
            if name != os.path.basename(current):
                shutil.rmtree(os.path.join(generations, name), ignore_errors=True)

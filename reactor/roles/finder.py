"""Finds the directory of a role from elsewhere, as the lock file requires it."""

from __future__ import annotations

import os
import re

from reactor.resource.role import RemoteRole
from reactor.roles.errors import RoleError
from reactor.roles.fetching import RoleCache
from reactor.roles.git import without_credentials
from reactor.roles.lock_file import NAME, Key, Lock, Locked, lock_text, read_lock


class RoleFinder:
    """Finds roles for one load of manifests. ``cache`` is the directory of the cache, None for the default.

    ``context`` names the settings of the network that roles at obj:// are read from.
    """

    locks_all = False
    """Whether the roles of resources that this host does not manage are wanted too."""

    def __init__(self, cache: str | None = None, context: str = "") -> None:
        self._cache, self._context = cache, context
        self._locks: dict[str, Lock] = {}

    def lock_path(self, directory: str) -> str:
        """Return the path of the lock file of the manifests in ``directory``."""
        return os.path.join(directory, NAME)

    def find(self, wanted: RemoteRole, directory: str) -> str:
        """Return the directory of a role. Fetches it if it is not in the cache.

        ``directory`` is that of the manifest that the user named. Raises RoleError, and ManifestError for an invalid
        lock file.
        """
        locked = self._locked(wanted, directory)
        cache = RoleCache(self._cache, self._context)
        pinned = locked or _pinned(wanted)
        if pinned is None:
            what = "the revision is no whole commit" if wanted.revision else "it has no checksum"
            message = f"the role from {without_credentials(wanted.url)} is not locked, and {what}"
            raise RoleError("R0124", message, "run reactor roles lock, and keep the file roles.lock")
        if (found := cache.find(wanted, pinned)) is not None:
            return found
        return self._fetched(wanted, cache, locked, pinned)

    def _fetched(self, wanted: RemoteRole, cache: RoleCache, locked: Locked | None, pinned: Locked) -> str:
        return cache.fetch(wanted, locked or pinned if wanted.revision is None else locked, pinned)[0]

    def _locked(self, wanted: RemoteRole, directory: str) -> Locked | None:
        path = self.lock_path(directory)
        if path not in self._locks:
            self._locks[path] = read_lock(path)
        locked = self._locks[path].get(Key.of(wanted))
        if locked is None:
            return None
        hint = "run reactor roles update, and look at what it changes"
        if wanted.checksum is not None and wanted.checksum != locked.digest:
            message = f"the checksum in the manifest is not that of {NAME}"
            raise RoleError("R0124", message, hint)
        if _is_commit(wanted.revision) and wanted.revision != locked.commit:
            raise RoleError("R0124", f"the revision in the manifest is not the commit in {NAME}", hint)
        return locked


class CachedFinder(RoleFinder):
    """Finds roles in the cache only, and fetches nothing."""

    def _fetched(self, wanted: RemoteRole, cache: RoleCache, locked: Locked | None, pinned: Locked) -> str:  # noqa: ARG002
        message = f"the role from {without_credentials(wanted.url)} is not in the cache"
        raise RoleError(
            "R0124", message, "run reactor validate once: it fetches the role, an editor fetches nothing"
        )


class LockingFinder(RoleFinder):
    """Fetches roles, and records their versions. Roles in ``lock`` keep the locked version."""

    locks_all = True

    def __init__(self, cache: str | None, context: str, lock: Lock) -> None:
        super().__init__(cache, context)
        self.found: Lock = {}
        self._known = lock

    def find(self, wanted: RemoteRole, directory: str) -> str:  # noqa: ARG002 - one lock file
        """Return the directory of a role, and record its version. Raises RoleError."""
        key, cache = Key.of(wanted), RoleCache(self._cache, self._context)
        locked = self.found.get(key) or self._known.get(key)
        if locked is not None and _fits(wanted, locked) and (place := cache.find(wanted, locked)):
            self.found[key] = locked
            return place
        kept = locked if locked is not None and _fits(wanted, locked) else None
        place, self.found[key] = cache.fetch(wanted, kept)
        return place

    def text(self) -> str:
        """Return the text of the new lock file."""
        return lock_text(self.found)


def _fits(wanted: RemoteRole, locked: Locked) -> bool:
    return wanted.checksum in (None, locked.digest) and (
        not _is_commit(wanted.revision) or wanted.revision == locked.commit
    )


def _is_commit(revision: str | None) -> bool:
    return revision is not None and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", revision) is not None


def _pinned(wanted: RemoteRole) -> Locked | None:
    """Return the version that the manifest itself pins, if any. A commit has no digest without a lock file."""
    if wanted.checksum is not None:
        return Locked(wanted.checksum)
    return Locked("", wanted.revision) if _is_commit(wanted.revision) else None

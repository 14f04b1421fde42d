"""The lock file: the commit and digest of each role from elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from reactor.manifest.nodes import INVALID, Mapping, Sequence
from reactor.manifest.phrasing import shown
from reactor.manifest.source import Problems, read_source
from reactor.manifest.yaml_tree import parse
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.role import RemoteRole
from reactor.roles.git import without_credentials
from reactor.suggestions import did_you_mean

NAME = "roles.lock"
_HEAD = "# Made by reactor roles lock. Keep it beside the manifest, under version control.\n"
_KEYS = ("source", "revision", "path", "commit", "digest")
_HINT = "make it again with: reactor roles update"


class Key(NamedTuple):
    """The role that a manifest asks for."""

    url: str
    revision: str | None
    path: str = ""

    @classmethod
    def of(cls, wanted: RemoteRole) -> Key:
        """Return the key of a role."""
        return cls(without_credentials(wanted.url), wanted.revision, wanted.path)


class Locked(NamedTuple):
    """The locked version: the ``digest`` of the archive or of the files of the ``commit``, in hexadecimal."""

    digest: str
    commit: str | None = None


Lock = dict[Key, Locked]


def read_lock(path: str) -> Lock:
    """Return the lock in the file ``path``; empty if there is none. Raises ManifestError."""
    if not os.path.lexists(path):
        return {}
    source = read_source(path, "the lock file")
    if isinstance(source, Diagnostic):
        raise ManifestError([source])
    problems = Problems(source)
    root = parse(problems)
    found: Lock = {}
    entries = root.get("roles") if isinstance(root, Mapping) else None
    if not isinstance(entries, Sequence) and not problems:
        problems.add("R0127", "a lock file has a list under 'roles'", 0, _HINT)
    elif isinstance(root, Mapping) and root.get("version") != 1 and not problems:
        message = f"this version of reactor reads lock files of version 1, not {shown(root.get('version'))}"
        problems.add("R0127", message, root.at, _HINT)
    for index, entry in enumerate(entries if isinstance(entries, Sequence) else ()):
        if isinstance(entry, Mapping):
            _add(entry, found, problems)
        elif entry is not INVALID and isinstance(entries, Sequence):
            message = f"a role of the lock file is a map, not {shown(entry)}"
            problems.add("R0127", message, entries.value_at(index), _HINT)
    if problems:
        raise ManifestError(problems.sorted())
    return found


def _add(entry: Mapping, found: Lock, problems: Problems) -> None:
    for name in entry:
        if name not in _KEYS:
            hint = did_you_mean(name, _KEYS) or _HINT
            problems.add("R0127", f"a role of the lock file has no {shown(name)}", entry.key_at(name), hint)
    url, revision, commit = (_text(entry, key) for key in ("source", "revision", "commit"))
    digest = (_text(entry, "digest") or "").removeprefix("sha256:")
    is_whole = re.fullmatch("[0-9a-f]{64}", digest) and (revision is None) == (commit is None)
    if url is None or not is_whole or (commit and not re.fullmatch("[0-9a-f]{40,64}", commit)):
        message = "a role of the lock file needs a source and a digest, and from git a revision and a commit"
        problems.add("R0127", message, entry.at, _HINT)
        return
    key = Key(url, revision, _text(entry, "path") or "")
    if key in found:
        problems.add("R0127", f"{url} is locked twice", entry.at, _HINT)
    found[key] = Locked(digest, commit)


def _text(entry: Mapping, key: str) -> str | None:
    value: Any = entry.get(key)
    if value is None or isinstance(value, str):
        return value
    return entry.raw(key)


def lock_text(lock: Lock) -> str:
    """Return the text of the lock file."""
    return (
        f"{_HEAD}version: 1\nroles:\n{''.join(_entries(lock))}" if lock else f"{_HEAD}version: 1\nroles: []\n"
    )


def _entries(lock: Lock) -> Iterable[str]:
    for key, locked in sorted(
        lock.items(), key=lambda each: (each[0].url, each[0].revision or "", each[0].path)
    ):
        values = {
            "source": key.url,
            "revision": key.revision,
            "path": key.path or None,
            "commit": locked.commit,
            "digest": f"sha256:{locked.digest}",
        }
        lines = [f"{name}: {_quoted(value)}" for name, value in values.items() if value is not None]
        yield "  - " + "\n    ".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

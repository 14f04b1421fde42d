"""The tree of facts. Each part is gathered when it is first read, and refreshed when it may have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from reactor.data.layers import deep_merge
from reactor.facts.files import FileFacts, Parse, directories, fact_paths, read_fact_files
from reactor.facts.gathering import Gatherer


class Named(dict[str, Any]):
    """A map where ``PlatformFamily`` also finds ``platformFamily``: in CCM it is a field of a Go struct."""

    def __missing__(self, key: str) -> Any:
        if key[:1].isupper():
            for name, value in self.items():
                if name.lower() == key.lower():
                    return value
        raise KeyError(key)


def named(tree: Any) -> Any:
    """Return ``tree`` with every map in it converted to a `Named`."""
    if isinstance(tree, dict):
        return Named({key: named(value) for key, value in tree.items()})
    return [named(item) for item in tree] if isinstance(tree, list) else tree


Source = Callable[[Gatherer], dict[str, Any]]


def _source(name: str) -> Source:
    """Return the source of one part. Imports it when first called, because most manifests read no facts."""
    return lambda gatherer: cast("dict[str, Any]", import_module(f"reactor.facts.{name}").gather(gatherer))


SOURCES: Mapping[str, Source] = {
    name: _source(name) for name in ("host", "cpu", "memory", "partition", "network")
}
TIMEOUT = 2.0

_FOLLOWED = {"host": ("uptime", "procs"), "network": ()}
"""The parts that are refreshed. For each, the values of its ``info`` that are not: these change all the time.

Memory, processors and partitions consist mostly of such values. So they keep the values of the first read: a resource
that depended on changing values would never converge.
"""

_NONE = object()
_SYSTEM_FILES = ("/etc/hostname", "/etc/hosts", "/etc/machine-id", "/etc/os-release")


class Facts(Mapping[str, Any]):
    """The facts about this host. Fact files override those of the sources, and ``given`` facts override both.

    A part (a top-level key) is gathered when it is first read, and does not change until `refreshed` is called. If a
    source takes longer than ``timeout`` seconds, its part is empty, and `notes` says so. The state of the host never
    causes an exception. ``where`` has the directories of the fact files, and ``parse`` parses one file.
    """

    def __init__(
        self,
        given: Mapping[str, Any] | None = None,
        *,
        parse: Parse,
        where: Sequence[str] | None = None,
        sources: Mapping[str, Source] = SOURCES,
        timeout: float = TIMEOUT,
    ) -> None:
        self._given = dict(given or {})
        self._parse = parse
        self._where = directories() if where is None else where
        self._sources = sources
        self._gatherer = Gatherer(timeout)
        self._gathered: dict[str, dict[str, Any]] = {}
        self._added: dict[str, Any] | None = None
        self._files: FileFacts | None = None
        self._is_lacking = False

    def __getitem__(self, key: str) -> Any:
        added = self._additions()
        if key not in self._sources:
            self._is_lacking |= self._files is None and key not in self._given
            return added[key]
        if key not in self._gathered:
            self._gathered[key] = named(self._sources[key](self._gatherer))
        return named(deep_merge(self._gathered[key], added[key])) if key in added else self._gathered[key]

    def __contains__(self, key: object) -> bool:
        added = self._additions()
        self._is_lacking |= self._files is None and key not in (*self._sources, *self._given)
        return key in self._sources or key in added

    def __iter__(self) -> Iterator[str]:
        return iter({**self._sources, **self._additions()})

    def __len__(self) -> int:
        return len({**self._sources, **self._additions()})

    @property
    def is_used(self) -> bool:
        """Whether any fact was read."""
        return bool(self._gathered) or self._added is not None

    @property
    def notes(self) -> list[str]:
        """The facts that could not be gathered so far, with the reasons, one sentence each."""
        files = {} if self._files is None else self._files.notes
        return [f"{what}: {why}" for what, why in {**self._gatherer.notes, **files}.items()]

    @property
    def is_lacking(self) -> bool:
        """Whether a fact was read that only a fact file could have, and the fact files did not answer."""
        return self._is_lacking

    def with_fallbacks(self, values: Mapping[str, Any]) -> Facts:
        """Return the same facts, not gathered yet, with ``values`` as defaults for the given facts."""
        given = deep_merge(dict(values), self._given)
        return Facts(given, parse=self._parse, where=self._where, sources=self._sources)

    def watch_paths(self) -> list[str]:
        """Return the paths to watch: call `refreshed` when one changes. Addresses have no path, so poll them."""
        return [*_SYSTEM_FILES, *fact_paths(self._where, self._files or FileFacts())]

    def refreshed(self) -> set[str]:
        """Refresh the facts that were read and may have changed; return the top-level keys whose value changed."""
        before = self._additions()
        self._added = None
        after = self._additions()
        differ = {key for key in {**before, **after} if before.get(key, _NONE) != after.get(key, _NONE)}
        return differ | {key for key in _FOLLOWED if key in self._gathered and self._follow(key)}

    def _follow(self, key: str) -> bool:
        """Gather the part again, and return whether it changed. A part that fails this time keeps its value."""
        old = self._gathered[key]
        new: dict[str, Any] = named(self._sources[key](self._gatherer))
        if any(name.startswith(key) for name in self._gatherer.notes):
            return False
        for name in _FOLLOWED[key]:
            new["info"][name] = old["info"].get(name, new["info"][name])
        self._gathered[key] = new
        return new != old

    def _additions(self) -> dict[str, Any]:
        """Return the facts from files, overridden by the given facts."""
        if self._added is None:
            answer = self._gatherer({"fact files": lambda: read_fact_files(self._where, self._parse)})
            self._files = answer.get("fact files", self._files)
            self._added = deep_merge(self._files.values if self._files else {}, self._given)
        return self._added

"""The environment of a run, which remembers what expressions read of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class ReadEnviron(Mapping[str, str]):
    """The variables ``environ``. ``read`` has each name that was looked up, also if it is not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        self.read.update(self._environ)
        return iter(self._environ)

    def __len__(self) -> int:
        self.read.update(self._environ)
        return len(self._environ)

"""Where the binder finds the class of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reactor.resource.base import Resource
from reactor.resource.registry import find_kind, kind_names


@dataclass(frozen=True)
class Kinds:
    """The kinds a manifest may use: by default those installed.

    ``find`` returns the class of a kind and raises KeyError when there is none of that name.
    """

    names: Callable[[], Iterable[str]] = kind_names
    find: Callable[[str], type[Resource]] = find_kind

    @classmethod
    def of(cls, *classes: type[Resource]) -> Kinds:
        """Just these classes, whatever is installed."""
        by_name = {each.kind: each for each in classes}
        return cls(lambda: tuple(by_name), by_name.__getitem__)


INSTALLED = Kinds()

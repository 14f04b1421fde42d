"""Finds the class of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reactor.manifest.phrasing import kind_meant, listed, shown
from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.registry import find_kind, kind_names
from reactor.suggestions import did_you_mean


class Kinds(NamedTuple):
    """The kinds that a manifest may use: by default, all installed kinds.

    ``find`` returns the class of a kind. It raises KeyError for an unknown name.
    """

    names: Callable[[], Iterable[str]] = kind_names
    find: Callable[[str], type[Resource]] = find_kind

    @classmethod
    def of(cls, *classes: type[Resource]) -> Kinds:
        """Return only these classes, whatever is installed."""
        by_name = {each.kind: each for each in classes}
        return cls(lambda: tuple(by_name), by_name.__getitem__)


INSTALLED = Kinds()


class UnusableKind(NamedTuple):
    """The reason why there is no class for a kind, and a hint. ``meant`` is the existing kind with a similar name."""

    code: str
    message: str
    hint: str
    meant: str | None = None


def look_up(kinds: Kinds, name: str) -> type[Resource] | UnusableKind:
    """Return the class of the kind ``name``, or why there is none."""
    try:
        return kinds.find(name)
    except KeyError:
        names = [*kinds.names()]
        kind, _, called = name.partition("#")
        if called and kind in names:
            hint = f"a kind has a list of names: write '{kind}:', and '- {called}:' below it"
            return UnusableKind("R0107", f"unknown kind {shown(name)}", hint)
        other = kind_meant(name, names)
        suggestion = f"did you mean {other!r}?" if other else did_you_mean(name, names)
        meant = next((each for each in names if suggestion and repr(each) in suggestion), None)
        hint = suggestion or (f"the kinds are {listed(names, 'and')}" if names else "no kind is installed")
        return UnusableKind("R0107", f"unknown kind {shown(name)}", hint, meant)
    except (ImportError, AttributeError) as error:
        hint = "check the installation of the package that provides it"
        return UnusableKind("R0107", f"the kind {name!r} can't be loaded: {error}", hint)

"""Host patterns, as Ansible has them: ``web:db``, ``web:!web3``, ``web:&eu``, ``web*``, ``web[0]``, ``~regex``.

Names are separated by ``:`` or ``,``. A host is selected if it matches any plain name, each ``&``
name, and no ``!`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from reactor.fleet.push.errors import InventoryError
from reactor.fleet.push.inventory_builder import ALL, UNGROUPED
from reactor.fleet.push.inventory_host import Host
from reactor.suggestions import did_you_mean

_SUBSCRIPT = re.compile(r"(.+)\[(-?\d{1,9})(?::(-?\d{0,9}))?\]")


def select(hosts: Sequence[Host], pattern: str) -> list[Host]:
    """Return the hosts that ``pattern`` selects, in the order of the inventory. Raises InventoryError.

    A name that matches nothing is an error: it is misspelt, or the host was removed.
    """
    words = [word.strip() for word in _split(pattern) if word.strip()]
    if not words:
        raise InventoryError("the pattern names no host", "write 'all' for all hosts")
    wanted = [word for word in words if word[0] not in "!&"]
    found = {host.name for word in wanted or [ALL] for host in _matching(hosts, word)}
    for word in words:
        if word[0] in "!&":
            named = {host.name for host in _matching(hosts, word[1:])}
            found = found & named if word[0] == "&" else found - named
    return [host for host in hosts if host.name in found]


def _split(pattern: str) -> Iterable[str]:
    """Split at commas, else at colons outside of brackets; an IPv6 address stays whole."""
    if "," in pattern:
        return pattern.split(",")
    if re.fullmatch(r"[0-9a-fA-F:]*::[0-9a-fA-F:.]*|(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}", pattern):
        return [pattern]
    return re.split(r":(?![^\[]*\])", pattern)


def _matching(hosts: Sequence[Host], word: str) -> list[Host]:
    subscript = None if word.startswith("~") else _SUBSCRIPT.fullmatch(word)
    if subscript and (found := _named(hosts, subscript[1])):
        return _sliced(found, subscript, word)
    if found := _named(hosts, word):
        return found
    known = {ALL, *(host.name for host in hosts), *(group for host in hosts for group in host.groups)}
    raise InventoryError(f"no host or group matches {word!r}", did_you_mean(word, sorted(known)))


def _named(hosts: Sequence[Host], word: str) -> list[Host]:
    if word in (ALL, "*"):
        return list(hosts)
    if word == UNGROUPED:
        return [host for host in hosts if not host.groups]
    if word.startswith("~"):
        try:
            matches = re.compile(word[1:]).match
        except re.error as error:
            raise InventoryError(f"{word!r} is not a regular expression: {error}") from error
        return [host for host in hosts if any(map(matches, (host.name, *host.groups)))]
    exact = [host for host in hosts if word in (host.name, *host.groups)]
    return exact or [
        host for host in hosts if any(fnmatchcase(name, word) for name in (host.name, *host.groups))
    ]


def _sliced(hosts: list[Host], subscript: re.Match[str], word: str) -> list[Host]:
    first, last = int(subscript[2]), subscript[3]
    if last is None:
        if not -len(hosts) <= first < len(hosts):
            raise InventoryError(f"{word!r}: there are only {len(hosts)} hosts")
        return [hosts[first]]
    end = int(last) if last else -1
    return hosts[first : len(hosts) if end == -1 else end + 1]

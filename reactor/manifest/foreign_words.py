"""Words of Ansible, Puppet and Chef in a manifest: each leads to what says the same here."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

_NAME = "it is the name of the resource: write it before the colon, as in '- /etc/motd: {...}'"
_NO_LOOPS = "there are no loops: write an item for each, and below defaults what they share"

_HOME: Final = {
    "state": ("ensure", "did you mean 'ensure'?"),
    "notify": ("subscribe", "turn it around: subscribe to this one where something is to be refreshed"),
    "before": ("require", "turn it around: require this one in what is to come later"),
    "when": ("control", "write control: {if: EXPRESSION}"),
    "path": ("name", _NAME),
    "dest": ("name", _NAME),
    "register": ("name", 'take it away: an expression of another resource reads output("KIND#NAME")'),
    "become": ("name", "take it away: all is done as whoever starts reactor; an exec may have a user"),
    "become_user": ("user", "did you mean 'user'?"),
    "with_items": ("name", _NO_LOOPS),
    "loop": ("name", _NO_LOOPS),
}
"""By word: the property that says the same or shows that the word is one of a resource, and the hint."""

NAMES: Final = ("name", "path", "dest")
"""What elsewhere has the name of a resource."""


def hint_home(word: str, known: Container[str]) -> str | None:
    """The hint for a word that none of the ``known`` properties has, if it is one of others."""
    marker, hint = _HOME.get(word, ("", None))
    return hint if marker in known else None

"""What to do about a scaffold: a pure function of what was found, so that it can be tested as a table."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from reactor import Action, Diff, Plan
from resources.scaffold.state import ScaffoldState

_LITTER = "temporary files of an interrupted run"


class Hands(Protocol):
    """What carries a plan out."""

    async def build(self, state: ScaffoldState, *, purge: bool) -> None:
        """Make the tree as desired."""

    async def clear(self, state: ScaffoldState) -> None:
        """Remove what belongs to the scaffold, and the directories that this leaves empty."""

    async def diff(self, state: ScaffoldState, *, purge: bool) -> Diff:
        """What `build` would change."""


def decide(ensure: str, state: ScaffoldState, hands: Hands, *, purge: bool) -> Plan:
    """Nothing, or one action that does it all."""
    if ensure == "absent":
        if not (state.managed or state.litter):
            return ()
        words = f"{len(state.managed)} scaffold files" if state.managed else _LITTER
        return (Action(f"Would have removed {words}", f"removed {words}", partial(hands.clear, state)),)
    files = len(state.changed) + (len(state.purged) if purge else 0)
    if not (files or state.directories or state.litter):
        return ()
    if files:
        words = f"changed {files} scaffold files"
    elif state.directories:
        words = f"changed {len(state.directories)} scaffold directories"
    else:
        words = f"removed {_LITTER}"
    return (
        Action(
            f"Would have {words}",
            words,
            partial(hands.build, state, purge=purge),
            partial(hands.diff, state, purge=purge),
        ),
    )

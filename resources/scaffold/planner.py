"""The decision table of a scaffold: a pure function from the state to the plan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from reactor import Action, Plan
from reactor.resources.scaffold.builder import Builder
from reactor.resources.scaffold.state import ScaffoldState

_NAMED = 10
"""The most temporary files that the message names; each is also reported when it is removed."""


def plan_scaffold(
    ensure: str, state: ScaffoldState, builder: Builder, *, purge: bool, has_commands: bool = False
) -> Plan:
    """No action, or one that does everything.

    With ``has_commands``, it must be verified: commands may change files.
    """
    if ensure == "absent":
        done = [f"removed {len(state.managed)} scaffold files"] if state.managed else []
        done += _empty_in_words(state.empty)
        words = ", ".join([*done, *_describe_stale(state.stale_temporaries)])
        if not words:
            return ()
        return (Action.proven(words, partial(builder.clear, state)),)
    files = len(state.changed) + (len(state.purged) if purge else 0)
    done = []
    if files:
        done = [f"changed {files} scaffold files"]
    elif state.directories:
        done = [f"changed {len(state.directories)} scaffold directories"]
    done += _empty_in_words(state.empty_others if purge else ())
    words = ", ".join([*done, *_describe_stale(state.stale_temporaries)])
    if not words:
        return ()
    return (
        Action.saying(
            words,
            partial(builder.build, state, purge=purge),
            partial(builder.diff, state, purge=purge),
            is_proof=not has_commands,
        ),
    )


def _empty_in_words(directories: Sequence[str]) -> list[str]:
    """The sentence about directories that are removed, if there are any."""
    return [f"removed {len(directories)} empty directories"] if directories else []


def _describe_stale(stale_temporaries: Sequence[str]) -> list[str]:
    """The sentence about temporary files that are removed, if there are any."""
    if not stale_temporaries:
        return []
    named, more = ", ".join(stale_temporaries[:_NAMED]), len(stale_temporaries) - _NAMED
    return [
        f"removed temporary files of an interrupted run: {named}" + (f" and {more} more" if more > 0 else "")
    ]

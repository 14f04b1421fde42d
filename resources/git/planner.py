"""The decision table of a checkout: a pure function from the state to the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from reactor import Action, Plan, ResourceError
from reactor.resources.git.checkout import Checkout
from reactor.resources.git.state import Desired, Found, GitState, Tip

_IN_THE_WAY = (Found.OTHER, Found.LINK, Found.FILE, Found.LINKED)
_SHOWN = 3
"""The most file names in a sentence."""
_SAVE = "commit and push what is worth it, or write force: true, which discards it"


def plan_checkout(desired: Desired, state: GitState, checkout: Checkout) -> Plan:
    """The plan for ``state``. Raises ResourceError when something would be lost without ``force``."""
    if state.found in _IN_THE_WAY:
        words = f"{desired.path} is {state.found.value}; cannot manage it as a checkout"
        in_the_way = desired.path if state.found in (Found.FILE, Found.LINK) else None
        raise ResourceError(words, "choose another path, or move away what is there", missing=in_the_way)
    if desired.ensure == "absent":
        return _absent(desired, state, checkout)
    if state.found is not Found.CHECKOUT:
        return (_clone(desired, state, checkout),)
    if not (desired.force or state.interrupted):
        _refuse_loss(desired.path, state.changed, has_local_commits=state.has_local_commits)
    return tuple(_steps(desired, state, checkout))


def _absent(desired: Desired, state: GitState, checkout: Checkout) -> Plan:
    if state.found is Found.NOTHING:
        return ()
    if state.found is Found.CHECKOUT and not desired.force:
        names = (*state.changed, *state.untracked)
        _refuse_loss(desired.path, names, has_local_commits=state.has_local_commits)
    return (Action.saying("removed the checkout", checkout.remove),)


def _clone(desired: Desired, state: GitState, checkout: Checkout) -> Action:
    tip = state.tip or Tip("")
    return Action.saying(f"cloned {desired.url} at {_words(tip)}", partial(checkout.clone, tip))


def _steps(desired: Desired, state: GitState, checkout: Checkout) -> list[Action]:
    tip = state.tip or Tip("")
    steps = []
    if state.origin != desired.url:
        steps.append(Action.saying(f"set the remote origin to {desired.url}", checkout.set_origin))
    is_dirty = bool(state.changed or state.has_local_commits)
    if not state.is_at_tip or state.interrupted:
        words = f"checked out {_words(tip)}" + _from(state, tip) + _discarded(state)
        run = partial(checkout.move, tip, is_dirty=is_dirty, is_interrupted=state.interrupted)
        steps.append(Action.saying(words, run))
    elif state.changed:
        steps.append(Action.saying(_discarded(state)[2:], partial(checkout.reset, tip)))
    elif state.deleted:
        steps.append(Action.saying(f"restored {_listed(state.deleted)}", checkout.restore))
    if state.modules_differ:
        steps.append(Action.saying("checked out the submodules", partial(checkout.update_modules, tip)))
    return steps


def _words(tip: Tip) -> str:
    """The commit in a few digits, with its branch or tag."""
    name = tip.branch or (tip.source or "").removeprefix("refs/tags/")
    return f"{tip.commit[:7]} ({name})" if name else tip.commit[:7]


def _from(state: GitState, tip: Tip) -> str:
    if state.head is None or state.head == tip.commit:
        return ""
    return f", from {state.head[:7]}"


def _discarded(state: GitState) -> str:
    if state.interrupted and not state.changed:
        return ""
    lost = [f"local changes of {_listed(state.changed)}"] if state.changed else []
    lost += ["local commits"] if state.has_local_commits else []
    return f", discarded {' and '.join(lost)}" if lost else ""


def _refuse_loss(path: str, names: Sequence[str], *, has_local_commits: bool) -> None:
    if names:
        raise ResourceError(f"{path} has local changes: {_listed(names)}", _SAVE)
    if has_local_commits:
        raise ResourceError(f"{path} has commits that no server has", _SAVE)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def in_the_way(others: Collection[str], names: Iterable[str]) -> set[str]:
    """Those of ``others``, untracked files, that git would have to remove to write files with these names.

    A name of ``others`` that ends with a slash is a repository: what is in it is not known.
    """
    files = set(names)
    needed = {above for name in files for above in _above(name)}
    return {
        other
        for other in others
        if other.rstrip("/") in files or other in needed or not files.isdisjoint(_above(other.rstrip("/")))
    }


def _above(name: str) -> Iterator[str]:
    """The directories that a file is in, below the checkout."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name

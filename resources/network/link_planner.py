"""The decision table of a link: a pure function from the state to the plan."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from reactor import Action, Plan, ResourceError
from reactor.resources.network.link_properties import TYPES, LinkProperties
from reactor.resources.network.link_requests import configure, create, delete
from reactor.resources.network.link_state import LinkState
from reactor.resources.network.link_table import SMALLEST_MTU_OF_IPV6
from reactor.resources.network.losses import Loss

MANAGED = ("address", "mtu", "master", "state")
"""The properties of an existing link that can be changed, in the order of the message."""

_FORCE = "set force: true if that is intended"


def plan_link(wanted: LinkProperties, state: LinkState | None) -> Plan:
    """The plan for ``state``. Raises ResourceError for a change that needs `force`."""
    if wanted.ensure == "absent":
        return () if state is None else (_removal(wanted, state),)
    if state is None:
        return (_creation(wanted),)
    if differences := _made_otherwise(wanted, state):
        return _replacement(wanted, state, differences)
    names = _differing(wanted, state)
    if not names:
        return ()
    if "state" in names and wanted.state == "down":
        _refuse_to_cut_off(wanted, state, f"take down {wanted.interface}")
    elif _goes_down_first(state, names):
        _refuse_to_cut_off(
            wanted, state, f"take down {wanted.interface}, as {wanted.master} requires of a member"
        )
    elif state.losses.default:
        _refuse_to_cut_off(wanted, state, f"set mtu {wanted.mtu} on {wanted.interface}, which leaves no IPv6")
    return (_change(wanted, state, names),)


def impending_loss(wanted: LinkProperties, state: LinkState) -> Loss | None:
    """The planned change that makes the kernel remove more than the link itself; None if there is none."""
    if wanted.ensure == "absent" or _made_otherwise(wanted, state):
        return Loss.REMOVED
    names = _differing(wanted, state)
    if ("state" in names and wanted.state == "down") or _goes_down_first(state, names):
        return Loss.DOWN
    if "mtu" in names and (wanted.mtu or 0) < SMALLEST_MTU_OF_IPV6 <= state.mtu:
        return Loss.NO_IPV6
    return None


def _differing(wanted: LinkProperties, state: LinkState) -> list[str]:
    return [name for name in MANAGED if getattr(wanted, name) not in (None, getattr(state, name))]


def _goes_down_first(state: LinkState, names: Collection[str]) -> bool:
    return "master" in names and state.joins_down and state.state == "up"


def _creation(wanted: LinkProperties) -> Action:
    if wanted.type is None:
        # In noop, another resource would have created it; otherwise this fails with a clear error.
        run = partial(configure, wanted, MANAGED)
        return Action.proven("set up the link", run)
    what = f"the {wanted.type} {wanted.interface}"
    return Action.proven(f"created {what}", partial(create, wanted))


def _removal(wanted: LinkProperties, state: LinkState) -> Action:
    _refuse_to_cut_off(wanted, state, f"remove {wanted.interface}")
    words = f"removed the link{state.losses}"
    return Action.proven(words, partial(delete, wanted))


def _made_otherwise(wanted: LinkProperties, state: LinkState) -> list[str]:
    """The differences that can't be corrected on an existing link.

    Ignores the peer of a veth, which may be renamed.
    """
    if wanted.type is None:
        return []
    if wanted.type != state.type:
        return [f"type {state.type or 'of the hardware'}"]
    made = TYPES[wanted.type]
    pairs = {name: getattr(wanted, name) for name in (*made.needs, *made.may_have) if name != "peer"}
    return [
        f"{name} {getattr(state, name)}"
        for name, value in pairs.items()
        if value is not None and value != getattr(state, name)
    ]


def _replacement(wanted: LinkProperties, state: LinkState, differences: list[str]) -> Plan:
    what = f"a link {wanted.interface} with {' and '.join(differences)}"
    if not wanted.force:
        hint = f"remove it first: ip link delete {wanted.interface}; or set force: true to replace it"
        raise ResourceError(f"there is {what}, which can't be changed", hint)
    words = f"removed {what}{state.losses}"
    return (Action.proven(words, partial(delete, wanted)), _creation(wanted))


def _change(wanted: LinkProperties, state: LinkState, names: list[str]) -> Action:
    changes = [f"{name} from {getattr(state, name) or 'none'} to {getattr(wanted, name)}" for name in names]
    run = partial(configure, wanted, names, goes_down_first=_goes_down_first(state, names))
    words = f"changed {', '.join(changes)}{state.losses}"
    return Action.saying(words, run, reads_back=True)


def _refuse_to_cut_off(wanted: LinkProperties, state: LinkState, what: str) -> None:
    if (state.carries_default or state.losses.default) and not wanted.force:
        words = f"refusing to {what}: it carries the default route"
        raise ResourceError(words, _FORCE)

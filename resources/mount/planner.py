"""The decision table of a mount: a pure function from the state to the plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from reactor import Action, Plan
from reactor.resources import textfile
from reactor.resources.mount import swap, system
from reactor.resources.mount.comparison import missing
from reactor.resources.mount.fstab import FSTAB, SWAP, subject_of, with_entry, without_entry
from reactor.resources.mount.state import Desired, MountState


def plan_mount(desired: Desired, state: MountState) -> Plan:
    """The plan for ``state``.

    A device that can't be mounted gets no line in /etc/fstab, which could make the next boot fail. A mount that can't
    be unmounted keeps its line.
    """
    is_swap = desired.entry.fstype == SWAP
    mounted, unmounted = (swap.on, swap.off) if is_swap else (_mounted, _unmounted)
    if desired.ensure == "mounted":
        return (*mounted(desired, state), *_listed(desired, state))
    if desired.ensure == "present":
        return _listed(desired, state)
    if desired.ensure == "unmounted":
        return (*unmounted(desired, state), *_listed(desired, state))
    return (*unmounted(desired, state), *_unlisted(desired, state))


def edits_table(desired: Desired, state: MountState) -> bool:
    """Whether the plan edits /etc/fstab."""
    return bool((_unlisted if desired.ensure == "absent" else _listed)(desired, state))


def _mounted(desired: Desired, state: MountState) -> Plan:
    entry = desired.entry
    if not state.mounts:
        return (_step(f"mounted {entry.device}", partial(system.mount, desired), reads_back=True),)
    top = state.mounts[-1]
    if state.is_dead and state.same_device:
        words = f"mounted {entry.device} again, whose server had ended"
        return (_step(words, partial(system.exchange, desired), reads_back=True),)
    if not state.same_device:
        words = f"mounted {entry.device} in place of {top.source} ({top.fstype})"
        return (_step(words, partial(system.exchange, desired), reads_back=True),)
    if wrong := missing(desired.options, top.options, top.fstype):
        words = f"remounted with {','.join(wrong)}"
        return (_step(words, partial(system.remount, desired, top), reads_back=True),)
    return ()


def _unmounted(desired: Desired, state: MountState) -> Plan:
    if not state.mounts:
        return ()
    times = len(state.mounts)
    words = "unmounted it" if times == 1 else f"unmounted it, {times} times"
    return (_step(words, partial(system.unmount, desired.entry.point, times), is_proof=True),)


def _listed(desired: Desired, state: MountState) -> Plan:
    if state.entries == (desired.entry,):
        return ()
    words = f"updated its line in {FSTAB}" if state.entries else f"added it to {FSTAB}"
    return (_edit(words, partial(with_entry, entry=desired.entry, options=desired.options)),)


def _unlisted(desired: Desired, state: MountState) -> Plan:
    if not state.entries:
        return ()
    return (_edit(f"removed it from {FSTAB}", partial(without_entry, place=subject_of(desired.entry))),)


def _step(
    words: str, run: Callable[[], Awaitable[None]], *, is_proof: bool = False, reads_back: bool = False
) -> Action:
    """An action that the next observation verifies: the kernel may ignore options, the mount point may have moved."""
    return Action.saying(words, run, is_proof=is_proof, reads_back=reads_back)


def _edit(words: str, change: textfile.Change) -> Action:
    run, diff = partial(system.change_table, change), partial(textfile.diff, FSTAB, change)
    return Action.proven(words, run, diff, system.predict_change)

"""The arguments of apt-get for a transaction."""

from __future__ import annotations

from typing import Final

from reactor.resources.package.planner import Change, Changes, Options, Step

_OPTIONS: Final = (
    "-y", "-q",
    "-o", "DPkg::Options::=--force-confold",
    "-o", "DPkg::Use-Pty=0",
    "-o", "DPkg::Lock::Timeout=-1",  # apt itself waits for a lock that is taken after our check
    "-o", "APT::Cmd::Pattern-Only=true",  # an unknown name is not used as a regular expression
    "-o", "APT::Get::AutomaticRemove=false",  # an unneeded package may be managed by a resource
)  # fmt: skip
_KEEP_CONFIGURATION: Final = ("-o", "APT::Get::Purge=false")
"""The option against a configuration of apt that purges what is removed."""
FIX_BROKEN: Final = ("install", *_OPTIONS, *_KEEP_CONFIGURATION, "--no-remove", "--fix-broken")
"""The arguments that install what unpacked packages lack. apt refuses everything else before, and this with others."""
_OPTION_FOR: Final = {Step.DOWNGRADE: "--allow-downgrades", Step.REINSTALL: "--reinstall"}


def installation(changes: Changes) -> tuple[str, ...]:
    """The arguments that install packages."""
    steps = {change.step for change in changes.values()}
    options = [option for step, option in _OPTION_FOR.items() if step in steps]
    packages = map(_specification, changes.values())
    recommends = _options_of(changes).recommends
    if recommends is not None:
        options += ["-o", f"APT::Install-Recommends={str(recommends).lower()}"]
    return ("install", *_OPTIONS, *_KEEP_CONFIGURATION, *options, *packages)


def removal(changes: Changes) -> tuple[str, ...]:
    """The arguments for a removal, even of a half-installed package, which dpkg refuses to remove by default."""
    options = ["-o", "DPkg::Options::=--force-remove-reinstreq"]
    if _options_of(changes).autoremove:
        options += ["-o", "APT::Get::AutomaticRemove=true"]
    is_purge = any(change.step is Step.PURGE for change in changes.values())
    verb = "purge" if is_purge else "remove"
    if not is_purge:
        options += _KEEP_CONFIGURATION
    return (verb, *_OPTIONS, *options, *(change.name for change in changes.values()))


def _specification(change: Change) -> str:
    """A package as an argument of apt-get."""
    return change.file or (f"{change.name}={change.version}" if change.version else change.name)


def _options_of(changes: Changes) -> Options:
    """The options of the transaction, which are equal for all its changes."""
    return next(iter(changes.values())).options

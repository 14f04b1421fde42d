"""The files that set the table at the next boot: the rules, and a unit of systemd that loads them.

The unit does not need ``nftables.service``, whose file begins with ``flush ruleset`` on Debian: it starts after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from reactor import Action
from reactor.hostfs import ErrorContext, refuse_replacement
from reactor.resources import textfile
from reactor.resources.firewall.nft import text_of
from reactor.resources.firewall.ruleset import Line
from reactor.resources.managed_header import HEADER
from reactor.resources.system_link import read_link, write_link

_UNITS: Final = "/etc/systemd/system"
_TARGET: Final = "sysinit.target"
_UNIT: Final = """\
[Unit]
Description=Firewall: the table inet {table} of reactor
DefaultDependencies=no
Wants=network-pre.target
Before=network-pre.target shutdown.target
After=nftables.service
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {rules}

[Install]
WantedBy={target}
"""


class BootFiles(NamedTuple):
    """The content of the file with the rules and of the unit, and the target of the link that enables it; None for no file."""

    rules: str | None = None
    unit: str | None = None
    link: str | None = None


def paths(table: str) -> BootFiles:
    """The paths of the three."""
    unit = f"reactor-firewall-{table}.service"
    rules = f"/etc/nftables.{table}.conf"
    return BootFiles(rules, f"{_UNITS}/{unit}", f"{_UNITS}/{_TARGET}.wants/{unit}")


def wanted(table: str, lines: Sequence[Line]) -> BootFiles:
    """The desired content of the files. The unit is left out where there is no directory for it."""
    where = paths(table)
    rules = HEADER + text_of(lines)
    unit = HEADER + _UNIT.format(table=table, rules=where.rules, target=_TARGET)
    return BootFiles(rules, unit, where.unit)


def found(table: str) -> BootFiles:
    """The present content of the files. Raises ResourceError when it can't be read."""
    where = paths(table)
    return BootFiles(
        textfile.read(where.rules or ""), textfile.read(where.unit or ""), read_link(where.link or "")
    )


def without_systemd(files: BootFiles) -> BootFiles:
    """The files on a host without a directory for units: the rules alone."""
    return files if os.path.isdir(_UNITS) else files._replace(unit=None, link=None)


def steps(table: str, now: BootFiles, then: BootFiles) -> Iterator[Action]:
    """One step for each file that differs."""
    where = paths(table)
    for path, old, new in zip(where, now, then, strict=True):
        if path is None or old == new:
            continue
        if path == where.link and new is not None:
            words = f"enabled {os.path.basename(path)}"
            yield Action.proven(words, partial(_enable, path, new))
        else:
            yield textfile.replace_step(path, new)


def preflight(table: str, now: BootFiles, then: BootFiles) -> None:
    """Raise the ResourceError with which a file could not be written or removed."""
    for path, old, new in zip(paths(table), now, then, strict=True):
        if path is not None and old != new:
            refuse_replacement(path)


async def _enable(path: str, target: str) -> None:
    """Make the link, as `systemctl enable` does."""
    with ErrorContext(f"enable {target}"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    await write_link(path, target)

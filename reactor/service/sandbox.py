"""The sandbox of the service: settings of the unit that close everything the manifest does not need.

A comment in the unit gives the reason for each setting that is left out. The sandbox depends on the access that kinds
declare, and on the areas of the file system with managed files, not on single paths: so most resources that are added
later need no new sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from reactor.resource.base import Resource
from reactor.resource.real_paths import RealPaths
from reactor.resource.relations import SandboxAccess


class Area(Enum):
    """A part of the file system that can be closed. The value is the end of a sentence, as in `SandboxAccess`."""

    USR = "manages something below /usr or /boot"
    ETC = "manages something below /etc"
    HOME = "manages something below /home or /root"
    TEMPORARY = "manages something below /tmp or /var/tmp"
    CGROUPS = "manages something below /sys/fs/cgroup"
    FILES = "changes files in other places"


_BELOW: Mapping[str, SandboxAccess | Area] = {
    "/usr": Area.USR, "/boot": Area.USR, "/efi": Area.USR, "/bin": Area.USR, "/sbin": Area.USR, "/lib": Area.USR,
    "/lib64": Area.USR, "/etc": Area.ETC, "/home": Area.HOME, "/root": Area.HOME, "/run/user": Area.HOME,
    "/sys/fs/cgroup": Area.CGROUPS, "/sys": SandboxAccess.TUNABLE, "/proc": SandboxAccess.TUNABLE,
    "/tmp": Area.TEMPORARY, "/var/tmp": Area.TEMPORARY,  # noqa: S108 - to know what is there, not to write there
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Protection:
    """A setting of the unit, and the needs that rule it out. `SandboxAccess.ANYTHING` rules out every setting."""

    line: str
    against: tuple[SandboxAccess | Area, ...] = ()

    def hindrance(self, needs: Mapping[SandboxAccess | Area, str]) -> str | None:
        """Why the setting can't be used, with the name of a resource that needs the access; None if it can be used."""
        return next((f"{needs[need]} {need.value}" for need in self.against if need in needs), None)


_WRITING = (SandboxAccess.MOUNT, Area.USR, Area.ETC, Area.FILES, Area.HOME, Area.TEMPORARY)
_ADMINISTRATION = (
    SandboxAccess.MOUNT,
    SandboxAccess.NAMESPACE,
    SandboxAccess.HOSTNAME,
    SandboxAccess.TUNABLE,
)

_PROTECTIONS: tuple[tuple[Protection, ...], ...] = (
    (
        Protection("ProtectSystem=strict", _WRITING),
        Protection("ProtectSystem=full", (SandboxAccess.MOUNT, Area.USR, Area.ETC)),
        Protection("ProtectSystem=yes", (SandboxAccess.MOUNT, Area.USR)),
    ),
    (Protection("ProtectHome=read-only", (SandboxAccess.MOUNT, Area.HOME)),),
    (Protection("ReadOnlyPaths=-/tmp -/var/tmp", (SandboxAccess.MOUNT, Area.TEMPORARY)),),
    (Protection("ProtectKernelTunables=yes", (SandboxAccess.MOUNT, SandboxAccess.TUNABLE)),),
    (Protection("ProtectKernelModules=yes", (SandboxAccess.MOUNT,)),),
    (Protection("ProtectKernelLogs=yes", (SandboxAccess.MOUNT,)),),
    (Protection("ProtectControlGroups=yes", (SandboxAccess.MOUNT, Area.CGROUPS)),),
    (Protection("RestrictNamespaces=yes", (SandboxAccess.MOUNT, SandboxAccess.NAMESPACE)),),
    (Protection("CapabilityBoundingSet=~CAP_SYS_ADMIN", _ADMINISTRATION),),
    (Protection("CapabilityBoundingSet=~CAP_NET_ADMIN", (SandboxAccess.NETWORK,)),),
    (
        Protection(
            "CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_TIME CAP_SYS_BOOT CAP_SYSLOG CAP_BPF"
        ),
    ),
    (Protection("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"),),
    (Protection("SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot"),),
    (Protection("SystemCallFilter=~@swap", (SandboxAccess.SWAP,)),),
    (Protection("SystemCallFilter=~@mount", (SandboxAccess.MOUNT,)),),
    (Protection("SystemCallErrorNumber=EPERM"),),
    (Protection("SystemCallArchitectures=native"),),
    (Protection("NoNewPrivileges=yes"),),
    (Protection("LockPersonality=yes"),),
    (Protection("RestrictRealtime=yes"),),
    (Protection("RestrictSUIDSGID=yes", (SandboxAccess.SETGID,)),),
)
"""Of each group, the first setting that can be used goes into the unit.

Access that is closed must fail with an error, so two settings are missing: PrivateTmp= would hide our files from other
programs, and ProtectHostname= would hide a change of the host name from us.
"""


def sandbox(resources: Iterable[Resource], paths: Iterable[str] = ()) -> Iterator[str]:
    """Lines for the section ``[Service]``: the settings, and comments why others can't be used.

    ``paths`` are the paths that reactor itself writes.
    """
    needs = _needs(resources, paths)
    if SandboxAccess.ANYTHING in needs:
        yield f"# Nothing is closed: {needs[SandboxAccess.ANYTHING]} {SandboxAccess.ANYTHING.value}."
        return
    for group in _PROTECTIONS:
        for protection in group:
            hindrance = protection.hindrance(needs)
            if hindrance is None:
                yield protection.line
                break
            yield f"# Not {protection.line}: {hindrance}."


def _needs(resources: Iterable[Resource], paths: Iterable[str]) -> dict[SandboxAccess | Area, str]:
    """The needs of the resources and paths, each with the name of one that has it."""
    found = [
        *((need, path) for path in paths for need in _areas(path)),
        *((need, resource.ref) for resource in resources for need in _needs_of(resource)),
    ]
    return {need: _on_one_line(name) for need, name in reversed(found)}


def _needs_of(resource: Resource) -> Iterator[SandboxAccess | Area]:
    if resource.health_checks:
        yield SandboxAccess.ANYTHING
    for need in resource.sandbox_access():
        yield from (need,) if isinstance(need, SandboxAccess) else _areas(need)


def _areas(path: str) -> Iterator[SandboxAccess | Area]:
    """The areas of ``path``, and of its target if it is a symlink."""
    for place in {path, RealPaths().destination(path)}:
        yield next((need for top, need in _BELOW.items() if f"{place}/".startswith(f"{top}/")), Area.FILES)


def _on_one_line(text: str) -> str:
    """``text`` on one line: line breaks in a name would add lines to the unit."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()

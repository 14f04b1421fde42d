"""What can be closed to the service, given what its manifest manages: lines of the unit, with reasons for what stays open.

It is decided by the kinds of the resources and by where their files are, not by single paths: what is added later to a
manifest mostly needs what is open already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from reactor.resource.base import Resource


class Need(Enum):
    """Something that a sandbox could forbid, as a sentence whose subject is what needs it."""

    ANYTHING = "may run any command"
    MOUNT = "mounts, which the host would not see from a mount namespace"
    NAMESPACE = "acts in a network namespace"
    NETWORK = "changes the network"
    TUNABLE = "sets a parameter of the kernel"
    HOSTNAME = "sets the name of the host"
    USR = "is about something below /usr or /boot"
    ETC = "is about something below /etc"
    HOME = "is about something below /home or /root"
    TEMPORARY = "is about something below /tmp or /var/tmp"
    FILES = "changes files in other places"


_OF_KIND: Mapping[str, tuple[Need, ...]] = {
    "apply": (),
    "file": (),
    "service": (),
    "hostname": (Need.HOSTNAME, Need.ETC),
    "sysctl": (Need.TUNABLE, Need.NETWORK),  # those of the network want its capability
    "mount": (Need.MOUNT, Need.ETC),
    "group": (Need.ETC,),
    "user": (Need.ETC, Need.HOME, Need.FILES),
    "link": (Need.NETWORK,),
    "address": (Need.NETWORK,),
    "route": (Need.NETWORK,),
}
"""What a kind needs besides its paths. What any other kind needs is not known, so with it nothing is closed."""

_WITH_PATHS = ("file", "sysctl", "user")
"""The kinds whose paths are those of files that they write; what a link or a mount provides is only named by a path."""

_BELOW = {
    "/usr": Need.USR, "/boot": Need.USR, "/efi": Need.USR, "/bin": Need.USR, "/sbin": Need.USR, "/lib": Need.USR,
    "/lib64": Need.USR, "/etc": Need.ETC, "/home": Need.HOME, "/root": Need.HOME, "/run/user": Need.HOME,
    "/sys": Need.TUNABLE, "/proc": Need.TUNABLE,
    "/tmp": Need.TEMPORARY, "/var/tmp": Need.TEMPORARY,  # noqa: S108 - to know what is there, not to write there
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Protection:
    """A line of the unit that closes something, and the needs that forbid it besides those that forbid all."""

    line: str
    against: tuple[Need, ...] = ()

    def hindrance(self, needs: Mapping[Need, str]) -> str | None:
        """Why it can't be: who needs what it closes."""
        return next((f"{needs[need]} {need.value}" for need in self.against if need in needs), None)


_WRITING = (Need.MOUNT, Need.USR, Need.ETC, Need.FILES, Need.HOME, Need.TEMPORARY)
_ADMINISTRATION = (Need.MOUNT, Need.NAMESPACE, Need.HOSTNAME, Need.TUNABLE)

_PROTECTIONS: tuple[tuple[Protection, ...], ...] = (
    (
        Protection("ProtectSystem=strict", _WRITING),
        Protection("ProtectSystem=full", (Need.MOUNT, Need.USR, Need.ETC)),
        Protection("ProtectSystem=yes", (Need.MOUNT, Need.USR)),
    ),
    (Protection("ProtectHome=read-only", (Need.MOUNT, Need.HOME)),),
    (Protection("PrivateTmp=yes", (Need.MOUNT, Need.TEMPORARY)),),
    (Protection("ProtectKernelTunables=yes", (Need.MOUNT, Need.TUNABLE)),),
    (Protection("ProtectKernelModules=yes", (Need.MOUNT,)),),
    (Protection("ProtectKernelLogs=yes", (Need.MOUNT,)),),
    (Protection("ProtectControlGroups=yes", (Need.MOUNT,)),),
    (Protection("RestrictNamespaces=yes", (Need.MOUNT, Need.NAMESPACE)),),
    (Protection("CapabilityBoundingSet=~CAP_SYS_ADMIN", _ADMINISTRATION),),
    (Protection("CapabilityBoundingSet=~CAP_NET_ADMIN", (Need.NETWORK,)),),
    (
        Protection(
            "CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_TIME CAP_SYS_BOOT CAP_SYSLOG CAP_BPF"
        ),
    ),
    (Protection("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK"),),
    (Protection("SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap"),),
    (Protection("SystemCallErrorNumber=EPERM"),),
    (Protection("SystemCallArchitectures=native"),),
    (Protection("NoNewPrivileges=yes"),),
    (Protection("LockPersonality=yes"),),
    (Protection("RestrictRealtime=yes"),),
    (Protection("RestrictSUIDSGID=yes"),),
)
"""Of each group, the first that can be. ProtectHostname= is missing: it would hide from us that the name changes."""


def sandbox(resources: Iterable[Resource], paths: Iterable[str]) -> Iterator[str]:
    """Lines for the section ``[Service]``: what can be closed, and as comments why the rest can't.

    ``paths`` are what the program itself reads, such as the manifest.
    """
    needs = _needs(resources, paths)
    if Need.ANYTHING in needs:
        yield f"# Nothing is closed: {needs[Need.ANYTHING]} {Need.ANYTHING.value}."
        return
    for group in _PROTECTIONS:
        for protection in group:
            hindrance = protection.hindrance(needs)
            if hindrance is None:
                yield protection.line
                break
            yield f"# Not {protection.line}: {hindrance}."


def _needs(resources: Iterable[Resource], paths: Iterable[str]) -> dict[Need, str]:
    """What is needed, each with the name of one who needs it."""
    needs: dict[Need, str] = {}
    for path in paths:
        if _place(path) is Need.TEMPORARY:
            needs[Need.TEMPORARY] = _on_one_line(path)
    for resource in resources:
        for need in _needs_of(resource):
            needs.setdefault(need, _on_one_line(resource.ref))
    return needs


def _needs_of(resource: Resource) -> Iterator[Need]:
    if resource.kind not in _OF_KIND or resource.health_checks or getattr(resource, "validate_with", None):
        yield Need.ANYTHING
        return
    yield from _OF_KIND[resource.kind]
    if getattr(resource, "netns", None) is not None:
        yield Need.NAMESPACE
    if resource.kind in _WITH_PATHS:
        for path in (*resource.provides(), *resource.removes()):
            if path.startswith("/"):  # and is no account
                yield _place(path) or Need.FILES
        yield from (Need.TEMPORARY for path in resource.reads() if _place(path) is Need.TEMPORARY)


def _on_one_line(text: str) -> str:
    """A name may hold anything, and is not to write lines of the unit."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _place(path: str) -> Need | None:
    return next((need for top, need in _BELOW.items() if f"{path}/".startswith(f"{top}/")), None)

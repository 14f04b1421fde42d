"""The facts ``host``: names, versions, uptime, the distribution (as CCM and gopsutil name it), and virtualization."""

from __future__ import annotations

import os
import re
import shlex
import time
from typing import Any, NamedTuple

from reactor.facts.gathering import Gatherer, numbers, read, read_if_allowed, read_if_there

_PLATFORMS = {
    "amzn": "amazon", "cumulus-linux": "cumuluslinux", "deepin": "Deepin", "kylin": "Kylin", "ol": "oracle",
    "rhel": "redhat", "xenenterprise": "xenserver",
}  # fmt: skip
"""Platforms whose name differs from the ID in os-release."""

_FAMILIES = {
    "debian": "debian ubuntu linuxmint raspbian Kylin cumuluslinux uos Deepin",
    "rhel": "redhat centos rocky almalinux oracle scientific cloudlinux amazon xenserver ibm_powerkvm"
    " enterpriseenterprise",
    "suse": "suse opensuse opensuse-leap opensuse-tumbleweed opensuse-tumbleweed-kubic sles sled caasp",
}
_OWN_FAMILY = "fedora gentoo slackware arch exherbo alpine coreos solus neokylin anolis"
_FAMILY_OF = {name: name for name in _OWN_FAMILY.split()} | {
    platform: family for family, platforms in _FAMILIES.items() for platform in platforms.split()
}

_VERSION_FILES = {"debian": "debian_version", "raspbian": "debian_version", "alpine": "alpine-release"}
"""The files that contain the full version: VERSION_ID of Debian 12.11 is only 12."""

_RELEASE = re.compile(r"release (\d[\d.]*)")


class Distribution(NamedTuple):
    """``platform`` names the distribution, ``family`` its family, such as rhel; ``version`` is such as 12.11.

    ``codename`` is such as bookworm; empty where releases have none.
    """

    platform: str
    family: str
    version: str
    codename: str = ""


def distribution(etc: str = "/etc") -> Distribution:
    """Return the distribution described by the files in ``etc``. Unknown values are empty."""
    release = _os_release(read_if_there(f"{etc}/os-release") or read_if_there(f"{etc}/../usr/lib/os-release"))
    platform = _platform(release.get("ID", ""))
    family = _family(platform, release.get("ID_LIKE", "").split())
    version = _version(etc, platform, family) or release.get("VERSION_ID", "")
    return Distribution(platform, family, version, release.get("VERSION_CODENAME", ""))


def _os_release(text: str) -> dict[str, str]:
    """Parse the assignments of an os-release file: shell words, see os-release(5)."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        try:
            found[name.strip()] = "".join(shlex.split(value))
        except ValueError:
            continue
    return found


def _platform(identity: str) -> str:
    return _PLATFORMS.get(identity, identity)


def _family(platform: str, alike: list[str]) -> str:
    """Return the family of the platform; else that of a platform in ID_LIKE; else the platform itself."""
    known = (_FAMILY_OF.get(name) for name in (platform, *map(_platform, alike)))
    return next(filter(None, known), platform)


def _version(etc: str, platform: str, family: str) -> str:
    if platform in _VERSION_FILES:
        return read_if_there(f"{etc}/{_VERSION_FILES[platform]}").partition("\n")[0]
    if family in ("rhel", "fedora"):
        match = _RELEASE.search(
            read_if_there(f"{etc}/redhat-release") or read_if_there(f"{etc}/system-release")
        )
        return match[1] if match else ""
    return ""


class Virtualization(NamedTuple):
    """The system (``kvm``, ``docker``) and the role, ``guest`` or ``host``. Both are empty without virtualization."""

    system: str
    role: str


class _Sign(NamedTuple):
    """A file that shows virtualization: if there is a pattern, by content that matches it; else by existing."""

    system: str
    role: str
    path: str
    pattern: str = ""


_DMI = "sys/class/dmi/id/"
_SIGNS = (
    _Sign("docker", "guest", ".dockerenv"),
    _Sign("podman", "guest", "run/.containerenv"),
    _Sign("lxc", "guest", "proc/1/environ", r"(^|\0)container=lxc(\0|$)"),
    _Sign("lxc", "guest", "run/systemd/container", "lxc"),
    _Sign("docker", "guest", "proc/self/cgroup", "docker"),
    _Sign("lxc", "guest", "proc/self/cgroup", "lxc"),
    _Sign("rkt", "guest", "proc/self/cgroup", "machine-rkt"),
    _Sign("openvz", "host", "proc/bc/0"),
    _Sign("openvz", "guest", "proc/vz"),
    _Sign("xen", "host", "proc/xen/capabilities", "control_d"),
    _Sign("xen", "guest", "sys/hypervisor/type", "xen"),
    _Sign("vbox", "guest", _DMI + "product_name", "VirtualBox"),
    _Sign("vmware", "guest", _DMI + "sys_vendor", "VMware"),
    _Sign("hyperv", "guest", _DMI + "product_name", "^Virtual Machine$"),
    _Sign("kvm", "guest", _DMI + "sys_vendor", "QEMU|Amazon EC2|DigitalOcean|Hetzner|OpenStack"),
    _Sign("kvm", "guest", _DMI + "product_name", "KVM|OpenStack|Google Compute Engine"),
    _Sign("kvm", "guest", "proc/cpuinfo", "QEMU Virtual CPU|Common (32-bit )?KVM processor"),
    _Sign("kvm", "guest", "sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock"),
    _Sign("hyperv", "guest", "proc/modules", "(?m)^hv_util"),
    _Sign("vbox", "guest", "proc/modules", "(?m)^vboxguest"),
    _Sign("", "guest", "proc/cpuinfo", r"(?m)^flags\s*:.*\bhypervisor\b"),
    _Sign("kvm", "host", "proc/modules", "(?m)^kvm"),
    _Sign("vbox", "host", "proc/modules", "(?m)^vboxdrv"),
)
"""Innermost first: a container in a virtual machine is a container, and a guest may also be a host."""


def virtualization(root: str = "/") -> Virtualization:
    """Detect virtualization by the files below ``root``."""
    for sign in _SIGNS:
        path = os.path.join(root, sign.path)
        if re.search(sign.pattern, read_if_allowed(path)) if sign.pattern else os.path.exists(path):
            return Virtualization(sign.system, sign.role)
    return Virtualization("", "")


_MACHINE_ID = re.compile("([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """Return the facts under ``host``, without those that could not be gathered.

    Times are in seconds, ``bootTime`` since 1970.
    """
    parts = {
        "host.info": _system,
        "host.info of the name": _name,
        "host.info of the processes": _processes,
        "host.info of the distribution": _distribution,
        "host.info of the virtualization": _virtualization,
        "host.info of the machine": lambda: {"hostId": _host_id()},
    }
    found: dict[str, Any] = {}
    for part in gatherer(parts).values():
        found |= part
    return {"info": found}


def _system() -> dict[str, Any]:
    system = os.uname()
    return {
        "hostname": system.nodename,
        "uptime": int(time.clock_gettime(time.CLOCK_BOOTTIME)),
        "os": "linux",
        "kernelVersion": system.release,
        "kernelArch": system.machine,
    }


def _name() -> dict[str, Any]:
    fqdn = full_name(os.uname().nodename, read_if_there("/etc/hosts"))
    return {"fqdn": fqdn, "domain": fqdn.partition(".")[2]}


def full_name(hostname: str, hosts: str) -> str:
    """Return ``hostname`` with its domain, as the text ``hosts`` of /etc/hosts has it; without one if it has none.

    As resolvers do it: the first name with a domain in the first line that has the host. DNS is not asked: it may hang.
    """
    if "." in hostname:
        return hostname
    lines = (line.partition("#")[0].split()[1:] for line in hosts.splitlines())
    names = next((line for line in lines if hostname in line), [])
    return next((name for name in names if "." in name), hostname)


def _processes() -> dict[str, Any]:
    return {
        "bootTime": numbers("/proc/stat")["btime"],
        "procs": sum(name.isdecimal() for name in os.listdir("/proc")),
    }


def _distribution() -> dict[str, Any]:
    found = distribution()
    return {
        "platform": found.platform,
        "platformFamily": found.family,
        "platformVersion": found.version,
        "platformCodename": found.codename,
    }


def _virtualization() -> dict[str, Any]:
    found = virtualization()
    return {"virtualizationSystem": found.system, "virtualizationRole": found.role}


def _host_id() -> str:
    """Return the UUID of the machine: the hardware's, which only root can read; else systemd's; else this boot's."""
    if own := read_if_allowed("/sys/class/dmi/id/product_uuid"):
        return own.lower()
    if match := _MACHINE_ID.fullmatch(read_if_there("/etc/machine-id")):
        return "-".join(match.groups())
    return read("/proc/sys/kernel/random/boot_id").lower()

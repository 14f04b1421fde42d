"""Whether this is a virtual machine, a container, or a host of such, as far as it shows from inside."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from reactor.facts.kernel import read_if_allowed


class Virtualization(NamedTuple):
    """The system (``kvm``, ``docker``) and whether we are its ``guest`` or ``host``. Both empty: neither."""

    system: str
    role: str


class _Sign(NamedTuple):
    """A file that gives something away: by what it holds, or (without a pattern) by being there."""

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
"""The innermost first: a container in a virtual machine is a container, and a guest may be a host too."""


def virtualization(root: str = "/") -> Virtualization:
    """What the files below ``root`` give away."""
    for sign in _SIGNS:
        path = os.path.join(root, sign.path)
        if re.search(sign.pattern, read_if_allowed(path)) if sign.pattern else os.path.exists(path):
            return Virtualization(sign.system, sign.role)
    return Virtualization("", "")

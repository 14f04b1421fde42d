"""The facts ``host``: names, versions, and since when it is up."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from reactor.facts.distribution import distribution
from reactor.facts.gathering import Gatherer
from reactor.facts.kernel import numbers, read
from reactor.facts.virtualization import virtualization

_MACHINE_ID = re.compile("([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """The facts under ``host``."""
    return {"info": gatherer({"host.info": info}).get("host.info", {})}


def info() -> dict[str, Any]:
    """What this host is. Times are in seconds, ``bootTime`` since 1970."""
    system, found, virtual = os.uname(), distribution(), virtualization()
    return {
        "hostname": system.nodename,
        "uptime": int(time.clock_gettime(time.CLOCK_BOOTTIME)),
        "bootTime": numbers("/proc/stat").get("btime", 0),
        "procs": sum(name.isdecimal() for name in os.listdir("/proc")),
        "os": "linux",
        "platform": found.platform,
        "platformFamily": found.family,
        "platformVersion": found.version,
        "kernelVersion": system.release,
        "kernelArch": system.machine,
        "virtualizationSystem": virtual.system,
        "virtualizationRole": virtual.role,
        "hostId": _host_id(),
    }


def _host_id() -> str:
    """The UUID of the machine: its own, which only root can read, else systemd's, else that of this boot."""
    if own := read("/sys/class/dmi/id/product_uuid"):
        return own.lower()
    if match := _MACHINE_ID.fullmatch(read("/etc/machine-id")):
        return "-".join(match.groups())
    return read("/proc/sys/kernel/random/boot_id").lower()

"""The facts ``host``: names, versions, and since when it is up."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from reactor.facts.distribution import distribution
from reactor.facts.gathering import Gatherer
from reactor.facts.kernel import numbers, read, read_if_allowed, read_if_there
from reactor.facts.virtualization import virtualization

_MACHINE_ID = re.compile("([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """The facts under ``host``. Times are in seconds, ``bootTime`` since 1970. What could not be had is not there."""
    parts = {
        "host.info": _system,
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


def _processes() -> dict[str, Any]:
    return {
        "bootTime": numbers("/proc/stat")["btime"],
        "procs": sum(name.isdecimal() for name in os.listdir("/proc")),
    }


def _distribution() -> dict[str, Any]:
    found = distribution()
    return {"platform": found.platform, "platformFamily": found.family, "platformVersion": found.version}


def _virtualization() -> dict[str, Any]:
    found = virtualization()
    return {"virtualizationSystem": found.system, "virtualizationRole": found.role}


def _host_id() -> str:
    """The UUID of the machine: its own, which only root can read, else systemd's, else that of this boot."""
    if own := read_if_allowed("/sys/class/dmi/id/product_uuid"):
        return own.lower()
    if match := _MACHINE_ID.fullmatch(read_if_there("/etc/machine-id")):
        return "-".join(match.groups())
    return read("/proc/sys/kernel/random/boot_id").lower()

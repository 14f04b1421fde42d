"""The facts ``memory``, in bytes: /proc/meminfo, /proc/swaps and /proc/vmstat."""

from __future__ import annotations

import os
from typing import Any

from reactor.facts.gathering import Gatherer, numbers, read_if_there

_KIBI = 1024
_IN_KIBIBYTES = {
    "total": "MemTotal", "available": "MemAvailable", "free": "MemFree", "active": "Active",
    "inactive": "Inactive", "buffers": "Buffers", "writeBack": "Writeback", "dirty": "Dirty",
    "writeBackTmp": "WritebackTmp", "shared": "Shmem", "slab": "Slab", "sreclaimable": "SReclaimable",
    "sunreclaim": "SUnreclaim", "pageTables": "PageTables", "swapCached": "SwapCached",
    "commitLimit": "CommitLimit", "committedAS": "Committed_AS", "highTotal": "HighTotal",
    "highFree": "HighFree", "lowTotal": "LowTotal", "lowFree": "LowFree", "swapTotal": "SwapTotal",
    "swapFree": "SwapFree", "mapped": "Mapped", "vmallocTotal": "VmallocTotal", "vmallocUsed": "VmallocUsed",
    "vmallocChunk": "VmallocChunk", "hugePageSize": "Hugepagesize", "anonHugePages": "AnonHugePages",
}  # fmt: skip
_COUNTS = {
    "hugePagesTotal": "HugePages_Total", "hugePagesFree": "HugePages_Free",
    "hugePagesRsvd": "HugePages_Rsvd", "hugePagesSurp": "HugePages_Surp",
}  # fmt: skip
_OTHER_SYSTEMS = {"wired": 0, "laundry": 0}
"""Facts of the BSDs, always 0 on Linux."""


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """Return the facts under ``memory``, without those that could not be gathered."""
    found = gatherer(
        {"memory.virtual": virtual, "memory.swap.info": swap, "memory.swap.devices": swap_devices}
    )
    names = {"info": "memory.swap.info", "devices": "memory.swap.devices"}
    return {
        "virtual": found.get("memory.virtual", {}),
        "swap": {key: found[name] for key, name in names.items() if name in found},
    }


def virtual() -> dict[str, Any]:
    """Return the memory usage. ``cached`` and ``used`` are calculated as in free(1) of procps 4."""
    meminfo = numbers("/proc/meminfo", ":")
    facts = {
        **{fact: meminfo.get(name, 0) * _KIBI for fact, name in _IN_KIBIBYTES.items()},
        **{fact: meminfo.get(name, 0) for fact, name in _COUNTS.items()},
        **_OTHER_SYSTEMS,
    }
    facts["cached"] = meminfo.get("Cached", 0) * _KIBI + facts["sreclaimable"]
    facts["used"] = facts["total"] - facts["available"]
    return {**facts, "usedPercent": _percent(facts["used"], facts["total"])}


def swap() -> dict[str, Any]:
    """Return the swap usage, and the bytes swapped and paged since boot. Faults are counts."""
    meminfo, vmstat = numbers("/proc/meminfo", ":"), numbers("/proc/vmstat")
    total, free = (meminfo.get(name, 0) * _KIBI for name in ("SwapTotal", "SwapFree"))
    page = os.sysconf("SC_PAGE_SIZE")
    return {
        "total": total,
        "used": total - free,
        "free": free,
        "usedPercent": _percent(total - free, total),
        "sin": vmstat.get("pswpin", 0) * page,
        "sout": vmstat.get("pswpout", 0) * page,
        "pgIn": vmstat.get("pgpgin", 0) * _KIBI,
        "pgOut": vmstat.get("pgpgout", 0) * _KIBI,
        "pgFault": vmstat.get("pgfault", 0),
        "pgMajFault": vmstat.get("pgmajfault", 0),
    }


def swap_devices() -> list[dict[str, Any]] | None:
    """Return the swap areas, or None when there are none."""
    _, *lines = read_if_there("/proc/swaps").splitlines() or [""]
    return [_swap_device(line.split()) for line in lines] or None


def _swap_device(fields: list[str]) -> dict[str, Any]:
    name, _, size, used, *_ = fields
    return {"name": name, "usedBytes": int(used) * _KIBI, "freeBytes": (int(size) - int(used)) * _KIBI}


def _percent(part: int, whole: int) -> float:
    return part / whole * 100 if whole else 0.0

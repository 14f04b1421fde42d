"""The facts ``cpu``: one entry for each logical processor, from /proc/cpuinfo."""

from __future__ import annotations

from typing import Any

from reactor.facts.gathering import Gatherer, read, read_if_allowed

_TEXTS = {
    "vendorId": ("vendor_id", "CPU implementer"),
    "family": ("cpu family",),
    "model": ("model", "CPU part"),
    "physicalId": ("physical id",),
    "coreId": ("core id",),
    "modelName": ("model name",),
    "microcode": ("microcode",),
}
"""The names in /proc/cpuinfo of each string fact. The second name is used on ARM."""


def gather(gatherer: Gatherer) -> dict[str, Any]:
    """Return the facts under ``cpu``, without those that could not be gathered."""
    found = gatherer({"cpu.info": lambda: processors(read("/proc/cpuinfo"))})
    return {"info": found["cpu.info"]} if found else {}


def processors(cpuinfo: str) -> list[dict[str, Any]]:
    """Parse the processors in the content of /proc/cpuinfo."""
    blocks = [_fields(block) for block in cpuinfo.split("\n\n")]
    return [_processor(fields) for fields in blocks if "processor" in fields]


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _processor(fields: dict[str, str]) -> dict[str, Any]:
    number = int(fields["processor"])
    texts = {
        fact: next((fields[name] for name in names if name in fields), "") for fact, names in _TEXTS.items()
    }
    return {
        "cpu": number,
        "vendorId": texts["vendorId"],
        "family": texts["family"],
        "model": texts["model"],
        "stepping": _leading_number(fields.get("stepping", "")),
        "physicalId": texts["physicalId"],
        "coreId": texts["coreId"] or read_if_allowed(f"/sys/devices/system/cpu/cpu{number}/topology/core_id"),
        "cores": 1,
        "modelName": texts["modelName"],
        "mhz": _megahertz(number, fields),
        "cacheSize": _leading_number(fields.get("cache size", "")),
        "flags": (fields.get("flags") or fields.get("Features", "")).split(),
        "microcode": texts["microcode"],
    }


def _megahertz(number: int, fields: dict[str, str]) -> float:
    """Return the highest clock rate if the kernel reports it. The current rate is not a property of the processor."""
    highest = read_if_allowed(f"/sys/devices/system/cpu/cpu{number}/cpufreq/cpuinfo_max_freq")
    return int(highest) / 1000 if highest.isdecimal() else float(fields.get("cpu MHz", 0))


def _leading_number(text: str) -> int:
    """Parse ``1024 KB`` as 1024; 0 if it is no number."""
    first = text.partition(" ")[0]
    return int(first) if first.isdecimal() else 0

"""Entries of the registry as the targets of Prometheus: the format of its file-based service discovery."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from reactor.fleet.registry.entry import HTML, Entry

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_SCRAPE = "prometheus.io/scrape"
_PROMETHEUS = "prometheus"


def file_sd(entries: Iterable[Entry]) -> str:
    """Return the JSON of CCM's ``PrometheusFileSD``: a group for each cluster, service and protocol, in their order."""
    groups: dict[tuple[str, str, str], dict[str, Any]] = {}
    for entry in entries:
        if entry.port is None or not _is_scraped(entry):
            continue
        key = (entry.cluster, entry.service, entry.protocol)
        group = groups.setdefault(key, {"labels": _labels(entry), "targets": []})
        group["targets"].append(f"{entry.address}:{entry.port}")
    return json.dumps([*groups.values()], indent=2, ensure_ascii=False).translate(HTML)


def _is_scraped(entry: Entry) -> bool:
    wish = entry.annotations.get(_SCRAPE)
    if _PROMETHEUS in (entry.service, entry.protocol):
        return wish is None or wish == "true"
    return wish == "true"


def _labels(entry: Entry) -> dict[str, str]:
    own = {
        name: value
        for name, value in entry.annotations.items()
        if value and _LABEL.fullmatch(name) and not name.startswith("__")
    }
    names = {"cluster": entry.cluster, "service": entry.service, "protocol": entry.protocol}
    return dict(sorted((names | own).items()))

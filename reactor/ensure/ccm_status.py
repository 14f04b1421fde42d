"""What CCM tells of a thing of each of its types, from what the kind here tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.resource.base import Resource

_GUARDS = {
    "creates_satisfied": "creates_exists",
    "onlyif_satisfied": "onlyif_ok",
    "unless_satisfied": "unless_ok",
}


def type_fields(resource: Resource, provider: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a state that only its type has; none for a kind that CCM does not know.

    Of a command they stand among the others, of all else they are its ``metadata``. What nobody here knows is left out.
    """
    if resource.kind == "exec":
        return {theirs: found.get(ours) is True for theirs, ours in _GUARDS.items()}
    about = _metadata(resource, found)
    return {} if about is None else {"metadata": {"name": resource.name, "provider": provider, **about}}


def _metadata(resource: Resource, found: Mapping[str, Any]) -> dict[str, Any] | None:
    match resource.kind:
        case "archive":
            exists = {"archive_exists": found["ensure"] == "present"}
            return {**exists, **_those(found, "checksum", "owner", "group", "size")}
        case "file":
            return _those(found, "checksum", "owner", "group", "mode")
        case "package":
            return {"version": found["version"] or "absent"}
        case "scaffold":
            changed = [each["path"] for each in found["changed"]]
            stable = sorted({*found["managed"]}.difference(changed))
            engine = {"engine": getattr(resource, "engine", None)}
            return {"changed": changed, "stable": stable, **_those(found, "purged"), **engine}
        case "service":
            return {"enabled": found.get("enable") is True, "running": found["ensure"] == "running"}
    return None


def _those(found: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}

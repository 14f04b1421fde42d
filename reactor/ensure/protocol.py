"""The protocol of CCM for one resource over a pipe: a request in JSON or YAML, and the answer.

An invalid request is answered with an error, in the words of CCM where it has some.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import abc
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reactor.engine.events import Checked, Result
from reactor.ensure.sessions import Ensured
from reactor.errors import ReactorError
from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.source import Problems, Source
from reactor.manifest.yaml_tree import MAX_DEPTH, parse
from reactor.resource.base import Resource
from reactor.resource.redaction import MASK, redact, redacted_record

_GUARDS = {
    "creates_satisfied": "creates_exists",
    "onlyif_satisfied": "onlyif_ok",
    "unless_satisfied": "unless_ok",
}


def type_fields(resource: Resource, provider: str, found: abc.Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a state that are specific to its type; none for a kind that CCM does not have.

    For `exec` they stand beside the common fields, for all other kinds in ``metadata``. Unknown values are left out.
    """
    if resource.kind == "exec":
        return {theirs: found.get(ours) is True for theirs, ours in _GUARDS.items()}
    about = _metadata(resource, found)
    return {} if about is None else {"metadata": {"name": resource.name, "provider": provider, **about}}


def _metadata(resource: Resource, found: abc.Mapping[str, Any]) -> dict[str, Any] | None:
    match resource.kind:
        case "archive":
            creates = getattr(resource, "creates", None)
            exists = {
                "archive_exists": found["ensure"] == "present",
                "creates_exists": creates is not None and os.path.exists(creates),
            }
            return {
                **exists,
                **_on_disk(resource.name),
                **_those(found, "checksum", "owner", "group", "size"),
            }
        case "file":
            return {**_on_disk(resource.name), **_those(found, "checksum", "owner", "group", "mode")}
        case "package":
            return {"version": found["version"] or "absent"}
        case "scaffold":
            changed = [each["path"] for each in found["changed"]]
            stable = sorted({*found["managed"]}.difference(changed))
            about = {
                "target_exists": os.path.isdir(resource.name),
                "engine": getattr(resource, "used_engine", None),
            }
            return {"changed": changed, "stable": stable, **_those(found, "purged"), **about}
        case "service":
            return {"enabled": found.get("enable") is True, "running": found["ensure"] == "running"}
    return None


def _on_disk(path: str) -> dict[str, Any]:
    """The size in bytes and the time of the last change of a file; nothing if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return {}
    return {"size": found.st_size, "mtime": _time_text(found.st_mtime)}


def _those(found: abc.Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: found[name] for name in names if name in found}


REQUEST = "io.choria.ccm.v1.resource.ensure.request"
RESPONSE = "io.choria.ccm.v1.resource.ensure.response"
EVENT = "io.choria.ccm.v1.transaction.event"
STATE = "io.choria.ccm.v1.resource.{}.state"

_FILE = "request"
"""The file name in the places of errors. It has no directory, so relative paths start at the current directory."""


class RequestError(ReactorError):
    """The request as a whole is invalid."""

    code = "R0606"


class Request(NamedTuple):
    """A request for a resource of ``kind`` with the properties in ``body``. ``problems`` collects problems of its text."""

    kind: str
    body: Mapping
    problems: Problems


class _Decimal(float):
    """A decimal number that keeps its original spelling."""

    text: str


def parse_request(text: str) -> Request:
    """The request in ``text``. Raises RequestError."""
    problems = Problems(Source(_FILE, text))
    tree = _from_json(text) if text.lstrip()[:1] in ("{", "[") else parse(problems)
    found = tree if isinstance(tree, Mapping) else Mapping(0)
    if (protocol := found.get("protocol", "")) != REQUEST:
        raise RequestError(f'invalid protocol "{protocol}"')
    if not isinstance(kind := found.get("type"), str):
        raise RequestError("missing type in request")
    if not (properties := found.get("properties")):
        raise RequestError("missing properties in request")
    return Request(kind, _body(properties), problems)


def response(*, error: str | None = None, state: dict[str, Any] | None = None) -> dict[str, Any]:
    """The answer to a request: the state of the resource, or an error."""
    return {"protocol": RESPONSE, **({"error": redact(error)} if error is not None else {"state": state})}


class RequestResult(NamedTuple):
    """The result of a request: ``short``, the ``check`` if there was one, and the current ``status``."""

    short: Ensured
    check: Checked | None
    status: Any


def state_of(resource: Resource, ending: RequestResult) -> dict[str, Any]:
    """The transaction event of CCM for the result of ``resource``."""
    short, check = ending.short, ending.check
    actions = check.actions if check and short.result is Result.WOULD_CHANGE else ()
    would = noop_message(resource.kind, actions)
    health = [each._asdict() for each in check.health] if check else []
    optional = {"alias": resource.alias, "noop_message": would, "health_check": health}
    common = {
        "changed": short.result in (Result.CHANGED, Result.WOULD_CHANGE),
        "refreshed": short.refreshed,
        "noop": short.noop,
    }
    return redacted_record(
        {
            "protocol": EVENT,
            "event_id": f"{int(short.time * 1e9):016x}{secrets.token_hex(6)}",
            "timestamp": _time(short),
            "type": resource.kind,
            "provider": _provider(resource),
            "name": resource.name,
            "requested_ensure": resource.ensure,
            "final_ensure": _final_ensure(resource, ending),
            "duration": int(check.duration * 1e9) if check else 0,
            "properties": _properties(resource),
            "status": None if ending.status is None else _state(resource, ending, common),
            "error": [short.error] if short.error else [],
            **common,
            "failed": short.result is Result.FAILED,
            "skipped": short.result in (Result.SKIPPED, Result.BLOCKED),
            "unmet_requirements": [*short.culprits],
            **{key: value for key, value in optional.items() if value},
        }
    )


def noop_message(kind: str, actions: abc.Sequence[str]) -> str:
    """What a dry run would change, in one line as CCM writes it: an archive has sentences, all others a list."""
    if kind == "archive":
        return ". ".join(actions)
    return ", ".join((*actions[:1], *(f"{each[:1].lower()}{each[1:]}" for each in actions[1:])))


def _state(resource: Resource, ending: RequestResult, common: dict[str, bool]) -> dict[str, Any]:
    """The current state, in our fields and in those of CCM. A field that both have is in the form of CCM."""
    about = {"timestamp": _time(ending.short), "protocol": STATE.format(resource.kind), "type": resource.kind}
    named = {"name": resource.name, "ensure": _final_ensure(resource, ending)}
    common_fields = {**about, **named, **common, "stable": not common["changed"]}
    return {**common_fields, **ending.status, **common_fields} | type_fields(
        resource, _provider(resource), ending.status
    )


def _time(short: Ensured) -> str:
    return _time_text(short.time)


def _time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _provider(resource: Resource) -> str:
    """The requested provider, or the first that works on this host."""
    usable = (name for name in resource.providers if resource.unavailable_reason(name) is None)
    return resource.provider or next(usable, "")


def _final_ensure(resource: Resource, ending: RequestResult) -> str:
    if ending.short.result is Result.FAILED:
        return ""
    found = ending.status.get("ensure") if isinstance(ending.status, dict) else None
    return str(found or resource.ensure)


def _properties(resource: Resource) -> dict[str, Any]:
    found = resource.model_dump(mode="json", exclude_unset=True, by_alias=True)
    return {**found, **dict.fromkeys(resource.secrets & found.keys(), MASK)}


def _body(properties: Any) -> Mapping:
    """The properties, including the name. ``properties`` is a map, or a list with one ``{name: properties}``."""
    if isinstance(properties, Mapping):
        body = properties
    elif isinstance(properties, Sequence) and len(properties) == 1 and isinstance(properties[0], Mapping):
        body = _named(properties[0])
    else:
        raise RequestError("multiple resources found")
    if not body.get("name"):
        raise RequestError("name is required")
    return body


def _named(item: Mapping) -> Mapping:
    if len(item) != 1:
        raise RequestError("multiple resources found")
    [(name, properties)] = item.items()
    body = Mapping(item.at)
    body.put("name", name, item.at, item.at, None)
    if isinstance(properties, Mapping):
        body.merge(properties)
    return body


def _from_json(text: str) -> Any:
    """The tree of a JSON text; None if it is not JSON. All places are the beginning of the text."""
    try:
        return _tree(json.loads(text, parse_float=_decimal), MAX_DEPTH)
    except (ValueError, RecursionError):
        return None


def _decimal(text: str) -> _Decimal:
    number = _Decimal(text)
    number.text = text
    return number


def _tree(value: Any, depth: int) -> Any:
    """The tree of a JSON value. Raises ValueError if it is deeper than YAML may be."""
    if depth < 0:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        tree = Mapping(0)
        for key, inner in value.items():
            tree.put(key, _tree(inner, depth - 1), 0, 0, _raw(inner))
        return tree
    if isinstance(value, list):
        items = Sequence(0)
        for inner in value:
            items.put(_tree(inner, depth - 1), 0, _raw(inner))
        return items
    return float(value) if isinstance(value, _Decimal) else value


def _raw(value: Any) -> str | None:
    """The original spelling of a scalar that is not a string."""
    if isinstance(value, _Decimal):
        return value.text
    return json.dumps(value) if isinstance(value, (bool, int)) else None

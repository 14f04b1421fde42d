"""An entry of the registry: a service that is offered at one address. The bytes are the same as CCM's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

PREFIX = "choria.ccm.registration.v1"
STREAM = "REGISTRATION"
NEVER = "never"

_FNV_OFFSET, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1
_NO_PORT = "%!d(<nil>)"
"""Go's ``fmt.Sprintf("%d", nil)``."""
HTML = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
"""What Go's ``encoding/json`` writes for these characters."""
_NANOSECOND = 1e-9


class Entry(NamedTuple):
    """An entry of the registry. ``ttl`` is ``never``, a duration as Go writes it (``10m0s``), or None. ``port`` may be None."""

    cluster: str
    service: str
    protocol: str
    address: str
    port: int | None
    priority: int
    annotations: Mapping[str, str] = {}
    ttl: str | None = None

    @property
    def instance(self) -> str:
        """The 16 digits that distinguish entries of one address."""
        port = _NO_PORT if self.port is None else str(self.port)
        return fnv1a(f"{self.cluster}{self.service}{self.protocol}{self.address}{port}".encode())

    @property
    def subject(self) -> str:
        """The subject of the entry."""
        address = self.address.replace(".", "_")
        return f"{PREFIX}.{self.cluster}.{self.protocol}.{self.service}.{address}.{self.instance}"

    @property
    def record(self) -> dict[str, Any]:
        """The entry with CCM's keys, in CCM's order."""
        found: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("cluster", "service", "protocol", "address", "port", "priority")
        }
        if self.annotations:
            found["annotations"] = dict(sorted(self.annotations.items()))
        if self.ttl is not None:
            found["ttl"] = self.ttl
        return found

    @property
    def body(self) -> bytes:
        """The message, as Go's ``encoding/json`` writes it."""
        text = json.dumps(self.record, separators=(",", ":"), ensure_ascii=False)
        return text.translate(HTML).encode("utf-8", "replace")

    def headers(self, stream: str | None = None, *, rollup: bool = True) -> dict[str, str]:
        """The headers for JetStream.

        ``stream``: the stream that must store it. ``rollup``: whether that stream accepts rollups.
        """
        found = {} if self.ttl is None else {"Nats-TTL": self.ttl}
        if rollup:
            found["Nats-Rollup"] = "sub"
        if stream:
            found["Nats-Expected-Stream"] = stream
        return found

    @property
    def fields(self) -> dict[str, Any]:
        """The entry as templates see it, with the names of Go."""
        return {
            "Cluster": self.cluster,
            "Service": self.service,
            "Protocol": self.protocol,
            "Address": self.address,
            "Port": self.port,
            "Priority": self.priority,
            "Annotations": dict(self.annotations),
            "TTL": self.ttl,
        }


def fnv1a(data: bytes) -> str:
    """Return the FNV-1a hash with 64 bits, as hexadecimal digits."""
    found = _FNV_OFFSET
    for byte in data:
        found = ((found ^ byte) * _FNV_PRIME) & _64_BITS
    return f"{found:016x}"


def filter_subject(cluster: str, protocol: str, service: str, address: str) -> str:
    """Return the subjects of the entries that match; ``*`` or an empty string matches all. Raises ValueError."""
    parts = [each or "*" for each in (cluster, protocol, service, address.replace(".", "_"))]
    for part in parts:
        if not part.isprintable() or any(sign in part for sign in " .>") or ("*" in part and part != "*"):
            raise ValueError(f"{part!r} can't be part of a registration")
    return f"{PREFIX}.{'.'.join(parts)}.*"


def parse_entry(body: bytes) -> Entry:
    """Return the entry of a message. Raises ValueError if it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the text is wrong, not its type
    return entry_of_record(found)


def entry_of_record(found: Mapping[str, Any]) -> Entry:
    """Return the entry with CCM's keys. Raises ValueError if it is none."""
    names = [found.get(name, "") for name in ("cluster", "service", "protocol", "address")]
    annotations = found.get("annotations") or {}
    texts = [*names, *(annotations.values() if isinstance(annotations, dict) else (None,))]
    if not all(isinstance(each, str) for each in texts):
        raise ValueError("a field has a wrong type")
    port, priority = found.get("port"), found.get("priority", 0)
    if isinstance(port, float) and port.is_integer():
        port = int(port)
    if not (port is None or type(port) is int) or type(priority) is not int:
        raise ValueError("a number has a wrong type")
    cluster, service, protocol, address = map(str, names)
    return Entry(cluster, service, protocol, address, port, priority, annotations, _ttl(found.get("ttl")))


def entry_of_subject(subject: str) -> Entry:
    """Return the entry of a subject, for an entry that was removed. Its port is not known."""
    tokens = subject.split(".")
    cluster, protocol, service, address = tokens[4:8] if len(tokens) >= 9 else ("", "", "", "")  # noqa: PLR2004
    return Entry(cluster, service, protocol, address.replace("_", "."), None, 0)


def _ttl(value: object) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return go_duration(value * _NANOSECOND)
    return value if isinstance(value, str) and value else None


def go_duration(seconds: float) -> str:
    """Return a duration as Go writes it: ``10m0s``, ``1.5s``, ``20ms``."""
    left = round(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 else ""
    if not left:
        return "0s"
    for unit, size in (("ns", 1), ("\u00b5s", 1_000), ("ms", 1_000_000)):
        if left < size * 1000:
            return f"{sign}{_decimal(left, size)}{unit}"
    minutes, rest = divmod(left, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(amount: int, size: int) -> str:
    whole, part = divmod(amount, size)
    digits = str(part).rjust(len(str(size)) - 1, "0").rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)

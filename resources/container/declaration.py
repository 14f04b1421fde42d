"""The request to create a container, and the digest by which its container is recognized."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactor.resources.container.property_types import parse_port, parse_volume

LABEL = "io.reactor.declaration"
"""The label of a container that holds the digest of its declaration."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A container as it is declared."""

    image: str
    command: tuple[str, ...] | None
    entrypoint: tuple[str, ...] | None
    ports: tuple[str, ...]
    volumes: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    labels: Mapping[str, str]
    networks: tuple[str, ...]
    restart: str
    hostname: str | None
    user: str | None
    working_directory: str | None

    @property
    def digest(self) -> str:
        """A hash of the declaration. It goes into a label, which only those can read who can read the container."""
        return hashlib.sha256(json.dumps(self._body(), sort_keys=True).encode()).hexdigest()

    def body(self) -> dict[str, Any]:
        """The body of the request that creates it."""
        body = self._body()
        body["Labels"] = {**self.labels, LABEL: self.digest}
        return body

    def _body(self) -> dict[str, Any]:
        policy, _, retries = self.restart.partition(":")
        ports = [parse_port(port) for port in self.ports]
        bindings: dict[str, list[dict[str, str]]] = {}
        for port in ports:
            bindings.setdefault(port.inner, []).append({"HostIp": port.host, "HostPort": port.outer})
        body: dict[str, Any] = {
            "Image": self.image,
            "Env": [f"{name}={value}" for name, value in sorted(self.environment.items())],
            "Labels": dict(self.labels),
            "ExposedPorts": {port.inner: {} for port in ports},
            "HostConfig": {
                "PortBindings": bindings,
                "Mounts": [_mount(text) for text in self.volumes],
                "RestartPolicy": {"Name": policy, "MaximumRetryCount": int(retries or 0)},
            },
        }
        if self.networks:
            body["HostConfig"]["NetworkMode"] = self.networks[0]
        optional = {
            "Cmd": self.command and list(self.command),
            "Entrypoint": self.entrypoint and list(self.entrypoint),
            "Hostname": self.hostname,
            "User": self.user,
            "WorkingDir": self.working_directory,
        }
        return body | {name: value for name, value in optional.items() if value is not None}


def _mount(text: str) -> dict[str, Any]:
    volume = parse_volume(text)
    kind = "bind" if volume.is_bind else "volume"
    return {"Type": kind, "Source": volume.source, "Target": volume.target, "ReadOnly": volume.is_read_only}


_UPDATABLE = (
    "CpuPeriod", "CpuQuota", "CpuShares", "CpusetCpus", "CpusetMems", "Memory", "MemoryReservation", "MemorySwap",
    "NanoCpus", "PidsLimit",
)  # fmt: skip


def form_of(inspected: Mapping[str, Any]) -> str:
    """A digest of the settings of a container that can be changed while it is there, as the daemon reads them back."""
    host = inspected.get("HostConfig") or {}
    networks = (inspected.get("NetworkSettings") or {}).get("Networks") or {}
    form = {
        "limits": {name: host.get(name) or None for name in _UPDATABLE},
        "restart": host.get("RestartPolicy"),
        "networks": sorted(networks),
    }
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()

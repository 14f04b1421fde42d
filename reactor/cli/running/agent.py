"""The configuration of CCM's agent, as options of ``reactor run``."""

from __future__ import annotations

from typing import Any, NamedTuple

from reactor.documents import read_values
from reactor.errors import ReactorError
from reactor.resource.diagnostic import ManifestError
from reactor.resource.property_types import parse_duration
from reactor.suggestions import closest

_SHORTEST_INTERVAL = 30.0
_LEVELS = ("debug", "info", "warn", "error")
_DESTINATIONS = ("nats", "jetstream")
_UNNEEDED = ("interval", "log_level")
_TEXTS = ("external_data_url", "cache_dir", "nats_context", "registration", "log_level")
_KEYS = ("interval", "health_check_interval", "manifests", "monitor_port", *_TEXTS)
_MOST_PORTS = 65535


class AgentConfigError(ReactorError):
    """The configuration can't be used."""

    code = "R0704"


class AgentConfig(NamedTuple):
    """The settings that reactor uses, and the names of the settings that it ignores."""

    manifests: tuple[str, ...]
    data: str | None
    cache: str
    port: int
    context: str
    registration: str | None
    health_interval: float | None
    unneeded: tuple[str, ...]

    def words(self, context: str | None) -> list[str]:
        """Return the arguments of ``reactor run``; ``context`` overrides that of the configuration."""
        words = [*self.manifests, "--cache", self.cache, "--context", context or self.context]
        if self.data:
            words += ["--hiera", self.data]
        if self.port:
            words += ["--metrics", f"127.0.0.1:{self.port}"]
        if self.registration:
            words += ["--registration", self.registration]
        if self.health_interval is not None:
            words += ["--health-interval", str(self.health_interval)]
        return words


def read_config(path: str) -> AgentConfig:
    """Return the configuration in the file. Raises AgentConfigError."""
    try:
        values = read_values(path)
    except ManifestError as error:
        first = error.diagnostics[0]
        raise AgentConfigError(f"{first.place or path}: {first.message}", first.hint) from error
    for key in values:
        if key not in _KEYS:
            near = closest(key, _KEYS)
            hint = f"did you mean {near}?" if near else f"settings: {', '.join(sorted(_KEYS))}"
            raise AgentConfigError(f"{path}: there is no setting {key}", hint)
    _check(values, path)
    return AgentConfig(
        tuple(values["manifests"]),
        values.get("external_data_url") or None,
        values.get("cache_dir") or "/etc/choria/ccm/source",
        values.get("monitor_port") or 0,
        values.get("nats_context") or "CCM",
        values.get("registration") or None,
        parse_duration(values.get("health_check_interval") or 0) or None,
        tuple(key for key in _UNNEEDED if key in values),
    )


def _check(values: dict[str, Any], path: str) -> None:
    """Raise AgentConfigError for settings that CCM refuses, too."""

    def require(holds: bool, message: str, hint: str | None = None) -> None:
        if not holds:
            raise AgentConfigError(f"{path}: {message}", hint)

    for key in _TEXTS:
        require(isinstance(values.get(key, ""), str | None), f"{key} must be a string")
    for key in ("interval", "health_check_interval"):
        try:
            seconds = parse_duration(values[key]) if values.get(key) else _SHORTEST_INTERVAL
        except ValueError as error:
            raise AgentConfigError(f"{path}: {key}: {error}") from error
        require(key != "interval" or seconds >= _SHORTEST_INTERVAL, "interval must be at least 30s")
    require(
        (values.get("log_level") or "info") in _LEVELS,
        f"log_level must be one of: {', '.join(_LEVELS)}",
    )
    destination = values.get("registration") or None
    require(
        destination is None or destination in _DESTINATIONS,
        f'invalid registration destination "{destination}"',
        "it is nats or jetstream",
    )
    port = values.get("monitor_port") or 0
    require(type(port) is int and 0 <= port <= _MOST_PORTS, "monitor_port must be a port")
    manifests = values.get("manifests")
    are_names = isinstance(manifests, list) and all(isinstance(each, str) for each in manifests)
    require(
        are_names and bool(manifests), "manifests names no manifest", "list files, or obj:// or https URLs"
    )

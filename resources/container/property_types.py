"""Property types of containers: images, ports, volumes and restart policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from reactor import Claim, PropertyProblem, matching_text, readable_text

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_IMAGE = re.compile(
    r"(?P<name>[a-zA-Z0-9][a-zA-Z0-9._:/-]*?)(:(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_PORT = re.compile(
    r"((?P<host>\[[0-9a-f:.]+\]|\d+(\.\d+){3}):)?((?P<outer>\d{1,5}):)?(?P<inner>\d{1,5})(/(?P<protocol>tcp|udp|sctp))?"
)
_RESTART = re.compile(r"no|always|unless-stopped|on-failure(:\d{1,6})?")
_HIGHEST_PORT = 65535
BUILT_IN_NETWORKS = ("bridge", "host", "none", "default", "slirp4netns", "pasta", "private")
"""The networks that a daemon brings, or understands without one."""
_LONGEST_NAME = 200


class Port(NamedTuple):
    """A port of a container and the port of the host that leads to it; ``outer`` is empty for a free one."""

    inner: str
    host: str
    outer: str


class Volume(NamedTuple):
    """A directory of the host, or a named volume, in a container."""

    source: str
    target: str
    is_read_only: bool

    @property
    def is_bind(self) -> bool:
        """Whether the source is a path of the host."""
        return self.source.startswith("/")


def every_container(socket: str) -> str:
    """What all containers of a daemon depend on in the graph: the removal of a network goes after them."""
    return f"containers of {socket}"


def check_container_name(name: str) -> str:
    """A name as the daemons allow it. Raises ValueError."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a container: use letters, digits, '_', '-' and '.'")
    return name


def _check_image(text: str) -> str:
    found = _IMAGE.fullmatch(text)
    if found is None or text.endswith(("/", ":")) or "://" in text:
        raise ValueError(f"{text!r} is not an image: write nginx:1.27 or registry.example.com/app@sha256:...")
    return text if found["tag"] or found["digest"] else f"{text}:latest"


def parse_port(text: str) -> Port:
    """The port in ``80``, ``8080:80``, ``127.0.0.1:8080:80/udp``. Raises ValueError."""
    found = _PORT.fullmatch(text)
    if found is None or any(int(found[each] or 1) > _HIGHEST_PORT for each in ("outer", "inner")):
        raise ValueError(f"{text!r} is not a port: write 8080:80, 127.0.0.1:8080:80 or 53:53/udp")
    host = (found["host"] or "").strip("[]")
    if host:
        ip_address(host)
        if not found["outer"]:
            raise ValueError(f"{text!r} has an address without a port of the host: write 127.0.0.1:8080:80")
    return Port(f"{found['inner']}/{found['protocol'] or 'tcp'}", host, found["outer"] or "")


def parse_volume(text: str) -> Volume:
    """The volume in ``/srv/data:/data``, ``cache:/cache:ro``. Raises ValueError."""
    source, _, rest = text.partition(":")
    target, _, option = rest.partition(":")
    is_source = source.startswith("/") or _NAME.fullmatch(source)
    if not is_source or not target.startswith("/") or option not in ("", "ro", "rw") or "\0" in text:
        raise ValueError(
            f"{text!r} is not a volume: write /srv/data:/data, cache:/cache or /etc/app:/etc/app:ro"
        )
    return Volume(source, target, option == "ro")


def bind_sources(volumes: Sequence[str]) -> list[str]:
    """The directories and files of the host that these volumes mount."""
    return [volume.source for volume in map(parse_volume, volumes) if volume.is_bind]


def network_problem(networks: Sequence[str], ports: Sequence[str]) -> Iterator[PropertyProblem]:
    """A network that stands alone with others, or with ports."""
    alone = [name for name in networks if name in ("host", "none")]
    if alone and len(networks) > 1:
        yield PropertyProblem(("networks",), f"network {alone[0]} excludes all others", "remove the others")
    if alone and ports:
        words = f"ports have no effect in the network {alone[0]}"
        yield PropertyProblem(("ports",), words, "remove ports, or networks")


def volume_problems(volumes: Sequence[str]) -> Iterator[PropertyProblem]:
    """Two volumes at one place of the container."""
    targets = [parse_volume(text).target for text in volumes]
    for index, target in enumerate(targets):
        if target in targets[:index]:
            yield PropertyProblem(("volumes", index), f"{target} has two volumes", "remove one of them")


def port_claims(ports: Sequence[str], container: str) -> Iterator[Claim]:
    """The ports of the host that lead to a container."""
    for port in map(parse_port, ports):
        if port.outer:
            where = f"{port.host or '*'}:{port.outer}/{port.inner.partition('/')[2]}"
            yield Claim("port of the host", where, {"container": container})


Image = Annotated[str, AfterValidator(_check_image)]
PortText = Annotated[str, readable_text(parse_port)]
VolumeText = Annotated[str, readable_text(parse_volume)]
Restart = Annotated[
    str, matching_text(_RESTART, "is not a restart policy: write no, always, unless-stopped or on-failure:5")
]

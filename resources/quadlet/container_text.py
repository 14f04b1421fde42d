"""Makes the file that podman makes a unit of, see podman-systemd.unit(5). Nothing in a value has a special meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reactor.resources.service.unit_syntax import plain, quoted, span, unit_file


class Wanted(NamedTuple):
    """A container as it is declared. ``start_timeout`` is in seconds."""

    name: str
    description: str
    image: str
    command: Sequence[str] | None
    entrypoint: Sequence[str] | None
    ports: Sequence[str]
    volumes: Sequence[str]
    environment: Mapping[str, str]
    environment_files: Sequence[str]
    labels: Mapping[str, str]
    networks: Sequence[str]
    hostname: str | None
    user: str | None
    working_directory: str | None
    restart: str
    start_timeout: float
    enable: bool


def container_text(wanted: Wanted) -> str:
    """The content of the file."""
    sections = [
        ("Unit", [f"Description={plain(wanted.description)}"]),
        ("Container", _container(wanted)),
        ("Service", [f"Restart={wanted.restart}", f"TimeoutStartSec={span(wanted.start_timeout)}"]),
    ]
    install = [("Install", ["WantedBy=multi-user.target"])] if wanted.enable else []
    return unit_file(*sections, *install)


def _container(wanted: Wanted) -> Iterator[str]:
    yield f"ContainerName={wanted.name}"
    yield f"Image={wanted.image}"
    if wanted.entrypoint is not None:
        yield f"Entrypoint={_dollars(plain(json.dumps(list(wanted.entrypoint), ensure_ascii=False)))}"
    if wanted.command is not None:
        yield f"Exec={' '.join(_word(word) for word in wanted.command)}"
    for name, value in sorted(wanted.environment.items()):
        yield f"Environment={_word(f'{name}={value}')}"
    yield from (f"EnvironmentFile={_word(path)}" for path in wanted.environment_files)
    for name, value in sorted(wanted.labels.items()):
        yield f"Label={_word(f'{name}={value}')}"
    yield from (f"Network={_dollars(plain(network))}" for network in wanted.networks)
    yield from (f"PublishPort={port}" for port in wanted.ports)
    yield from (f"Volume={_dollars(plain(volume))}" for volume in wanted.volumes)
    if wanted.hostname is not None:
        yield f"HostName={_dollars(plain(wanted.hostname))}"
    if wanted.user is not None:
        user, _, group = wanted.user.partition(":")
        yield f"User={_dollars(plain(user))}"
        if group:
            yield f"Group={_dollars(plain(group))}"
    if wanted.working_directory is not None:
        yield f"WorkingDir={_dollars(plain(wanted.working_directory))}"


def _word(text: str) -> str:
    return _dollars(quoted(text))


def _dollars(text: str) -> str:
    """``text`` for a command line, in which systemd would replace variables."""
    return text.replace("$", "$$")

"""Asks a daemon for containers and images."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

import trio

from reactor import ResourceError, emit_output
from reactor.resources.trusted_sources import refuse_foreign_place
from reactor.watchers.container_api import ApiError, answer_of, ask

SOCKETS = {
    "docker": ("/run/docker.sock", "/var/run/docker.sock"),
    "podman": ("/run/podman/podman.sock",),
}
"""Where the daemons listen."""
_ANSWER = 60.0
"""Seconds within which the daemon must answer anything but a pull or a stop."""
_WHAT = "which daemon is told to run containers"
NOT_FOUND, CONFLICT = 404, 409


def usual_socket(runtime: Literal["docker", "podman"] | None) -> str:
    """The socket of the runtime; of the one that is there if none is named, else that of docker."""
    names = ("docker", "podman") if runtime is None else (runtime,)
    paths = [path for name in names for path in SOCKETS[name]]
    return next((path for path in paths if os.path.exists(path)), paths[0])


@dataclass(frozen=True, slots=True)
class Daemon:
    """The daemon at a unix socket. ``credentials`` are a user and a password for the registry."""

    socket: str
    timeout: float
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    async def inspect(self, name: str) -> Mapping[str, Any] | None:
        """The container; None if there is none. Raises ResourceError."""
        return await self._found(f"/containers/{quote(name)}/json")

    async def image_id(self, image: str) -> str | None:
        """The id of the image that the host has by this name; None if it has none. Raises ResourceError."""
        found = await self._found(f"/images/{quote(image, safe='/:@')}/json")
        return None if found is None else bare_id(found.get("Id"))

    async def network(self, name: str) -> Mapping[str, Any] | None:
        """The network; None if there is none. Raises ResourceError."""
        found = await self._found(f"/networks/{quote(name)}")
        # A daemon also takes the beginning of an id.
        return found if found is not None and found.get("Name") == name else None

    async def containers_in(self, network: str) -> tuple[str, ...]:
        """The names of the containers in the network, also of those that do not run. Raises ResourceError."""
        filters = json.dumps({"network": [network]}, separators=(",", ":"))
        found = await self.act("GET", f"/containers/json?all=true&filters={quote(filters)}")
        return tuple(sorted(str(each["Names"][0]).lstrip("/") for each in found or () if each.get("Names")))

    async def remove_network(self, name: str) -> None:
        """Remove the network. Raises ResourceError when containers are in it."""
        await self.act("DELETE", f"/networks/{quote(name)}")

    async def act(self, method: str, target: str, document: Any = None, *, seconds: float = _ANSWER) -> Any:
        """Send a request that changes something. Raises ResourceError."""
        try:
            return await self.ask(method, target, document, seconds=seconds)
        except ApiError as error:
            raise ResourceError(f"the daemon refused: {error}", self._hint(error)) from None

    async def ask(self, method: str, target: str, document: Any = None, *, seconds: float = _ANSWER) -> Any:
        """Send a request. Raises ApiError, and ResourceError when the daemon does not answer."""
        refuse_foreign_place(self.socket, _WHAT)
        with trio.move_on_after(seconds):
            return await ask(self.socket, method, target, document)
        raise ResourceError(f"the daemon at {self.socket} did not answer within {seconds:g} s", "see its log")

    async def pull(self, image: str) -> None:
        """Fetch the image from its registry. Raises ResourceError."""
        name, _, digest = image.partition("@")
        query = (
            {"fromImage": image} if digest else dict(zip(("fromImage", "tag"), _split_tag(name), strict=True))
        )
        fields = {"X-Registry-Auth": self._registry_header()}
        try:
            with trio.fail_after(self.timeout):
                await self._pulled(f"/images/create?{urlencode(query)}", fields)
        except trio.TooSlowError:
            raise ResourceError(f"{image} was not there within {self.timeout:g} s", "raise timeout") from None
        except ApiError as error:
            raise ResourceError(f"{image} can't be pulled: {error}", self._hint(error)) from None

    async def _pulled(self, target: str, fields: Mapping[str, str]) -> None:
        refuse_foreign_place(self.socket, _WHAT)
        async with (
            answer_of(self.socket, "POST", target, fields=fields) as answer,
            aclosing(answer.lines()) as lines,
        ):
            async for line in lines:
                if words := line.get("error"):
                    raise ApiError(str(words))
                if status := line.get("status"):
                    emit_output(str(status))

    async def _found(self, target: str) -> Mapping[str, Any] | None:
        try:
            document = await self.ask("GET", target)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            missing = None if error.status else self.socket
            words = f"the daemon can't be asked: {error}"
            raise ResourceError(words, self._hint(error), missing=missing) from None
        return document if isinstance(document, dict) else {}

    def _registry_header(self) -> str:
        user, password = self.credentials or ("", "")
        content = {"username": user, "password": password} if self.credentials else {}
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode()

    def _hint(self, error: ApiError) -> str | None:
        if error.status:
            return None
        return f"start docker, or podman.socket; or name its socket: socket: {self.socket}"


def bare_id(text: object) -> str:
    """An id of an image without the name of its hash: podman leaves that away."""
    return str(text or "").removeprefix("sha256:")


def _split_tag(name: str) -> tuple[str, str]:
    above, _, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    return (f"{above}/{base}" if above else base), tag or "latest"

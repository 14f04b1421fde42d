"""The client of the control socket. It imports little, so that ``reactor status`` starts fast."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlencode

from reactor.control.protocol import RefusedError, StatusQuery
from reactor.errors import ReactorError
from reactor.journal.state_directory import short_socket_path

TIMEOUT = 10.0
"""Seconds to wait for an answer."""

MAX_BYTES = 256 << 20
"""The largest answer: the status of a million resources. Whatever listens there may be another user's."""


class NoRunError(ReactorError):
    """No run is active on the state directory."""

    code = "R0604"


class Client:
    """Talks to the active run on a state directory. Every method raises NoRunError and RefusedError."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def status(self, question: StatusQuery) -> Any:
        """The status of the run and of the resources that match; see `docs/control.md`."""
        flags = {"all": question.everything, "failed": question.failed}
        query = {name: "true" for name, given in flags.items() if given}
        if question.match is not None:
            query["match"] = question.match
        return self._ask("GET", f"/v1/status?{urlencode(query)}")

    def pause(self, match: str, seconds: float, reason: str) -> list[str]:
        """Pause the resources that match; return their refs."""
        paused: list[str] = self._ask(
            "POST", "/v1/pause", {"match": match, "for": seconds, "reason": reason}
        )["paused"]
        return paused

    def resume(self, match: str) -> list[str]:
        """End the pauses of the resources that match; return the refs that were paused."""
        resumed: list[str] = self._ask("POST", "/v1/resume", {"match": match})["resumed"]
        return resumed

    def page_url(self) -> str:
        """The address of the live page, with its token."""
        url: str = self._ask("GET", "/v1/page")["url"]
        return url

    @contextmanager
    def events(self) -> Iterator[Iterator[dict[str, Any]]]:
        """The events of the run from now on, until it ends."""
        with self._answer("GET", "/v1/events", timeout=None) as response:
            if response.status != http.client.OK:
                raise RefusedError(**json.load(response)["error"])
            yield (json.loads(line[5:]) for line in response if line.startswith(b"data:"))

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        try:
            with self._answer(method, path, body) as response:
                content = response.read(MAX_BYTES + 1)
                if len(content) > MAX_BYTES:
                    raise RefusedError(
                        f"the answer is larger than {MAX_BYTES >> 20} MiB",
                        f"see what listens at the socket in {self.directory}",
                    )
                answer = json.loads(content)
        except TimeoutError as error:
            raise RefusedError(
                "the run does not answer",
                "if the process is stopped, continue it with SIGCONT; if the host is busy, run the command again later",
            ) from error
        except (http.client.HTTPException, ValueError, OSError) as error:
            raise RefusedError(
                f"the run closed the connection during its answer: {error}", "it may be ending"
            ) from error
        if response.status != http.client.OK:
            raise RefusedError(**answer["error"])
        return answer

    @contextmanager
    def _answer(
        self, method: str, path: str, body: Any = None, timeout: float | None = TIMEOUT
    ) -> Iterator[http.client.HTTPResponse]:
        with closing(http.client.HTTPConnection("reactor")) as connection:
            connection.sock = self._connect()
            connection.sock.settimeout(timeout)
            connection.request(method, path, None if body is None else json.dumps(body))
            yield connection.getresponse()

    def _connect(self) -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(TIMEOUT)
        try:
            with short_socket_path(self.directory) as path:
                connected.connect(path)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            connected.close()
            raise NoRunError(f"no run is active on {self.directory}") from error
        except PermissionError as error:
            connected.close()
            raise RefusedError(
                f"{self.directory} can't be read: permission denied",
                "run the command as the user who runs reactor",
            ) from error
        return connected

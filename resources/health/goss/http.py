"""The rule ``http``: what a server answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from reactor import Flag, register_header_secrets, register_secret, register_url_secrets
from reactor.resources.health.goss.matchers import Expected, Text
from reactor.resources.health.goss.request import fetch
from reactor.resources.health.goss.rule import Milliseconds, Rule, answer_within


def _check_url(text: str) -> str:
    """``text`` if it is a URL, whose credentials are secrets. Raises ValueError when it is none."""
    register_url_secrets(text)
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is not a URL: it starts with http:// or https://")
    return text


def _check_header(text: str) -> str:
    if ":" not in text:
        raise ValueError(f"{text!r} is not a header: write it as 'Name: value'")
    name, _, value = text.partition(":")
    register_header_secrets({name: value.strip()})
    return text


def _hidden(text: str) -> str:
    register_secret(text)
    return text


Url = Annotated[str, AfterValidator(_check_url)]
Header = Annotated[str, AfterValidator(_check_header)]


class HttpRule(Rule):
    """One request. Proxies of the environment are not used: it must not matter who started reactor."""

    url: Url | None = None
    """The URL; by default the key."""
    status: Expected = 200
    headers: Expected = None
    body: Expected = None
    method: str = "GET"
    request_headers: tuple[Header, ...] = ()
    """Each written ``Name: value``."""
    request_body: str | None = None
    allow_insecure: Flag = False
    """Take any certificate."""
    no_follow_redirects: Flag = False
    timeout: Milliseconds = 5000
    """Milliseconds for all of it."""
    username: str = ""
    password: Annotated[str, AfterValidator(_hidden)] = Field(default="", repr=False)
    ca_file: str = ""
    """The authorities to trust, instead of the usual ones."""
    cert_file: str = ""
    key_file: str = ""
    proxy: str = ""

    def check_key(self, key: str) -> None:
        """The key is the URL, unless that is given."""
        _check_url(self.url or key)

    async def find(self, key: str) -> Mapping[str, Any]:
        """Make the request. Raises ResourceError when there is no answer."""
        with answer_within(self.timeout):
            status, headers, body = await fetch(self, self.url or key)
        found = {"status": status, "headers": Text(headers)}
        return found if body is None else {**found, "body": Text(body)}

"""The rule ``http``: the answer of a web server."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from reactor import (
    Flag,
    HttpError,
    HttpLimits,
    HttpRequest,
    ResourceError,
    http_response,
    register_header_secrets,
    register_secret,
    register_url_secrets,
    tls_context,
)
from reactor.resources.health.goss.matchers import Expected, Text
from reactor.resources.health.goss.rule import MILLISECOND, Milliseconds, Rule, answer_within

_MOST_BODY = 1 << 20


def _check_url(text: str) -> str:
    """Return ``text`` if it is a URL, and register its credentials as secrets. Raises ValueError otherwise."""
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
    """One request. Proxies of the environment are ignored: the result must not depend on how reactor was started."""

    url: Url | None = None
    """The URL; by default the key."""
    status: Expected = 200
    headers: Expected = None
    body: Expected = None
    method: str = "GET"
    request_headers: tuple[Header, ...] = ()
    """The header fields of the request, each written ``Name: value``."""
    request_body: str | None = None
    allow_insecure: Flag = False
    """Whether to accept any certificate."""
    no_follow_redirects: Flag = False
    timeout: Milliseconds = 5000
    """The longest time of the whole request, in milliseconds."""
    username: str = ""
    password: Annotated[str, AfterValidator(_hidden)] = Field(default="", repr=False)
    ca_file: str = ""
    """A file with the certificate authorities to trust, instead of those of the host."""
    cert_file: str = ""
    key_file: str = ""
    proxy: str = ""

    def check_key(self, key: str) -> None:
        """Check that the key is a URL, unless ``url`` is given."""
        _check_url(self.url or key)

    async def find(self, key: str) -> Mapping[str, Any]:
        """Make the request. Raises ResourceError when there is no answer."""
        with answer_within(self.timeout):
            status, headers, body = await fetch(self, self.url or key)
        found = {"status": status, "headers": Text(headers)}
        return found if body is None else {**found, "body": Text(body)}


async def fetch(rule: HttpRule, url: str) -> tuple[int, str, str | None]:
    """The status, the headers (one per line) and the body of the answer.

    The body is None if the rule does not check it. Raises ResourceError when there is no answer, or its body is larger
    than `_MOST_BODY`; OSError for a certificate file that can't be read.
    """
    headers = tuple((name.strip(), value.strip()) for name, _, value in _split(rule.request_headers))
    request = HttpRequest(
        url,
        rule.method,
        headers,
        content=None if rule.request_body is None else rule.request_body.encode(),
        credentials=(rule.username, rule.password) if rule.username or rule.password else None,
        proxy=rule.proxy,
        trust=partial(_trust, rule),
        may_leave_tls=True,
    )
    seconds = rule.timeout * MILLISECOND
    limits = HttpLimits(_MOST_BODY, seconds, seconds, redirects=0 if rule.no_follow_redirects else 20)
    try:
        async with http_response(request, limits) as answer:
            # goss spells the names of header fields like this.
            lines = "\n".join(f"{name.title()}: {value}" for name, value in answer.fields)
            body = None if rule.body is None else (await answer.read()).decode(errors="backslashreplace")
            return answer.status, lines, body
    except HttpError as error:
        raise ResourceError(str(error)) from error


def _split(headers: tuple[str, ...]) -> list[tuple[str, str, str]]:
    return [header.partition(":") for header in headers]


def _trust(rule: HttpRule) -> ssl.SSLContext:
    """The trusted authorities, and our own certificate. Raises OSError for a file that can't be read."""
    context = tls_context(rule.ca_file or None, rule.cert_file or None, rule.key_file or None)
    if rule.allow_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context

"""Makes the request of an `HttpRule`. httpx runs on the trio loop."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpx

from reactor import ResourceError, in_thread
from resources.health.goss.rule import MILLISECOND

if TYPE_CHECKING:
    from resources.health.goss.http import HttpRule

_MOST_BODY = 16 << 20


async def fetch(rule: HttpRule, url: str) -> tuple[int, str, str]:
    """Status, headers and body, the headers a line each. Raises ResourceError when there is no answer."""
    try:
        client = httpx.AsyncClient(
            verify=await in_thread(_trust, rule),  # 20 ms of reading the authorities
            follow_redirects=not rule.no_follow_redirects,
            auth=(rule.username, rule.password) if rule.username or rule.password else None,
            proxy=rule.proxy or None,
            timeout=rule.timeout * MILLISECOND,  # for each step; the rule itself bounds all of it
            trust_env=False,
        )
        headers = [(name.strip(), value.strip()) for name, _, value in _split(rule.request_headers)]
        async with (
            client,
            client.stream(rule.method, url, headers=headers, content=rule.request_body) as response,
        ):
            return response.status_code, _lines(response.headers), await _body(response)
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
        raise ResourceError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    """What httpx says, or where it says nothing, what it heard."""
    while not str(error) and (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return str(error) or type(error).__name__


def _split(headers: tuple[str, ...]) -> list[tuple[str, str, str]]:
    return [header.partition(":") for header in headers]


def _trust(rule: HttpRule) -> ssl.SSLContext:
    """Whom to trust, and who we are. Raises OSError for a file that can't be read."""
    context = ssl.create_default_context(cafile=rule.ca_file or None)
    if rule.allow_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if rule.cert_file:
        context.load_cert_chain(rule.cert_file, rule.key_file or None)
    return context


def _lines(headers: httpx.Headers) -> str:
    """The headers with their names spelt as goss does: ``Content-Type: text/html``."""
    return "\n".join(f"{name.title()}: {value}" for name, value in headers.multi_items())


async def _body(response: httpx.Response) -> str:
    """The body, or so much of it as anyone would want to search."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MOST_BODY:
            break
    return body.decode(errors="backslashreplace")

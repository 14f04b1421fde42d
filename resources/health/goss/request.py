"""Makes the request of an `HttpRule`."""

from __future__ import annotations

import ssl
from functools import partial
from typing import TYPE_CHECKING

from reactor import HttpError, HttpLimits, HttpRequest, ResourceError, http_response
from reactor.resources.health.goss.rule import MILLISECOND

if TYPE_CHECKING:
    from reactor.resources.health.goss.http import HttpRule

_MOST_BODY = 1 << 20


async def fetch(rule: HttpRule, url: str) -> tuple[int, str, str | None]:
    """Status, headers and body, the headers a line each; no body where none is expected.

    Raises ResourceError when there is no answer, or its body is larger than `_MOST_BODY`; OSError for a certificate
    that can't be read.
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
            told = "\n".join(
                f"{name.title()}: {value}" for name, value in answer.fields
            )  # as goss spells them
            body = None if rule.body is None else (await answer.read()).decode(errors="backslashreplace")
            return answer.status, told, body
    except HttpError as error:
        raise ResourceError(str(error)) from error


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

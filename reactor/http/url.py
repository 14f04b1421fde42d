"""The parts of a URL, the target of a redirect, and the proxy that the environment names."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urljoin, urlsplit

from reactor.http.request import HttpError

_PORTS = {"http": 80, "https": 443}
_SAFE = "%/:@!$&'()*+,;=~-._"
_HOST = re.compile(r"[0-9A-Za-z._~%:-]+")


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute http or https URL in the form in which it is sent: ASCII only."""

    text: str
    scheme: str
    host: str
    """Without the brackets of an IPv6 address."""
    port: int
    target: str
    """The path and the query."""
    credentials: tuple[str, str] | None = None
    """User and password, if the URL contains them."""

    @property
    def authority(self) -> str:
        """The value of the header field ``Host``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def trusts(self, other: Url) -> bool:
        """Whether ``other`` may get the secrets for this server: it is the same server, or its default TLS port."""
        mine, its = (self.scheme, self.host, self.port), (other.scheme, other.host, other.port)
        return mine == its or (mine == ("http", self.host, 80) and its == ("https", self.host, 443))


def parse_url(text: str) -> Url:
    """Parse a URL. Raises HttpError if it is not http or https; does not quote it, as it may contain a password."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        if not host.isascii():
            host = host.encode("idna").decode()
        elif host.startswith("xn--") or ".xn--" in host:
            host.encode().decode("idna")
    except (ValueError, UnicodeError) as error:
        raise HttpError("the URL has an invalid host or port") from error
    if parts.scheme not in _PORTS or not _HOST.fullmatch(host) or port == 0:
        raise HttpError("it is not an http or https URL")
    query = f"?{quote(parts.query, safe=_SAFE + '?')}" if parts.query else ""
    target = quote(parts.path, safe=_SAFE) or "/"
    credentials = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return Url(text, parts.scheme, host, port or _PORTS[parts.scheme], target + query, credentials)


def redirected(url: Url, location: str, *, may_leave_tls: bool) -> Url:
    """Return the target of a redirect from ``url``. Raises HttpError for a forbidden target."""
    try:
        target = parse_url(urljoin(url.text, location))
    except (ValueError, HttpError) as error:
        raise HttpError("the server redirects to a URL that is not http or https") from error
    if (url.scheme, target.scheme) == ("https", "http") and not may_leave_tls:
        raise HttpError(f"the server redirects from https to http, to {target.host}")
    return target


def environment_proxy(url: Url) -> str | None:
    """Return the proxy that ``https_proxy`` or a similar variable names for ``url``.

    ``no_proxy`` can exclude ``url``.
    """
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - slow to import, and rarely needed

    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(f"{url.host}:{url.port}"):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"

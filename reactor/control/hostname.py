"""By which name a request reaches this host. A web page of others can have a name of its own lead here (DNS rebinding)."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def names_loopback(host: str) -> bool:
    """Whether the header ``Host`` holds a name that means this host everywhere.

    Any port will do, for ``ssh -L`` may have another; a name that others own will not, for it may lead elsewhere.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False

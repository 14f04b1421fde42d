"""How a resource is offered to others once it is stable: the property ``register_when_stable``.

Entries are those of CCM. Its default destination is none, and there is no other here: they are checked, and published
nowhere.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from reactor.resource.model import FrozenModel
from reactor.resource.properties import Duration

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")


def _check_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a valid name: start with a letter, go on with letters, digits, _ and -"
        )
    return text


def _check_address(text: str) -> str:
    from ipaddress import ip_address  # noqa: PLC0415 - few manifests register anything

    try:
        ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address: write it as 192.0.2.1 or 2001:db8::1") from None
    return text


def _check_number(value: Any) -> Any:
    """A number, or the text of one, which is what an expression in a text may give."""
    if isinstance(value, str) and not value.strip().isdecimal():
        raise ValueError(f"it must be a whole number, not {value!r}")
    return value


Name = Annotated[
    str, AfterValidator(_check_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})
]
"""A letter, and then letters, digits, ``_`` and ``-``."""


class Registration(FrozenModel):
    """One service that is offered at one address."""

    cluster: Name
    service: Name
    protocol: Name
    address: Annotated[str, AfterValidator(_check_address)]
    """An IP address, version 4 or 6."""
    port: Annotated[int, BeforeValidator(_check_number), Field(ge=1, le=65535)]
    priority: Annotated[int, BeforeValidator(_check_number), Field(ge=1, le=255)]
    annotations: Annotated[dict[str, str], Field(default_factory=dict)]
    """What else is to be known of it."""
    ttl: Duration | Literal["never"] | None = None
    """How long the entry is good for."""

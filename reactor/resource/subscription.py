"""What a resource subscribes to, and how long its refreshes wait for further ones."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from reactor.resource.model import FrozenModel
from reactor.resource.properties import Duration, Reference


class RefreshDebounce(FrozenModel):
    """How long refreshes wait for further ones, so that a burst of changes is one refresh."""

    calm: Annotated[Duration, Field(gt=0, alias="for")]
    """Until nothing that is subscribed to has changed for so long."""
    at_most: Annotated[Duration, Field(gt=0)] = 30.0
    """But no longer than this after the first change."""


class Subscription(FrozenModel):
    """A reference with a ``quiet`` of its own, written ``kind#name: {quiet: {for: 2s}}``."""

    ref: Reference
    quiet: RefreshDebounce


_EXAMPLE = "file#/etc/motd: {quiet: {for: 2s}}"


def _with_ref(item: Any) -> Any:
    """``{kind#name: {quiet: ...}}`` as the fields of a `Subscription`."""
    if not isinstance(item, dict) or item.keys() == Subscription.model_fields.keys():
        return item
    if len(item) == 1:
        [(ref, properties)] = item.items()
        if isinstance(properties, dict):
            return {"ref": ref, **properties}
    raise ValueError(f"a map here is one reference with its 'quiet', as in {_EXAMPLE}")


def _form(item: Any) -> str:
    return "edge" if isinstance(item, (dict, Subscription)) else "ref"


def _as_list(value: Any) -> Any:
    return [_with_ref(item) for item in (value if isinstance(value, (list, tuple)) else [value])]


_PLAIN = {"type": "string", "pattern": "^[^#]+#"}
_ITEM = {
    "anyOf": [
        _PLAIN,
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {
                "type": "object",
                "properties": {"quiet": {"type": "object"}},
                "required": ["quiet"],
                "additionalProperties": False,
            },
        },
    ]
}

Subscriptions = Annotated[
    tuple[
        Annotated[
            Annotated[Reference, Tag("ref")] | Annotated[Subscription, Tag("edge")], Discriminator(_form)
        ],
        ...,
    ],
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_ITEM, {"type": "array", "items": _ITEM}]}),
]
"""A list of references, some maybe with a ``quiet``; a single one may stand alone."""

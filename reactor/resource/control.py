"""Whether a resource is managed on this host at all."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from reactor.resource.model import FrozenModel

Condition = Annotated[str, Field(min_length=1)]
"""An expression without braces that is true or false: ``Facts.host.info.platformFamily == 'debian'``."""


class Control(FrozenModel):
    """Conditions of a resource. One that is not managed counts as ok for what requires it."""

    if_: Condition | None = Field(default=None, alias="if")
    """Manage the resource only while this is true."""
    unless: Condition | None = None
    """Do not manage the resource while this is true."""

"""The base of all that is read from a manifest."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A mapping of a manifest. An unknown key is a mistake.

    What checks it is made when it is first needed: a run uses few of all that a manifest may hold, and this is a good
    part of the start of a small one.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)


class FrozenModel(Model):
    """One that never changes."""

    model_config = ConfigDict(frozen=True)

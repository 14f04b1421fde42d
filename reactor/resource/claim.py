"""What a resource wants of a thing that another resource may want something else of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

PATHS = "path"
"""The space of paths. Its attributes: ``ensure``, ``content``, ``owner``, ``group``, ``mode`` as in ``0644``."""


class Claim(NamedTuple):
    """What the thing ``key`` in ``space`` (``path``, ``unit``) shall be, by attribute.

    An attribute should have the name of the property that asks for it: errors point there.
    """

    space: str
    key: str
    wishes: Mapping[str, object]

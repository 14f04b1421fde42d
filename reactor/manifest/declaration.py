"""One resource as the manifest declares it, with the positions of its name and of each property."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import BaseModel

from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.scalar_types import field_names
from reactor.resource.diagnostic import PropertyPath


class Spot(NamedTuple):
    """Where a value stands, and ``key_at``, where its key does.

    ``label`` names it for people: ``require[0]``. ``raw`` is a scalar as written when it is not a text.
    """

    at: int
    key_at: int
    label: str
    raw: str | None = None


class Declaration(NamedTuple):
    """``at`` is the offset of the name. ``body`` wins over ``defaults``, those of the list around."""

    at: int
    body: Mapping | None
    defaults: Mapping | None = None

    def find(self, model: type[BaseModel], path: PropertyPath) -> Spot:
        """The place of the value at ``path``, or of the closest thing around it that is written."""
        at = key_at = self.at
        raw: str | None = None
        node, steps = self._start(model, path)
        labels = [] if steps else [f".{step}" for step in path[:1]]
        for step in steps:
            if isinstance(node, Mapping) and step in node:
                at, key_at = node.value_at(str(step)), node.key_at(str(step))
                labels.append(f".{step}")
            elif isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node):
                at = key_at = node.value_at(step)
                labels.append(f"[{step}]")
            else:  # pydantic's paths also name the members of unions, which lead nowhere
                continue
            raw = node.raw(step)
            node = node[step]
        return Spot(at, key_at, "".join(labels)[1:], raw)

    def _start(self, model: type[BaseModel], path: PropertyPath) -> tuple[Any, PropertyPath]:
        """The map that holds the property, and the path with the property's name as it is written there."""
        names = field_names(model)
        wanted = names.get(str(path[0]), path[0]) if path else None
        for node in (self.body, self.defaults):
            for key in node or ():
                if names.get(key, key) == wanted:
                    return node, (key, *path[1:])
        return None, ()

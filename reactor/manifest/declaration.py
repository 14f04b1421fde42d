"""One resource as the manifest declares it, with the positions of its name and of each property."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from reactor.manifest.nodes import Mapping, Sequence
from reactor.manifest.scalar_types import field_names
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import PropertyPath


class Spot(NamedTuple):
    """Where a value is in the file: ``at`` is the offset of the value, ``key_at`` that of its key.

    ``label`` names the value in messages: ``require[0]``. ``raw`` is the source text of a scalar that is not a string.
    """

    at: int
    key_at: int
    label: str
    raw: str | None = None


class Declaration(NamedTuple):
    """One declaration: ``at`` is the offset of the name.

    ``body`` overrides ``defaults``, those of its list, and these override ``general``, those of the manifest.
    """

    at: int
    body: Mapping | None
    defaults: Mapping | None = None
    general: Mapping | None = None

    def find(self, model: type[BaseModel], path: PropertyPath) -> Spot:
        """Return the spot of the value at ``path``, or of the closest enclosing value that the file contains."""
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
            else:  # pydantic's paths also contain the names of union members, which are not in the file
                continue
            raw = node.raw(step)
            node = node[step]
        return Spot(at, key_at, "".join(labels)[1:], raw)

    def _start(self, model: type[BaseModel], path: PropertyPath) -> tuple[Any, PropertyPath]:
        """Return the map that contains the property, and ``path`` with the property's name as written there."""
        names = field_names(model)
        wanted = names.get(str(path[0]), path[0]) if path else None
        for node in (self.body, self.defaults, self.general):
            for key in node or ():
                if names.get(key, key) == wanted:
                    return node, (key, *path[1:])
        return None, ()

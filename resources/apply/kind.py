"""The kind `apply`: its properties."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Literal, Self

from pydantic import PrivateAttr, ValidationInfo, model_validator

from reactor import Composite, InvalidPropertiesError, PropertyProblem


class Apply(Composite, kind="apply", providers=("ccmmanifest",)):
    """Apply another manifest: its resources join the graph, and all other resources can refer to them."""

    example = "web.yaml"

    ensure: Literal["present"] = "present"
    """An applied manifest can only be present."""

    _path: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _resolve_path(self, info: ValidationInfo) -> Self:
        """Resolve a relative path from the directory of the manifest."""
        base = (info.context or {}).get("base")
        if base is None and not self.name.startswith("/"):
            message = "the path must be absolute: there is no manifest for it to be relative to"
            raise InvalidPropertiesError([PropertyProblem(("name",), message)])
        self._path = os.path.normpath(os.path.join(base or "/", self.name))
        return self

    def property_problems(self) -> Iterable[PropertyProblem]:
        """URLs, which are not allowed as names, and modes that exclude each other."""
        yield from super().property_problems()
        if "://" in self.name:
            yield PropertyProblem(("name",), "name must be a file path, not a URL", "write a path")
        if self.noop and self.health_check_only:
            message = "cannot set healthcheck only and noop mode at the same time"
            yield PropertyProblem(("health_check_only",), message, "keep one of the two")

    def sandbox_access(self) -> Iterable[str]:
        """Nothing: the resources of the other manifest declare their own access."""
        return ()

    @property
    def manifest_path(self) -> str:
        """The absolute path of the other manifest."""
        return self._path

"""Properties that the name of the resource stands for where they are not given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reactor import PropertyProblem, Resource


def name_problems(
    resource: Resource[Any], instead: str, check: Callable[[str], object]
) -> Iterator[PropertyProblem]:
    """The problem with the name, if it stands for the property ``instead`` and ``check`` raises ValueError for it."""
    if getattr(resource, instead) is not None:
        return
    try:
        check(resource.name)
    except ValueError as error:
        yield PropertyProblem(("name",), str(error), f"correct it, or add {instead}")

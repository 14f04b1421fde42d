"""Two small kinds with a property of every type, so that these tests need no real kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Field, ValidationInfo

from reactor.manifest import Kinds
from reactor.resource.base import Resource
from reactor.resource.diagnostic import PropertyProblem
from reactor.resource.property_types import AbsolutePath, Duration, Flag


def _below_base(path: str, info: ValidationInfo) -> str:
    return path if path.startswith("/") else f"{info.context['base']}/{path}"


class _Inert(Resource):
    async def observe(self) -> None:
        return None

    def plan(self, state: Any, *, refresh: bool) -> tuple[()]:
        return ()


class Page(_Inert, kind="page", providers=("posix",)):
    """A page somewhere."""

    name: AbsolutePath
    ensure: Literal["present", "absent"]
    content: str | None = None
    source: Annotated[str, AfterValidator(_below_base)] | None = None
    mode: str | None = None
    public: Flag = False
    size: int = 0
    ratio: float = 1.0
    pause: Duration = 0.0
    tags: tuple[str, ...] = ()
    limits: dict[str, int] | None = None
    notes: dict[str, Any] | None = None
    either: int | list[str] | None = None

    def property_problems(self):
        yield from super().property_problems()
        if self.content is not None and self.source is not None:
            yield PropertyProblem(("source",), "content and source exclude each other", "keep one")
        if self.ensure == "absent" and self.mode is not None:
            yield PropertyProblem(("mode",), "what is absent has no mode", "remove mode")


class Job(_Inert, kind="job"):
    """A job that runs."""

    ensure: Literal["present"] = "present"
    command: str | None = None
    refreshonly: Flag = Field(default=False, validation_alias=AliasChoices("refreshonly", "refresh_only"))


KINDS = Kinds.of(Page, Job)

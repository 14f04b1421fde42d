"""The description of a kind, for ``reactor kinds`` and for the pages of the documentation."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass

from reactor.ensure.properties import Property, properties_of
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.property_types import format_duration, parse_duration

_SILENT = "Nothing: it is checked by the slow audit, and with `meta: {poll: 1m}`."
_BY_MEMBERS = "Nothing itself: what is in it is watched as each kind says."


@dataclass(frozen=True)
class Description:
    """One kind. All strings are Markdown. `own` has ``ensure`` and the properties that only this kind has."""

    kind: str
    meaning: str
    own: tuple[Property, ...]
    common: tuple[Property, ...]
    watches: str
    """What is watched for drift."""
    goes_after: str
    """The resources that it depends on automatically; empty for none."""
    provides: str
    """The resources that depend on it automatically; empty for none."""
    outputs: str
    """The outputs that other resources can use; empty if they are those that ``reactor show`` shows."""
    reversal: str
    """What ``meta: {reverse: true}`` restores; empty if it can't be undone."""
    together: str
    """The resources that are applied as one batch; empty for none."""
    example: str


def describe(model: type[Resource]) -> Description:
    """The description of the kind ``model``."""
    found = properties_of(model)
    return Description(
        kind=model.kind,
        meaning=_markdown(inspect.getdoc(model) or ""),
        own=tuple(each for each in found if each.field == "ensure" or not _is_common(each)),
        common=tuple(each for each in found if _is_common(each)),
        watches=_words(model, "watches") or (_BY_MEMBERS if issubclass(model, Composite) else _SILENT),
        goes_after=_relation(model, "Depends on: "),
        provides=_relation(model, "Provides: "),
        outputs=_words(model, "outputs"),
        reversal=_words(model, "reversal"),
        together=_words(model, "group_key"),
        example=f"reactor ensure {model.kind} {model.example or 'NAME'}",
    )


def summary_of(model: type[Resource]) -> str:
    """The purpose of the kind, in a sentence or two."""
    return _first_paragraph(model)


def default_of(found: Property) -> str:
    """The default as written in a manifest; empty if there is none."""
    if found.default is None:
        return ""
    if found.is_duration:
        return _duration(parse_duration(found.default))
    return found.default if isinstance(found.default, str) else json.dumps(found.default, ensure_ascii=False)


def _duration(seconds: float) -> str:
    """A duration in the largest unit in which it is a whole number."""
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return format_duration(seconds)


def _is_common(found: Property) -> bool:
    return found.field in Resource.model_fields


def _words(model: type[Resource], method: str) -> str:
    """The first paragraph of the docstring of a method, if the kind overrides it, without its exceptions."""
    own = getattr(model, method)
    inherited = getattr(Resource, method)
    if getattr(own, "__func__", own) is getattr(inherited, "__func__", inherited):
        return ""
    return _first_paragraph(own).partition(" Raises ")[0]


def _relation(model: type[Resource], label: str) -> str:
    """The paragraph about `Resource.relations` that begins with ``label``, without it; empty where there is none."""
    if model.relations is Resource.relations:
        return ""
    paragraphs = (inspect.getdoc(model.relations) or "").split("\n\n")
    return next((_markdown(each.removeprefix(label)) for each in paragraphs if each.startswith(label)), "")


def _first_paragraph(documented: object) -> str:
    return _markdown((inspect.getdoc(documented) or "").partition("\n\n")[0])


def _markdown(text: str) -> str:
    return " ".join(text.replace("``", "`").split())

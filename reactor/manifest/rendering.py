"""A loaded manifest as plain values: defaults merged, and expressions evaluated, except deferred ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reactor.data.resolve import masked
from reactor.manifest.deferred import DeferredBinding
from reactor.manifest.document import Part
from reactor.manifest.manifest import Manifest
from reactor.resource.base import Resource
from reactor.resource.deferred_loop import DeferredLoop
from reactor.resource.redaction import MASK, redacted


def rendered(manifest: Manifest, part: Part) -> dict[str, Any]:
    """Return one part of the manifest in the form in which it was written, with defaults merged and secrets masked.

    Deferred expressions stay as written, and so do loops whose elements are not known. Contains `apply` resources, but
    not the resources of the manifests they apply.
    """
    of_part = [(index, manifest.resources[index]) for index in part.indices]
    elsewhere = {ref for _, resource in of_part for ref in resource.declared.members}
    resources = [
        _entry(resource, manifest.declared(index))
        for index, resource in of_part
        if resource.ref not in elsewhere
    ]
    data = redacted(masked(part.data.values, part.data.secrets, MASK))
    settings = part.document.settings.model_dump(exclude_unset=True)
    if part.document.is_ccm:
        options = {"fail_on_error": settings.pop("fail_fast"), "resources": resources}
        own = {key: value for key, value in settings.items() if (key, value) != ("ordering", "manifest")}
        return {"ccm": options, "data": data, **({"settings": own} if own else {})}
    return {
        **({"data": data} if data else {}),
        **({"settings": settings} if settings else {}),
        "resources": resources,
    }


def rendered_child(manifest: Manifest, ref: str, part: Part) -> dict[str, Any]:
    """Return a child manifest or role in the same form, after the ref of what applies it and the path of its file.

    References name resources as in the whole graph: ``exec#web/reload`` is the ``reload`` of the role ``web``.
    """
    return {"applied_by": ref, "manifest": part.file, **rendered(manifest, part)}


def _entry(resource: Resource, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return one entry of the list of resources. A loop whose elements are not known is shown as written."""
    if not isinstance(resource, DeferredLoop):
        return {resource.kind: _properties(resource, written)}
    kind, _, name = resource.name.partition("#")
    return {kind: {"name": redacted(name)} | redacted(written)}


def _properties(resource: Resource, written: Mapping[str, Any]) -> dict[str, Any]:
    properties = resource.model_dump(mode="json", exclude_unset=True, by_alias=True)
    properties = {key: _as_written(value, written.get(key)) for key, value in properties.items()}
    properties.update(dict.fromkeys(resource.secrets & properties.keys(), MASK))
    if isinstance(deferred := resource.declared.deferred, DeferredBinding):
        properties.update(deferred.texts())
    return {"name": redacted(properties.pop("name")), **redacted(properties)}


def _as_written(value: Any, written: Any) -> Any:
    """Return ``value`` with strings as written (1h30m, not 5400s; a relative path), unless they have expressions."""
    if isinstance(value, dict) and isinstance(written, dict):
        return {key: _as_written(inner, written.get(key)) for key, inner in value.items()}
    if isinstance(value, list) and isinstance(written, list) and len(value) == len(written):
        return [_as_written(*pair) for pair in zip(value, written, strict=True)]
    both = isinstance(value, str) and isinstance(written, str)
    return written if both and "{{" not in written and "${" not in written else value

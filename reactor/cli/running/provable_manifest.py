"""Which manifests `receive_evidence` can prove: those of plain files and directories.

Nothing in such a manifest depends on the state of the host, on time or on commands. Of expressions, only values of the
inventory are allowed, such as ``{{ Facts.fleet.name }}``: the request of the push has them.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any

from reactor.documents import parse_values
from reactor.fleet.bundle.digest import MANIFEST
from reactor.hostfs import is_id
from reactor.manifest.document import Settings
from reactor.resource.diagnostic import ManifestError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactor.loading import LoadedManifest
    from reactor.resource.base import Resource

MOST = 2000
"""The most resources, and the most files of a bundle: to look at more would delay a run."""
_LARGEST = 64 * 1024
"""The most bytes of a manifest."""
_KEYS = frozenset(("resources", "file", "defaults", "ensure", "content", "source", "owner", "group", "mode"))
_FLEET_FACT = re.compile(r"\{\{ *Facts\.(fleet(?:\.[A-Za-z_]\w*)+) *\}\}")
_EXPRESSIONS = ("{{", "${", "{%")


class NotProvableError(Exception):
    """The manifest is not one of plain files, or the host may change what it means."""


def provable_paths(program: LoadedManifest, bundle: str, facts: Mapping[str, Any]) -> list[str]:
    """Return the paths that ``program`` manages, a manifest in the directory ``bundle``. ``facts`` are those of the inventory.

    Raises NotProvableError and OSError.
    """
    others = (
        program.data, program.warnings, program.pre_message, program.post_message, program.channels, program.shares
    )  # fmt: skip
    resources = [*program.graph.resources.values()]
    if any(others) or program.settings != Settings() or len(resources) > MOST:
        raise NotProvableError
    given = {*program.inputs.files, *program.inputs.fact_paths}
    if [each for each in program.files if each not in given] != [manifest := os.path.join(bundle, MANIFEST)]:
        raise NotProvableError
    with open(manifest, encoding="utf-8") as file:
        _require_values(_parsed(file.read(_LARGEST + 1), manifest), facts)
    return [_plain_path(each, bundle) for each in resources]


def _parsed(text: str, file: str) -> dict[str, Any]:
    """The values of a manifest, with their expressions as they are written."""
    if len(text) > _LARGEST:
        raise NotProvableError
    try:
        return parse_values(text, file)
    except ManifestError:
        raise NotProvableError from None


def _require_values(tree: Any, facts: Mapping[str, Any]) -> None:
    """Require that ``tree`` has no other keys than those of plain files, and no other expressions than ``facts``."""
    if isinstance(tree, dict):
        if not all(key in _KEYS or (isinstance(key, str) and key.startswith("/")) for key in tree):
            raise NotProvableError
        for each in (*tree, *tree.values()):
            _require_values(each, facts)
    elif isinstance(tree, list):
        for each in tree:
            _require_values(each, facts)
    elif isinstance(tree, str):
        rest = _FLEET_FACT.sub(lambda found: "" if _is_given(found[1], facts) else found[0], tree)
        if any(each in rest for each in _EXPRESSIONS):
            raise NotProvableError


def _is_given(name: str, facts: Mapping[str, Any]) -> bool:
    """Whether the inventory gives the fact ``name``, so that no file of the host does."""
    value: Any = facts
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return isinstance(value, (str, int))


def _plain_path(resource: Resource[Any], bundle: str) -> str:
    """The path of a file or directory whose state its stamp and the bundle determine."""
    found: Any = resource
    if resource.kind != "file" or not type(resource).__module__.startswith("reactor.resources.file."):
        raise NotProvableError
    if not all(each == "root" or is_id(each) for each in (found.owner or "", found.group or "")):
        raise NotProvableError  # a name may get another id
    if not all(
        each.startswith(f"{bundle}/") and ".." not in each.split("/") for each in resource.source_files()
    ):
        raise NotProvableError
    path: str = found.name
    seen = os.lstat(path)
    is_file = found.ensure == "present" and stat.S_ISREG(seen.st_mode) and seen.st_nlink == 1
    if not (is_file or (found.ensure == "directory" and stat.S_ISDIR(seen.st_mode))):
        raise NotProvableError
    return path

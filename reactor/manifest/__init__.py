"""Reads manifests: YAML with positions, both forms, binding to typed properties, diagnostics.

The way of the data: `source` (text) - `tree` (maps and lists that know their positions, from `nodes`) - `document`
(the two forms) - `binding` (entries to resources, with `values`, `shapes` and `validation`) - `manifest`. `report`
renders diagnostics, `schema` describes all of it for editors.
"""

from reactor.manifest.document import Settings
from reactor.manifest.kinds import Kinds
from reactor.manifest.manifest import Manifest, read_manifest

__all__ = ["Kinds", "Manifest", "Settings", "read_manifest"]

"""Reads manifests: YAML with positions, both forms, binding to typed properties, diagnostics.

The way of the data: `source` (the text), `tree` (its maps and lists, which know their positions), `document`
(the two forms), `binding` (entries become resources; `values` and `shapes` prepare what pydantic validates,
`validation` explains what it says), `manifest` (the whole, for the rest of the program). `report` renders
diagnostics, `schema` describes manifests for editors.
"""

from reactor.manifest.document import Settings
from reactor.manifest.kinds import Kinds
from reactor.manifest.manifest import Manifest, read_manifest

__all__ = ["Kinds", "Manifest", "Settings", "read_manifest"]

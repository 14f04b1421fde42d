"""Reads manifests: YAML with positions, both forms, data, binding to typed properties, diagnostics.

The way of the data:

- from text to tree: `source` (the text, its lines, what is wrong with it), `tree` (maps and lists that know their
  positions, of `nodes`), `scalars`, `old_breaks` and `surrogates` (YAML 1.2 where the parser is one of 1.1), `syntax` (what the
  parser complains about, in plain words);
- from tree to outline: `document` (the two forms, brought into one);
- the data: `sections` (data, hierarchy and overrides, resolved), `annotated_data` (which comment is about which key),
  `site_data` (a file that goes over them), `inputs` (what is given from outside);
- what expressions see: `world` and `surroundings` (data, facts, files, templates, outputs), `evaluation` (values with
  expressions, and where these stand), `jet`, `networked`, `template_data` and `template_values`;
- from entries to resources: `binding` (both forms of an entry become declarations, of `declaration`), `values` and
  `shapes` (what pydantic validates), `validation` (what it says, in plain words), `making` (the resource, or what is
  left of it), `late` (what waits until it is checked), `kinds` (where its class is found), `wording`;
- the whole: `reading` (file by file, child manifests too, into one `collection`), `manifest` (for the rest of the
  program);
- the ways out: `report` (diagnostics, for people), `rendering` (the manifest after loading), `schema` (for editors).
"""

from reactor.manifest.document import Settings
from reactor.manifest.kinds import Kinds
from reactor.manifest.manifest import Manifest, read_manifest

__all__ = ["Kinds", "Manifest", "Settings", "read_manifest"]

"""Reads manifests: YAML with positions, both forms, data, binding to typed properties, diagnostics.

In the order in which a manifest passes through them:

- from text to tree: `source` (the text, its lines, its problems), `yaml_tree` (maps and lists that know their positions,
  of `nodes`), `scalars` and `parser_workarounds` (YAML 1.2 with a parser for 1.1), `syntax_errors` (the parser's errors in
  plain words);
- from tree to outline: `document` (the two forms, brought into one);
- the data: `data_sections` (data, hierarchy and overrides, resolved, with their annotations), `site_data` (a file with
  higher priority), `inputs` (everything from outside);
- what expressions see: `expression_context` and `expression_functions` (data, facts, files, templates, outputs),
  `evaluation` (values with expressions, and their places), `jet_templates`;
- from entries to resources: `binding` (both forms of an entry become declarations, of `declaration`), `values` and
  `scalar_types` (the input of pydantic), `validation` (its errors in plain words), `resource_factory` (the resource, or a
  placeholder for it), `deferred` (values that wait until the resource is checked), `kind_lookup` (the class of a kind),
  `phrasing` (words of messages);
- the whole: `manifest_loader` (file by file, child manifests too, into one `resource_table`), `manifest` (for the rest of
  the program), `directories` (directories of manifests);
- the output: `report` (diagnostics for people), `rendering` (the manifest after loading), `schema` (for editors).
"""

from reactor.manifest.document import Settings
from reactor.manifest.kind_lookup import Kinds
from reactor.manifest.manifest import Manifest, read_manifest

__all__ = ["Kinds", "Manifest", "Settings", "read_manifest"]

"""Reads manifests: YAML with positions, both forms, data, binding to typed properties, diagnostics.

The way of the data:

- from text to tree: `source` (the text, its lines, what is wrong with it), `yaml_tree` (maps and lists that know their
  positions, of `nodes`), `scalars`, `yaml11_line_breaks` and `surrogates` (YAML 1.2 where the parser is one of 1.1), `syntax_errors` (what the
  parser complains about, in plain words);
- from tree to outline: `document` (the two forms, brought into one);
- the data: `data_sections` (data, hierarchy and overrides, resolved), `annotated_data` (which comment is about which key),
  `site_data` (a file that goes over them), `inputs` (what is given from outside);
- what expressions see: `expression_context` and `expression_functions` (data, facts, files, templates, outputs), `evaluation` (values with
  expressions, and where these stand), `jet_templates`, `ccm_services`, `template_data` and `template_values`;
- from entries to resources: `binding` (both forms of an entry become declarations, of `declaration`), `values` and
  `scalar_types` (what pydantic validates), `validation` (what it says, in plain words), `resource_factory` (the resource, or what is
  left of it), `deferred` (what waits until it is checked), `kind_lookup` (where its class is found), `phrasing`;
- the whole: `manifest_loader` (file by file, child manifests too, into one `resource_table`), `manifest` (for the rest of the
  program);
- the ways out: `report` (diagnostics, for people), `rendering` (the manifest after loading), `schema` (for editors).
"""

from reactor.manifest.document import Settings
from reactor.manifest.kind_lookup import Kinds
from reactor.manifest.manifest import Manifest, read_manifest

__all__ = ["Kinds", "Manifest", "Settings", "read_manifest"]

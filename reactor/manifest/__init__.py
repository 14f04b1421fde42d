"""Reads manifests: parses YAML with positions, resolves the data, binds typed properties and reports problems.

A manifest passes through these modules in this order:

- from text to tree: `source` (the text, its lines, its problems), `yaml_tree` (builds the maps and lists of `nodes`,
  which know their positions), `scalars` and `parser_workarounds` (YAML 1.2 with a parser for 1.1), `syntax_errors`
  (rewords the parser's errors), `shortened_text` and `plain_items` (read most of a long list without the parser);
- from tree to outline: `document` (converts both forms of a manifest into one outline);
- the data: `data_sections` (resolves data, hierarchy and overrides, with their annotations), `site_data` (a file with
  higher priority), `inputs` (everything from outside the manifest), `read_environ` (the environment variables that
  were read);
- secrets and notifications: `secret_section`, `notify_section` (what the manifest declares of them),
  `notify_channels` (the channels that it can declare);
- the network: `shares_section` (what the host shares), `network_functions` (the functions that read from it);
- what expressions can use: `expression_context` and `expression_functions` (data, facts, files, templates, outputs),
  `evaluation` (evaluates the expressions in values, and locates their errors), `jet_templates`, `assertions`
  (conditions that must hold before anything runs);
- roles and defaults: `parameters` (what a role takes), `role_calls` (a role as a manifest uses it), `kind_defaults`
  (properties of all resources of a kind), `ccm_parts` (what the ``ccm:`` form renders);
- from entries to resources: `binding` (converts both forms of an entry into a `declaration`), `loops` (`for_each`:
  one entry that makes several resources), `loop_bodies` (the problems of a loop without elements), `values` and
  `scalar_types` (the input of pydantic), `validation` (rewords pydantic's errors), `resource_factory` (the resource,
  or one of `placeholders` for an invalid one), `prototypes` (many resources with the same properties), `deferred`
  (values that are evaluated when the resource is checked), `deferred_elements` (loops over such values), `outside`
  (expressions of a loop, written for use outside of it), `kind_lookup` (the class of a kind);
- what is no manifest: `foreign_documents` (files of other programs), `malformed_entries` (entries that are no resources),
  `phrasing` (the wording of messages);
- what earlier loads left: `bound_items` (what an editor's last check made of the same text), `likeness` (whether two
  texts or values are the same), `reparsing` (parses a text that has changed a little), `item_lines` (which items of a
  long list a reload must read);
- the whole manifest: `manifest_loader` (reads the manifest and its `child_manifests` into one `resource_table`),
  `manifest` (the result, for the rest of the program), `directories` (directories of manifests);
- the output: `report` (formats diagnostics), `rendering` (the manifest after loading), `schema` (for editors).
"""

from reactor.manifest.document import Settings
from reactor.manifest.kind_lookup import Kinds
from reactor.manifest.manifest import Manifest, read_manifests

__all__ = ["Kinds", "Manifest", "Settings", "read_manifests"]

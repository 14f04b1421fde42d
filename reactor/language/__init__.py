"""The languages of manifests: expressions, and templates in Jinja2, Go's text/template and Jet.

Each part imports only the parts above it:

- ``errors``: the errors of expressions and templates;
- ``values``: the kinds of values, and how each is converted to a string; ``secrets``: secret strings, and which
  strings were made from them; ``unknown``: values that are not known yet;
- ``foreign_names``: what names of other programs are here;
- ``json_codec``, ``times``, ``regex``: JSON, times and durations in Go's formats, RE2;
- ``expression/``: the language inside ``{{ }}`` and ``${ }``;
- ``templates/``: renders whole files from templates, with the same values.

Nothing in here knows the rest of the project.
"""

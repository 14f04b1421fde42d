"""The languages of manifests: expressions, and templates in Jinja2, Go's text/template and Jet.

Each part imports only the parts above it:

- ``errors``: the errors of expressions and templates;
- ``values``: the kinds of values, and their strings; ``secrets``: secret strings, and what is made from them;
- ``json_codec``, ``times``, ``regex``: values as JSON, times and durations as Go writes them, RE2;
- ``suggestions``: the known name that a misspelt one means;
- ``expression/``: the language inside ``{{ }}`` and ``${ }``;
- ``templates/``: whole files from templates, over the same values.

Nothing in here knows the rest of the project.
"""

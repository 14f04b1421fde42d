"""The languages of manifests: expressions, and templates in Jinja2, Go's text/template and Jet.

- ``expression/``: the language inside ``{{ }}`` and ``${ }``, over JSON-like values;
- ``templates/``: whole files from templates, over the same values.

Nothing in here knows the rest of the project.
"""

"""The language server of manifests, ``reactor lsp``. Only that command imports it, with the library pygls.

- ``outline``: keys and values by lines and indentation, also of broken YAML;
- ``schema``: which keys and values are allowed at a path, and the docs of kinds and properties;
- ``expressions``: completion and docs inside expressions;
- ``references``: the names of resources and the references to them;
- ``document``: one open manifest: its text, its problems, its outline;
- ``positions``: columns in the units of the editor;
- ``completion``, ``hover``, ``navigation``: the answers to the requests of the editor;
- ``idle``: what is done while nobody types;
- ``server``: the server itself.
"""

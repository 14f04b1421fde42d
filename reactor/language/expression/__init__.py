"""The expression language of manifests: what stands in ``{{ }}`` and ``${ }``.

It is the Expr language (https://expr-lang.org) over JSON-like values, with ``lookup`` for gjson paths. The way of an
expression, each step knowing only the ones above it:

- ``errors``, ``secret``, ``secret_taint``, ``bounds``: what goes wrong, what must not be shown, what of a value that is, and how
  much work is too much;
- ``kinds``: which kinds of values there are, and the checks that keep every other object out;
- ``delimiters``: a text split into literal pieces and expressions;
- ``lexer``, ``cursor``, ``nodes``, ``operands``, ``parser``: one expression as tokens, as a tree;
- ``text``, ``json_text``, ``access``, ``piecewise``, ``operators``, ``regex``, ``layout``, ``gjson/``, ``builtins/``: what
  the values can do;
- ``missing``: keys that are not there: where that is allowed, and what is said of the others;
- ``scope``: what the host program hands in: roots, functions, secrets, bounds;
- ``evaluator/``: the tree compiled to Python closures; ``read_paths``: which paths of the roots it may read;
- ``run``, ``rendering``: one evaluation; expressions and texts with expressions in them;
- ``template``: the door: ``parse`` for a text, ``expression`` for a bare expression;
- ``path_lookup``: a gjson path over a value that belongs to no expression;
- ``validators``: the functions of ``@validate`` annotations.

Nothing here reads an attribute of a value: values are reached by subscript only, so no expression can reach Python.
"""

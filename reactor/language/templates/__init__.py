"""Templates: from a source and data to text, in Jinja2, in Go's text/template and in Jet.

- ``interface``: what each engine offers; ``engines``: the three, by their names;
- ``jinja/``, ``go/``, ``jet/``: the languages; the last two have a lexer, a parser and an evaluator each;
- ``syntax``, ``values``, ``literals``, ``printf``, ``escapes``: what Go's templates and Jet have in common:
  Go's syntax, and texts of values;
- ``compiling``: each source is parsed once;
- ``calls``: the functions of templates;
- ``missing_values``: values that are missing: an error, or a remark;
- ``bounds``: how much one rendering may cost;
- ``errors``: what goes wrong, and where;
- ``clock``: the time that templates are told;
- ``confined``: the same engines, each rendering in a process with limits, which is how manifests have them;
  ``helper``: one such process, ``worker`` what it does, ``confinement`` its limits; ``channel`` carries messages,
  ``questions`` asks the parent and ``answers`` is what it answers; ``tree``: templates that make files of a tree.

Nothing here reads a file or knows of manifests: sources come through a loader, data and functions are given.
"""

from reactor.language.errors import Fault, TemplateError
from reactor.language.templates.bounds import DEFAULT_BOUNDS, Bounds
from reactor.language.templates.engines import ENGINES, template_engine
from reactor.language.templates.interface import Compiled, Delimiters, Engine, Loader
from reactor.language.templates.missing_values import Absence

__all__ = [
    "DEFAULT_BOUNDS", "ENGINES", "Absence", "Bounds", "Compiled", "Delimiters", "Engine", "Fault", "Loader", "TemplateError", "template_engine",
]  # fmt: skip

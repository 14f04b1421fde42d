"""Templates: from a source and data to a string, in Jinja2, in Go's text/template and in Jet.

- ``budget``: how much one rendering may cost;
- ``calls``: the functions of templates, their parameters, and how they are called;
- ``missing_values``: values that are missing: an error, or a warning;
- ``engine``: what each engine offers, and the three engines by name;
- ``literals``, ``values``, ``printf``: literals and strings of values as Go has them, for Go's templates and Jet;
- ``syntax``: what the lexers and parsers of these two share;
- ``jinja/``, ``go/``, ``jet/``: the languages; the last two have a lexer, a parser, an evaluator and a renderer each;
- ``sandbox/``: the same engines, each rendering in a worker process with limits. Manifests use these.

Nothing here reads a file or knows of manifests: the host program passes a loader for sources, data and functions.
"""

from reactor.language.errors import Fault, TemplateError
from reactor.language.templates.budget import DEFAULT_LIMITS, Limits
from reactor.language.templates.engine import (
    ENGINES,
    CompiledTemplate,
    Delimiters,
    Engine,
    Loader,
    template_engine,
)
from reactor.language.templates.missing_values import MissingValues

__all__ = [
    "DEFAULT_LIMITS",
    "ENGINES",
    "CompiledTemplate",
    "Delimiters",
    "Engine",
    "Fault",
    "Limits",
    "Loader",
    "MissingValues",
    "TemplateError",
    "template_engine",
]  # fmt: skip

"""Templates: render a string from a source and data, in Jinja2, Go's text/template and Jet.

- ``budget``: limits the cost of one rendering;
- ``calls``: the functions of templates, their parameters, and how they are called;
- ``missing_values``: reports missing values as errors or warnings;
- ``engine``: the interface of the engines; ``engines``: the three engines by name;
- ``literals``, ``values``, ``printf``: literals, values and string formats as in Go, for Go's templates and Jet;
  ``yaml_text``: writes YAML;
- ``syntax``: code that the lexers and parsers of these two share; ``parse_cache``: keeps what they have parsed;
- ``jinja/``, ``go/``, ``jet/``: the languages; the last two have a lexer, a parser, an evaluator and a renderer each;
- ``sandbox/``: the same engines, but each rendering runs in a worker process with limits. Manifests use these.

Nothing here reads a file or knows of manifests: the host program passes a loader for sources, data and functions.
"""

from reactor.language.errors import Fault, TemplateError
from reactor.language.templates.budget import DEFAULT_LIMITS, Limits
from reactor.language.templates.engine import CompiledTemplate, Delimiters, Engine, Loader
from reactor.language.templates.engines import ENGINES, template_engine
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

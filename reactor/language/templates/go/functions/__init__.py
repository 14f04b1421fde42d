"""The functions of Go templates: those of text/template itself, and the commonly used ones of sprig."""

from __future__ import annotations

from reactor.language.templates.calls import Functions
from reactor.language.templates.go.functions import (
    builtins,
    choices,
    encodings,
    lists,
    maps,
    numbers,
    patterns,
    texts,
    times,
    urls,
    versions,
)

FUNCTIONS: Functions = {
    **builtins.FUNCTIONS,
    **choices.FUNCTIONS,
    **encodings.FUNCTIONS,
    **lists.FUNCTIONS,
    **maps.FUNCTIONS,
    **numbers.FUNCTIONS,
    **patterns.FUNCTIONS,
    **texts.FUNCTIONS,
    **times.FUNCTIONS,
    **urls.FUNCTIONS,
    **versions.FUNCTIONS,
}

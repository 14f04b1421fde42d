"""The functions of Go templates: those of text/template itself, and the commonly used ones of sprig."""

from __future__ import annotations

from reactor.language.templates.calls import Functions
from reactor.language.templates.go.functions import (
    builtins,
    conditions,
    encodings,
    lists,
    maps,
    numbers,
    regexes,
    strings,
    times,
    versions,
)

FUNCTIONS: Functions = {
    **builtins.FUNCTIONS,
    **conditions.FUNCTIONS,
    **encodings.FUNCTIONS,
    **lists.FUNCTIONS,
    **maps.FUNCTIONS,
    **numbers.FUNCTIONS,
    **regexes.FUNCTIONS,
    **strings.FUNCTIONS,
    **times.FUNCTIONS,
    **versions.FUNCTIONS,
}

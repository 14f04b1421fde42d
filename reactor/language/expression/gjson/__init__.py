"""Lookup paths: the path syntax of gjson (https://github.com/tidwall/gjson/blob/master/SYNTAX.md) over values.

``syntax`` parses paths and queries, ``modifiers`` transform results, ``paths`` evaluates a path. Keys are visited in
sorted order, as in the JSON of a Go map.
"""

from __future__ import annotations

from typing import Any

from reactor.language.errors import FunctionError
from reactor.language.expression.access import MISSING
from reactor.language.expression.evaluation import Evaluation
from reactor.language.expression.gjson.paths import get
from reactor.language.expression.scope import Scope


def gjson_get(value: Any, path: str) -> Any:
    """Return the value at ``path`` in a JSON-like value.

    Raises KeyError if there is none, and ValueError if it would take too much work.
    """
    try:
        answer = get(value, path, Evaluation(Scope({})))
    except FunctionError as error:
        raise ValueError(error.message) from error
    if answer is MISSING:
        raise KeyError(path)
    return answer

"""A gjson path over a value that belongs to no expression."""

from __future__ import annotations

from typing import Any

from reactor.language.expression.errors import FunctionError
from reactor.language.expression.gjson.paths import MISSING, get
from reactor.language.expression.run import Run
from reactor.language.expression.scope import Scope


def gjson_get(value: Any, path: str) -> Any:
    """What ``path`` finds in a JSON-like value. Raises KeyError when that is nothing, ValueError for too much work."""
    try:
        answer = get(value, path, Run(Scope({})))
    except FunctionError as error:
        raise ValueError(error.message) from error
    if answer is MISSING:
        raise KeyError(path)
    return answer

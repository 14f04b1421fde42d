"""Regular expressions with RE2: Go's syntax, and linear time for any pattern."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from reactor.language.errors import FunctionError

_MEMORY = 1 << 20
_LONGEST = 1000


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return ``pattern``, compiled with RE2. Use it like a pattern of ``re``. Raises FunctionError."""
    import re2  # noqa: PLC0415 - few manifests use patterns, and the import takes milliseconds

    if len(pattern) > _LONGEST:
        raise FunctionError(f"the regular expression has more than {_LONGEST} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise FunctionError(f"invalid regular expression: {reason}", "the syntax is that of RE2") from error

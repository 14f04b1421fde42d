"""Data as variables of a shell, and variables as facts: what ``ccm hiera`` does for scripts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs

_NO_NAME = re.compile(r"[^A-Z0-9_]")


def variables(values: Mapping[str, Any], prefix: str) -> str:
    """A line ``PREFIX_KEY=VALUE`` for each of ``values``, sorted, quoted for a shell; lists and maps are JSON."""
    lines = (f"{_name(prefix, key)}={shlex.quote(_text(values[key]))}\n" for key in sorted(values))
    return "".join(lines)


def with_variables(inputs: Inputs) -> Inputs:
    """The inputs, with the variables of the environment over the facts of the host and below those that were given."""
    from reactor.facts.facts import Facts

    if not isinstance(inputs.facts, Facts):
        return inputs
    return inputs._replace(facts=inputs.facts.with_fallbacks(inputs.environ))


def _name(prefix: str, key: str) -> str:
    return _NO_NAME.sub("_", f"{prefix}_{key}".upper())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)

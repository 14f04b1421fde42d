"""Runs the rules of goss, and reads the gossfiles that they include."""

from __future__ import annotations

import glob
import os
from typing import Any

import yaml
from pydantic import ValidationError

from reactor import DistrustedError, HealthResult, HealthStatus, ResourceError, fragile_mounts, open_input
from reactor.resources.health.goss.rule import Rule
from reactor.resources.health.goss.rules import Rules

_MOST_CHARACTERS = 4 << 20
_MOST_VALUES = 100_000
_DEEPEST = 64
_PARSING = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError)
"""Errors of the YAML library for values that do not match their tags, besides the documented YAMLError."""


class Goss:
    """The health check ``goss_rules``: OK if all rules hold, otherwise critical."""

    takes = Rules

    def describe(self, _value: Rules) -> str:
        """The name of the check in the output."""
        return "goss"

    async def examine(self, value: Rules) -> HealthResult:
        """Run the rules in order. The output names every rule that does not hold, with the reason.

        Raises ResourceError for a gossfile that can't be used.
        """
        wanted = await every_rule(value)
        bad = [
            f"{kind} {key}: {failure}" for kind, key, rule in wanted for failure in await _failures(rule, key)
        ]
        if bad:
            return HealthResult(HealthStatus.CRITICAL, "\n".join(bad))
        return HealthResult(
            HealthStatus.OK, "1 rule holds" if len(wanted) == 1 else f"{len(wanted)} rules hold"
        )


async def _failures(rule: Rule, key: str) -> list[str]:
    """The failures of a rule. A value that can't be found out is a failure, too."""
    try:
        return await rule.failures(key)
    except ResourceError as error:
        return [error.message]
    except OSError as error:
        return [error.strerror or str(error)]


async def every_rule(rules: Rules, *chain: str) -> list[tuple[str, str, Rule]]:
    """The rules and those of their gossfiles, without skipped ones: kind, key and rule.

    ``chain`` are the including files. Raises ResourceError for a file that is missing, invalid, or includes itself.
    """
    found = [(kind, key, rule) for kind, key, rule in rules.all() if not rule.skip]
    for key, gossfile in rules.gossfile.items():
        if not gossfile.skip:
            for path in await _paths(gossfile.file or key, os.path.dirname(chain[-1]) if chain else "/"):
                if path in chain:
                    raise ResourceError(f"the gossfile {path} includes itself")
                found += await every_rule(read_rules(path), *chain, path)
    return found


async def _paths(pattern: str, directory: str) -> list[str]:
    whole = os.path.join(directory, pattern)
    await fragile_mounts().ask(whole)
    if not (found := sorted(glob.glob(whole))):
        raise ResourceError(f"there is no gossfile {whole}")
    return found


def read_rules(path: str) -> Rules:
    """Read the rules in the file at ``path``. Raises ResourceError when it is invalid or can't be read."""
    try:
        with open(path, encoding="utf-8", opener=open_input) as file:
            return Rules.model_validate(_values(file.read(_MOST_CHARACTERS + 1)) or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ResourceError(f"the gossfile {path} can't be used: {where}: {first['msg']}") from error
    except DistrustedError as error:  # its rules have commands in them
        raise ResourceError(f"the gossfile {path} can't be trusted: {error}", error.hint) from error
    except (yaml.YAMLError, OSError, *_PARSING) as error:
        raise ResourceError(f"the gossfile {path} can't be read: {error or type(error).__name__}") from error


def _values(text: str) -> Any:
    """Parse ``text``. Raises YAMLError, and `_PARSING`."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"it is larger than {_MOST_CHARACTERS >> 20} MiB: split it")
    loader = yaml.CSafeLoader(text)
    try:
        if (node := loader.get_single_node()) is None:
            return None
        _count(node, {}, 1)
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _count(node: yaml.Node, known: dict[int, int], depth: int) -> int:
    """The number of values in ``node`` with all aliases expanded, since validation visits each one.

    ``known`` caches the counts by node. Raises ValueError when there are too many.
    """
    if depth > _DEEPEST:
        raise ValueError(f"it is nested deeper than {_DEEPEST} levels, or within itself: flatten it")
    if id(node) not in known:
        below = [] if isinstance(node, yaml.ScalarNode) else node.value
        inner = [each for pair in below for each in (pair if isinstance(pair, tuple) else (pair,))]
        known[id(node)] = 1 + sum(_count(each, known, depth + 1) for each in inner)
        if known[id(node)] > _MOST_VALUES:
            raise ValueError(f"its aliases stand for more than {_MOST_VALUES:,} values: write fewer")
    return known[id(node)]

"""Carries out rules of goss."""

from __future__ import annotations

from reactor import HealthResult, HealthStatus, ResourceError
from reactor.resources.health.goss.included import every_rule
from reactor.resources.health.goss.rule import Rule
from reactor.resources.health.goss.rules import Rules


class Goss:
    """One look finds all rules to hold, or is critical."""

    takes = Rules

    def describe(self, _value: Rules) -> str:
        """The word for all of them."""
        return "goss"

    async def examine(self, value: Rules) -> HealthResult:
        """Try the rules one after the other; the output names every one that does not hold, and why.

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
    """What a rule complains of. What can't be found out counts as a complaint too."""
    try:
        return await rule.failures(key)
    except ResourceError as error:
        return [error.message]
    except OSError as error:
        return [error.strerror or str(error)]

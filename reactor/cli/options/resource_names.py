"""Names of resources on the command line: the argument type, and hints for unknown names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reactor.cli.messages import warn

if TYPE_CHECKING:
    from reactor.journal.history import History


class Text(click.types.StringParamType):
    """A string that is valid UTF-8, like all names of resources. A command line may have other bytes."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The value, unchanged. Fails if it is not UTF-8."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("it is not valid UTF-8", param, ctx)
        return value


TEXT = Text()


def hint_from(history: History, ref: str) -> str:
    """The hint for a name that is not in the journal."""
    from reactor.graph.names import Names

    names = Names((), [*history.refs(), *history.aliases()])
    others = "'reactor status --all' lists all resources" if "#" in ref else "a resource is written kind#name"
    return names.hint(ref) or others


def warn_if_unknown(history: History, pattern: str) -> None:
    """Warn if no resource in the journal matches ``pattern``."""
    from reactor.graph.globs import covers

    if not any(covers(pattern, (name,)) for name in (*history.refs(), *history.aliases())):
        warn(f"the journal has no resource {pattern}; {hint_from(history, pattern)}")

"""Names of resources that people write: what is no text is refused, and what nobody is called like leads to the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reactor.cli.messages import warn

if TYPE_CHECKING:
    from reactor.journal.history import History


class Text(click.types.StringParamType):
    """What is compared with names, or kept with them: a command line can hold what is no text, names are texts."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.fail("there is something in it that is not UTF-8 text", param, ctx)
        return value


TEXT = Text()


def hint_from(history: History, ref: str) -> str:
    """What somebody may have meant by a name that the journal does not know."""
    from reactor.graph.names import Names

    names = Names((), [*history.refs(), *history.aliases()])
    others = (
        "'reactor status --all' shows those it knows" if "#" in ref else "a resource is written kind#name"
    )
    return names.hint(ref) or others


def warn_if_unknown(history: History, pattern: str) -> None:
    """Say so when the journal knows nothing that is called like ``pattern``: what it shows of that is empty."""
    from reactor.graph.names import covers

    if not any(covers(pattern, (name,)) for name in (*history.refs(), *history.aliases())):
        warn(f"the journal knows no resource {pattern}; {hint_from(history, pattern)}")

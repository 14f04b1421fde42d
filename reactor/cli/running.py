"""What the commands about a run share: its state directory, the names it knows, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reactor.cli.messages import fail, hinted, warn

if TYPE_CHECKING:
    from reactor.journal.history import History

_Command = TypeVar("_Command", bound=Callable[..., Any])


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


def state_dir_option(command: _Command) -> _Command:
    """The option ``--state-dir``, as ``run`` has it."""
    option = click.option(
        "--state-dir",
        metavar="DIR",
        type=click.Path(file_okay=False),
        help="The state directory of the run.  [default: $REACTOR_STATE_DIR, or /var/lib/reactor for root, else ~/.local/state/reactor]",
    )
    return option(command)


def directory_of(option: str | None) -> str:
    """The state directory that is meant."""
    from reactor.journal.state_directory import ENVIRONMENT_VARIABLE, locate

    location = locate(option)
    if location is None:
        error = click.UsageError("you have no home directory to keep state in")
        raise hinted(error, f"name the state directory with --state-dir or {ENVIRONMENT_VARIABLE}")
    return location.path


@contextmanager
def refusing() -> Iterator[None]:
    """Tell what the converger does not do, with its hint, and end the command as for bad usage."""
    from reactor.control.client import RefusedError

    try:
        yield
    except RefusedError as error:
        fail(error.message, error.hint)


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
    from reactor.graph.globs import covers

    if not any(covers(pattern, (name,)) for name in (*history.refs(), *history.aliases())):
        warn(f"the journal knows no resource {pattern}; {hint_from(history, pattern)}")

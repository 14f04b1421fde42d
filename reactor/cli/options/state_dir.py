"""The option that names a state directory, in every command that has to do with runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from reactor.cli.messages import with_hint

_Command = TypeVar("_Command", bound=Callable[..., Any])


def state_dir_option(command: _Command) -> _Command:
    """The option ``--state-dir``, as ``run`` has it."""
    option = click.option(
        "--state-dir",
        metavar="DIR",
        type=click.Path(file_okay=False, readable=False),  # what we may not read has better words
        help="The state directory of the run.  [default: $REACTOR_STATE_DIR, or /var/lib/reactor for root, else ~/.local/state/reactor]",
    )
    return option(command)


def directory_of(option: str | None) -> str:
    """The state directory that is meant."""
    from reactor.journal.state_directory import ENVIRONMENT_VARIABLE, locate

    location = locate(option)
    if location is None:
        error = click.UsageError("you have no home directory to keep state in")
        raise with_hint(error, f"name the state directory with --state-dir or {ENVIRONMENT_VARIABLE}")
    return location.path


def hint_about(directory: str) -> str | None:
    """Why nothing was found in a state directory, if that is because of who asks."""
    from reactor.journal.state_directory import SYSTEM_DIRECTORY, locate

    if os.path.isdir(directory) and not os.access(directory, os.R_OK | os.X_OK):
        return "ask as the user who runs it"
    default = locate()
    if default is None or default.chosen or default.path != directory or directory == SYSTEM_DIRECTORY:
        return None
    where = f"what root runs, such as the service, keeps its state in {SYSTEM_DIRECTORY}: ask with sudo"
    return where if os.path.isdir(SYSTEM_DIRECTORY) else None

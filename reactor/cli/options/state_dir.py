"""The option ``--state-dir``, and the state directory that a command uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from reactor.cli.messages import fail_for, with_hint

_Command = TypeVar("_Command", bound=Callable[..., Any])


def state_dir_option(command: _Command) -> _Command:
    """The option ``--state-dir``, as ``run`` has it."""
    option = click.option(
        "--state-dir",
        metavar="DIR",
        type=click.Path(
            file_okay=False, readable=False
        ),  # a directory that can't be read is reported later, with a hint
        help="Use this state directory.  [default: $REACTOR_STATE_DIR, or /var/lib/reactor for root, else ~/.local/state/reactor]",
    )
    return option(command)


def directory_of(option: str | None) -> str:
    """The state directory: the option, or the default. Raises UsageError if there is no default."""
    from reactor.journal.state_directory import ENVIRONMENT_VARIABLE, locate

    location = locate(option)
    if location is None:
        error = click.UsageError("there is no home directory for the state directory")
        raise with_hint(error, f"name the state directory with --state-dir or {ENVIRONMENT_VARIABLE}")
    return location.path


def require_own_directory(directory: str) -> None:
    """Make the state directory unless it is there; end the command if another user could put a symlink into it."""
    from reactor.journal.state_directory import StateDirectory, StateDirectoryError

    try:
        StateDirectory.make(directory)
    except StateDirectoryError as error:
        fail_for(error)


def hint_about(directory: str) -> str | None:
    """The hint if a state directory is empty or unreadable because another user runs reactor; else None."""
    from reactor.journal.state_directory import SYSTEM_DIRECTORY, locate

    if os.path.isdir(directory) and not os.access(directory, os.R_OK | os.X_OK):
        return "run the command as the user who runs reactor"
    default = locate()
    if default is None or default.chosen or default.path != directory or directory == SYSTEM_DIRECTORY:
        return None
    where = f"runs of root, such as the service, keep their state in {SYSTEM_DIRECTORY}: use sudo"
    return where if os.path.isdir(SYSTEM_DIRECTORY) else None

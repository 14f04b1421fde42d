"""What commands say on stderr besides what they were asked for, and how they end when they can't go on."""

from __future__ import annotations

from typing import NoReturn

import click

from reactor.cli import exitcodes


def fail(message: str, hint: str | None, exit_code: int = exitcodes.BAD_USAGE) -> NoReturn:
    """End the command. It says what is wrong and how to mend it."""
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    raise click.exceptions.Exit(exit_code)


def warn(message: str) -> None:
    """Something the person should know."""
    click.echo(f"warning: {message}", err=True)

"""``reactor init``: writes the files of something new."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.messages import fail, with_hint


@click.group(cls=SuggestingGroup, short_help="Create a role.")
def init() -> None:
    """Write the files of something new, to be edited.

    \b
    Example:
      reactor init role mail
    """


@init.command(short_help="Write the files of a new role.")
@click.argument("name")
@click.option(
    "--directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), default=Path("roles"),
    show_default=True, help="Write the role into the directory NAME in DIR.",
)  # fmt: skip
def role(name: str, directory: Path) -> None:
    """Write a role NAME: a manifest with parameters, data and outputs, a template, and tests that pass.

    Files that exist are never changed: then the command fails.

    Exit codes: 0 done; 1 a file is there already or can't be written; 2 bad usage.

    \b
    Examples:
      reactor init role web
      reactor init role web --directory /tmp/roles
    """
    from reactor.cli.output_files import create_output
    from reactor.resource.plan import ResourceError
    from reactor.roles.skeleton import files_of_role

    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", name):
        error = click.BadParameter(f"{name!r} can't be the name of a role", param_hint="'NAME'")
        raise with_hint(error, "use letters, digits, - and _")
    home = directory.absolute() / name
    if os.path.lexists(home):
        fail("R0704", f"{home} already exists", "choose another name, or another --directory", 1)
    owner, group = ("root", "root") if os.geteuid() == 0 else (str(os.geteuid()), str(os.getegid()))
    try:
        for path, text in files_of_role(name, owner, group).items():
            create_output(str(home / path), text)
            click.echo(f"wrote {directory / name / path}")
    except ResourceError as error:
        fail("R0704", f"can't write {home}: {error.message}", error.hint, 1)
    except OSError as error:
        fail("R0704", f"can't write {home}: {error.strerror}", None, 1)
    click.echo(f"next:  reactor test {directory / name / 'tests'}")

"""``reactor example``: write a manifest to try things with, for the user who asks and a directory of theirs."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

import click

from reactor.cli.messages import fail, hinted

_DIRECTORY = "/srv/reactor-example"
_OWNER = "owner: root"
_GROUP = "group: root"
"""What the examples say as they stand; all three are replaced."""

_NAMES = ("quickstart", "webserver", "broken")


@click.command(short_help="Write a manifest to try things with.")
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def example(name: str, directory: Path) -> None:
    """Write the example manifest NAME into DIRECTORY, made where missing.

    The manifest keeps files below DIRECTORY and is owned by you, so running it needs no root and touches nothing
    else.

    \b
    quickstart  a directory, two files, and a command that runs when one changes
    webserver   a configuration that is checked before the server reloads it
    broken      mistakes, to see how they are reported

    \b
    Example:
      reactor example quickstart /tmp/reactor-quickstart
    """
    target = directory.absolute() / f"{name}.yaml"
    if not re.fullmatch(r"[\w./+@-]+", str(target), re.ASCII):
        error = click.BadParameter("the path goes into commands unquoted", param_hint="'DIRECTORY'")
        raise hinted(error, "keep to letters, digits and ./+@_-")
    _write_new(target, _tailored(name, target.parent))
    click.echo(f"wrote {target}")
    command = "validate" if name == "broken" else "run --converge-once"
    click.echo(f"next:  reactor {command} {target}")


def _tailored(name: str, directory: Path) -> str:
    text = (files("reactor.cli") / "examples" / f"{name}.yaml").read_text()
    text = text.replace(_OWNER, f'owner: "{os.getuid()}"').replace(_GROUP, f'group: "{os.getgid()}"')
    return text.replace(_DIRECTORY, str(directory))


def _write_new(target: Path, text: str) -> None:
    """Create the file. One that is there already stays, and must say the same."""
    from reactor.cli.output_files import create_output, read_output
    from reactor.resource.plan import ResourceError

    try:
        create_output(str(target), text)
    except FileExistsError:
        if read_output(str(target)) != text:
            fail("R0704", f"{target} is there already", "name another directory", 1)
    except ResourceError as error:
        fail("R0704", f"can't write {target}: {error.message}", error.hint, 1)

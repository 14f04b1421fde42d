"""``reactor example``: writes an example manifest for the current user and a directory."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

import click

from reactor.cli.messages import fail, with_hint

_DIRECTORY = "/srv/reactor-example"
_OWNER = "owner: root"
_GROUP = "group: root"
"""The directory, owner and group in the packaged examples. ``reactor example`` replaces all three."""

_NAMES = ("quickstart", "webserver", "broken")


@click.command(short_help="Write an example manifest.")
@click.argument("name", type=click.Choice(_NAMES), metavar="NAME")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def example(name: str, directory: Path) -> None:
    """Write the example manifest NAME into DIRECTORY, and create the directory if needed.

    The manifest manages files below DIRECTORY only, and they belong to you. So it needs no root.

    \b
    quickstart  a directory, two files, and a command that runs on a change
    webserver   a configuration that is validated before the server reloads it
    broken      mistakes, to show how they are reported

    \b
    Example:
      reactor example quickstart /tmp/reactor-quickstart
    """
    target = directory.absolute() / f"{name}.yaml"
    if not re.fullmatch(r"[\w./+@-]+", str(target), re.ASCII):
        error = click.BadParameter(
            "the example uses the path in commands, unquoted", param_hint="'DIRECTORY'"
        )
        raise with_hint(error, "use only letters, digits and ./+@_-")
    _write_new(target, _tailored(name, target.parent))
    click.echo(f"wrote {target}")
    command = "validate" if name == "broken" else "run --converge-once"
    click.echo(f"next:  reactor {command} {target}")


def _tailored(name: str, directory: Path) -> str:
    text = (files("reactor.cli") / "examples" / f"{name}.yaml").read_text()
    text = text.replace(_OWNER, f'owner: "{os.getuid()}"').replace(_GROUP, f'group: "{os.getgid()}"')
    return text.replace(_DIRECTORY, str(directory))


def _write_new(target: Path, text: str) -> None:
    """Create the file. An existing file is kept; the command fails if its content differs."""
    from reactor.cli.output_files import create_output, read_output
    from reactor.resource.plan import ResourceError

    try:
        create_output(str(target), text)
    except FileExistsError:
        if read_output(str(target)) != text:
            fail("R0704", f"{target} already exists", "name another directory", 1)
    except ResourceError as error:
        fail("R0704", f"can't write {target}: {error.message}", error.hint, 1)

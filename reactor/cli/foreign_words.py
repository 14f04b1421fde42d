"""Commands and options of CCM, Ansible, Puppet and Terraform: each leads to what does the same here."""

from __future__ import annotations

from typing import Final

import click

COMMANDS: Final = {
    "apply": "run --converge-once",
    "converge": "run --converge-once",
    "plan": "run --converge-once --noop",
    "agent": "run",
    "hiera": "data",
}
"""What to write for a command of others."""

KINDS: Final = {"pkg": "package", "svc": "service"}
"""What CCM calls some kinds."""

_OPTIONS: Final = {
    "--check": "--noop",
    "--dry-run": "--noop",
    "--tags": "--only",
    "--skip-tags": "--exclude",
    "--onetime": "--converge-once",
}


def option_for(error: click.NoSuchOption) -> str | None:
    """The option of the same command that says what the unknown one says elsewhere."""
    meant = _OPTIONS.get(error.option_name)
    known = error.ctx.command.params if error.ctx else ()
    return meant if any(meant in parameter.opts for parameter in known) else None

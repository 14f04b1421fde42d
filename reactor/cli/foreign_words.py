"""Commands and options of CCM, Ansible, Puppet, Terraform and others, each with the equivalent here."""

from __future__ import annotations

from typing import Final

import click

COMMANDS: Final = {
    "apply": "run --converge-once",
    "converge": "run --converge-once",
    "plan": "run --converge-once --noop",
    "diff": "run --converge-once --noop --diff",
    "hiera": "data",
    "check": "validate",
    "lint": "validate",
    "list": "status --all",
    "history": "events",
    "log": "events",
    "logs": "events",
    "rollback": "restore",
    "undo": "restore",
    "describe": "kinds",
    "doc": "kinds",
    "help": "--help",
}
"""Command of another program -> the command here."""

KINDS: Final = {"pkg": "package", "svc": "service"}
"""Name of a kind in CCM -> the name here."""

_OPTIONS: Final = {
    "--check": "--noop",
    "--tags": "--only",
    "--skip-tags": "--exclude",
    "--limit": "--only",
    "--once": "--converge-once",
    "--oneshot": "--converge-once",
    "--onetime": "--converge-once",
}


def option_for(error: click.NoSuchOption) -> str | None:
    """The option of the command that does what the unknown option ``error`` does in another program."""
    meant = _OPTIONS.get(error.option_name)
    known = error.ctx.command.params if error.ctx else ()
    return meant if any(meant in parameter.opts for parameter in known) else None

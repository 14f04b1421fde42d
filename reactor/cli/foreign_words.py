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
    "facter": "facts",
    "lookup": "data",
    "playbook": "run --converge-once",
    "resource": "show",
    "setup": "facts",
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
    "-C": "--noop",
    "-D": "--diff",
    "-b": "--sudo",
    "--become": "--sudo",
    "-e": "--data",
    "--extra-vars": "--data",
    "--test": "--converge-once",
    "--tags": "--only",
    "--skip-tags": "--exclude",
    "--limit": "--only",
    "--once": "--converge-once",
    "--oneshot": "--converge-once",
    "--onetime": "--converge-once",
}


_SENTENCES: Final = {
    "-i": "an inventory is for 'reactor push DIRECTORY -i INVENTORY'",
    "--inventory": "an inventory is for 'reactor push DIRECTORY -i INVENTORY'",
    "-b": "everything is done as the user who starts reactor: start it with sudo",
    "--become": "everything is done as the user who starts reactor: start it with sudo",
}
"""Option of another program -> what to do, where no option does the same."""


def sentence_for(error: click.NoSuchOption) -> str | None:
    """What to do instead of giving the unknown option ``error``, which no option here replaces; None for others."""
    return _SENTENCES.get(error.option_name)


def option_for(error: click.NoSuchOption) -> str | None:
    """The option of the command that does what the unknown option ``error`` does in another program."""
    meant = _OPTIONS.get(error.option_name)
    known = error.ctx.command.params if error.ctx else ()
    return meant if any(meant in parameter.opts for parameter in known) else None

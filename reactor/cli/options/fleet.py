"""Options of the commands of ``reactor fleet``."""

from __future__ import annotations

import click

HOME = "/etc/reactor/fleet"

home_option = click.option(
    "--home",
    default=HOME,
    show_default=True,
    envvar="REACTOR_FLEET_HOME",
    metavar="DIR",
    help="Use the keys and credentials in DIR.",
)
why_option = click.option("--why", default="", metavar="TEXT", help="Give the reason; others see it.")
where_option = click.option(
    "-l",
    "--limit",
    "where",
    default="",
    metavar="WHERE",
    help="Choose hosts: 'web*', group:eu, channel:web, failed, silent, 'serial<42', \"facts.os == 'debian'\".",
)
key_option = click.option(
    "--key",
    metavar="FILE",
    default="~/.ssh/id_ed25519",
    show_default=True,
    help="Sign with this Ed25519 key, or with that of this .pub file in the agent.",
)
channel_argument = click.argument("channel")
host_argument = click.argument("host")

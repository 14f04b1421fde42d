"""``reactor notify test``: sends a test message through the channels that a manifest declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.messages import fail, reporting_manifest_errors
from reactor.cli.options.inputs import inputs_options, manifests_argument
from reactor.resource.redaction import redact

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs
    from reactor.manifest.notify_channels import Channel


@click.group(cls=SuggestingGroup, short_help="Test the channels for notifications.")
def notify() -> None:
    """Test the channels for notifications that a manifest declares under 'notify'.

    \b
    Examples:
      reactor notify test site.yaml
    """


@notify.command(short_help="Send a test message.")
@manifests_argument
@click.option(
    "--channel", "names", multiple=True, metavar="NAME", help="Send only through this channel. Repeatable."
)
@inputs_options
def test(manifests: tuple[str, ...], names: tuple[str, ...], inputs: Callable[[], Inputs]) -> None:
    """Send a test message through each channel that the manifests declare, and show whether it was accepted.

    Nothing else is done: no resource is checked. The secrets that the channels use are read.

    Exit codes: 0 all accepted; 1 one was not; 2 bad usage or invalid manifest.

    \b
    Examples:
      reactor notify test site.yaml
      reactor notify test site.yaml --channel page
    """
    from reactor.loading import load
    from reactor.secrets.reader import RunSecrets

    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        program = load(manifests, inputs()._replace(secret_reader=RunSecrets()))
    channels = program.channels
    if not channels:
        fail("R0138", "the manifest declares no channels", "add the section 'notify'", exitcodes.BAD_USAGE)
    for name in names:
        if name not in channels:
            known = ", ".join(channels)
            fail("R0138", f"there is no channel {name}", f"the manifest has {known}", exitcodes.BAD_USAGE)
    wanted = {name: channel for name, channel in channels.items() if not names or name in names}
    accepted = [_try(name, channel, program.path) for name, channel in wanted.items()]
    raise click.exceptions.Exit(0 if all(accepted) else 1)


def _try(name: str, channel: Channel, manifest: str) -> bool:
    """Send a test message through ``channel``, and show the result."""
    import trio

    from reactor.notify.errors import SendError
    from reactor.notify.message import Message
    from reactor.notify.sender import send

    try:
        refused = trio.run(send, channel, Message(name, manifest, (), is_test=True))
    except SendError as error:
        click.echo(redact(f"{name}: not accepted: {error.message}"))
        if error.hint:
            click.echo(redact(f"    hint: {error.hint}"))
        return False
    click.echo(f"{name}: accepted" if refused is None else redact(f"{name}: accepted for some: {refused}"))
    return refused is None

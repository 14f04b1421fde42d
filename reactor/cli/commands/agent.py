"""``reactor agent``: runs as CCM's agent is configured."""

from __future__ import annotations

import click

from reactor.cli.options import CONTEXT_VARIABLE
from reactor.cli.options.metrics import metrics_compat_option
from reactor.cli.options.state_dir import state_dir_option


@click.command(short_help="Run with the configuration of CCM's agent.")
@click.option(
    "--config",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Read the configuration of CCM's agent from FILE.",
)
@click.option(
    "--context",
    envvar=CONTEXT_VARIABLE,
    metavar="NAME",
    help=f"Connect with this context of the nats CLI.  [default: ${CONTEXT_VARIABLE}, else nats_context of FILE]",
)
@metrics_compat_option
@state_dir_option
def agent(config: str, context: str | None, metrics_compat: str | None, state_dir: str | None) -> None:
    """Run as CCM's agent is configured in FILE: as 'reactor run' with its manifests, data and registration.

    The manifests run as one: their resources may refer to each other, and none may be declared twice. Health is checked
    every health_check_interval. The settings interval and log_level are accepted, and named as not needed. The metrics
    are served on 127.0.0.1 only.

    Exit codes: those of 'reactor run'; 2 the configuration is wrong.

    \b
    Examples:
      reactor agent --config /etc/choria/ccm/config.yaml
      reactor agent --config /etc/choria/ccm/config.yaml --metrics-compat ccm
    """
    from reactor.cli.commands.run import run
    from reactor.cli.messages import fail_for, warn
    from reactor.cli.running.agent import AgentConfigError, read_config

    try:
        found = read_config(config)
    except AgentConfigError as error:
        fail_for(error)
    if found.unneeded:
        warn(f"{config}: reactor does not need {', '.join(found.unneeded)}: it repairs drift when it happens")
    words = found.words(context)
    if metrics_compat is not None and found.port:
        words += ["--metrics-compat", metrics_compat]
    if state_dir is not None:
        words += ["--state-dir", state_dir]
    # Not standalone, click returns the code of an Exit instead of raising it.
    raise click.exceptions.Exit(run.main(words, prog_name="reactor run", standalone_mode=False))

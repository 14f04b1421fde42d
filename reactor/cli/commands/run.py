"""``reactor run``: converges the host, then keeps repairing drift, or ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.messages import with_hint
from reactor.cli.options.common import Format, dry_run_option, format_option
from reactor.cli.options.inputs import inputs_options, manifests_argument
from reactor.cli.options.live_page import check_live_page_option, ui_option
from reactor.cli.options.metrics import MetricsEndpoint, check_metrics_options, metrics_options
from reactor.cli.options.state_dir import state_dir_option
from reactor.engine.options import DEFAULT_JOBS, RunOptions

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reactor.control.listen_address import Address
    from reactor.journal.state_directory import Location
    from reactor.manifest.inputs import Inputs

_SHORTEST = 0.001
"""Seconds."""

_HELP = """Apply MANIFEST to this host, and keep the host in that state: run as an agent.

MANIFEST is a file, a URL, or a directory whose .yaml and .yml files are manifests. Several manifests run as one:
their resources may refer to each other, and each has its own data.

The whole manifest is validated before anything is changed. Then every resource is checked, in the order of the
dependencies, and repaired if needed. After that reactor waits for events of the kernel, and repairs each resource
that drifts. When the manifest changes, or on SIGHUP, it is reloaded, and only the differences are applied; an
invalid version changes nothing. --noop is a dry run. --converge-once applies the manifest and exits; if a run
with the same inputs is active, that run does the work.

^C ends the run: the first waits for running checks, the second cancels them, the third kills their processes,
except package managers; the fourth does not wait for these either.

Exit codes: 0 all resources are as desired; 1 a resource failed or is blocked;
2 bad usage or an invalid manifest; 130 or 143 ended by a signal.

\b
Examples:
  reactor run site.yaml
  reactor run --converge-once --noop --diff site.yaml
  reactor run /etc/reactor.d
  reactor run --only 'file#/etc/nginx/*' --format json site.yaml
"""


def _complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from reactor.cli.completion_candidates import complete_manifest

    return complete_manifest(context, parameter, begun)


class RunCommand(click.Command):
    """A command that checks combinations of its options."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line, and check it unless it is for shell completion, where it may be incomplete."""
        context = super().make_context(info_name, args, parent, **extra)
        if not context.resilient_parsing:
            _check_option_combinations(context)
        return context


def _check_option_combinations(context: click.Context) -> None:
    if context.params.get("noop") and context.params.get("monitor_only"):
        error = click.UsageError("--noop and --monitor-only can't be used together", context)
        raise with_hint(error, "choose one of them")
    check_metrics_options(context)
    check_live_page_option(context)


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    from reactor.cli.options.times import at_least  # a plain run needs none of it

    return at_least(_SHORTEST)(context, parameter, value)


def _duration_option(name: str, words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(name, callback=_seconds, metavar="DURATION", help=words)


@click.command(cls=RunCommand, short_help="Apply a manifest, and repair drift until stopped.", help=_HELP)
@manifests_argument
@click.option(
    "--converge-once", is_flag=True, help="Exit once the manifest is applied, instead of repairing drift."
)
@dry_run_option("--noop", help="Dry run: show what would be done, and change nothing.")
@click.option("--monitor-only", is_flag=True, help="Run only the health checks, now and at their intervals.")
@click.option("--diff", is_flag=True, help="Show changes as unified diffs.")
@format_option("one JSON object per event")
@_duration_option("--converged-timeout", "Exit once nothing has changed for this long.")
@_duration_option(
    "--health-interval", "Run health checks that set no interval this often.  [default: only once]"
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Run up to N checks at once.  [default: {DEFAULT_JOBS}]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="REF",
    shell_complete=_complete,
    help="Apply only these resources, and those that they require. REF may be a glob: 'file#/etc/*'. Repeatable.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="REF",
    shell_complete=_complete,
    help="Leave out these resources, and those that require them. Repeatable.",
)
@click.option(
    exitcodes.DETAILED,
    is_flag=True,
    help="Exit with 0 for no change, 2 changed, 4 failed, 6 both, 1 bad usage or manifest.",
)
@click.option("--render", is_flag=True, help="Show the manifest as 'reactor render' does, and exit.")
@ui_option
@click.option(
    "--registration",
    type=click.Choice(["nats", "jetstream"]),
    help="Publish register_when_stable by NATS alone, or to a stream.  [default: nowhere]",
)
@click.option(
    "--registration-stream",
    metavar="NAME",
    help="Use this stream for registrations.  [default: REGISTRATION]",
)
@inputs_options
@metrics_options
@state_dir_option
def run(
    manifests: tuple[str, ...], render: bool, converge_once: bool, noop: bool, monitor_only: bool, diff: bool,
    form: Format, converged_timeout: float | None, health_interval: float | None, jobs: int | None,
    only: tuple[str, ...], exclude: tuple[str, ...], detailed_exitcodes: bool, state_dir: str | None,
    inputs: Callable[[], Inputs], ui: Address | None,
    registration: str | None, registration_stream: str | None, endpoint: MetricsEndpoint | None,
) -> None:  # fmt: skip
    """Apply the manifests, and repair drift until stopped. The help is `_HELP`."""
    bad_usage = exitcodes.bad_usage_code(detailed=detailed_exitcodes)
    if render:
        _render(manifests, form, inputs, bad_usage)
        return
    from reactor.cli.options.network import RunNetwork
    from reactor.cli.running.converge import ConvergeCommand
    from reactor.cli.running.state import recording_refused_run
    from reactor.journal.state_directory import locate
    from reactor.secrets.reader import RunSecrets

    options = RunOptions(
        watch=not converge_once or converged_timeout is not None,
        noop=noop,
        monitor_only=monitor_only,
        partial=bool(only or exclude),
        diff=diff,
        health_interval=health_interval,
        converged_timeout=converged_timeout,
    )
    parameters = click.get_current_context().params
    location = locate(state_dir)
    may_ask = not (options.watch or noop or monitor_only)
    differs = _do_as_active_run(location, manifests, parameters) if may_ask else None
    network = RunNetwork("", registration_stream, registers=registration is not None)
    asked = ConvergeCommand(
        manifests, inputs, only, exclude, jobs, options, form, location, bad_usage, RunSecrets(),
        network=network, registration=None if noop else registration, parameters=parameters,
        differs=differs, is_plain=may_ask and _is_plain(click.get_current_context()),
    )  # fmt: skip
    with recording_refused_run(None if noop or monitor_only else location, manifests):
        ended, interruption = asked.converge(endpoint, ui)
    cut_short = interruption.cut_short or (converge_once and interruption.left_work)
    raise click.exceptions.Exit(
        exitcodes.signal_code(interruption.number)
        if cut_short
        else exitcodes.run_code(ended, once=converge_once, detailed=detailed_exitcodes)
    )


def _is_plain(context: click.Context) -> bool:
    """Whether no options are given but those of a plain one-shot run, which a proof may answer."""
    from reactor.cli.plain_run import PLAIN

    sources = {name: context.get_parameter_source(name) for name in context.params}
    return PLAIN.issuperset(
        name for name, source in sources.items() if not source or source.name != "DEFAULT"
    )


def _do_as_active_run(
    location: Location | None, manifests: tuple[str, ...], parameters: Mapping[str, Any]
) -> str | None:
    """End the command if the active run does its work. Otherwise return why it does not; None if there is none."""
    from reactor.journal.state_directory import may_have_run

    if location is None or not may_have_run(location.path):
        return None
    from reactor.cli.asking import ask

    answer = ask(location, manifests, parameters)
    if isinstance(answer, int):
        raise click.exceptions.Exit(answer)
    return None if answer is None else answer.reason


def _render(manifests: tuple[str, ...], form: Format, inputs: Callable[[], Inputs], bad_usage: int) -> None:
    from reactor.cli.commands.render import show_rendered
    from reactor.trust.inputs import trust_everybody

    with trust_everybody():
        show_rendered(manifests, "json" if form == "json" else "yaml", inputs, bad_usage)

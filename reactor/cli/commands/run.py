"""``reactor run``: converge, then stay and repair, or end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_manifest
from reactor.cli.messages import with_hint
from reactor.cli.options.formats import Format, format_option
from reactor.cli.options.inputs import inputs_options, manifests_argument
from reactor.cli.options.live_page import check_live_page_option, ui_option
from reactor.cli.options.metrics import MetricsEndpoint, check_metrics_options, metrics_options
from reactor.cli.options.state_dir import state_dir_option
from reactor.engine.options import DEFAULT_JOBS, RunOptions

if TYPE_CHECKING:
    from reactor.control.address import Address
    from reactor.manifest.inputs import Inputs

_HELP = """Bring this host into the state MANIFEST describes, and keep it there.

MANIFEST is a file, a URL, or a directory whose .yaml and .yml files are manifests. Several run as one: their
resources may refer to each other, and each keeps its own data.

The whole manifest is validated before anything is touched. Then every resource is checked, in the order its
dependencies ask for, and repaired where needed. After that reactor sleeps until the kernel reports a change,
and repairs what has drifted. When the manifest itself changes, or on SIGHUP, it is loaded anew and only what
differs is touched; an invalid one changes nothing. ^C ends it: the first waits for what is running, the second
cancels it, the third kills it, but for package managers: for these, the fourth does not wait.

Exit codes: 0 all is as desired; 1 something failed or is blocked;
2 bad usage or an invalid manifest; 130 or 143 cut short by a signal.

\b
Examples:
  reactor run site.yaml
  reactor run --converge-once --noop --diff site.yaml
  reactor run /etc/reactor.d
  reactor run --only 'file#/etc/nginx/*' --format json site.yaml
"""


class RunCommand(click.Command):
    """A command some of whose options contradict each other."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line. One that is being completed may still become what it is to be."""
        context = super().make_context(info_name, args, parent, **extra)
        if not context.resilient_parsing:
            _check_option_combinations(context)
        return context


def _check_option_combinations(context: click.Context) -> None:
    if context.params.get("noop") and context.params.get("monitor_only"):
        error = click.UsageError("--noop and --monitor-only can't go together", context)
        raise with_hint(error, "choose one of them")
    check_metrics_options(context)
    check_live_page_option(context)


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("give a number of seconds")
    return value


@click.command(cls=RunCommand, short_help="Converge, then stay and repair.", help=_HELP)
@manifests_argument
@click.option(
    "--converge-once", is_flag=True, help="End when nothing is left to do, instead of staying to repair."
)
@click.option("--noop", is_flag=True, help="Only say what would be done. Changes nothing.")
@click.option(
    "--monitor-only", is_flag=True, help="Only run the health checks, at once and on their intervals."
)
@click.option("--diff", is_flag=True, help="Show what changes as unified diffs.")
@format_option("one JSON object per event")
@click.option(
    "--converged-timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="End once nothing has changed for this long.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many checks may run at once.  [default: {DEFAULT_JOBS}]",
)
@click.option(
    "--only",
    multiple=True,
    metavar="REF",
    shell_complete=complete_manifest,
    help="Only these resources, and what they require. REF may be a glob: 'file#/etc/*'. Repeatable.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="REF",
    shell_complete=complete_manifest,
    help="All but these, and what requires them. Repeatable.",
)
@click.option(
    exitcodes.DETAILED,
    is_flag=True,
    help="0 nothing changed, 2 changed, 4 failed, 6 both, 1 bad usage or manifest.",
)
@click.option(
    "--render", is_flag=True, help="Only show the manifest as it is after loading, as reactor render does."
)
@ui_option
@inputs_options
@metrics_options
@state_dir_option
def run(
    manifests: tuple[str, ...],
    render: bool,
    converge_once: bool,
    noop: bool,
    monitor_only: bool,
    diff: bool,
    form: Format,
    converged_timeout: float | None,
    jobs: int | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    detailed_exitcodes: bool,
    state_dir: str | None,
    inputs: Callable[[], Inputs],
    ui: Address | None,
    endpoint: MetricsEndpoint | None,
) -> None:
    """Bring the host into the state of manifests, and keep it there; the help is `_HELP`."""
    from reactor.cli.running.converge import ConvergeCommand
    from reactor.journal.state_directory import locate

    bad_usage = exitcodes.bad_usage_code(detailed=detailed_exitcodes)
    if render:
        from reactor.cli.commands.render import show_rendered
        from reactor.trust.inputs import trust_everybody

        with trust_everybody():
            show_rendered(manifests, "json" if form == "json" else "yaml", inputs, bad_usage)
        return
    options = RunOptions(
        watch=not converge_once or converged_timeout is not None,
        noop=noop,
        monitor_only=monitor_only,
        partial=bool(only or exclude),
        diff=diff,
        converged_timeout=converged_timeout,
    )
    asked = ConvergeCommand(
        manifests, inputs, only, exclude, jobs, options, form, locate(state_dir), bad_usage
    )
    ended, interruption = asked.converge(endpoint, ui)
    code = exitcodes.run_code(ended, once=converge_once, detailed=detailed_exitcodes)
    if interruption.cut_short or (converge_once and interruption.left_work):
        code = exitcodes.signal_code(interruption.number)
    raise click.exceptions.Exit(code)

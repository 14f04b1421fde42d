"""``reactor run``: converge, then stay and repair, or end."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from reactor.cli import exitcodes
from reactor.cli.completing import complete_manifest
from reactor.cli.inputs import inputs_options
from reactor.cli.manifests import rejecting
from reactor.cli.metrics import Exposure, listening, metrics_options, refuse_exposure
from reactor.cli.render import show_rendered
from reactor.cli.running import state_dir_option
from reactor.console.introduction import message_record, selection_record, selection_text
from reactor.engine.options import DEFAULT_JOBS, Options

if TYPE_CHECKING:
    from reactor.cli.reloading import Generation
    from reactor.cli.session import Company
    from reactor.cli.signals import Interruption
    from reactor.cli.state import State
    from reactor.console.display import Display
    from reactor.control.control import Control
    from reactor.engine.events import Ended
    from reactor.graph.graph import Graph
    from reactor.graph.select import Selection
    from reactor.journal.state_directory import Location
    from reactor.loading import Program
    from reactor.manifest.inputs import Inputs
    from reactor.metrics.tally import Tally
    from reactor.service.reporter import Reporter

    _Load = Callable[[], tuple[Program, Selection | None]]

DETAILED = "--detailed-exitcodes"


class DetailedUsageError(click.UsageError):
    """Wrong usage with detailed exit codes, where 2 means "changed"."""

    exit_code = exitcodes.of_bad_usage(detailed=True)


class RunCommand(click.Command):
    """A command whose usage errors respect ``--detailed-exitcodes``."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line."""
        detailed = DETAILED in args
        try:
            return _without_contradictions(super().make_context(info_name, args, parent, **extra))
        except click.UsageError as error:
            if not detailed:
                raise
            raise DetailedUsageError(error.format_message(), error.ctx) from error


def _without_contradictions(context: click.Context) -> click.Context:
    if context.params.get("noop") and context.params.get("monitor_only"):
        raise click.UsageError("--noop and --monitor-only can't go together: choose one of them", context)
    refuse_exposure(context)
    return context


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("give a number of seconds")
    return value


@click.command(cls=RunCommand, short_help="Converge, then stay and repair.")
@click.argument("manifest", type=click.Path())
@click.option(
    "--converge-once", is_flag=True, help="End when nothing is left to do, instead of staying to repair."
)
@click.option("--noop", is_flag=True, help="Only say what would be done. Changes nothing.")
@click.option(
    "--monitor-only", is_flag=True, help="Only run the health checks, at once and on their intervals."
)
@click.option("--diff", is_flag=True, help="Show what changes as unified diffs.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines for people, or one JSON object per event.",
)
@click.option(
    "--converged-timeout",
    type=click.FloatRange(min=0),
    callback=_finite,
    metavar="SECONDS",
    help="End once nothing has changed for so long.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Checks that may run at once.  [default: {DEFAULT_JOBS}]",
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
    DETAILED, is_flag=True, help="0 nothing changed, 2 changed, 4 failed, 6 both, 1 bad usage or manifest."
)
@click.option(
    "--render", is_flag=True, help="Only show the manifest as it is after loading, as reactor render does."
)
@metrics_options
@inputs_options
@state_dir_option
def run(
    manifest: str,
    render: bool,
    converge_once: bool,
    noop: bool,
    monitor_only: bool,
    diff: bool,
    form: Literal["text", "json"],
    converged_timeout: float | None,
    jobs: int | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    detailed_exitcodes: bool,
    state_dir: str | None,
    inputs: Callable[[], Inputs],
    exposure: Exposure | None,
) -> None:
    """Bring this host into the state MANIFEST describes, and keep it there.

    The whole manifest is validated before anything is touched. Then every resource is checked, in the order its
    dependencies ask for, and repaired where needed. After that reactor sleeps until the kernel reports a change,
    and repairs what has drifted. When the manifest itself changes, or on SIGHUP, it is loaded anew and only what
    differs is touched; an invalid one changes nothing. ^C ends it: the first waits for what is running, the second cancels it, the
    third kills it.

    \b
    Exit codes: 0 all is as desired; 1 something failed or is blocked;
    2 bad usage or an invalid manifest; 130 or 143 cut short by a signal.

    \b
    Examples:
      reactor run site.yaml
      reactor run --converge-once --noop --diff site.yaml
      reactor run --only 'file#/etc/nginx/*' --format json site.yaml
    """
    from reactor.cli.reloading import Reloader
    from reactor.cli.session import Company
    from reactor.journal.state_directory import locate

    location = locate(state_dir)
    bad_usage = exitcodes.of_bad_usage(detailed=detailed_exitcodes)
    if render:
        show_rendered(manifest, "json" if form == "json" else "yaml", inputs, bad_usage)
        return
    load = partial(_load, manifest, inputs, only, exclude, location)
    with rejecting(as_json=form == "json", exit_code=bad_usage):
        program, selection = load()
    asked = Options(
        watch=not converge_once or converged_timeout is not None,
        noop=noop,
        monitor_only=monitor_only,
        partial=bool(only or exclude),
        diff=diff,
        converged_timeout=converged_timeout,
    )
    options = _paced(asked, jobs, program)
    reporter = _reporter()
    anew = partial(_generation, load, asked, jobs, reporter)
    reloader = Reloader(manifest, program.files, program.inputs, anew)
    with listening(exposure, bad_usage) as port:
        company = Company(reloader, metrics_port=port, reporter=reporter)
        ended, interruption = _converge(program, selection, options, form, company, location, bad_usage)
    code = exitcodes.of_run(ended, once=converge_once, detailed=detailed_exitcodes)
    if interruption.cut_short or (interruption.taken and converge_once and ended.left):
        code = exitcodes.of_signal(interruption.number)
    raise click.exceptions.Exit(code)


def _load(
    manifest: str,
    inputs: Callable[[], Inputs],
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    location: Location | None,
) -> tuple[Program, Selection | None]:
    from reactor.cli.state import refuse_managed
    from reactor.loading import load

    program = load(manifest, inputs())
    refuse_managed(program.graph.resources.values(), location)
    if not (only or exclude):
        return program, None
    from reactor.graph.select import select

    return program, select(program.graph, only, exclude)


def _paced(options: Options, jobs: int | None, program: Program) -> Options:
    """``options`` with what the settings of the manifest say; ``jobs`` of the command line goes before."""
    settings = program.settings
    fail_fast = settings.fail_fast and not options.monitor_only  # whoever only looks wants to see everything
    return replace(options, jobs=jobs or settings.jobs or DEFAULT_JOBS, fail_fast=fail_fast)


def _reporter() -> Reporter | None:
    from reactor.service.notify import Notifier
    from reactor.service.reporter import Reporter

    notifier = Notifier.from_environment()
    return None if notifier is None else Reporter(notifier)


def _generation(load: _Load, options: Options, jobs: int | None, reporter: Reporter | None) -> Generation:
    from reactor.cli.reloading import Generation

    if reporter is not None:
        reporter.loading()
    program, selection = load()
    return Generation(
        _graph(program, selection), _paced(options, jobs, program), program.files, program.inputs
    )


def _graph(program: Program, selection: Selection | None) -> Graph:
    return selection.graph if selection else program.graph


def _converge(
    program: Program,
    selection: Selection | None,
    options: Options,
    form: Literal["text", "json"],
    company: Company,
    location: Location | None,
    bad_usage: int,
) -> tuple[Ended, Interruption]:
    from reactor.cli.session import converge
    from reactor.cli.state import opened, stateless
    from reactor.console.display import Display
    from reactor.metrics.tally import Tally
    from reactor.resource.registry import watcher_names

    graph = _graph(program, selection)
    display = Display(form, resources=len(graph.resources), continuous=options.watch)
    remembering = (
        stateless()
        if options.noop or options.monitor_only
        else opened(location, program.path, display.warn, bad_usage)
    )
    try:
        with remembering as state:
            _introduce(program, selection, display)
            tally = Tally(graph.refs, watcher_names(), time.time())
            control = _control(program, graph, options, state, display, tally)
            company = replace(
                company,
                journal=state.journal,
                backups=state.backups,
                control=control,
                tally=tally if options.watch else None,
            )
            ended, interruption = converge(graph, options, display, company)
        display.summarize(ended)
        if program.post_message and exitcodes.is_all_well(ended):
            display.say(program.post_message, message_record(program.post_message))
    finally:
        display.flush()
    return ended, interruption


def _introduce(program: Program, selection: Selection | None, display: Display) -> None:
    for warning in program.warnings:
        display.warn(warning)
    if program.pre_message:
        display.say(program.pre_message, message_record(program.pre_message))
    if selection:
        total = len(program.graph.resources)
        display.say(selection_text(selection, total), selection_record(selection, total))


def _control(
    program: Program, graph: Graph, options: Options, state: State, display: Display, tally: Tally
) -> Control | None:
    from reactor.control.board import RunFacts
    from reactor.control.control import Control

    if state.directory is None:
        return None
    facts = RunFacts(program.path, os.getpid(), time.time(), noop=options.noop)
    return Control(state.directory.path, facts, graph.refs, display.warn, tally, listens=options.watch)

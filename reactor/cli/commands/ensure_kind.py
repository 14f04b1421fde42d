"""``reactor ensure KIND``: the command for one kind, with options generated from the properties of the kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.completion_candidates import complete_session
from reactor.cli.messages import fail, show_diagnostics, warn
from reactor.cli.options.common import DryRun, Format
from reactor.cli.options.inputs import single_resource_options
from reactor.cli.options.kind_options import KindOptions
from reactor.cli.options.state_dir import state_dir_option
from reactor.cli.running.engine_run import RunServices, converge
from reactor.cli.running.single_resource import (
    backups_of,
    blocked,
    ensured,
    reporting_session_errors,
    session_of,
    session_prerequisites,
)
from reactor.cli.running.state import refuse_own_state
from reactor.console.display import Display
from reactor.engine.events import Blocked, Event, Result, Skipped
from reactor.engine.options import RunOptions
from reactor.ensure.command_line import CommandLine, Given
from reactor.ensure.entry import Entry, load_entry, unknown
from reactor.ensure.sessions import Ensured, Prerequisites, UnknownNameError
from reactor.journal.state_directory import locate
from reactor.manifest.kind_lookup import INSTALLED, UnusableKind, look_up
from reactor.manifest.source import COMMAND_LINE, Problems
from reactor.resource.backup_store import state_directory_for
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, ManifestError

if TYPE_CHECKING:
    from reactor.manifest.inputs import Inputs

OPTIONS = (
    DryRun(["--noop"], help="Dry run: show what would be done, and change nothing."),
    click.Option(["--diff"], is_flag=True, help="Show changes as unified diffs."),
    click.Option(
        ["--require"], multiple=True, metavar="REF", shell_complete=complete_session,
        help="Apply only if REF, an earlier resource of the session, succeeded. Repeatable.",
    ),
    click.Option(
        ["--subscribe", "-S"], multiple=True, metavar="REF", shell_complete=complete_session,
        help="Like --require, and refresh if REF has changed. Repeatable.",
    ),
    click.Option(["condition", "--if"], metavar="EXPR", help="Apply only if this expression is true."),
    click.Option(["exception", "--unless"], metavar="EXPR", help="Do not apply if this expression is true."),
    click.Option(
        ["--check"], multiple=True, metavar="COMMAND",
        help="Run this health check afterwards, a Nagios plugin. Repeatable.",
    ),
    click.Option(["--check-tries"], metavar="N", help="Run the health check up to N times, until it is ok.  [default: 1]"),
    click.Option(["--check-sleep"], metavar="DURATION", help="Wait this long between tries.  [default: 1s]"),
    click.Option(
        ["form", "--format"], type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="Write text, or one JSON object per event.",
    ),
    click.Option(
        ["--session"], metavar="DIR", help="Use this session.  [default: $REACTOR_SESSION]"
    ),
    click.Option(
        [exitcodes.DETAILED], is_flag=True, help="Exit with 0 for no change, 2 changed, 4 failed, 6 both, 1 bad usage."
    ),
)  # fmt: skip
"""The options of every command, besides the options for the properties of its kind."""


def kind_command(kind: str) -> click.Command:
    """The command ``reactor ensure KIND``. Ends the command if the kind can't be loaded."""
    model = found_kind(kind)

    @click.command(kind, params=[*OPTIONS], help=_help(model))
    @single_resource_options
    @state_dir_option
    def command(inputs: Callable[[], Inputs], **given: Any) -> None:
        Call(options, given).make(inputs)

    options = KindOptions(model, beside=command.params)
    command.params = [*options.parameters(), *command.params]
    return command


def found_kind(kind: str) -> type[Resource]:
    """The class of the kind. Ends the command if it can't be loaded."""
    model = look_up(INSTALLED, kind)
    if isinstance(model, UnusableKind):
        fail("R0107", model.message, model.hint, 1)
    return model


class Call:
    """One call of ``reactor ensure``. ``given`` has the values of all options and arguments."""

    def __init__(self, options: KindOptions, given: dict[str, Any]) -> None:
        self._options = options
        self._kind = options.model.kind
        self._line = options.command_line(("reactor", "ensure", self._kind), given)
        self._form: Format = given["form"]
        self._noop: bool = given["noop"]
        self._diff: bool = given["diff"]
        self._detailed: bool = given["detailed_exitcodes"]
        self._bad_usage = exitcodes.bad_usage_code(detailed=self._detailed)
        self._location = locate(given["state_dir"])
        self._session = session_of(given["session"], self._bad_usage)
        _add_common(self._line, given)

    def make(self, inputs: Callable[[], Inputs]) -> None:
        """Apply the resource, and end the command."""
        problems = Problems(self._line.source)
        try:
            entry = load_entry(problems, self._kind, self._line.body, inputs())
            refuse_own_state(entry.program.graph.resources.values(), self._location)
            prerequisites = self._outlook(entry, problems)
        except ManifestError as error:
            texts = {self._line.source.file: self._line.source.text, **error.texts}
            problems_shown = [self._spoken(each) for each in error.diagnostics]
            show_diagnostics(problems_shown, as_json=self._form == "json", texts=texts)
            raise click.exceptions.Exit(self._bad_usage) from error
        for warning in entry.program.warnings:
            warn(warning)
        display = RecordingDisplay(self._form, resources=len(entry.program.graph.resources))
        try:
            go_on = self._blocked if prerequisites.culprits else self._run
            code = go_on(entry, prerequisites, display)
        finally:
            display.flush()
        raise click.exceptions.Exit(code)

    def _spoken(self, problem: Diagnostic) -> Diagnostic:
        """The problem; the hint for an option has options, not properties."""
        if problem.place is None or problem.place.file != COMMAND_LINE:
            return problem
        if problem.hint:
            return problem._replace(hint=self._options.spoken(problem.hint))
        if problem.message.startswith("ensure must be "):  # as in 'ensure sysctl vm.swappiness 10'
            hint = f"all else is an option: see 'reactor ensure {self._kind} --help'"
            return problem._replace(hint=hint)
        return problem

    def _outlook(self, entry: Entry, problems: Problems) -> Prerequisites:
        with reporting_session_errors(self._bad_usage):
            try:
                return session_prerequisites(entry, self._session, noop=self._noop)
            except UnknownNameError as error:
                raise unknown(problems, self._line.body, error.name, error.hint) from error

    def _blocked(self, entry: Entry, prerequisites: Prerequisites, display: RecordingDisplay) -> int:
        result = blocked(entry, prerequisites.culprits, noop=self._noop)
        display(Blocked(result.time, result.ref, result.culprits))
        self._record(display, result)
        return exitcodes.FAILED_BIT if self._detailed else exitcodes.NOT_CONVERGED

    def _run(self, entry: Entry, prerequisites: Prerequisites, display: RecordingDisplay) -> int:
        graph = entry.program.graph
        pending_refreshes = frozenset((entry.resource.ref,)) if prerequisites.refresh else frozenset()
        options = RunOptions(noop=self._noop, diff=self._diff, pending_refreshes=pending_refreshes)
        services = RunServices(backups=None if self._noop else backups_of(self._location))
        with state_directory_for(self._location.path if self._location else None):
            ended, interruption = converge(graph, options, display, services)
        result = ensured(entry, display.events, noop=self._noop)
        if len(graph.resources) > 1:
            display.summarize(ended)
        elif result is not None:
            display.conclude(result)
        self._record(display, result)
        if interruption.cut_short or interruption.left_work:
            return exitcodes.signal_code(interruption.number)
        return exitcodes.run_code(ended, once=True, detailed=self._detailed)

    def _record(self, display: RecordingDisplay, result: Ensured | None) -> None:
        if self._session is not None:
            with reporting_session_errors(self._bad_usage):
                self._session.note([*display.events, *([result] if result else [])], display.warn)


class RecordingDisplay(Display):
    """A display that keeps the events it has shown."""

    def __init__(self, form: Format, *, resources: int) -> None:
        super().__init__(form, resources=resources, continuous=False)
        self.form = form
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Show one event."""
        super().__call__(event)
        self.events.append(event)

    def conclude(self, result: Ensured) -> None:
        """Show the result if the resource was ok or skipped: the display shows no event for these."""
        if self.form == "text" and result.result in (Result.OK, Result.SKIPPED):
            reason = next((f"  {event.reason}" for event in self.events if isinstance(event, Skipped)), "")
            self.show(f"{result.ref}  {result.result}{reason}", {})


def _add_common(line: CommandLine, given: dict[str, Any]) -> None:
    """Add the properties that every kind has, from their options."""
    line.put_list("require", "--require", given["require"])
    line.put_list("subscribe", "--subscribe", given["subscribe"])
    conditions = (Given("if", "--if", given["condition"]), Given("unless", "--unless", given["exception"]))
    if wanted := [each for each in conditions if each.text is not None]:
        line.put_group("control", wanted)
    tries = Given("tries", "--check-tries", given["check_tries"])
    pace = [each for each in (tries, Given("try_sleep", "--check-sleep", given["check_sleep"])) if each.text]
    if given["check"]:
        line.put_groups(
            "health_checks", [[Given("command", "--check", text), *pace] for text in given["check"]]
        )
    elif pace:
        raise click.UsageError("--check-tries and --check-sleep need --check")


def _help(model: type[Resource]) -> str:
    words = inspect.getdoc(model) or ""
    example = f"reactor ensure {model.kind} {model.example or 'NAME'}"
    return (
        f"{words.replace('``', '')}\n\nNAME and ENSURE are as in a manifest; every other property is an option."
        f"\n\n\b\nExample:\n  {example}"
    )

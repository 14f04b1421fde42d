"""The ``reactor`` command: imports the module of a subcommand, and reports errors of the command line."""

from __future__ import annotations

import sys
from importlib import import_module
from itertools import chain
from typing import Any

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.messages import reporting_errors

SECTIONS = {
    "Apply": ("run", "ensure", "session", "pause", "resume", "restore"),
    "Inspect": ("status", "why", "events", "show", "facts", "ui"),
    "Write manifests": (
        "validate", "test", "render", "graph", "data", "eval", "kinds", "explain", "schema", "lsp",
        "example", "init", "roles", "notify",
    ),
    "Install": ("service", "completion"),
    "Many hosts": ("push", "receive", "fleet", "registration", "agent"),
}  # fmt: skip
"""The commands in the order of the help."""

COMMANDS = tuple(chain.from_iterable(SECTIONS.values()))


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported when they are invoked or listed."""

    def hint_for(self, name: str) -> str | None:
        """The hint if ``name`` is a command of another program: our equivalent."""
        from reactor.cli.foreign_words import COMMANDS

        return f"did you mean 'reactor {COMMANDS[name]}'?" if name in COMMANDS else None

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command ``cmd_name``: the function of that name in the module of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"reactor.cli.commands.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the command line. This may already write output: a help text, the version."""
        words = tuple(args)
        with reporting_errors(bad_usage=_bad_usage(words)):
            return super().make_context(info_name, args, parent, obj=words, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. For bad usage, the exit code depends on ``--detailed-exitcodes``."""
        with reporting_errors(bad_usage=_bad_usage(ctx.obj)):
            return super().invoke(ctx)


def _bad_usage(words: tuple[str, ...]) -> int:
    return exitcodes.bad_usage_code(detailed=exitcodes.DETAILED in words)


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from reactor.resource.entry_points import installed_version

        click.echo(f"reactor {installed_version()} (Python {sys.version.split()[0]})")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
    help="Show the version and exit.",
)  # fmt: skip
def reactor() -> None:
    """Make this host match a manifest and keep it matched.

    A manifest lists resources, such as files, packages and services, and the state that each must have. reactor
    applies them in the order of their dependencies. Then it waits for kernel events, and when a resource drifts, it
    repairs that one at once. Applying a manifest is idempotent: a second run changes nothing.

    \b
    Try it, without root:
      reactor example quickstart /tmp/reactor-quickstart
      reactor run --converge-once /tmp/reactor-quickstart/quickstart.yaml
    """

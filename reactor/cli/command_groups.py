"""Groups of commands that suggest the nearest name for a misspelt one, have aliases, or have a command per kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import with_hint
from reactor.resource.entry_points import KINDS_GROUP, installed_entry_points

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class SuggestingGroup(click.Group):
    """A group that answers an unknown command with the nearest name. `list_commands` must return all names.

    ``noun`` is the word for its commands in the message. ``sections``, headings with the names of their commands, divide
    a long list in the help.
    """

    noun = "command"

    def __init__(
        self, *args: Any, sections: Mapping[str, tuple[str, ...]] | None = None, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands, in the order of the help."""
        return list(chain.from_iterable(self.sections.values())) or super().list_commands(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands of each section with their short help, in columns of one width."""
        if not self.sections:
            return super().format_commands(ctx, formatter)
        width = max(len(name) for names in self.sections.values() for name in names)
        for heading, names in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), self._short_help(ctx, name)) for name in names])
        return None

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=100) if command else ""

    def other_names(self) -> Iterable[str]:
        """Further names that a command can be called by; they are neither listed nor completed."""
        return ()

    def hint_for(self, name: str) -> str | None:  # noqa: ARG002 - for subclasses
        """The hint for ``name`` if it is a command of another program."""
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raises NoSuchCommand with the nearest name as the hint, but not during shell completion."""
        name, names = args[0], self.list_commands(ctx)
        if (
            name not in (*names, *self.other_names())
            and not name.startswith("-")
            and not ctx.resilient_parsing
        ):
            from difflib import get_close_matches

            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"{self.noun}s: {', '.join(names)}"
            hint = self.hint_for(name) or hint
            raise with_hint(click.NoSuchCommand(name, f"there is no {self.noun} {name!r}", ctx=ctx), hint)
        return super().resolve_command(ctx, args)


class AliasGroup(SuggestingGroup):
    """A group whose commands have aliases: ``others`` maps each alias to the name of the command."""

    def __init__(self, *args: Any, others: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._others = others

    def other_names(self) -> Iterable[str]:
        """The aliases."""
        return self._others

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command with that name or alias."""
        return super().get_command(ctx, self._others.get(cmd_name, cmd_name))


class KindGroup(SuggestingGroup):
    """A group with a command for each kind that is installed; a kind is imported when its command is used."""

    noun = "kind"

    def __init__(self, *args: Any, make: str, others: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._make = make
        self._others = others or {}

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The names of the kinds, and of the other commands."""
        return [*installed_entry_points(KINDS_GROUP), *self._others]

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command for a kind. The function ``make`` creates it; ``make`` is a string ``module:function``."""
        from reactor.cli.foreign_words import KINDS

        cmd_name = KINDS.get(cmd_name, cmd_name)
        if cmd_name in self._others:
            command = _imported(self._others[cmd_name])
        elif cmd_name in installed_entry_points(KINDS_GROUP):
            command = _imported(self._make)(cmd_name)
        else:
            return None
        return command if isinstance(command, click.Command) else None

    def other_names(self) -> Iterable[str]:
        """The names that CCM has for some kinds."""
        from reactor.cli.foreign_words import KINDS

        return KINDS

    def hint_for(self, name: str) -> str | None:
        """The hint if ``name`` is a module of Ansible or a type of Puppet: the kind here."""
        from reactor.manifest.phrasing import kind_meant

        kind = kind_meant(name, installed_entry_points(KINDS_GROUP))
        return f"did you mean {kind!r}?" if kind else None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List only the names: descriptions would need an import of every kind. ``reactor kinds`` has them."""
        with formatter.section("Kinds"):
            formatter.write_text(", ".join(installed_entry_points(KINDS_GROUP)))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete kinds without importing them."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name) for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return names or click.Command.shell_complete(self, ctx, incomplete)


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)

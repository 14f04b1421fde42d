"""Every command of the program, from what its ``--help`` is made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from generated.markdown import Generated, code
from reactor.cli.command_groups import KindGroup
from reactor.cli.commands.ensure_kind import found_kind, kind_command
from reactor.cli.group import reactor
from reactor.cli.options.kind_options import KindOptions
from reactor.resource.registry import kind_names

_KEPT_AS_IT_IS = "\b\n"


class CommandReference(Generated):
    """All commands, in the order of ``reactor --help``."""

    def markdown(self) -> Iterable[str]:
        """A section for each, and one for each of its own commands."""
        context = click.Context(reactor, info_name="reactor")
        for command in _commands(context):
            yield from _section(command)


def _commands(context: click.Context) -> Iterator[click.Context]:
    """The commands of a group and theirs. Those of single kinds are left out: their pages have the properties."""
    group = context.command
    assert isinstance(group, click.Group)
    kinds = kind_names() if isinstance(group, KindGroup) else ()
    for name in group.list_commands(context):
        command = None if name in kinds else group.get_command(context, name)
        if command is None:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield inner
        if isinstance(command, click.Group):
            yield from _commands(inner)


def _section(context: click.Context) -> Iterator[str]:
    command, path = context.command, context.command_path
    yield f"### {path}"
    yield from ("", "```text", f"{path} {' '.join(command.collect_usage_pieces(context))}", "```", "")
    yield from _prose(inspect.cleandoc(command.help or ""))
    yield from ("```{program} " + path, "```", "")
    for option in _for_every_kind() if path == "reactor ensure" else command.params:
        yield from _option(option, context)


def _for_every_kind() -> list[click.Parameter]:
    """What ``reactor ensure KIND`` takes, whatever the kind."""
    kind = kind_names()[0]
    own = {each.name for each in KindOptions(found_kind(kind), beside=()).parameters()}
    return [each for each in kind_command(kind).params if each.name not in own]


def _prose(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those whose lines are to stay as they are become code, but for their title."""
    for paragraph in text.split("\n\n"):
        if not paragraph.startswith(_KEPT_AS_IT_IS):
            yield from (_escaped(paragraph), "")
            continue
        title, _, rest = paragraph.removeprefix(_KEPT_AS_IT_IS).partition("\n")
        if rest.startswith("  "):
            yield from (_escaped(title), "", "```sh", inspect.cleandoc(rest), "```", "")
        else:
            yield from (_escaped(f"{title} {rest}"), "")


def _option(option: click.Parameter, context: click.Context) -> Iterator[str]:
    record = option.get_help_record(context)
    if isinstance(option, click.Option) and record is not None:
        names, words = record
        yield from ("```{option} " + names.replace(" / ", ", "), _escaped(words), "```", "")


def _escaped(text: str) -> str:
    """Help texts are plain: what is in single quotes becomes code, and what looks like markup is none."""
    parts = re.split(r"(?<!\w)'([^']+)'(?!\w)", text)
    return "".join(
        code(part) if number % 2 else re.sub(r"([\\*_<>`\[\]{}|#])", r"\\\1", part)
        for number, part in enumerate(parts)
    )

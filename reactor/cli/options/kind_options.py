"""Generates options from the properties of a kind, and turns their values into an entry of a manifest.

If the command itself has an option with the name of a property, the option of the property has the kind as a prefix:
``--exec-unless``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from reactor.cli.messages import with_hint
from reactor.cli.options import ccm
from reactor.cli.options.files import FROM_FILE, file_option, secret_value
from reactor.ensure.command_line import CommandLine
from reactor.ensure.properties import Property, properties_of
from reactor.resource.base import Resource

_ELSEWHERE = frozenset(
    ("name", "ensure", "require", "subscribe", "after", "control", "health_checks", "register_when_stable")
)
"""Properties without a generated option: they are arguments, have an option elsewhere, or suit no single resource."""

_COMMON = {
    "alias": "Set another name, for later resources of the session to refer to.",
    "provider": "Set the provider.  [default: the first that works on this host]",
    "meta": "Set how the resource is handled: timeout=30s, retry=3, mode=warn ...",
}
_OPPOSITES = {"enable": "disable"}
"""Flag -> the name of its opposite, if that is not ``no-FLAG``."""

_VALUE = r"(\[[^\]]*\]|\"[^\"]*\"|[^\s,`'{]+)"
"""A value, as hints have it in a manifest."""

_PREFIX = "property_"
_SECOND = "second_word"


class _Switch(click.Option):
    """A flag and its opposite, of which a call gives only one: click would take the last."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:  # noqa: ARG002 - click calls it so
        for names, value in ((self.opts, True), (self.secondary_opts, False)):
            parser.add_option(self, names, self.name, action="append_const", const=value)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        given = set(opts.get(self.name, ()))
        if len(given) > 1:
            words = f"{self.opts[0]} and {self.secondary_opts[0]} can't be used together"
            raise with_hint(click.UsageError(words, ctx), "choose one of them")
        return super().consume_value(ctx, {self.name: given.pop()} if given else {})


class KindOptions:
    """The options for the properties of ``model``. ``beside`` are the other options of the command."""

    def __init__(self, model: type[Resource], beside: Iterable[click.Parameter]) -> None:
        self.model = model
        self._taken = {
            flag.removeprefix("--") for each in beside for flag in (*each.opts, *each.secondary_opts)
        }
        found = properties_of(model)
        own_first = sorted(found, key=lambda each: each.field in Resource.model_fields)
        self._properties = {each.field: each for each in own_first}
        self._has_owners = {"owner", "group"} <= self._properties.keys()

    def parameters(self) -> list[click.Parameter]:
        """The arguments for the name and ``ensure``, and an option for each property that fits in one option."""
        choices = _choices(self._properties["ensure"])
        second = [] if self._second is None else [self._second.name]
        return [
            click.Argument(["name"]),
            *(
                click.Argument([_SECOND], required=False, metavar=f"[{each.upper()}]", shell_complete=choices)
                for each in second
            ),
            click.Argument(["ensure"], required=False, shell_complete=choices),
            *(option for each in self._properties.values() if _fits(each) for option in self._options(each)),
        ]

    def command_line(self, words: Iterable[str], given: dict[str, Any]) -> CommandLine:
        """The command line: ``words``, then the values in ``given``. Removes the used values from ``given``."""
        self._translate_ccm(given)
        name, ensure = given.pop("name"), given.pop("ensure")
        line = CommandLine(words, name, ensure)
        username = given.get(_PREFIX + "username")
        for each in self._properties.values():
            value = given.pop(_PREFIX + each.field, None)
            if each.is_secret:
                value = secret_value(
                    self._flag(each), value, given.pop(_PREFIX + each.field + FROM_FILE, None)
                )
                if each.field == "password" and value is None:
                    value = ccm.password_from_environment(username)
            if value is not None and value != ():
                line.set(self._flag(each, off=value is False), each, value)
        wanted = ensure or self._usual_ensure
        line.assume("ensure", wanted)
        for key, text in self.model.shell_defaults(name, wanted).items():
            line.assume(key, text)
        return line

    def spoken(self, hint: str) -> str:
        """The hint, with options for the properties that it writes as in a manifest."""
        named = {each.name: each for each in self._properties.values() if _fits(each)}

        def option(found: re.Match[str]) -> str:
            quote, name, value = found.groups()
            words = " ".join(self._words(named[name], value))
            return words if value == "..." else f"{quote}{words}{quote}"

        return re.sub(rf"(['`]?)\b({'|'.join(named)}): {_VALUE}\1", option, hint)

    def _words(self, wanted: Property, value: str) -> Iterable[str]:
        """The options that set a property to a value of a manifest."""
        if wanted.is_flag and value in ("true", "false"):
            return [self._flag(wanted, off=value == "false")]
        values = value[1:-1].split(", ") if value.startswith("[") else [value]
        return [f"{self._flag(wanted)} {each}" for each in values]

    def _translate_ccm(self, given: dict[str, Any]) -> None:
        """Translate the arguments and options of CCM into ours."""
        if self._has_owners:
            owner, group = _PREFIX + "owner", _PREFIX + "group"
            given[owner], given[group] = ccm.split_owner(given.get(owner), given.get(group))
        if self._second is not None:
            self._translate_second_word(self._second, given)
        if ccm.CONTENT_FILE in given:
            content = _PREFIX + "content"
            given[content] = ccm.read_content(given, given.get(content))
            del given[ccm.CONTENT_FILE]

    def _translate_second_word(self, second: Property, given: dict[str, Any]) -> None:
        """Use the second argument for the property that it sets in CCM, unless it is a value of ``ensure``.

        Raises UsageError if the option is given too.
        """
        word = given.pop(_SECOND)
        if given["ensure"] is None and word in self._properties["ensure"].shape.choices:
            given["ensure"] = word
        elif word is not None:
            field, flag = _PREFIX + second.field, self._flag(second)
            if given.get(field) is not None:
                raise with_hint(
                    click.UsageError(f"{word} and {flag} can't be used together"),
                    f"choose one of them for the {second.name}",
                )
            given[field] = word

    def ensures(self, given: str | None) -> list[str | None]:
        """The values of ``ensure`` to try: ``given``; if it is None, the default, then every other value."""
        return [given] if given else [None, *self._properties["ensure"].shape.choices]

    @property
    def _second(self) -> Property | None:
        """The property that the second argument sets, if it is not ``ensure``."""
        return self._properties.get(ccm.SECOND_WORDS.get(self.model.kind, ""))

    @property
    def _usual_ensure(self) -> str:
        """The default; if the property is required, its first choice."""
        ensure = self._properties["ensure"]
        return str(ensure.default or next(iter(ensure.shape.choices), "present"))

    def _options(self, wanted: Property) -> Iterable[click.Option]:
        yield self._option(wanted)
        if wanted.field == "content":
            yield ccm.content_file_option()
        if wanted.is_secret:
            yield file_option(_PREFIX + wanted.field, self._flag(wanted), repeatable=_is_repeatable(wanted))

    def _option(self, wanted: Property) -> click.Option:
        words = _COMMON.get(wanted.field, wanted.meaning)
        if wanted.is_flag:
            flags = [
                f"{self._flag(wanted, name)}/{self._flag(wanted, name, off=True)}" for name in wanted.names
            ]
            return _Switch([_PREFIX + wanted.field, *flags], default=None, help=_with_default(words, wanted))
        repeatable = _is_repeatable(wanted)
        others = ccm.OPTIONS.get((self.model.kind, wanted.field), ())
        return click.Option(
            [_PREFIX + wanted.field, *(self._flag(wanted, name) for name in wanted.names), *others],
            multiple=repeatable,
            metavar="KEY=VALUE" if wanted.takes_pairs else _metavar(wanted),
            callback=self._check_of_pairs(wanted) if wanted.takes_pairs else None,
            help=_with_default(words, wanted, repeatable=repeatable),
            shell_complete=_choices(wanted),
        )

    def _check_of_pairs(self, wanted: Property) -> Callable[..., tuple[str, ...]]:
        is_header = (self.model.kind, wanted.field) == ccm.HEADERS
        return partial(_pairs, unique=wanted.is_map, read=ccm.header_pair if is_header else str)

    def _flag(self, wanted: Property, name: str = "", *, off: bool = False) -> str:
        word = (name or wanted.name).replace("_", "-")
        if word in self._taken:
            word = f"{self.model.kind}-{word}"
        return f"--{_OPPOSITES.get(word, f'no-{word}')}" if off else f"--{word}"


def _fits(wanted: Property) -> bool:
    """Whether one option, or a repeated one, can hold the value."""
    return wanted.field not in _ELSEWHERE and (wanted.shape.items is None or wanted.shape.items.model is None)


def _is_repeatable(wanted: Property) -> bool:
    return wanted.is_map or wanted.shape.items is not None


def _metavar(wanted: Property) -> str:
    if wanted.shape.choices:
        return f"[{'|'.join(wanted.shape.choices)}]"
    words = {int: "INTEGER", float: "NUMBER"}
    scalars = (wanted.shape.items or wanted.shape).scalars
    kind = next((words[scalar] for scalar in words if scalars == {scalar}), "TEXT")
    return "DURATION" if wanted.is_duration else kind


def _with_default(words: str, wanted: Property, *, repeatable: bool = False) -> str:
    if repeatable:
        words = f"{words} Repeatable.".strip()
    default = wanted.default
    if default is None or wanted.is_map or default in ([], False):
        return words
    shown = ", ".join(map(str, default)) if isinstance(default, list) else str(default)
    return f"{words}  [default: {'true' if default is True else shown}]"


def _pairs(
    _context: click.Context,
    _parameter: click.Parameter,
    values: tuple[str, ...],
    *,
    unique: bool,
    read: Callable[[str], str],
) -> tuple[str, ...]:
    keys = set()
    pairs = tuple(map(read, values))
    for value in pairs:
        key, equals, _ = value.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
        if unique and key in keys:
            raise click.BadParameter(f"{key} is set twice")
        keys.add(key)
    return pairs


def _choices(wanted: Property) -> Any:
    """Completes the choices of the property, if it has any."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(choice) for choice in wanted.shape.choices if choice.startswith(begun)]

    return complete

"""The arguments that name manifests, and the options for the facts and data that they are evaluated with."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from reactor.cli.messages import with_hint
from reactor.cli.options import CONTEXT_VARIABLE, DATA_VARIABLE, DEFAULT_CONTEXT
from reactor.cli.options.trust import Owner, trust_option, trusting_owners
from reactor.cli.plain_run import name_for_abspath
from reactor.named_tuple import NamedTuple
from reactor.trust.inputs import trust_everybody

if TYPE_CHECKING:
    from reactor.documents import Annotated
    from reactor.facts.facts import Facts
    from reactor.manifest.inputs import Inputs

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class _ManifestName(click.Path):
    """The name of a manifest, as in `name_for_abspath`.

    It need not be readable here: loading reports an unreadable one with all other problems.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return name_for_abspath(str(super().convert(value, param, ctx)))


MANIFEST = _ManifestName(readable=False)

manifests_argument = click.argument(
    "manifests", nargs=-1, required=True, metavar="MANIFEST...", type=MANIFEST
)
"""The argument for one or several manifests."""

_OWN_DATA = ".hiera"
"""The file in the current directory with the data for a single resource, without a manifest."""


def _patterns(
    _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    from reactor.graph.globs import HOW_TO_WRITE

    for pattern in value:
        if "#" not in pattern:
            raise with_hint(click.BadParameter(f"{pattern!r} names no resource"), HOW_TO_WRITE)
    return value


external_option = click.option(
    "--external",
    multiple=True,
    metavar="REF",
    callback=_patterns,
    help="Accept references to REF, a resource of another manifest. REF may be a glob: 'service#*'. Repeatable.",
)


def facts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--fact`` and ``--facts``; the command gets them as ``facts_given``."""
    one = click.option(
        "--fact",
        "facts",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a fact to a string. KEY may be a path: 'role', 'site.room'. Overrides all other facts. Repeatable.",
    )
    many = click.option(
        "--facts",
        "facts_file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="Read facts from this YAML or JSON file. They override the facts of the host.",
    )

    @one
    @many
    @wraps(command)
    def with_facts(*args: Any, facts: tuple[str, ...], facts_file: str | None, **options: Any) -> Any:
        return command(*args, facts_given=Given(facts_file, facts, as_text=True), **options)

    return with_facts


_DATA = click.option(
    "--data",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a value of the data. KEY may be a path: 'web.port=8080'. A quoted VALUE is always a string. Overrides all other data. Repeatable.",
)
_DATA_FILE = click.option(
    "--data-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Merge the values in this YAML or JSON file over the data.",
)


class _FileOrUrl(click.Path):
    """An existing file, or a URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path or the URL, unchanged."""
        return value if "://" in value else super().convert(value, param, ctx)


def _hiera(other_default: str = "") -> _Option:
    words = (
        "Merge the data in this file or at this URL over the data. It has its own hierarchy and overrides."
    )
    kind = _FileOrUrl(exists=True, dir_okay=False)
    default = f"  [default: ${DATA_VARIABLE}{other_default}]"
    return click.option("--hiera", metavar="FILE", type=kind, help=words + default)


_READ_ENV = click.option(
    "--read-env/--no-read-env",
    default=True,
    help="Include the file .env of the current directory in Environ.  [default: --read-env]",
)
_CACHE = click.option(
    "--cache",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Cache manifests and data from URLs in DIR.  [default: /var/cache/reactor for root, else ~/.cache/reactor]",
)

_CONTEXT = click.option(
    "--context",
    "context_name",
    metavar="NAME",
    help=f"Read manifests and data at obj:// and kv:// with this context of the nats CLI.  [default: ${CONTEXT_VARIABLE}, else {DEFAULT_CONTEXT}]",
)


def inputs_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options for facts and data; the command gets ``inputs``, a function that reads them.

    The command trusts only files of root, of the current user, and of the owners in ``--trust-owner``.
    """
    return trust_option(_enforcing(_inputs_options(command, _hiera())))


def single_resource_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a single resource without a manifest. Its data are in a file in the current directory."""
    hiera = _hiera(f", else {_OWN_DATA}, if it exists")
    return trust_option(_enforcing(_inputs_options(command, hiera, own_data=True)))


def readonly_inputs_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that only shows a manifest, and so may read the files of all users."""

    @wraps(command)
    def open_to_all(*args: Any, **options: Any) -> Any:
        with trust_everybody():
            return command(*args, **options)

    return _inputs_options(open_to_all, _hiera())


def forecasting_inputs_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that reads the files of all users, and tells which of them a run would refuse.

    The owners in ``--trust-owner`` are those of that run.
    """
    return trust_option(_enforcing(readonly_inputs_options(command)))


def _enforcing(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def with_owners(*args: Any, trusted_owners: tuple[Owner, ...], **options: Any) -> Any:
        with trusting_owners(trusted_owners):
            return command(*args, **options)

    return with_owners


def _inputs_options(
    command: Callable[..., Any], hiera_option: _Option, *, own_data: bool = False
) -> Callable[..., Any]:
    @facts_options
    @_DATA
    @_DATA_FILE
    @hiera_option
    @_READ_ENV
    @_CACHE
    @_CONTEXT
    @wraps(command)
    def with_inputs(
        *args: Any,
        facts_given: Given,
        data: tuple[str, ...],
        data_file: str | None,
        hiera: str | None,
        read_env: bool,
        cache: str | None,
        context_name: str | None,
        **options: Any,
    ) -> Any:
        def read() -> Inputs:
            from reactor.cli.options.network import RunNetwork

            site = hiera or os.environ.get(DATA_VARIABLE) or (_own_data() if own_data else None)
            found = _inputs(facts_given, Given(data_file, data), site, cache, read_env=read_env)
            context = context_name or os.environ.get(CONTEXT_VARIABLE) or DEFAULT_CONTEXT
            return found._replace(context=context, network=RunNetwork(context))

        return command(*args, inputs=read, **options)

    return with_inputs


def _own_data() -> str | None:
    from reactor.cli.options.implicit_files import implicit_file

    return _OWN_DATA if implicit_file(_OWN_DATA, "data", "--hiera FILE names others") else None


class Given(NamedTuple):
    """Values from the command line: a file, and single settings that override it."""

    file: str | None
    settings: tuple[str, ...]
    as_text: bool = False
    """Whether the single settings are always strings."""

    def values(self) -> dict[str, Any]:
        """All values. Raises ManifestError for an unusable file, UsageError for a setting that is not KEY=VALUE."""
        from reactor.documents import read_values

        return self._over(read_values(self.file) if self.file is not None else {})

    def annotated(self) -> Annotated:
        """The same, with the annotations of the file."""
        from reactor.documents import Annotated, read_annotated

        found = read_annotated(self.file) if self.file is not None else Annotated({})
        warnings = (*found.warnings, *(_lost_text(each) for each in self.settings if _loses_text(each)))
        return found._replace(values=self._over(found.values), warnings=warnings)

    def _over(self, values: dict[str, Any]) -> dict[str, Any]:
        from reactor.data.layers import deep_merge

        for setting in self.settings:
            values = deep_merge(values, _tree(setting, as_text=self.as_text))
        return values


def _inputs(facts: Given, data: Given, site: str | None, cache: str | None, *, read_env: bool) -> Inputs:
    from reactor.cli.options.implicit_files import environment
    from reactor.manifest.inputs import Inputs

    environ, files = environment(read_file=read_env)
    named = (facts.file, data.file, site)
    given = tuple(os.path.abspath(file) for file in named if file is not None and "://" not in file)
    own = data.annotated()
    all_files = (*given, *files)
    return Inputs(host_facts(facts), environ, own.values, all_files, cache, site, own.secrets, own.warnings)


def host_facts(given: Given) -> Facts:
    """The facts of this host, gathered when they are read. The facts in ``given`` override them."""
    from reactor.documents import parse_values
    from reactor.facts.facts import Facts

    return Facts(given.values(), parse=parse_values)


def _tree(setting: str, *, as_text: bool) -> dict[str, Any]:
    """``a.b=1`` as ``{a: {b: 1}}``."""
    key, equals, text = setting.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{setting!r} is not KEY=VALUE, as in web.port=8080")
    value: Any = text if as_text else _scalar(key, text)
    for name in reversed(key.split(".")):
        value = {name: value}
    return dict(value)


def _loses_text(setting: str) -> bool:
    """Whether the value is a number that is written otherwise in a text, as in ``version=1.10``."""
    from reactor.language.values import to_string

    key, _, text = setting.partition("=")
    value = _scalar(key, text)
    return isinstance(value, int | float) and not isinstance(value, bool) and to_string(value) != text


def _lost_text(setting: str) -> str:
    """The warning. It does not show the value, which may be secret."""
    key = setting.partition("=")[0]
    return f"--data {key}: the value is a number, which a text shows in another form (to keep it as written, quote it: --data '{key}=\"...\"')"


def _scalar(key: str, text: str) -> Any:
    """The value as a manifest would read it: a quoted value is a string."""
    from reactor.manifest.scalars import plain_value

    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        return plain_value(text)
    except ValueError as error:
        raise click.UsageError(f"{key}: {error}") from error

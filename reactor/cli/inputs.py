"""The options that say what a manifest is evaluated with: facts and data from outside of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reactor.cli.messages import hinted
from reactor.cli.trust_option import Owner, trust_option, trusting_owners
from reactor.trust.inputs import trust_everybody

if TYPE_CHECKING:
    from reactor.documents import Annotated
    from reactor.facts.facts import Facts
    from reactor.manifest.inputs import Inputs

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]

MANIFEST = click.Path(readable=False)
"""Where a manifest is. Whether it can be read is found by who reads it: that is a problem like others, and told with them."""

manifests_argument = click.argument(
    "manifests", nargs=-1, required=True, metavar="MANIFEST...", type=MANIFEST
)
"""One or several manifests."""

_OWN_DATA = ".hiera"
"""The file in the current directory that has the data of a single resource."""
DATA_VARIABLE = "CCM_HIERA_DATA"
"""The variable that names, as for CCM, the file or the URL of ``--hiera`` where that is not given."""


def _patterns(
    _context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    from reactor.graph.names import HOW_TO_WRITE

    for pattern in value:
        if "#" not in pattern:
            raise hinted(click.BadParameter(f"{pattern!r} names no resource"), HOW_TO_WRITE)
    return value


external_option = click.option(
    "--external",
    multiple=True,
    metavar="REF",
    callback=_patterns,
    help="A resource that another manifest declares: to refer to it is no error. REF may be a glob: 'service#*'. Repeatable.",
)


def facts_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options ``--fact`` and ``--facts``; the command gets ``facts_given``, which reads them."""
    one = click.option(
        "--fact",
        "facts",
        multiple=True,
        metavar="KEY=VALUE",
        help="Set a fact, as text; the key may be a path: 'role', 'site.room'. Wins over all others. Repeatable.",
    )
    many = click.option(
        "--facts",
        "facts_file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="Take facts from this YAML or JSON file; they win over those of the host.",
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
    help="Set a value of the data; the key may be a path: 'web.port=8080'. In quotes, it is a text whatever it looks like. Wins over all others. Repeatable.",
)
_DATA_FILE = click.option(
    "--data-file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Merge the values of this YAML or JSON file over the data.",
)


class _FileOrUrl(click.Path):
    """A file that is there, or something behind a URL."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path or the URL as it is."""
        return value if "://" in value else super().convert(value, param, ctx)


def _hiera(other_default: str = "") -> _Option:
    words = "Merge the data of this file, or behind this URL, over the data; it has a hierarchy and overrides of its own."
    kind = _FileOrUrl(exists=True, dir_okay=False)
    default = f"  [default: ${DATA_VARIABLE}{other_default}]"
    return click.option("--hiera", metavar="FILE", type=kind, help=words + default)


_READ_ENV = click.option(
    "--read-env/--no-read-env",
    default=True,
    help="Whether Environ holds the file .env of the current directory too.  [default: --read-env]",
)
_CACHE = click.option(
    "--cache",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Where manifests and data from URLs are kept.  [default: /var/cache/reactor for root, else ~/.cache/reactor]",
)


def inputs_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options about what a manifest is evaluated with; the command gets ``inputs``, which reads them all.

    While the command runs, it believes no files but those of root, of its user, and of the owners it is told to trust.
    """
    return trust_option(_enforcing(_inputs_options(command, _hiera())))


def entry_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what has no manifest: its data are those of a file in the current directory."""
    hiera = _hiera(f", else {_OWN_DATA}, where it is there")
    return trust_option(_enforcing(_inputs_options(command, hiera, own_data=True)))


def looking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that only shows what a manifest says, and so may read the files of everybody."""

    @wraps(command)
    def open_to_all(*args: Any, **options: Any) -> Any:
        with trust_everybody():
            return command(*args, **options)

    return _inputs_options(open_to_all, _hiera())


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
    @wraps(command)
    def with_inputs(
        *args: Any,
        facts_given: Given,
        data: tuple[str, ...],
        data_file: str | None,
        hiera: str | None,
        read_env: bool,
        cache: str | None,
        **options: Any,
    ) -> Any:
        def read() -> Inputs:
            site = hiera or os.environ.get(DATA_VARIABLE) or (_own_data() if own_data else None)
            return _inputs(facts_given, Given(data_file, data), site, cache, read_env=read_env)

        return command(*args, inputs=read, **options)

    return with_inputs


def _own_data() -> str | None:
    from reactor.cli.implicit_files import implicit_file

    return _OWN_DATA if implicit_file(_OWN_DATA, "data", "--hiera FILE names others") else None


class Given(NamedTuple):
    """Values given on the command line: in a file, and one by one over those."""

    file: str | None
    settings: tuple[str, ...]
    as_text: bool = False
    """Whether those given one by one are texts, whatever they look like."""

    def values(self) -> dict[str, Any]:
        """All of them. Raises ManifestError for a file that can't be used, UsageError for what is no KEY=VALUE."""
        from reactor.documents import read_values

        return self._over(read_values(self.file) if self.file is not None else {})

    def annotated(self) -> Annotated:
        """The same, with the annotations of the file."""
        from reactor.documents import Annotated, read_annotated

        found = read_annotated(self.file) if self.file is not None else Annotated({})
        return found._replace(values=self._over(found.values))

    def _over(self, values: dict[str, Any]) -> dict[str, Any]:
        from reactor.data.merge import deep_merge

        for setting in self.settings:
            values = deep_merge(values, _tree(setting, as_text=self.as_text))
        return values


def _inputs(facts: Given, data: Given, site: str | None, cache: str | None, *, read_env: bool) -> Inputs:
    from reactor.cli.dotenv import environment
    from reactor.manifest.inputs import Inputs

    environ, files = environment(read_file=read_env)
    named = (facts.file, data.file, site)
    given = tuple(os.path.abspath(file) for file in named if file is not None and "://" not in file)
    own = data.annotated()
    all_files = (*given, *files)
    return Inputs(host_facts(facts), environ, own.values, all_files, cache, site, own.secrets, own.warnings)


def host_facts(given: Given) -> Facts:
    """The facts of this host, still to be gathered, under those ``given``."""
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


def _scalar(key: str, text: str) -> Any:
    """The value that a manifest would read: in quotes, it is a text."""
    from reactor.manifest.scalars import plain_value

    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        return plain_value(text)
    except ValueError as error:
        raise click.UsageError(f"{key}: {error}") from error

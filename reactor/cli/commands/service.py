"""``reactor service``: installs a manifest as a systemd service."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.messages import fail_for, reporting_manifest_errors, with_hint
from reactor.cli.options import DATA_VARIABLE
from reactor.cli.options.common import dry_run_option
from reactor.cli.options.inputs import inputs_options
from reactor.cli.options.trust import trusting_owners

if TYPE_CHECKING:
    from reactor.loading import LoadedManifest
    from reactor.manifest.inputs import Inputs
    from reactor.resource.base import Resource
    from reactor.service.unit import Service

_ONE_SHOT_OPTIONS = {"converge_once": "--converge-once", "render": "--render"}


@click.group(cls=SuggestingGroup, short_help="Install a manifest as a systemd service.")
def service() -> None:
    """Install or remove a systemd service that applies a manifest, from boot on, and is restarted if it fails.

    \b
    Examples:
      reactor service install /etc/reactor/site.yaml
      reactor service install --dry-run /etc/reactor/site.yaml -- --jobs 8
      reactor service uninstall
    """


def _unit_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    name = value.removesuffix(".service")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        error = click.BadParameter(f"{value!r} is not a valid name for a unit")
        raise with_hint(error, "use letters, digits, '-', '_' and '.'")
    return name


_name_option = click.option(
    "--name",
    default="reactor",
    show_default=True,
    callback=_unit_name,
    metavar="NAME",
    help="Set the name of the unit.",
)


@service.command(short_help="Install the service, and start it now and at boot.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="MANIFEST... [-- OPTIONS OF RUN]")
@click.option(
    "--fleet",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Install 'reactor fleet follow' with the configuration FILE, such as /etc/reactor/fleet.yaml, in place of a manifest.",
)
@_name_option
@click.option(
    "--no-start", is_flag=True, help="Install and enable the unit, but do not start it before the next boot."
)
@dry_run_option("--dry-run", help="Print the unit, and install nothing. Needs no root.")
def install(words: tuple[str, ...], fleet: str | None, name: str, no_start: bool, dry_run: bool) -> None:
    """Install MANIFEST (a file, a directory or a URL) as a systemd service, and start it now and at boot.

    The manifest must be valid; several manifests run as one. The service is sandboxed: everything that its resources
    do not need is closed, and comments in the unit say what stays open, and why. Run the command again after the
    manifest or its needs have changed, or to upgrade the unit: it changes only what differs.

    Options for 'reactor run' go after '--'. Relative paths in them start at the directory of the manifest.

    With --fleet, the service follows the channels of this host. It has no sandbox, since the next release may have
    resources of any kind.

    Exit codes: 0 installed; 2 it can't be installed, or bad usage.

    \b
    Examples:
      reactor service install /etc/reactor/site.yaml
      reactor service install /etc/reactor.d
      reactor service install --name reactor-web web.yaml -- --jobs 8
      reactor service install --dry-run --fleet /etc/reactor/fleet.yaml
    """
    manifests = tuple(takewhile(lambda word: not word.startswith("-"), words))
    wanted: Service
    resources: list[Resource] = []
    if fleet is not None:
        wanted = _checked_fleet_service(name, fleet, words)
    else:
        wanted, resources = _checked_service(name, manifests, words[len(manifests) :])
    text = wanted.unit(resources)
    if dry_run:
        click.echo(text, nl=False)
        return
    _install(name, text, wanted.used_state_directory, start=not no_start)


def _install(name: str, text: str, state_directory: str, *, start: bool) -> None:
    from reactor.service.installation import install as put_in_place
    from reactor.service.installation import require_root, require_systemd
    from reactor.service.program import require_own_program

    with _reporting_installation_errors(), _naming_holder(name, state_directory):
        require_root()
        require_own_program()
        require_systemd()
        done = False
        for sentence in put_in_place(name, text, start=start):
            click.echo(sentence)
            done = True
        if not done:
            click.echo(f"{name} is already installed, with this unit")


@service.command(short_help="Stop and remove the service.")
@_name_option
def uninstall(name: str) -> None:
    """Stop the service and remove its unit. The managed resources and the state directory are kept.

    Exit codes: 0 removed, or not installed; 2 it can't be removed, or bad usage.

    \b
    Examples:
      reactor service uninstall
      reactor service uninstall --name reactor-web
    """
    from reactor.service.installation import require_root, require_systemd
    from reactor.service.installation import uninstall as take_away

    with _reporting_installation_errors():
        require_root()
        require_systemd()
        done = list(take_away(name)) or [f"{name} is not installed"]
        click.echo("\n".join(done))


def _checked_service(
    name: str, manifests: tuple[str, ...], run_options: tuple[str, ...]
) -> tuple[Service, list[Resource]]:
    """The service to install and its resources, validated in the directory that the service will run in."""
    from reactor.loading import whole_path
    from reactor.service.unit import Service

    if not manifests:
        raise with_hint(click.UsageError("there is no manifest"), "write it before '--'")
    places = tuple(map(whole_path, manifests))
    for place in places:
        _check_unit_word(place)
    wanted = Service(name, places, run_options)
    if not os.path.isdir(wanted.directory):
        raise click.UsageError(f"there is no directory {wanted.directory}")
    with chdir(wanted.directory), reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        given = _run_parameters(places, run_options)
        program = _loaded(places, given)
        own = [
            None if path is None else os.path.abspath(path) for path in (given["state_dir"], given["cache"])
        ]
        wanted = Service(name, places, run_options, *own)
    return wanted, list(program.graph.resources.values())


def _checked_fleet_service(name: str, config: str, words: tuple[str, ...]) -> Service:
    """The service that follows channels. Ends the command if its configuration is invalid."""
    from reactor.errors import ReactorError
    from reactor.fleet.host.config import read_config
    from reactor.language.expression import parse_expression
    from reactor.service.unit import Service

    if words:
        raise with_hint(click.UsageError("--fleet takes the place of manifests"), "choose one of the two")
    path = os.path.abspath(config)
    _check_unit_word(path)
    try:
        read_config(path, parse=parse_expression)
    except ReactorError as error:
        error.message = f"{error.place}: {error.message}" if error.place else error.message
        fail_for(error)
    return Service(name, (), fleet=path)


def _check_unit_word(place: str) -> None:
    """Raise UsageError for a manifest whose name can't be in a unit, or must not: a URL with a password."""
    from reactor.loading import shown

    if shown(place) != place:
        raise click.UsageError("the URL has a password, and every user of the host can read the unit")
    if not place.isprintable() or "\\" in place:
        raise click.UsageError(f"{place!r} can't be in a unit: it has a backslash or a control character")


def _loaded(places: tuple[str, ...], given: dict[str, Any]) -> LoadedManifest:
    """The manifest, loaded with the owners that the service will trust. The service does not run under sudo(8).

    Raises UsageError if the service could not start because of the token of its metrics.
    """
    from reactor.cli.options.metrics import metrics_endpoint
    from reactor.loading import load

    with trusting_owners(given["trusted_owners"], caller=False):
        metrics_endpoint(given["metrics"], given["metrics_token_file"])
        return load(places, _inputs(**given)())


def _run_parameters(manifests: tuple[str, ...], options: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of 'reactor run' with these options. Raises UsageError as it does."""
    from reactor.cli.commands.run import run

    if {"-h", "--help"} & set(options):
        raise click.UsageError("--help can't be an option of a service")
    given = run.make_context("reactor run", [*manifests, *options]).params
    for parameter, option in _ONE_SHOT_OPTIONS.items():
        if given[parameter]:
            raise click.UsageError(f"{option} ends the run, so a service can't have it")
    if os.environ.get(DATA_VARIABLE) and given["hiera"] is None:
        words = f"${DATA_VARIABLE} is set, but the service will not have it"
        raise with_hint(click.UsageError(words), "add --hiera after '--', or unset the variable")
    if given["manifests"] != manifests:
        raise with_hint(
            click.UsageError("only options of 'reactor run' may be after '--'"),
            "write all manifests before it",
        )
    return given


@inputs_options
def _inputs(*, inputs: Callable[[], Inputs], **_others: Any) -> Callable[[], Inputs]:
    return inputs


@contextmanager
def _naming_holder(name: str, state_directory: str) -> Iterator[None]:
    """If the service can't start while another run uses its state directory, raise an error that names that run."""
    from reactor.journal.state_directory import holder
    from reactor.service.installation import StartError

    try:
        yield
    except StartError as error:
        if (other := holder(state_directory)) is None:
            raise
        words = f"{name} can't start: {other} uses its state directory {state_directory}"
        hint = f"stop that run: {name} starts 5 seconds later; or install it with another --state-dir, after '--'"
        raise StartError(words, hint) from error


@contextmanager
def _reporting_installation_errors() -> Iterator[None]:
    """End the command with the error of the installation."""
    from reactor.service.installation import InstallationError

    try:
        yield
    except InstallationError as error:
        fail_for(error)

"""``reactor service``: run a manifest as a service of systemd, for good."""

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
from reactor.cli.options.inputs import DATA_VARIABLE, inputs_options
from reactor.cli.options.trust import trusting_owners

if TYPE_CHECKING:
    from reactor.loading import LoadedManifest
    from reactor.manifest.inputs import Inputs
    from reactor.resource.base import Resource
    from reactor.service.unit import Service

_ONE_SHOT_OPTIONS = {"converge_once": "--converge-once", "render": "--render"}


@click.group(cls=SuggestingGroup, short_help="Run a manifest as a service of systemd.")
def service() -> None:
    """Have systemd run a manifest from boot on, watch over it, and start it again when it fails.

    \b
    Examples:
      reactor service install /etc/reactor/site.yaml
      reactor service install --dry-run /etc/reactor/site.yaml -- --jobs 8
      reactor service uninstall
    """


def _unit_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    name = value.removesuffix(".service")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        error = click.BadParameter(f"{value!r} can't name a unit")
        raise with_hint(error, "use letters, digits, '-', '_' and '.'")
    return name


_name_option = click.option(
    "--name",
    default="reactor",
    show_default=True,
    callback=_unit_name,
    metavar="NAME",
    help="The name of the unit.",
)


@service.command(short_help="Write the unit, and start it now and at boot.")
@click.argument(
    "words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="MANIFEST... [-- OPTIONS OF RUN]"
)
@_name_option
@click.option("--no-start", is_flag=True, help="Only write and enable it: it starts at the next boot.")
@click.option("--dry-run", is_flag=True, help="Only show the unit. Needs no root.")
def install(words: tuple[str, ...], name: str, no_start: bool, dry_run: bool) -> None:
    """Run MANIFEST (a file, a directory or a URL) as a service, from now on and from boot on.

    The manifest must be valid; several run as one. What its resources do not need is closed to the service; comments in the unit say what
    stays open and why. Install again when that has changed: only what differs is done.

    Options for 'reactor run' go after '--'; paths among them are relative to the directory of the manifest.

    Exit codes: 0 it is installed; 2 it can't be, or bad usage.

    \b
    Examples:
      reactor service install /etc/reactor/site.yaml
      reactor service install /etc/reactor.d
      reactor service install --name reactor-web web.yaml -- --jobs 8
    """
    from reactor.service.installation import install as put_in_place
    from reactor.service.installation import require_root, require_systemd
    from reactor.service.program import require_own_program

    manifests = tuple(takewhile(lambda word: not word.startswith("-"), words))
    wanted, resources = _checked_service(name, manifests, words[len(manifests) :])
    text = wanted.unit(resources)
    if dry_run:
        click.echo(text, nl=False)
        return
    with _telling():
        require_root()
        require_own_program()
        require_systemd()
        done = False
        for sentence in put_in_place(name, text, start=not no_start):
            click.echo(sentence)
            done = True
        if not done:
            click.echo(f"{name} is installed like that already")


@service.command(short_help="Stop it and take the unit away.")
@_name_option
def uninstall(name: str) -> None:
    """Stop the service and take its unit away. What it has done stays, and so does its state directory.

    Exit codes: 0 it is not installed any more; 2 that can't be done, or bad usage.

    \b
    Examples:
      reactor service uninstall
      reactor service uninstall --name reactor-web
    """
    from reactor.service.installation import require_root, require_systemd
    from reactor.service.installation import uninstall as take_away

    with _telling():
        require_root()
        require_systemd()
        done = list(take_away(name)) or [f"{name} is not installed"]
        click.echo("\n".join(done))


def _checked_service(
    name: str, manifests: tuple[str, ...], run_options: tuple[str, ...]
) -> tuple[Service, list[Resource]]:
    """What is to be installed, found valid in the directory that the service will run in."""
    from reactor.loading import whole_path
    from reactor.service.unit import Service

    if not manifests:
        raise with_hint(click.UsageError("no manifest is named"), "name it before '--'")
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


def _check_unit_word(place: str) -> None:
    """Raises UsageError for the name of a manifest that must not, or can't, be in a unit."""
    from reactor.loading import shown

    if shown(place) != place:
        raise click.UsageError(
            "the URL holds a password, and everybody on the host can read how a service is started"
        )
    if not place.isprintable() or "\\" in place:
        raise click.UsageError(f"{place!r} can't be in a unit: it holds a backslash or a control character")


def _loaded(places: tuple[str, ...], given: dict[str, Any]) -> LoadedManifest:
    """The manifest, with the files believed that the service will believe: nobody calls sudo(8) for that.

    Raises UsageError where the service would not start for the sake of the token of its metrics.
    """
    from reactor.cli.options.metrics import metrics_endpoint
    from reactor.loading import load

    with trusting_owners(given["trusted_owners"], caller=False):
        metrics_endpoint(given["metrics"], given["metrics_token_file"])
        return load(places, _inputs(**given)())


def _run_parameters(manifests: tuple[str, ...], options: tuple[str, ...]) -> dict[str, Any]:
    """What 'reactor run' makes of these options. Raises what it raises."""
    from reactor.cli.commands.run import run

    if {"-h", "--help"} & set(options):
        raise click.UsageError("--help is no way to run a service")
    given = run.make_context("reactor run", [*manifests, *options]).params
    for parameter, option in _ONE_SHOT_OPTIONS.items():
        if given[parameter]:
            raise click.UsageError(f"{option} is for a run that ends, and a service is to stay")
    if os.environ.get(DATA_VARIABLE) and given["hiera"] is None:
        words = f"${DATA_VARIABLE} names data, and is not in the environment of the service"
        raise with_hint(click.UsageError(words), "name them after '--' with --hiera, or unset the variable")
    if given["manifests"] != manifests:
        raise with_hint(
            click.UsageError("only options of 'reactor run' may follow '--'"), "name all manifests before it"
        )
    return given


@inputs_options
def _inputs(*, inputs: Callable[[], Inputs], **_others: Any) -> Callable[[], Inputs]:
    return inputs


@contextmanager
def _telling() -> Iterator[None]:
    """Show what keeps us from it, and end the command."""
    from reactor.service.installation import InstallationError

    try:
        yield
    except InstallationError as error:
        fail_for(error)

"""``reactor roles``: the roles of a manifest, and the file that locks those from elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from reactor.cli import exitcodes
from reactor.cli.command_groups import SuggestingGroup
from reactor.cli.messages import fail, reporting_manifest_errors, show_diagnostics, warn
from reactor.cli.options.inputs import MANIFEST, inputs_options, readonly_inputs_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactor.manifest.inputs import Inputs, Roles
    from reactor.manifest.manifest import Manifest
    from reactor.resource.diagnostic import Diagnostic
    from reactor.resource.role import RoleResource
    from reactor.roles.lock_file import Lock, Locked

_MANIFEST = click.argument("manifest", type=MANIFEST)
_NOT_FETCHED = frozenset(("R0123", "R0125", "R0126"))
"""The codes of a valid manifest whose roles are not there, or are not what they must be."""


@click.group(cls=SuggestingGroup, short_help="Lock, update and list the roles of a manifest.")
def roles() -> None:
    """Lock, update and list the roles of a manifest that come from git or a URL.

    The file roles.lock beside the manifest says what each of them is: its commit, and the SHA-256 of its files. A run
    uses exactly that, and refuses anything else.

    \b
    Examples:
      reactor roles lock site.yaml
      reactor roles update site.yaml
      reactor roles list site.yaml
    """


@roles.command(short_help="Write the lock file; what is locked stays as it is.")
@_MANIFEST
@inputs_options
def lock(manifest: str, inputs: Callable[[], Inputs]) -> None:
    """Fetch the roles of MANIFEST that are not locked yet, and write them to roles.lock beside it.

    What is locked stays as it is; what the manifest no longer names leaves the file.

    Exit codes: 0 done; 1 a role can't be fetched; 2 the manifest is invalid, or bad usage.

    \b
    Example:
      reactor roles lock site.yaml
    """
    _lock(manifest, inputs, renew=None)


@roles.command(short_help="Fetch tags, branches and archives again, and lock what they are now.")
@_MANIFEST
@click.option(
    "--source",
    "sources",
    metavar="URL",
    multiple=True,
    help="Update only the roles from this URL. Repeatable.",
)
@inputs_options
def update(manifest: str, sources: tuple[str, ...], inputs: Callable[[], Inputs]) -> None:
    """Fetch the roles of MANIFEST again, lock what their tags, branches and archives are now, and show what changed.

    Exit codes: 0 done; 1 a role can't be fetched; 2 the manifest is invalid, or bad usage.

    \b
    Example:
      reactor roles update site.yaml
    """
    _lock(manifest, inputs, renew=sources)


@roles.command("list", short_help="List the roles of a manifest.")
@_MANIFEST
@readonly_inputs_options
def list_(manifest: str, inputs: Callable[[], Inputs]) -> None:
    """List the roles that MANIFEST uses, with those that they use: name, source, and what is locked.

    Exit codes: 0 done; 1 a role can't be fetched; 2 the manifest is invalid, or bad usage.

    \b
    Example:
      reactor roles list site.yaml
    """
    from reactor.loading import with_roles
    from reactor.roles.lock_file import read_lock

    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        found, problems = _read(manifest, with_roles(inputs()))
        known = read_lock(_lock_path(manifest))
    _refuse([each for each in problems if each.code != "R0124"], found)
    for role in _roles_in(found):
        click.echo("  ".join((role.ref, *_origin(role, known))))


def _origin(role: RoleResource, known: Lock) -> Iterator[str]:
    """The source of a role, its revision, and what is locked."""
    from reactor.roles.lock_file import Key

    if (remote := role.remote) is None:
        yield role.local_directory
        return
    key = Key.of(remote)
    yield key.url
    if remote.revision:
        yield remote.revision
    locked = known.get(key)
    yield f"locked: {_shown(locked)}" if locked else "not locked"


def _roles_in(manifest: Manifest) -> list[RoleResource]:
    from reactor.resource.role import RoleResource

    return [each for each in manifest.resources if isinstance(each, RoleResource)]


def _lock(manifest: str, inputs: Callable[[], Inputs], renew: tuple[str, ...] | None) -> None:
    """Write the lock file, and show what changed. ``renew`` are the URLs to fetch again; empty for all."""
    from reactor.cli.output_files import replace_output
    from reactor.resource.plan import ResourceError
    from reactor.roles.finder import LockingFinder
    from reactor.roles.lock_file import read_lock

    path = _lock_path(manifest)
    with reporting_manifest_errors(as_json=False, exit_code=exitcodes.BAD_USAGE):
        given, known = inputs(), read_lock(path)
        kept = {key: each for key, each in known.items() if renew is None or (renew and key.url not in renew)}
        finder = LockingFinder(given.cache, given.context, kept)
        found, problems = _read(manifest, given, finder)
    _refuse(problems, found)
    text = finder.text().encode()
    if finder.found != known or (finder.found and not os.path.exists(path)):
        try:
            replace_output(path, text)
        except ResourceError as error:
            fail("R0704", f"can't write {path}: {error.message}", error.hint, 1)
        except OSError as error:
            fail("R0704", f"can't write {path}: {error.strerror}", None, 1)
    _show_changes(known, finder.found)


def _refuse(problems: list[Diagnostic], found: Manifest) -> None:
    """End the command if there are problems: with 1 if roles can't be fetched and all else is valid, otherwise with 2."""
    if problems:
        show_diagnostics(problems, as_json=False, texts=found.texts)
        is_valid = _NOT_FETCHED.issuperset(each.code for each in problems)
        raise click.exceptions.Exit(1 if is_valid else exitcodes.BAD_USAGE)


def _show_changes(before: Lock, after: Lock) -> None:
    for key in sorted({*before, *after}, key=str):
        old, new = before.get(key), after.get(key)
        name = " ".join(part for part in (key.url, key.revision, key.path) if part)
        if new is None:
            click.echo(f"removed  {name}")
        elif old is None:
            click.echo(f"locked   {name}: {_shown(new)}")
        elif old != new:
            click.echo(f"changed  {name}: {_shown(old)} -> {_shown(new)}")
        else:
            click.echo(f"kept     {name}: {_shown(new)}")
    if not before and not after:
        click.echo("no role comes from git or a URL: there is nothing to lock")


def _shown(locked: Locked) -> str:
    return locked.commit[:12] if locked.commit else f"sha256:{locked.digest[:12]}"


def _lock_path(manifest: str) -> str:
    from reactor.roles.lock_file import NAME

    directory = manifest if os.path.isdir(manifest) else os.path.dirname(os.path.abspath(manifest))
    return os.path.join(directory, NAME)


def _read(manifest: str, inputs: Inputs, finder: Roles | None = None) -> tuple[Manifest, list[Diagnostic]]:
    """The manifest and all of its problems. Raises ManifestError."""
    from reactor.loading import all_located, is_elsewhere, with_site
    from reactor.manifest.manifest import read_manifests

    if is_elsewhere(manifest):
        raise click.UsageError("a manifest from a URL brings its lock file: run this where it is packed")
    known = with_site(inputs if finder is None else inputs._replace(roles=finder), warn)
    return read_manifests(all_located(manifest, known, warn), inputs=known)

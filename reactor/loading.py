"""Loads a manifest into a graph that can run. Every command uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reactor.graph.build import build
from reactor.graph.graph import Graph
from reactor.manifest.data_sections import sections_of
from reactor.manifest.directories import is_directory, manifests_in
from reactor.manifest.document import Settings
from reactor.manifest.inputs import NO_INPUTS, Inputs
from reactor.manifest.manifest import Manifest, read_manifests, read_tree
from reactor.manifest.source import Problems, read_source
from reactor.named_tuple import NamedTuple
from reactor.resource.diagnostic import Diagnostic, ManifestError
from reactor.resource.gc_control import free, gc_paused

if TYPE_CHECKING:
    from reactor.manifest.notify_channels import Channel
    from reactor.resource.role import RemoteRole
    from reactor.roles.finder import RoleFinder


class LoadedManifest(NamedTuple):
    """A valid manifest. ``files`` are all files that it was loaded from.

    ``path`` is the name that the user gave; for several manifests, their absolute paths. ``data`` are the data that
    its expressions use. ``pre_message`` and ``post_message`` are shown before and after a run.
    ``shares`` are the values that the host shares with its fleet, by name. It ``is_separable`` if it was loaded from one
    text in which each value can be parsed alone. ``rejected`` is the error of a newer version, in place of which it was
    loaded.
    """

    path: str
    graph: Graph
    settings: Settings
    files: tuple[str, ...] = ()
    inputs: Inputs = NO_INPUTS
    data: Mapping[str, Any] = MappingProxyType({})
    warnings: tuple[str, ...] = ()
    pre_message: str | None = None
    post_message: str | None = None
    channels: Mapping[str, Channel] = MappingProxyType({})
    shares: Mapping[str, Any] = MappingProxyType({})
    is_separable: bool = False
    rejected: ManifestError | None = None


Names = str | Sequence[str]
"""The name of a manifest (a file, a URL, or a directory of manifests), or several names to load as one manifest."""


def load(path: Names, inputs: Inputs = NO_INPUTS, external: Sequence[str] = ()) -> LoadedManifest:
    """Read, bind and connect the manifest ``path``.

    Of the host's state, it reads only symlinks that give a file two names.

    References to the ``external`` resources, which are names or globs, are accepted. Raises ManifestError with all
    problems of the manifest, sorted by place.
    """
    warnings: list[str] = []
    manifest, graph = validated(path, inputs, warnings.append, external)
    loaded = LoadedManifest(
        shown(path),
        graph,
        manifest.settings,
        (*manifest.files, *filter(is_directory, _names(path)), *inputs.fact_paths),
        inputs,
        manifest.data,
        (*warnings, *manifest.warnings, *inputs.notes),
        manifest.pre_message,
        manifest.post_message,
        manifest.channels,
        manifest.shares,
        [part.is_separable for part in manifest.parts] == [True],
    )
    free(manifest.declarations or [])
    return loaded


def validated(
    path: Names, inputs: Inputs, warn: Callable[[str], None], external: Sequence[str] = ()
) -> tuple[Manifest, Graph]:
    """Return the manifest ``path`` as it was read, and its graph. Raises ManifestError as `load` does."""
    files, known = all_located(path, inputs, warn), with_roles(with_site(inputs, warn))
    with gc_paused():
        try:
            manifest, problems = read_manifests(files, inputs=known)
            graph = _connected(manifest, problems, external)
        except ManifestError as error:
            _require_facts(inputs, error.files)
            fetched_from = [name for name in _names(path) if is_elsewhere(name)]
            raise (_with_origins(error, fetched_from, inputs) if fetched_from else error) from error.__cause__
        _require_facts(inputs, manifest.files)
        return manifest, graph


def _require_facts(inputs: Inputs, files: Sequence[str]) -> None:
    """Raise ManifestError if a fact that was read is not known: with a default, the manifest of another role would load."""
    if inputs.are_lacking_facts:
        message = "the manifest uses a fact that is not known: the fact files do not answer"
        hint = "repair the file system that 'findmnt' shows above facts.d, or give the fact with --fact"
        raise ManifestError([Diagnostic("R0101", message, None, hint)], files)


def _with_origins(error: ManifestError, urls: Sequence[str], inputs: Inputs) -> ManifestError:
    """Return the same problems; those of a file in the cache say where it is from."""
    from reactor.source.cache import directory_of  # noqa: PLC0415 - most manifests are files

    origins = {directory_of(url, inputs.cache, inputs.context): shown(url) for url in urls}

    def with_origin(problem: Diagnostic) -> Diagnostic:
        file = os.path.abspath(problem.place.file) if problem.place else ""
        notes = [
            (f"the file is in {url}", None) for above, url in origins.items() if file.startswith(f"{above}/")
        ]
        return problem._replace(notes=(*problem.notes, *notes))

    found = ManifestError([with_origin(each) for each in error.diagnostics], error.files, error.texts)
    found.valid, found.invalid_names = error.valid, error.invalid_names
    return found


def load_tree(problems: Problems, tree: Any, inputs: Inputs) -> LoadedManifest:
    """Do the same as `load` for a parsed manifest. ``problems`` collects the problems of its source."""
    warnings: list[str] = []
    manifest, found = read_tree(problems, tree, inputs=with_roles(with_site(inputs, warnings.append)))
    graph = _connected(manifest, found)
    files, data = manifest.files, manifest.data
    return LoadedManifest(
        manifest.path, graph, manifest.settings, files, inputs, data, (*warnings, *manifest.warnings)
    )


def _connected(manifest: Manifest, problems: list[Diagnostic], external: Sequence[str] = ()) -> Graph:
    graph, conflicts = build(
        manifest.resources,
        chains=manifest.chains,
        locate=manifest.locate,
        placeholders=manifest.placeholders,
        broken=manifest.broken,
        unread=manifest.unread,
        external=external,
    )
    if problems or conflicts:
        found = sorted([*problems, *conflicts], key=_position)
        raise _invalid(manifest, found)
    return graph


def _invalid(manifest: Manifest, found: list[Diagnostic]) -> ManifestError:
    # Not in the function that raises it: its frame and the error would hold each other, and all resources with them.
    error = ManifestError(found, manifest.files, manifest.texts)
    if not (manifest.unread or any(ref.endswith("*") for ref in manifest.broken)):
        error.valid = manifest.resources
        broken = (ref.partition("#")[2] for ref in manifest.broken)
        error.invalid_names = frozenset((*(each.name for each in manifest.placeholders), *broken))
    return error


def all_located(path: Names, inputs: Inputs, warn: Callable[[str], None]) -> list[str]:
    """Return the local files of the manifests ``path``, each once; those of a directory are sorted by name.

    Raises ManifestError.
    """
    found: dict[str, str] = {}
    for name in _names(path):
        files = manifests_in(name) if is_directory(name) else [located(name, inputs, warn)]
        for file in files:
            found.setdefault(os.path.abspath(file), file)
    return list(found.values())


def _names(path: Names) -> Sequence[str]:
    return (path,) if isinstance(path, str) else path


def located(path: str, inputs: Inputs, warn: Callable[[str], None]) -> str:
    """Return the local file of the manifest ``path``; a URL is downloaded. Raises ManifestError."""
    if not is_elsewhere(path):
        return path
    from reactor.source.cache import fetched  # noqa: PLC0415 - most manifests are files

    return fetched(path, inputs.cache, warn, inputs.context)


def data_located(path: str, inputs: Inputs, warn: Callable[[str], None]) -> str:
    """Do the same as `located` for a data file, or a manifest that contains data."""
    if not is_elsewhere(path):
        return path
    from reactor.source.address import is_archive  # noqa: PLC0415 - most data are files
    from reactor.source.cache import fetched_data  # noqa: PLC0415

    if is_archive(path):
        return located(path, inputs, warn)
    return fetched_data(path, inputs.cache, warn, _data_problem, inputs.context)


def with_site(inputs: Inputs, warn: Callable[[str], None]) -> Inputs:
    """Return the inputs with the local file of the site data; a URL is downloaded. Raises ManifestError."""
    if inputs.site is None or not is_elsewhere(inputs.site):
        return inputs
    from reactor.source.cache import fetched_data  # noqa: PLC0415

    site = fetched_data(inputs.site, inputs.cache, warn, _data_problem, inputs.context)
    return inputs._replace(site=site, files=(*inputs.files, site))


class _Roles:
    """Finds roles from elsewhere. Its modules are imported when a manifest has one."""

    locks_all = False

    def __init__(self, cache: str | None, context: str) -> None:
        self._cache, self._context = cache, context

    @cached_property
    def _finder(self) -> RoleFinder:
        from reactor.roles.finder import RoleFinder  # noqa: PLC0415 - most roles are local directories

        return RoleFinder(self._cache, self._context)

    def find(self, wanted: RemoteRole, directory: str) -> str:
        """Return the directory of a role. Raises RoleError."""
        return self._finder.find(wanted, directory)

    def lock_path(self, directory: str) -> str:
        """Return the path of the lock file."""
        return self._finder.lock_path(directory)


def with_roles(inputs: Inputs) -> Inputs:
    """Return the inputs with a finder of roles from elsewhere. Made for each load, since it keeps the lock file."""
    return inputs if inputs.roles is not None else inputs._replace(roles=_Roles(inputs.cache, inputs.context))


def _data_problem(path: Path) -> str | None:
    """Return the first problem of a data file; None if it is valid."""
    source = read_source(path, "the data")
    if isinstance(source, Diagnostic):
        return source.message
    problems = Problems(source)
    sections_of(problems)
    for problem in problems.sorted():
        where = f" (line {problem.place.line})" if problem.place else ""
        return f"{problem.message}{where}"
    return None


def whole_path(path: str) -> str:
    """Return ``path`` as an absolute path; a URL is not changed."""
    return path if is_elsewhere(path) else os.path.abspath(path)


def is_elsewhere(path: str) -> bool:
    """Whether ``path`` is a URL."""
    return "://" in path


def shown(path: Names) -> str:
    """Return the name of the manifest for messages, without credentials. Several names are shown as absolute paths."""
    if not isinstance(path, str):
        one, *others = path
        return " ".join(shown(whole_path(name)) for name in path) if others else shown(one)
    if not is_elsewhere(path):
        return path
    from reactor.source.address import parse_address  # noqa: PLC0415

    return parse_address(path).shown


def _position(problem: Diagnostic) -> tuple[str, int, int]:
    return problem.place or ("", 0, 0)

"""What is wrong with what a manifest refers to, before a run.

`validate` refuses templates that can't be compiled, and warns of what a run would fail for: files that are missing
beside the manifest, and files that others could change. A dry run warns of what a run would not notice: shells of users
and programs of timers that are missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from reactor.engine.events import Checked, Ended, Event, Result
from reactor.engine.noop import LaterProviders
from reactor.resource.composite import Composite
from reactor.resource.plan import ResourceError
from reactor.trust.rule import DistrustedError

if TYPE_CHECKING:
    from reactor.cli.running.template_faults import TemplateFindings
    from reactor.graph.graph import Graph
    from reactor.loading import LoadedManifest
    from reactor.resource.base import Resource
    from reactor.resource.relations import NamedProgram, TemplateSource


def expected_failures(program: LoadedManifest) -> Iterator[str]:
    """A sentence for each file that is missing, that is no template, or that a run would refuse, with its place.

    Only files in the directories of the manifests can be missing: the others are on the host where it will run. What a
    resource of the manifest may make is not missing.
    """
    facts = {*program.inputs.fact_paths}  # skipped with a note of their own; their directories are the host's
    files = [each for each in program.files if each not in facts]
    yield from _distrusted(files)
    directories = tuple({f"{os.path.dirname(os.path.abspath(file))}/" for file in files})
    missing = [
        (resource, path)
        for resource in program.graph.resources.values()
        for path in _read_by(resource)
        if path.startswith(directories) and not os.path.exists(path)
    ]
    made = _made(program.graph.resources.values()) if missing else _Made(frozenset(), frozenset())
    for resource, path in missing:
        if path not in made.above and made.provided.isdisjoint((path, *_above(path))):
            yield f"{resource.declared.place}: {resource.ref}: the {_property_of(resource, path)} {path} does not exist"
    for resource in program.graph.resources.values():
        _, error = _templates_of(resource)
        # Templates that are missing, or not to be trusted, are reported elsewhere.
        if error is not None and error.missing is None and not isinstance(error.__cause__, DistrustedError):
            yield f"{resource.declared.place}: {resource.ref}: {error.message}"


def template_findings(resources: Collection[Resource], also_made: Collection[str] = ()) -> TemplateFindings:
    """What is wrong with the templates. One that a resource of the manifest makes will be another then.

    ``also_made`` are further paths that will be made.
    """
    from reactor.cli.running.template_faults import check_templates

    sources = {each.path: each for resource in resources for each in _templates_of(resource)[0]}
    made = _made(resources).provided.union(also_made) if sources else frozenset()
    return check_templates(sources.values(), lambda path: not made.isdisjoint((path, *_above(path))))


def _templates_of(resource: Resource) -> tuple[Collection[TemplateSource], ResourceError | None]:
    """The templates of ``resource`` up to the first that can't be read, and why that can't."""
    found: list[TemplateSource] = []
    try:
        found.extend(resource.template_sources())
    except ResourceError as error:
        return found, error
    return found, None


class _Made(NamedTuple):
    """The paths that resources provide, and all directories above them."""

    provided: frozenset[str]
    above: frozenset[str]


def _made(resources: Iterable[Resource]) -> _Made:
    provided = frozenset(path for each in resources for path in each.relations().provides)
    return _Made(provided, frozenset(up for path in provided for up in _above(path)))


def _above(path: str) -> Iterator[str]:
    while (above := os.path.dirname(path)) != path:
        yield above
        path = above


def _read_by(resource: Resource) -> Iterable[str]:
    if isinstance(resource, Composite):
        return [resource.manifest_path] if resource.is_missing else ()
    return [path.rstrip("/") for path in resource.source_files()]


def _property_of(resource: Resource, path: str) -> str:
    """The property that names ``path``, for messages."""
    if isinstance(resource, Composite):
        return "manifest"
    named = (name for name in type(resource).model_fields if getattr(resource, name) in (path, f"{path}/"))
    return next(named, "source")


class MissingPrograms:
    """Gets the events of a dry run, and tells at its end which programs are missing that resources only name.

    A program is not missing if a resource that is not as desired yet may bring it. Nobody knows what a package brings
    before it is installed: it counts as bringing the program of its own name.
    """

    def __init__(self, graph: Graph, warn: Callable[[str], None]) -> None:
        self._graph = graph
        self._warn = warn
        self._as_desired: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Note the result of a check; at the end of the run, warn."""
        if isinstance(event, Checked):
            (self._as_desired.add if event.result is Result.OK else self._as_desired.discard)(event.ref)
        elif isinstance(event, Ended):
            for sentence in self._sentences():
                self._warn(sentence)

    def _sentences(self) -> Iterator[str]:
        resources = [*self._graph.resources.values()]
        naming = [
            (at, relations) for at, each in enumerate(resources) if (relations := each.relations()).names
        ]
        if not naming:
            return
        pending = [at for at, each in enumerate(resources) if each.ref not in self._as_desired]
        packages = [resources[at] for at in pending if resources[at].provides_more]
        providers = LaterProviders((at for at in pending if not resources[at].provides_more), resources)
        for at, relations in naming:
            for program in relations.names:
                found = [providers.find(at, path, relations.depends_on) for path in program.paths]
                if found.count(None) == len(found) and (words := _missing(program, packages)) is not None:
                    yield f"{resources[at].declared.place}: {resources[at].ref}: {words}"


def _missing(program: NamedProgram, packages: Iterable[Resource]) -> str | None:
    """How it is said that ``program`` is missing; None if it is there, or if one of ``packages`` has its name."""
    if any(map(os.path.exists, program.paths)):
        return None
    able = [each for each in packages if any(map(each.might_provide, program.paths))]
    names = {os.path.basename(path) for path in program.paths}
    if any(package.name.partition(":")[0] in names for package in able):
        return None
    unless = ", unless a package does" if able else ""
    return f"{program.words} is not there, and no resource brings it{unless}"


def _distrusted(files: Iterable[str]) -> Iterator[str]:
    from reactor.trust.inputs import require_input
    from reactor.trust.rule import DistrustedError

    for file in files:
        try:
            with suppress(FileNotFoundError):
                require_input(file)
        except DistrustedError as error:
            yield f"'reactor run' would refuse {file}: {error} ({error.hint})"

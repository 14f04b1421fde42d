"""The step that reports resources which contradict each other, or need something else at a path than another makes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from reactor.graph.graph_builder import GraphBuilder
from reactor.graph.names import parents
from reactor.resource.base import Resource
from reactor.resource.diagnostic import Diagnostic, PropertyPath
from reactor.resource.gc_control import free_dict
from reactor.resource.relations import FILE_SPACES, PATHS, PlacedClaim

_NO_CONTRADICTIONS = Resource.contradictions.__func__  # type: ignore[attr-defined]
"""That of kinds whose resources can't contradict each other in a group."""


def report_contradictions(builder: GraphBuilder) -> None:
    """Report claims that differ or that others exclude or remove, what is below files, and sources that can't be ones."""
    builder.diagnostics.extend(_disagreements(builder))
    builder.diagnostics.extend(_excluded(builder))
    builder.diagnostics.extend(_doomed(builder))
    builder.diagnostics.extend(_edited_by_other_names(builder))
    builder.diagnostics.extend(_below_files(builder))
    builder.diagnostics.extend(_disagreements_in_groups(builder))
    builder.diagnostics.extend(_wrong_sources(builder))


def _disagreements(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """Compares each claim with the first one of the same thing, whatever its path."""
    firsts: dict[tuple[str, object], PlacedClaim] = {}
    for claim in builder.claims.comparable:
        earlier = firsts.setdefault((claim.space, _thing(builder, claim)), claim)
        first, vertex = earlier.vertex, claim.vertex
        if first != vertex and (attributes := builder.whole(claim).disagreement(builder.whole(earlier))):
            what = f"{' and '.join(attributes)} of the {claim.space} {claim.key}"
            also = "" if claim.key == earlier.key else f", which is {earlier.key} as well"
            message = f"{builder.refs[first]} and {builder.refs[vertex]} do not agree on {what}{also}"
            yield _contradiction(builder, message, (first, vertex), (attributes[0],))
    free_dict(firsts)


def _disagreements_in_groups(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """Calls the kinds whose resources change one thing together, such as lines of one file."""
    groups: dict[tuple[object, object], list[int]] = {}
    for vertex in builder.managed:
        resource = builder.resources[vertex]
        look = type(resource).contradictions.__func__  # type: ignore[attr-defined]
        if look is not _NO_CONTRADICTIONS:
            groups.setdefault((look, resource.group_key()), []).append(vertex)
    for vertices in groups.values():
        members = [builder.resources[vertex] for vertex in vertices]
        for found in type(members[0]).contradictions(members) if len(members) > 1 else ():
            first, second = vertices[found.first], vertices[found.second]
            message = f"{builder.refs[first]} and {builder.refs[second]} do not agree on {found.about}"
            yield _contradiction(builder, message, (first, second), (found.attribute,))


def _thing(builder: GraphBuilder, claim: PlacedClaim) -> object:
    """The identity of the claimed thing: equal for two paths that are names of one file."""
    if claim.space not in FILE_SPACES:
        return claim.key
    return builder.real_paths.entry(claim.key) or builder.real_paths.of(claim.key)


def _excluded(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """The claims in spaces where another resource allows no further ones."""
    exclusions = {
        each.space: (vertex, each)
        for vertex in builder.managed
        for each in builder.resources[vertex].excludes()
    }
    for claim in builder.claims.everything if exclusions else ():
        vertex = claim.vertex
        excluder, exclusion = exclusions.get(claim.space, (vertex, None))
        if exclusion is None or excluder == vertex or claim.key in exclusion.but:
            continue
        message = f"{builder.refs[vertex]} adds {claim.key} to the {claim.space}, and {builder.refs[excluder]} removes it"
        yield _contradiction(
            builder,
            message,
            (excluder, vertex),
            tuple(builder.whole(claim).desired)[:1],
            (exclusion.attribute,),
        )


def _doomed(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """The claims below a directory that another resource removes.

    A provided path without a claim may be removed again.
    """
    removers = {
        builder.real_paths.of(path): (vertex, path)
        for vertex, relations in builder.removing_or_editing.items()
        for path in relations.removes
        if path.startswith("/")
    }
    for claim in builder.claims.everything if removers else ():
        vertex, path = claim.vertex, claim.key
        if claim.space != PATHS or path not in builder.relations(vertex).provides:
            continue
        above = next((above for above in parents(builder.real_paths.of(path)) if above in removers), None)
        if above is not None:
            remover, removed = removers[above]
            message = f"{builder.refs[remover]} removes {removed}, and {builder.refs[vertex]} needs {path}"
            yield _contradiction(builder, message, (remover, vertex), ("ensure",))


def _edited_by_other_names(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """The files that one resource edits through a symlink, and that another manages by their own path."""
    real = builder.real_paths
    for vertex, edits in builder.edits.items():
        for path in edits:
            theirs = builder.claims_by_path.get(file := real.destination(path))
            if theirs is None or theirs.vertex == vertex or file == real.of(path):
                continue
            wanted = (claim for claim in builder.resources[vertex].claims() if claim.key == path)
            if attributes := [name for each in wanted for name in each.disagreement(builder.whole(theirs))]:
                what = f"{' and '.join(attributes)} of {file}, to which {path} leads"
                message = f"{builder.refs[theirs.vertex]} and {builder.refs[vertex]} do not agree on {what}"
                yield _contradiction(builder, message, (theirs.vertex, vertex), (attributes[0],))


def _below_files(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """What is provided below a path at which another resource makes a file."""
    above = {*builder.claims.directories, *_directories_without_claims(builder)}
    for directory in tuple(above):
        above.update(takewhile(lambda here: here not in above, parents(directory)))
    files = {
        path: claim.vertex
        for path in builder.claims_by_path.keys() & above
        if builder.whole(claim := builder.claims_by_path[path]).is_of_file
    }
    for vertex in builder.managed if files else ():
        for path in {
            *builder.relations(vertex).provides,
            *_directories_claimed_by(builder.resources[vertex]),
        }:
            file = next((here for here in parents(path) if here in files), None)
            if file is not None and (maker := files[file]) != vertex:
                message = f"{builder.refs[vertex]} needs {file} as a directory, and {builder.refs[maker]} makes it a file"
                yield _contradiction(builder, message, (maker, vertex), ("ensure",))


def _directories_claimed_by(resource: Resource) -> Iterator[str]:
    """The directories that must be there, also if the resource does not make them, as that of `tidy`."""
    claims = (each for each in resource.claims() if each.space == PATHS)
    return (each.key for each in claims if each.desired.get("ensure") == "directory")


def _directories_without_claims(builder: GraphBuilder) -> Iterator[str]:
    """The directories of what is provided by kinds that claim nothing, such as commands."""
    every: set[type[Resource]] = {type(each) for each in builder.resources}
    kinds = {kind for kind in every if kind.claims is Resource.claims}
    for vertex in builder.managed if kinds else ():
        if type(builder.resources[vertex]) in kinds:
            yield from (path.rpartition("/")[0] for path in builder.relations(vertex).provides)


def _wrong_sources(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """The sources that are the copy itself, or a directory."""
    for vertex in builder.managed:
        files = builder.resources[vertex].source_files()
        if files and (sources := [path for path in files if path.startswith("/")]):
            yield from _copies_of_themselves(builder, vertex, sources)
            if not builder.claims_by_path.keys().isdisjoint(sources):
                yield from _directories_as_sources(builder, vertex, sources)


def _copies_of_themselves(builder: GraphBuilder, vertex: int, sources: list[str]) -> Iterator[Diagnostic]:
    """The source that is, by another name, the file or directory that ``vertex`` creates."""
    real = builder.real_paths
    made = [real.of(path) for path in builder.relations(vertex).provides if path.startswith("/")]
    for source in sources:
        origin = real.destination(source)
        if (path := next((path for path in made if _is_within(source, origin, path)), None)) is not None:
            message = (
                f"{builder.refs[vertex]} would be a copy of itself: {source.rstrip('/')} leads to {path}"
            )
            yield Diagnostic("R0205", message, builder.locate(vertex, ("source",)), "name another source")


def _directories_as_sources(builder: GraphBuilder, vertex: int, sources: list[str]) -> Iterator[Diagnostic]:
    """The sources that must be files, and that other resources make directories."""
    for source in sources:  # that of a directory ends with a slash
        claim = builder.claims_by_path.get(source)
        if claim is not None and builder.whole(claim).desired.get("ensure") == "directory":
            message = f"{builder.refs[vertex]} reads {source} as a file, and {builder.refs[claim.vertex]} makes it a directory"
            yield _contradiction(builder, message, (claim.vertex, vertex), ("source",), ("ensure",))


def _is_within(source: str, origin: str, made: str) -> bool:
    """Whether both are one file.

    For a source that ends in a slash: whether one directory is, or contains, the other.
    """
    if not source.endswith("/"):
        return origin == made
    return f"{origin}/".startswith(f"{made}/") or f"{made}/".startswith(f"{origin}/")


def _contradiction(
    builder: GraphBuilder,
    message: str,
    vertices: tuple[int, int],
    prop: PropertyPath,
    prop_of_first: PropertyPath | None = None,
) -> Diagnostic:
    """The problem that two resources want different things, with the places of their property ``prop``.

    In the first resource, the property may have another name, ``prop_of_first``.
    """
    first, second = vertices
    note = f"{builder.refs[first]} is declared here", builder.locate(first, prop_of_first or prop)
    hint = "remove one of them, or make both declare the same"
    return Diagnostic("R0205", message, builder.locate(second, prop), hint, (note,))

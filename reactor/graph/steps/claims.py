"""The step that looks for resources which could never both be as desired."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.graph_builder import GraphBuilder
from reactor.graph.names import parents
from reactor.resource.diagnostic import Diagnostic, PropertyPath
from reactor.resource.relations import FILE_SPACES, PATHS, Claim


def report_contradictions(builder: GraphBuilder) -> None:
    """Report two that want the same thing to be different, or one what the other has no room for or removes.

    And what is to be a copy of itself.
    """
    builder.diagnostics.extend(_disagreements(builder))
    builder.diagnostics.extend(_excluded(builder))
    builder.diagnostics.extend(_doomed(builder))
    builder.diagnostics.extend(_copies_of_themselves(builder))


def _disagreements(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """Each claim is compared with the first of the same thing, by whatever path."""
    firsts: dict[tuple[str, object], tuple[int, Claim]] = {}
    for vertex, claim in builder.claims:
        first, earlier = firsts.setdefault((claim.space, _thing(builder, claim)), (vertex, claim))
        if first != vertex and (attributes := claim.disagreement(earlier)):
            what = f"{' and '.join(attributes)} of the {claim.space} {claim.key}"
            also = "" if claim.key == earlier.key else f", which is {earlier.key} as well"
            message = f"{builder.refs[first]} and {builder.refs[vertex]} do not agree on {what}{also}"
            yield _contradiction(builder, message, (first, vertex), (attributes[0],))


def _thing(builder: GraphBuilder, claim: Claim) -> object:
    """What is claimed: equal for two paths that are names of one file."""
    if claim.space not in FILE_SPACES:
        return claim.key
    return builder.real_paths.entry(claim.key) or builder.real_paths.of(claim.key)


def _excluded(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """What is claimed where another resource leaves no room for it."""
    exclusions = {
        each.space: (vertex, each)
        for vertex in builder.managed
        for each in builder.resources[vertex].excludes()
    }
    for vertex, claim in builder.claims if exclusions else ():
        excluder, exclusion = exclusions.get(claim.space, (vertex, None))
        if exclusion is None or excluder == vertex or claim.key in exclusion.but:
            continue
        message = f"{builder.refs[vertex]} wants {claim.key} among the {claim.space}, and {builder.refs[excluder]} takes it out"
        yield _contradiction(
            builder, message, (excluder, vertex), tuple(claim.wishes)[:1], (exclusion.attribute,)
        )


def _doomed(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """What is to be below a directory that is to go. A path that is made but not claimed may well go again."""
    removers = {
        builder.real_paths.of(path): (vertex, path)
        for vertex in builder.managed
        for path in builder.relations(vertex).removes
        if path.startswith("/")
    }
    for vertex, claim in builder.claims if removers else ():
        path = claim.key
        if claim.space != PATHS or path not in builder.relations(vertex).provides:
            continue
        above = next((above for above in parents(builder.real_paths.of(path)) if above in removers), None)
        if above is not None:
            remover, removed = removers[above]
            message = f"{builder.refs[remover]} removes {removed}, and {builder.refs[vertex]} wants {path} to be there"
            yield _contradiction(builder, message, (remover, vertex), ("ensure",))


def _copies_of_themselves(builder: GraphBuilder) -> Iterator[Diagnostic]:
    """What is made from the very file or directory that it makes, by another name of it."""
    real = builder.real_paths
    for vertex in builder.managed:
        if not (
            sources := [path for path in builder.resources[vertex].source_files() if path.startswith("/")]
        ):
            continue
        made = [real.of(path) for path in builder.relations(vertex).provides if path.startswith("/")]
        for source in sources:
            origin = real.destination(source)
            if (path := next((path for path in made if _is_within(source, origin, path)), None)) is not None:
                message = (
                    f"{builder.refs[vertex]} would be a copy of itself: {source.rstrip('/')} leads to {path}"
                )
                yield Diagnostic("R0205", message, builder.locate(vertex, ("source",)), "name another source")


def _is_within(source: str, origin: str, made: str) -> bool:
    """Whether the two are one file; or, for a source that ends in a slash, one directory, or one in the other."""
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
    """A problem of two resources, with the places of what they say about ``prop``; of the first, about another."""
    first, second = vertices
    note = f"{builder.refs[first]} says otherwise", builder.locate(first, prop_of_first or prop)
    hint = "take one of them away, or let them want the same"
    return Diagnostic("R0205", message, builder.locate(second, prop), hint, (note,))

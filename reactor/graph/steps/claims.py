"""The step that looks for resources which could never both be as desired."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.draft import Draft
from reactor.graph.paths import parents
from reactor.resource.claim import FILE_SPACES, PATHS, Claim
from reactor.resource.diagnostic import Diagnostic, PropertyPath


def report_contradictions(draft: Draft) -> None:
    """Report two that want the same thing to be different, or one what the other has no room for or removes.

    And what is to be a copy of itself.
    """
    draft.diagnostics.extend(_disagreements(draft))
    draft.diagnostics.extend(_excluded(draft))
    draft.diagnostics.extend(_doomed(draft))
    draft.diagnostics.extend(_copies_of_themselves(draft))


def _disagreements(draft: Draft) -> Iterator[Diagnostic]:
    """Everyone is compared with the first who claims the same thing, by whatever path."""
    firsts: dict[tuple[str, object], tuple[int, Claim]] = {}
    for vertex, claim in draft.claims:
        first, earlier = firsts.setdefault((claim.space, _thing(draft, claim)), (vertex, claim))
        if first != vertex and (attributes := claim.disagreement(earlier)):
            what = f"{' and '.join(attributes)} of the {claim.space} {claim.key}"
            also = "" if claim.key == earlier.key else f", which is {earlier.key} as well"
            message = f"{draft.refs[first]} and {draft.refs[vertex]} do not agree on {what}{also}"
            yield _contradiction(draft, message, (first, vertex), (attributes[0],))


def _thing(draft: Draft, claim: Claim) -> object:
    """What is claimed: equal for two paths that are names of one file."""
    if claim.space not in FILE_SPACES:
        return claim.key
    return draft.real_paths.entry(claim.key) or draft.real_paths.of(claim.key)


def _excluded(draft: Draft) -> Iterator[Diagnostic]:
    """What is claimed where another resource leaves no room for it."""
    exclusions = {
        each.space: (vertex, each) for vertex in draft.managed for each in draft.resources[vertex].excludes()
    }
    for vertex, claim in draft.claims if exclusions else ():
        excluder, exclusion = exclusions.get(claim.space, (vertex, None))
        if exclusion is None or excluder == vertex or claim.key in exclusion.but:
            continue
        message = f"{draft.refs[vertex]} wants {claim.key} among the {claim.space}, and {draft.refs[excluder]} takes it out"
        yield _contradiction(
            draft, message, (excluder, vertex), tuple(claim.wishes)[:1], (exclusion.attribute,)
        )


def _doomed(draft: Draft) -> Iterator[Diagnostic]:
    """What is to be below a directory that is to go. A path that is made but not claimed may well go again."""
    removers = {
        draft.real_paths.of(path): (vertex, path)
        for vertex in draft.managed
        for path in draft.resources[vertex].removes()
        if path.startswith("/")
    }
    for vertex, claim in draft.claims if removers else ():
        path = claim.key
        if claim.space != PATHS or path not in draft.resources[vertex].provides():
            continue
        above = next((above for above in parents(draft.real_paths.of(path)) if above in removers), None)
        if above is not None:
            remover, removed = removers[above]
            message = (
                f"{draft.refs[remover]} removes {removed}, and {draft.refs[vertex]} wants {path} to be there"
            )
            yield _contradiction(draft, message, (remover, vertex), ("ensure",))


def _copies_of_themselves(draft: Draft) -> Iterator[Diagnostic]:
    """What is made from the very file or directory that it makes, by another name of it."""
    real = draft.real_paths
    for vertex in draft.managed:
        resource = draft.resources[vertex]
        if not (sources := [path for path in resource.reads() if path.startswith("/")]):
            continue
        made = [real.of(path) for path in resource.provides() if path.startswith("/")]
        for source in sources:
            origin = real.destination(source)
            if (path := next((path for path in made if _is_within(source, origin, path)), None)) is not None:
                message = (
                    f"{draft.refs[vertex]} would be a copy of itself: {source.rstrip('/')} leads to {path}"
                )
                yield Diagnostic("R0205", message, draft.locate(vertex, ("source",)), "name another source")


def _is_within(source: str, origin: str, made: str) -> bool:
    """Whether the two are one file; or, for a source that ends in a slash, one directory, or one in the other."""
    if not source.endswith("/"):
        return origin == made
    return f"{origin}/".startswith(f"{made}/") or f"{made}/".startswith(f"{origin}/")


def _contradiction(
    draft: Draft,
    message: str,
    vertices: tuple[int, int],
    prop: PropertyPath,
    prop_of_first: PropertyPath | None = None,
) -> Diagnostic:
    """A problem of two resources, with the places of what they say about ``prop``; of the first, about another."""
    first, second = vertices
    note = f"{draft.refs[first]} says otherwise", draft.locate(first, prop_of_first or prop)
    hint = "take one of them away, or let them want the same"
    return Diagnostic("R0205", message, draft.locate(second, prop), hint, (note,))

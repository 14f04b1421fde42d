"""The step that looks for resources which could never both be as desired."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.draft import Draft
from reactor.graph.paths import parents
from reactor.resource.claim import FILE_SPACES, PATHS, Claim
from reactor.resource.diagnostic import Diagnostic, PropertyPath


def report_contradictions(draft: Draft) -> None:
    """Report two that want the same thing to be different, and whatever is to be where another removes."""
    draft.diagnostics.extend(_disagreements(draft))
    draft.diagnostics.extend(_doomed(draft))


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


def _contradiction(draft: Draft, message: str, vertices: tuple[int, int], prop: PropertyPath) -> Diagnostic:
    """A problem of two resources, with the places of what they say about ``prop``."""
    first, second = vertices
    note = f"{draft.refs[first]} says otherwise", draft.locate(first, prop)
    hint = "take one of them away, or let them want the same"
    return Diagnostic(message, draft.locate(second, prop), hint, (note,))

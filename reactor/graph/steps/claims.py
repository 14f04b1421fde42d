"""The step that looks for resources which could never both be as desired."""

from __future__ import annotations

from collections.abc import Iterator

from reactor.graph.draft import Draft
from reactor.graph.paths import parents
from reactor.resource.claim import PATHS, Claim
from reactor.resource.diagnostic import Diagnostic, PropertyPath

_Claims = list[tuple[int, Claim]]
"""Every claim with its vertex, in the order of the manifest."""


def report_contradictions(draft: Draft) -> None:
    """Report two that want the same thing to be different, and whatever is to be where another removes."""
    claims = [(vertex, claim) for vertex in draft.managed for claim in draft.resources[vertex].claims()]
    draft.diagnostics.extend(_disagreements(draft, claims))
    draft.diagnostics.extend(_doomed(draft, claims))


def _disagreements(draft: Draft, claims: _Claims) -> Iterator[Diagnostic]:
    """Everyone is compared with the first who claims the same thing."""
    firsts: dict[tuple[str, str], tuple[int, Claim]] = {}
    for vertex, claim in claims:
        first, earlier = firsts.setdefault((claim.space, claim.key), (vertex, claim))
        if first == vertex:
            continue
        common = [name for name in claim.wishes if name in earlier.wishes]
        if attributes := [name for name in common if claim.wishes[name] != earlier.wishes[name]]:
            what = f"{' and '.join(attributes)} of the {claim.space} {claim.key}"
            message = f"{draft.refs[first]} and {draft.refs[vertex]} do not agree on {what}"
            yield _contradiction(draft, message, (first, vertex), (attributes[0],))


def _doomed(draft: Draft, claims: _Claims) -> Iterator[Diagnostic]:
    """What is to be below a directory that is to go. A path that is made but not claimed may well go again."""
    removers = {path: vertex for vertex in draft.managed for path in draft.resources[vertex].removes()}
    for vertex, claim in claims if removers else ():
        path = claim.key
        if claim.space != PATHS or path not in draft.resources[vertex].provides():
            continue
        if (above := next((above for above in parents(path) if above in removers), None)) is not None:
            remover = removers[above]
            message = (
                f"{draft.refs[remover]} removes {above}, and {draft.refs[vertex]} wants {path} to be there"
            )
            yield _contradiction(draft, message, (remover, vertex), ("ensure",))


def _contradiction(draft: Draft, message: str, vertices: tuple[int, int], prop: PropertyPath) -> Diagnostic:
    """A problem of two resources, with the places of what they say about ``prop``."""
    first, second = vertices
    note = f"{draft.refs[first]} says otherwise", draft.locate(first, prop)
    hint = "take one of them away, or let them want the same"
    return Diagnostic(message, draft.locate(second, prop), hint, (note,))

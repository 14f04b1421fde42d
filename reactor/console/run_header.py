"""What is said before the first event: the manifest's own words, and what this run leaves aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.graph.select import Follower, Selection

_LISTED = 20


def selection_text(selection: Selection, total: int) -> str:
    """For people: how much of the manifest runs, and what came or went without being named."""
    lines = [f"selected {len(selection.graph.resources)} of {total} resources"]
    lines += _listed(selection.pulled_in, "pulled in", "required by")
    lines += _listed(selection.left_out, "left out", "requires")
    return "\n".join(lines)


def _listed(followers: Sequence[Follower], what: str, why: str) -> Iterator[str]:
    for follower in followers[:_LISTED]:
        yield f"  {what}: {follower.ref}  ({why} {follower.because})"
    if len(followers) > _LISTED:
        yield f"  {what}: {len(followers) - _LISTED} more"


def selection_record(selection: Selection, total: int) -> dict[str, Any]:
    """The same for programs, complete."""
    return {
        "event": "selection",
        "selected": len(selection.graph.resources),
        "of": total,
        "pulled_in": [follower._asdict() for follower in selection.pulled_in],
        "left_out": [follower._asdict() for follower in selection.left_out],
    }


def message_record(text: str) -> dict[str, Any]:
    """Words of the manifest for those who run it, for programs."""
    return {"event": "message", "text": text}


def metrics_record(url: str) -> dict[str, Any]:
    """Where the metrics are, for programs: the system may have chosen the port."""
    return {"event": "metrics", "url": url}


def warning_record(text: str) -> dict[str, Any]:
    """Something about the program itself that is not as it should be, for programs."""
    return {"event": "warning", "text": text}

"""The messages before the first event: the messages of the manifest, and the resources that this run leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactor.graph.select import Implied, Selection

_LISTED = 20


def selection_message(selection: Selection, total: int) -> tuple[str, dict[str, Any]]:
    """The resources that --only and --exclude leave out of ``total``, as text and as a record."""
    return _selection_text(selection, total), selection_record(selection, total)


def _selection_text(selection: Selection, total: int) -> str:
    """The number of selected resources, and the resources that are added or left out because of dependencies."""
    lines = [f"selected {len(selection.graph.resources)} of {total} resources"]
    lines += _listed(selection.pulled_in, "pulled in", "required by")
    lines += _listed(selection.left_out, "left out", "requires")
    return "\n".join(lines)


def _listed(followers: Sequence[Implied], what: str, why: str) -> Iterator[str]:
    for follower in followers[:_LISTED]:
        yield f"  {what}: {follower.ref}  ({why} {follower.because})"
    if len(followers) > _LISTED:
        yield f"  {what}: {len(followers) - _LISTED} more"


def selection_record(selection: Selection, total: int) -> dict[str, Any]:
    """The same as a record, with all resources."""
    return {
        "event": "selection",
        "selected": len(selection.graph.resources),
        "of": total,
        "pulled_in": [follower._asdict() for follower in selection.pulled_in],
        "left_out": [follower._asdict() for follower in selection.left_out],
    }


def message_record(text: str) -> dict[str, Any]:
    """A message of the manifest, as a record."""
    return {"event": "message", "text": text}


def metrics_record(url: str) -> dict[str, Any]:
    """The URL of the metrics, as a record: the kernel may have chosen the port."""
    return {"event": "metrics", "url": url}


def warning_record(text: str) -> dict[str, Any]:
    """A warning about the program itself, as a record."""
    return {"event": "warning", "text": text}

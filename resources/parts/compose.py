"""Changes several parts in one document, in an order that does not depend on which comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from reactor import Contradiction, Declared, ResourceError
from reactor.resources.parts.document import Document, Edit


class Editor(Protocol):
    """A resource that owns a part of the document."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def subject(self) -> str:
        """The property that identifies the part."""

    @property
    def title(self) -> str:
        """The part, in words."""

    @property
    def ref(self) -> str:
        """The identity of the resource."""

    @property
    def declared(self) -> Declared:
        """Where the resource is declared."""

    @property
    def waits_for_others(self) -> bool:
        """Whether the place of the part depends on other lines, which another part may bring."""

    def edit(self, document: Document) -> Edit | None:
        """The change that makes the part as desired; None if it is."""

    def change(self, document: Document) -> Edit | None:
        """As `edit`. Raises ResourceError if the part would not be as desired after it."""


class Composed(NamedTuple):
    """The document with all parts, and the errors of those that could not be changed, by ref."""

    after: Document
    refusals: dict[str, ResourceError]


def in_order(members: Sequence[Editor]) -> list[int]:
    """The positions of the members in the order of the manifest. Those that look for a line of another go last."""
    return sorted(range(len(members)), key=lambda number: _key(members[number]))


def _key(member: Editor) -> tuple[bool, str, int, str]:
    form = member.declared.form
    place = None if form.locate is None else member.declared.place
    file = "" if place is None else place.file
    return member.waits_for_others, file, member.declared.offset, member.ref


def compose(document: Document, members: Sequence[Editor]) -> Composed:
    """Change the parts of all members in ``document``, one after the other.

    A member whose part another one undoes is refused: it would be changed back and forth.
    """
    refusals: dict[str, ResourceError] = {}
    order = [members[number] for number in in_order(members)]
    for member in order:
        try:
            edit = member.change(document)
        except ResourceError as error:
            refusals[member.ref] = error
        else:
            document = document if edit is None else edit.after
    for member in order if len(order) > 1 else ():
        if member.ref not in refusals and not _is_satisfied(member, document):
            words = f"another part of {member.path} undoes this one"
            refusals[member.ref] = ResourceError(words, "remove one of them, or make both declare the same")
    return Composed(document, refusals)


def contradictions(members: Sequence[Editor]) -> Iterator[Contradiction]:
    """The pairs of members that can't both be as desired in one file. They are tried on an empty document."""
    order = in_order(members)
    document = compose(Document(), members).after
    undone = [number for number in order if not _is_satisfied(members[number], document)]
    found: set[tuple[int, int]] = set()
    for number in undone:
        other = next((each for each in order if each != number and _undo(members, number, each)), None)
        if other is not None:
            first, second = sorted((number, other))
            if (first, second) not in found:
                found.add((first, second))
                that = members[second]
                yield Contradiction(first, second, that.subject, f"{that.title} of {that.path}")


def _undo(members: Sequence[Editor], one: int, other: int) -> bool:
    """Whether the two, alone in a file, do not end with both as desired."""
    pair = (members[one], members[other])
    document = compose(Document(), pair).after
    return not all(_is_satisfied(each, document) for each in pair)


def _is_satisfied(member: Editor, document: Document) -> bool:
    try:
        return member.edit(document) is None
    except ResourceError:
        return False

"""How things were before the first change of each resource that can be undone, in the form of what undoes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from reactor.resource.base import Resource
from reactor.resource.registry import find_kind


class UndoRecord(NamedTuple):
    """One row of the table: ``kind`` and ``properties`` (JSON) make the resource that undoes ``ref``.

    Without them there is nothing to undo: it was as desired from the start. ``manifest`` is whose resource it is.
    """

    ref: str
    manifest: str
    kind: str | None
    properties: str | None


class UndoRecords:
    """All that is on record, the first made first. Those of other manifests are kept and left alone.

    No files here: the journal writes down what changes.
    """

    def __init__(self, found: Iterable[UndoRecord], manifest: str, warn: Callable[[str], None]) -> None:
        self._manifest = manifest
        self._warn = warn
        self._rows = {row.ref: row for row in found}

    def __contains__(self, ref: str) -> bool:
        return ref in self._rows

    def rows(self) -> list[UndoRecord]:
        """Everything."""
        return list(self._rows.values())

    def add(self, ref: str, reversal: Resource | None) -> UndoRecord:
        """Before its first change, ``ref`` was as ``reversal`` says, or (None) as it is to be."""
        if reversal is None:
            row = UndoRecord(ref, self._manifest, None, None)
        else:
            properties = reversal.model_dump_json(exclude_unset=True, by_alias=True)
            row = UndoRecord(ref, self._manifest, reversal.kind, properties)
        self._rows[ref] = row
        return row

    def drop(self, ref: str) -> bool:
        """Forget how ``ref`` was. Returns whether it was on record."""
        return self._rows.pop(ref, None) is not None

    def settle(self, resources: Mapping[str, Resource]) -> tuple[list[Resource], list[str]]:
        """``resources`` are in force. Returns what undoes those that left, the last changed first, and what to forget.

        To forget are those that no longer ask to be undone, or left with nothing to undo.
        """
        undo, forget = [], []
        for row in reversed(self._rows.values()):
            if row.manifest != self._manifest:
                continue
            if (resource := resources.get(row.ref)) is not None:
                if not resource.meta.reverse:
                    forget.append(row.ref)
            elif (reversal := self._made(row)) is not None:
                undo.append(reversal)
            else:
                forget.append(row.ref)
        return undo, forget

    def _made(self, row: UndoRecord) -> Resource | None:
        if row.kind is None or row.properties is None:
            return None
        try:
            return find_kind(row.kind).model_validate_json(row.properties)
        except (KeyError, ValidationError) as error:
            self._warn(f"{row.ref} can't be undone: {str(error).splitlines()[0]}; it stays as it is")
            return None

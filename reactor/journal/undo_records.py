"""Undo records: for each resource with ``reverse: true``, the resource that restores the state before its first change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from pydantic import ValidationError

from reactor.named_tuple import NamedTuple
from reactor.resource.base import Resource
from reactor.resource.registry import find_kind


class UndoRecord(NamedTuple):
    """One row of the table: ``kind`` and ``properties`` (JSON) of the resource that undoes ``ref``.

    ``kind`` and ``properties`` are None if there is nothing to undo: the resource was as desired from the start.
    ``manifest`` is the manifest of ``ref``.
    """

    ref: str
    manifest: str
    kind: str | None
    properties: str | None


class UndoRecords:
    """The undo records, the oldest first. Records of other manifests are kept unchanged.

    The journal writes the changes to disk.
    """

    def __init__(self, found: Iterable[UndoRecord], manifest: str, warn: Callable[[str], None]) -> None:
        self._manifest = manifest if "://" in manifest else os.path.abspath(manifest)
        self._warn = warn
        self._rows = {row.ref: row for row in found}

    def can_undo(self, ref: str) -> bool:
        """Whether there is a record of ``ref``."""
        return ref in self._rows

    def rows(self) -> list[UndoRecord]:
        """All records."""
        return list(self._rows.values())

    def add(self, ref: str, reversal: Resource | None) -> UndoRecord:
        """Record that ``reversal`` undoes ``ref``; None if ``ref`` was as desired from the start."""
        if reversal is None:
            row = UndoRecord(ref, self._manifest, None, None)
        else:
            properties = reversal.model_dump_json(exclude_unset=True, by_alias=True)
            row = UndoRecord(ref, self._manifest, reversal.kind, properties)
        return self.put(row)

    def put(self, row: UndoRecord) -> UndoRecord:
        """Record ``row`` in the place of the former one; return it."""
        self._rows[row.ref] = row
        return row

    def get(self, ref: str) -> UndoRecord | None:
        """The record of ``ref``."""
        return self._rows.get(ref)

    def reversal_of(self, ref: str) -> Resource | None:
        """The resource that undoes ``ref``; None if there is none, or nothing to undo."""
        return None if (row := self._rows.get(ref)) is None else self._made(row)

    def drop(self, ref: str) -> bool:
        """Delete the record of ``ref``. Returns whether there was one."""
        return self._rows.pop(ref, None) is not None

    def compare(
        self, resources: Mapping[str, Resource], may_have: Callable[[str], bool]
    ) -> tuple[list[Resource], list[str]]:
        """Compare the records with the current ``resources``. What ``may_have`` names may still come, and keeps its record.

        Return the resources that undo removed ones, the last changed first; and the refs of the records to delete:
        those of resources without ``reverse: true``, and of removed resources with nothing to undo.
        """
        undo, forget = [], []
        for row in reversed(self._rows.values()):
            if row.manifest != self._manifest:
                continue
            if (resource := resources.get(row.ref)) is not None:
                if not resource.meta.reverse:
                    forget.append(row.ref)
            elif may_have(row.ref):
                continue
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

"""What `Exec.observe` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExecState:
    """The answers of the guards; None where there is no such guard, or an earlier one had decided.

    ``ran`` tells that the command has succeeded in this generation of the manifest, ``fruitless`` that it has without
    making what it ``creates``, which has not been there since.
    """

    creates_exists: bool | None = None
    onlyif_ok: bool | None = None
    unless_ok: bool | None = None
    ran: bool = False
    fruitless: bool = False

    @property
    def declined(self) -> bool:
        """Whether a guard says that there is nothing to run."""
        return self.creates_exists is True or self.onlyif_ok is False or self.unless_ok is True

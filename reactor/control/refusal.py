"""That a request is not carried out: in the same words whether a run says so, or the command where nothing runs."""

from __future__ import annotations


class RefusedError(Exception):
    """The converger, or the system, does not do what was asked. ``hint`` says how to mend that."""

    def __init__(self, message: str, hint: str | None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @classmethod
    def by_system(cls, error: OSError) -> RefusedError:
        """What was asked is written to the state directory, and can't be."""
        return cls(f"the system refused: {error}", "see whether the state directory can be written")

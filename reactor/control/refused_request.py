"""That a request is not carried out: in the same words whether a run says so, or the command where nothing runs."""

from __future__ import annotations

from reactor.errors import ReactorError


class RefusedError(ReactorError):
    """The converger, or the system, does not do what was asked. ``hint`` says how to mend that."""

    code = "R0606"

    @classmethod
    def by_system(cls, error: OSError) -> RefusedError:
        """What was asked is written to the state directory, and can't be."""
        return cls(f"the system refused: {error}", "see whether the state directory can be written")

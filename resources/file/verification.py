"""Verifies new content where it is in force, by a command, and puts back what was there if the command fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import trio

from reactor import Action, Plan, ResourceError, in_thread
from reactor.hostfs import checksum_of, held, is_held, put_back, resource_error
from reactor.resources.file.planner import writes
from reactor.resources.file.reconciler import Reconciler
from reactor.resources.file.state import FileState
from reactor.resources.file.validator import Validator, refusal_of, require_startable

_AGAIN = 3600.0
"""Seconds after which content that was rejected is tried once more: its cause may have been elsewhere."""


class Verifier:
    """The verifying command ``text`` for the file ``path``, and the content that it has rejected last.

    It is the validator of its file, too: so a retry does not put rejected content in place again, which could disturb the
    service each time.
    """

    def __init__(self, path: str, text: str, validator: Validator | None) -> None:
        self._path = path
        self._text = text
        self._validator = validator
        self._candidate: str | None = None
        self._rejected: tuple[str | None, float, ResourceError] | None = None

    async def require_startable(self) -> None:
        """Raise ResourceError if the command, or that of the validator, can't be started."""
        if self._validator is not None:
            await self._validator.require_startable()
        await require_startable("verify", self._text)

    async def approve(self, candidate: str, path: str) -> None:
        """Raise ResourceError if the validator does, if the command can't be started, or if it has just rejected this content."""
        if self._validator is not None:
            await self._validator.approve(candidate, path)
        await require_startable("verify", self._text)
        self._candidate = await in_thread(checksum_of, candidate)
        if self._rejected is not None:
            checksum, until, error = self._rejected
            if checksum == self._candidate and trio.current_time() < until:
                raise error

    async def store(self, write: Callable[[], Awaitable[object]]) -> None:
        """Let ``write`` write the file, and verify it. Raises ResourceError; the former file is then back."""
        try:
            async with held(self._path):
                await write()
                await self._verify()
        except _RejectedError as error:
            words = await self._words_of_former()
            found = ResourceError(f"{error.message}{words}", error.hint, missing=error.missing)
            self._rejected = (self._candidate, trio.current_time() + _AGAIN, found)
            raise found from None

    async def _verify(self) -> None:
        hint = (
            f"{self._path} is as before: correct the new content, or the command in `verify`; "
            "the same content is tried again after an hour, and by each `reactor run`"
        )
        try:
            refusal = await refusal_of("verify", self._text, self._path)
        except ResourceError as error:
            raise _RejectedError(error.message, hint, missing=error.missing) from error
        if refusal is not None:
            raise _RejectedError(refusal, hint)

    async def _words_of_former(self) -> str:
        """Run the command for what was put back, so that a service that it reloads is as before; how that failed."""
        try:
            refusal = await refusal_of("verify", self._text, self._path)
        except ResourceError as error:
            refusal = error.message
        return "" if refusal is None else f"\nwith what was there before, too: {refusal}"


class _RejectedError(ResourceError):
    """The command has failed for the new content."""


class VerifiedReconciler:
    """Observes and plans the path by ``itself``, and lets a `Verifier` write it."""

    __slots__ = ("_itself", "_path", "_verifier")

    def __init__(self, path: str, itself: Reconciler, verifier: Verifier) -> None:
        self._path = path
        self._itself = itself
        self._verifier = verifier

    async def observe(self) -> FileState:
        """The state of the path, and whether its last change was interrupted. Raises ResourceError."""
        state = await self._itself.observe()
        try:
            is_interrupted = is_held(self._path)
        except FileNotFoundError:  # the directory is missing
            is_interrupted = False
        except OSError as error:
            raise resource_error(error, f"inspect {self._path}") from error
        return state._replace(is_unverified=True) if is_interrupted else state

    def expect_file(self) -> None:
        """Expect a regular file, because one was just put in place."""
        self._itself.expect_file()

    def plan(self, state: FileState) -> Plan:
        """The plan of ``itself``, with verified writes; after an interruption, only to put the former file back.

        Raises ResourceError.
        """
        if state.is_unverified:
            words = "the former file, because the last change was interrupted before it was verified"
            return (
                Action(
                    would=f"Would have put back {words}",
                    did=f"put back {words}",
                    run=partial(put_back, self._path),
                    is_proof=True,
                ),
            )
        # The change can't tell that a file with a second name is as short as the check has seen it.
        return tuple(map(self._verified, self._itself.plan(state._replace(short=None))))

    def _verified(self, action: Action) -> Action:
        if writes(action):
            action.run = partial(self._verifier.store, action.run)
        return action

    async def preflight(self, state: FileState) -> None:
        """Raise the ResourceError with which the change would fail."""
        await self._itself.preflight(state)

"""Loads the manifest again when the run itself has changed one of its files.

If a check changes such a file, the manifest is loaded again before anything that depends on the check starts. So the
previous version of a child manifest is never applied after the new one was written. Files that no resource declares,
such as the output of a command, are compared when a run without watches has no more work; a run with watches gets
events for them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Final, Protocol

from reactor.engine.check import CheckResult
from reactor.engine.dispatcher import Dispatcher
from reactor.engine.events import Cause
from reactor.engine.outcome import Outcome
from reactor.resource.base import Resource
from reactor.resource.composite import Composite
from reactor.resource.declared import Deferred

MOST_VERSIONS: Final = 10
"""How many versions of one file a one-shot run follows: a file that keeps changing must not keep it from ending."""

_FORETOLD: Final = "Would have loaded the manifest again: what its new version says is not known yet"
_FIX_VERSION: Final = "correct the resource that writes the manifest, or the content that it writes"
_FIX_LOOP: Final = "make the resource that writes the manifest write the same content every time"


class Origin(Protocol):
    """The files that the graph was loaded from."""

    rejected: Collection[str]
    """The manifests, if their newest version can't be used."""

    def concerns(self, paths: Iterable[str]) -> bool:
        """Whether changing one of ``paths`` may change these files."""

    async def changed(self) -> Collection[str]:
        """The files that have changed since they were loaded, or since loading them last failed.

        Changed facts count too.
        """


class ManifestFollower:
    """Loads the manifest again when this run has changed it.

    At the end of a run without watches (``is_one_shot``), and of a full check in a run with watches, ``outdated`` lists
    the files whose new version is not in force, and ``why`` says why not.
    """

    def __init__(self, dispatcher: Dispatcher, *, is_one_shot: bool) -> None:
        self._dispatcher = dispatcher
        self._is_one_shot = is_one_shot
        self.origin: Origin | None = None
        """The files that the graph was loaded from; None if they can't be loaded again."""
        self.renew: Callable[[], Awaitable[bool]] | None = None
        """Loads the manifest again and calls `Engine.reload`; returns False if the new version is invalid.

        None: can't reload.
        """
        self._versions: Counter[str] = Counter()
        self._is_touched = False
        self._writers: set[int] = set()
        """The vertices that failed because the manifest files they wrote are invalid."""
        self.is_under_way = False
        self.outdated: tuple[str, ...] = ()
        self.why = ""

    def begin(self) -> None:
        """A full check begins in a run with watches: do as a run without watches does."""
        self._is_one_shot = True
        self._versions.clear()

    def end(self) -> None:
        """The full check is over."""
        self._is_one_shot = self._is_touched = False
        self.outdated, self.why = (), ""

    @property
    def left_behind(self) -> tuple[str, ...]:
        """The files whose newest version is not in force, whether this run or another program changed them."""
        return self.outdated or (() if self.origin is None else tuple(sorted(self.origin.rejected)))

    @property
    def is_due(self) -> bool:
        """Whether something was changed since the last `take`."""
        return self._is_touched and self.origin is not None

    def touched(self) -> None:
        """A check is about to change something."""
        self._is_touched = True

    async def judged(self, vertex: int, resource: Resource, result: CheckResult) -> CheckResult:
        """The result of a check that changed something, or would.

        If it made the manifest invalid, this is a failure.
        """
        if (origin := self.origin) is None:
            return result
        relations = resource.relations()
        if not origin.concerns((*relations.provides, *relations.removes)):
            return result
        if result.outcome is Outcome.WOULD_CHANGE:
            return result._replace(actions=(*result.actions, _FORETOLD))
        files = await origin.changed()
        if not files or await self._renewed(files):
            return result
        self._writers.add(vertex)
        text, hint = self._refusal()
        error = f"{text}: {', '.join(sorted(files))}"
        return result._replace(outcome=Outcome.FAILED, error=error, hint=hint, code="R0509")

    async def with_child(self, resource: Composite, result: CheckResult) -> CheckResult | None:
        """Load the manifest again if the child manifest of ``resource``, which was missing, exists now.

        None if it is now in force, else the failure.
        """
        path = resource.manifest_path
        if self.renew is None or not os.path.exists(path):  # noqa: ASYNC240 - its mount answers
            return result
        if await self.renew():
            return None
        hint = "fix the problem that was shown when it was loaded"
        return _rejected(f"{path} was created by this run, and can't be used", hint)

    async def with_elements(self, deferred: Deferred, result: CheckResult) -> CheckResult | None:
        """Load the manifest with the new elements of a loop. None if it is now in force, else the failure."""
        deferred.must_reload = False
        if self.renew is None:
            return result
        if not deferred.is_refused and await self.renew():
            return None
        deferred.refuse()
        error = "the elements of the loop have changed, and the manifest is invalid with the new ones"
        return _rejected(error, "the errors are shown above; the former resources stay in force")

    async def take(self) -> bool:
        """When nothing is left to do, reload the manifest if it has changed.

        Return whether another version is in force.
        """
        self._is_touched = False
        if (origin := self.origin) is None:
            return False
        self.is_under_way = True
        try:
            files = await origin.changed()
            return bool(files) and await self._renewed(files)
        finally:
            self.is_under_way = False

    async def _renewed(self, files: Collection[str]) -> bool:
        """Load the manifest again after ``files`` have changed, and return whether that succeeded.

        If it did, mark the vertices that had failed because they wrote an invalid version.
        """
        self._versions.update(files)
        if self.renew is None or self._is_exhausted or not await self.renew():
            if self._is_one_shot:
                self.outdated, self.why = tuple(sorted(files)), self._refusal()[0]
            return False
        self.outdated, self.why = (), ""
        writers, self._writers = self._writers, set()
        for vertex in writers:
            self._dispatcher.mark(vertex, Cause.INTENT)
        return True

    @property
    def _is_exhausted(self) -> bool:
        return self._is_one_shot and max(self._versions.values()) > MOST_VERSIONS

    def _refusal(self) -> tuple[str, str]:
        if self._is_exhausted:
            return f"the manifest has changed itself more than {MOST_VERSIONS} times in this run", _FIX_LOOP
        return "the manifest was changed by this run and can't be used", _FIX_VERSION


def _rejected(error: str, hint: str) -> CheckResult:
    """The failure of a resource because the manifest can't be loaded with what it provides."""
    return CheckResult(Outcome.FAILED, error=error, hint=hint, code="R0509")

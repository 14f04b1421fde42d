"""What to do, as data. Noop prints a plan, apply runs it: there is no second code path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from reactor.errors import ReactorError

Diff = Callable[[], Awaitable[str]]
"""Makes a unified diff of what was seen before a change. It may be called after it."""


@dataclass(slots=True)  # a frozen one takes six times as long to make
class Action:
    """One step of a plan. Two actions are equal when they say the same; how they run is not compared.

    ``would`` is the sentence for noop (``Would have created the file``), ``did`` the one for a change made
    (``created the file``). ``run`` makes the change, and raises `ResourceError` or `OSError` when it can't.
    ``diff`` looks at what is about to change, without changing anything, and returns what makes a unified diff of that:
    the change need not wait for it. ``foresee`` ends the sentence ``would`` with what else would change, and is asked by a
    dry run only, since that may take long; it raises `ResourceError` when the change would be refused. ``happened`` ends
    the sentence ``did`` with what else has changed, once ``run`` is done. ``is_proof`` says that the change was there when
    ``run`` ended without raising, because the system says so: what differs after that was changed by something else.
    ``reads_back`` says that the system may accept the change and not make it: where ``run`` returns True, the system has said
    that it made it, which is proof as well. Otherwise the engine looks right after ``run``, and what it finds there decides.
    """

    would: str
    did: str
    run: Callable[[], Awaitable[bool | None]] = field(compare=False, repr=False)
    diff: Callable[[], Awaitable[Diff]] | None = field(default=None, compare=False, repr=False)
    foresee: Callable[[], Awaitable[str]] | None = field(default=None, compare=False, repr=False)
    happened: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    is_proof: bool = field(default=False, compare=False, repr=False)
    reads_back: bool = field(default=False, compare=False, repr=False)

    async def make(self) -> None:
        """Make the change, and keep whether the system says so. Raises what ``run`` does."""
        if await self.run():
            self.is_proof = True

    async def planned(self) -> str:
        """The whole sentence for a dry run. Raises ResourceError when the change would be refused."""
        return self.would if self.foresee is None else self.would + await self.foresee()

    def made(self) -> str:
        """The whole sentence for a change that was made."""
        return self.did if self.happened is None else self.did + self.happened()


Plan = tuple[Action, ...]
"""The steps to the desired state, in order. An empty plan means: as desired."""


class ResourceError(ReactorError):
    """A resource could not be observed or changed. It is the state of one vertex, never the end of a run.

    ``hint`` says how to fix it, when the kind knows. ``missing`` is what is not there, and may yet come by something
    that goes before: an absolute path, or what is called as a resource is, as ``user#ada``, or a ``package#nginx``
    that no repository offers, or what an expression reads. A dry run then can't tell.
    """

    code = "R0501"

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        missing: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint, code=code or (None if missing is None else "R0505"))
        self.missing = missing


class GroupError(ResourceError):
    """Resources could not be changed in one go, and it is not known because of which.

    ``refusals`` has, by ref, those that could not have been changed in any case, and why.
    """

    def __init__(
        self, message: str, hint: str | None = None, *, refusals: Mapping[str, ResourceError]
    ) -> None:
        super().__init__(message, hint)
        self.refusals = refusals

"""A plan: what to do, as data. A dry run prints it, and apply runs it: there is no second code path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reactor.errors import ReactorError

Diff = Callable[[], Awaitable[str]]
"""Makes a unified diff from what was read before a change. It may be called after the change."""


@dataclass(slots=True)  # a frozen one takes six times as long to create
class Action:
    """One step of a plan.

    Two actions are equal when their sentences are; how they run is not compared.

    - ``would``: the sentence for noop (``Would have created the file``).
    - ``did``: the sentence for a change made (``created the file``).
    - ``run``: makes the change; raises `ResourceError` or `OSError` when it can't.
    - ``diff``: reads what is about to change, without changing anything, and returns a function that makes a unified
      diff of it. So the change need not wait for the diff.
    - ``predict``: returns the end of the sentence ``would``, which says what else would change. Called only by a dry
      run, since it may take long. Raises `ResourceError` when the change would be refused.
    - ``happened``: returns the end of the sentence ``did``, which says what else has changed. Called after ``run``.
    - ``is_proof``: the change was there when ``run`` returned, because the system says so. If it differs after that,
      something else has changed it.
    - ``reads_back``: the system may accept the change without making it. If ``run`` returns True, the system has
      confirmed the change, which is proof as well. Otherwise the engine observes right after ``run``, and the result
      decides.
    """

    would: str
    did: str
    run: Callable[[], Awaitable[bool | None]] = field(compare=False, repr=False)
    diff: Callable[[], Awaitable[Diff]] | None = field(default=None, compare=False, repr=False)
    predict: Callable[[], Awaitable[str]] | None = field(default=None, compare=False, repr=False)
    happened: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    is_proof: bool = field(default=False, compare=False, repr=False)
    reads_back: bool = field(default=False, compare=False, repr=False)

    @classmethod
    def saying(
        cls,
        did: str,
        run: Callable[[], Awaitable[bool | None]],
        diff: Callable[[], Awaitable[Diff]] | None = None,
        predict: Callable[[], Awaitable[str]] | None = None,
        *,
        is_proof: bool = False,
        reads_back: bool = False,
    ) -> Action:
        """An action of which a dry run says ``Would have`` and the same words as for a change made."""
        return cls(f"Would have {did}", did, run, diff, predict, is_proof=is_proof, reads_back=reads_back)

    @classmethod
    def proven(
        cls,
        did: str,
        run: Callable[[], Awaitable[bool | None]],
        diff: Callable[[], Awaitable[Diff]] | None = None,
        predict: Callable[[], Awaitable[str]] | None = None,
    ) -> Action:
        """As `saying`, for a change that is there when ``run`` returns."""
        return cls.saying(did, run, diff, predict, is_proof=True)

    async def make(self) -> None:
        """Make the change, and record whether the system confirmed it. Raises what ``run`` raises."""
        if await self.run():
            self.is_proof = True

    async def planned(self) -> str:
        """The complete sentence for a dry run. Raises ResourceError when the change would be refused."""
        return self.would if self.predict is None else self.would + await self.predict()

    def made(self) -> str:
        """The complete sentence for a change that was made."""
        return self.did if self.happened is None else self.did + self.happened()


Plan = tuple[Action, ...]
"""The steps to the desired state, in order. Empty if the resource is as desired."""


class ResourceError(ReactorError):
    """A resource could not be observed or changed. Affects one vertex and never ends the run.

    ``hint`` says how to fix it, if the kind knows. ``missing`` names what does not exist or is no use, but may
    be provided by something that goes first: an absolute path; a name such as ``user#ada``; a ``package#nginx`` that no
    repository offers; or what an expression reads. A dry run then answers "can't tell".
    ``waits_for`` names what is no resource, and blocks this one until it is there, as a resource would that it requires.
    """

    code = "R0501"

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        missing: str | None = None,
        code: str | None = None,
        waits_for: str | None = None,
    ) -> None:
        super().__init__(message, hint, code=code or (None if missing is None else "R0505"))
        self.missing = missing
        self.waits_for = waits_for
        self.others: Sequence[ResourceError] = ()
        """What else `preflight` has found: a dry run looks at them if what is ``missing`` would come."""

    @classmethod
    def raise_all(cls, problems: Iterable[ResourceError | None]) -> None:
        """Raise the first of ``problems`` with the others. Each may be None, and nothing is done if all are."""
        if found := [each for each in problems if each is not None]:
            found[0].others = found[1:]
            raise found[0]


class GroupError(ResourceError):
    """Resources could not be changed together, and it is not known which of them is the reason.

    ``refusals`` has the errors, by ref, of those that could not have been changed in any case.
    """

    def __init__(
        self, message: str, hint: str | None = None, *, refusals: Mapping[str, ResourceError]
    ) -> None:
        super().__init__(message, hint)
        self.refusals = refusals

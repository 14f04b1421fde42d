"""Queries the server for the commit that a branch or tag is at."""

from __future__ import annotations

import trio

from reactor import ResourceError, emit_note
from reactor.hostfs import read_record, write_record
from reactor.resources.git.property_types import is_commit
from reactor.resources.git.state import Desired, Tip

_KIND = "git"
_SLACK = 0.9
"""The part of the interval after which an answer is old: a timer comes up to 5 % early."""


class Remote:
    """The last answer of the server."""

    __slots__ = ("_asked", "_tip", "desired")

    def __init__(self, desired: Desired) -> None:
        self.desired = desired
        self._tip: Tip | None = None
        self._asked = 0.0

    async def tip(self, *, is_here: bool) -> Tip:
        """The commit to be at. The server is asked again after the interval, and never for a commit id.

        If it does not answer, its last answer counts, which the state directory keeps; ``is_here`` says that there is a
        checkout. Raises ResourceError without such an answer.
        """
        ref = self.desired.ref
        if ref is not None and is_commit(ref):
            return Tip(ref)
        if self._tip is not None and trio.current_time() - self._asked < self.desired.interval * _SLACK:
            return self._tip
        try:
            self._tip = await ask(self.desired)
        except ResourceError as error:
            kept = self._tip or self._recorded() if is_here and error.missing is None else None
            if kept is None or isinstance(error, NoSuchRefError):
                raise
            emit_note(
                f"the server could not be asked: {error.message}; the checkout stays at {kept.commit[:7]}"
            )
            self._tip = kept
        self._asked = trio.current_time()
        return self._tip

    def keep(self, tip: Tip) -> None:
        """Keep the answer for a later process that can't reach the server."""
        write_record(
            _KIND, self.desired.path, {"url": self.desired.url, "ref": self.desired.ref, "tip": list(tip)}
        )

    def _recorded(self) -> Tip | None:
        record = read_record(_KIND, self.desired.path) or {}
        if (record.get("url"), record.get("ref", "")) != (self.desired.url, self.desired.ref):
            return None
        return Tip(*record["tip"])


class NoSuchRefError(ResourceError):
    """The server answers, and has no such branch or tag."""


async def ask(desired: Desired) -> Tip:
    """Ask the server. Raises ResourceError when it does not answer, or has no such branch or tag."""
    wanted = [] if desired.ref is None else [f"refs/heads/{desired.ref}", f"refs/tags/{desired.ref}"]
    patterns = ["HEAD"] if desired.ref is None else [*wanted, f"{wanted[1]}^{{}}", desired.ref]
    lines = await desired.git.lines("/", "ls-remote", "--symref", "--", desired.url, *patterns)
    found: dict[str, str] = {}
    head = None
    for line in lines:
        value, _, name = line.partition("\t")
        if value.startswith("ref: ") and name == "HEAD":
            head = value.removeprefix("ref: ")
        else:
            found[name] = value
    if desired.ref is None:
        return _preferred(desired, found, head)
    for name in (*wanted, desired.ref):
        if name in found and name.startswith("refs/"):
            return _tip(name, found.get(f"{name}^{{}}", found[name]))
    words = f"{desired.url} has no branch or tag {desired.ref}"
    raise NoSuchRefError(words, "correct revision; a commit needs all its digits")


def _preferred(desired: Desired, found: dict[str, str], head: str | None) -> Tip:
    if "HEAD" not in found:
        raise NoSuchRefError(f"{desired.url} is empty, or has no branch that it prefers", "write revision")
    return Tip(found["HEAD"], None, "HEAD") if head is None else _tip(head, found["HEAD"])


def _tip(name: str, commit: str) -> Tip:
    is_branch = name.startswith("refs/heads/")
    return Tip(commit, name.removeprefix("refs/heads/") if is_branch else None, name)

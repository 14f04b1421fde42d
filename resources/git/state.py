"""The desired state of a checkout, and the observed state: the two inputs of the planner."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from reactor.resources.git.program import Program


@dataclass(frozen=True, slots=True)
class Desired:
    """The desired state. ``url`` is without credentials; ``ref`` None means the branch that the server prefers."""

    path: str
    ensure: str
    url: str
    git: Program
    ref: str | None = None
    depth: int | None = None
    submodules: bool = False
    force: bool = False
    interval: float = 0.0
    """Seconds for which an answer of the server counts."""


class Found(Enum):
    """The type of file at the path. The value is the end of a sentence."""

    NOTHING = "nothing"
    EMPTY = "an empty directory"
    CHECKOUT = "a checkout"
    LINKED = "a worktree or submodule of another repository"
    OTHER = "a directory that is not a checkout of git"
    LINK = "a symlink"
    FILE = "a file"


class Tip(NamedTuple):
    """The commit that the checkout must be at; and the branch, if it is one, which is then checked out by its name."""

    commit: str
    branch: str | None = None
    source: str | None = None
    """The full name on the server, such as ``refs/heads/main``; None for a commit."""


class GitState(NamedTuple):
    """The observed state."""

    found: Found
    tip: Tip | None = None
    head: str | None = None
    """The commit that is checked out; None in a repository without commits."""
    branch: str | None = None
    """The branch that is checked out; None if HEAD is detached."""
    origin: str | None = None
    """The URL of the remote ``origin``."""
    changed: tuple[str, ...] = ()
    """Tracked files that differ from the commit, but are not simply deleted."""
    deleted: tuple[str, ...] = ()
    """Tracked files that are missing in the work tree."""
    untracked: tuple[str, ...] = ()
    """Other files, without the ignored ones. Only observed if the checkout will be removed."""
    has_local_commits: bool = False
    """Whether there are commits here that came from no server. Only observed if HEAD would be moved."""
    modules_differ: bool = False
    """Whether a submodule is missing, or at another commit."""
    interrupted: bool = False
    """Whether an update was interrupted: then the differences are its own."""

    @property
    def is_at_tip(self) -> bool:
        """Whether HEAD is at the commit, and at the branch."""
        return self.tip is not None and (self.head, self.branch) == (self.tip.commit, self.tip.branch)

"""The refs of branches, of which git can't have some at once: to it, `release` is a file and `release/1.0` is below it."""

from __future__ import annotations

from reactor.resources.git.program import Program

BRANCHES = "refs/heads"
"""The branches of the checkout."""
TRACKING = "refs/remotes/origin"
"""The branches of the server, as they were when they were fetched."""


def refs_of(top: str, branch: str | None) -> tuple[str, ...]:
    """The refs below ``top`` of the names above ``branch``, and then its own. None without a branch."""
    parts = [] if branch is None else branch.split("/")
    return tuple("/".join((top, *parts[:count])) for count in range(1, len(parts) + 1))


async def refs_in_the_way(git: Program, path: str, top: str, branch: str | None) -> list[str]:
    """The refs below ``top`` in the checkout at ``path`` beside which ``branch`` can't be. Raises ResourceError."""
    refs = refs_of(top, branch)
    if not refs:
        return []
    *above, own = refs
    found = await git.lines(path, "for-each-ref", "--format=%(refname)", *refs)
    return [ref for ref in found if ref in above or ref.startswith(f"{own}/")]

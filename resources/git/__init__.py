"""The kind ``git``: a checkout of a git repository at a branch, tag or commit.

`kind` holds the properties, and `property_types` their types. `program` runs git, `remote` asks the server, `trust` and
`submodules` refuse directories in which other users could make git run their commands. `observer` reads the checkout,
`state` holds it with the desired state, `planner` is the decision table, and `checkout` clones, moves and removes.
`refs` finds the branches that are in the way of another, and `locks` removes what a killed git has left.
"""

from reactor.resources.git.kind import Git

__all__ = ["Git"]

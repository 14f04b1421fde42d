"""The kind ``file``: files and directories, their content, owner, group and mode.

`kind` holds the properties, `observer` looks at the world, `planner` is the decision table, and `posix` makes
the changes. The others serve these: `content` (where bytes come from), `validator` (whether they are any good), `owners` (names to ids), `parent` (the
directory it is in), `durability` (flushing to disk in groups), `litter` (what a killed run left behind), `diffs` and `errors` (what people read).
"""

from reactor.resources.file.kind import File

__all__ = ["File"]

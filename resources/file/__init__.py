"""The kind ``file``: files, directories and symlinks, their content, owner, group and mode.

`kind` holds the properties, `property_types` their types, and `rules` what may be combined. `make_reconciler` turns them into the
desired state, and a `reconciler` reads and plans one path: `observer` for files and directories, `link` for symlinks.
`state` holds the observed and the desired state, and `planner` is the decision table. `preflight` checks what a dry run
can check, `validator` runs the command in `validate`, `template` renders content, and `remote` is content from a web
server. The changes are made by `reactor.hostfs`.
"""

from reactor.resources.file.kind import File

__all__ = ["File"]

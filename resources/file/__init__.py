"""The kind ``file``: files, directories and symlinks, their content, owner, group and mode.

`kind` holds the properties, `property_types` their types, and `rules` what may be combined. `make_reconciler` turns them into the
desired state, and a `reconciler` reads and plans one path: `observer` for files and directories, `link` for symlinks.
`state` holds the observed and the desired state, and `planner` is the decision table. `preflight` checks what a dry run
can check, `validator` runs the command in `validate`, `verification` that in `verify`, `template` renders content, and `remote` is content from a web
server. The changes are made by `reactor.hostfs`.

What few files have is imported only for them: `extended` with `acl` and `capabilities` manages extended attributes
besides, and `owned_tree` everything in a directory. `mounts` tells what the host always mounts at a path from what is
mounted there for a time. `undoing` undoes a change, and `description` is for ``reactor show``. `lasting` says what a check of a file compares, if that is little:
then a later run may do without the check.

A new property has its place in `kind` (with `claims`, and `relations` if it names a path or an account), in `rules`, in
`make_reconciler`, and where its state is read and planned. A file that has it is not `lasting` until that says so.
"""

from reactor.resources.file.kind import File

__all__ = ["File"]

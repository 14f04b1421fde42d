"""The kind ``file``: files and directories, their content, owner, group and mode.

`kind` holds the properties, and `properties` their types. `observer` reads the state of the path, `state` holds it
with the desired state, and `planner` is the decision table. `preflight` checks what a dry run can check, `validator`
runs the command in `validate`, and `remote` is content from a web server. The changes are made by `reactor.hostfs`.
"""

from reactor.resources.file.kind import File

__all__ = ["File"]

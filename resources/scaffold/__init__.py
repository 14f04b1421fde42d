"""The kind `scaffold`: a directory tree that is rendered from a directory of templates.

`kind` holds the properties. `source` reads the templates, `rendering` renders them in memory, and `target` compares the
result with the tree on the disk, file by file (`files`), and `verified_files` records correct files. `state` holds the
differences, `planner` is the decision table, and `builder` writes the tree.
"""

from reactor.resources.scaffold.kind import Scaffold

__all__ = ["Scaffold"]

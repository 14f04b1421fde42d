"""The kind ``archive``: an archive that is downloaded over HTTP, and unpacked if requested.

`kind` holds the properties, and `property_types` their types. `observer` reads the state of the host, `state` holds it
with the desired state, and `planner` is the decision table. `archive_file` downloads, verifies and removes the
archive, with the help of `reactor.resources.download`; `extraction` unpacks it by way of the directory in `staging`, and
`last_unpacking` records what was unpacked.
"""

from reactor.resources.archive.kind import Archive

__all__ = ["Archive"]

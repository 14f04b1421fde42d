"""The kind ``archive``: an archive fetched over HTTP, maybe unpacked, maybe removed again.

`kind` and `properties` say what can be asked for, `observer` looks at the world, `state` is what both come to, and
`planner` is the decision table. The changes: `download` brings the archive to its path, by way of `fetching` (HTTP),
`partial` (the temporary file, which can be resumed) and `origin` (what the server called that version), all three in
`reactor.resources.download`; `extraction`
unpacks it, by way of `staging` and `install_tree`; `ownership` does the rest. `directory` has what several of them need.
"""

from reactor.resources.archive.kind import Archive

__all__ = ["Archive"]

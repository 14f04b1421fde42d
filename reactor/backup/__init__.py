"""Backups of files that a resource has replaced or removed.

- ``entry``: one version, and its format on disk;
- ``pruning``: selects the versions to delete;
- ``store``: the directory: keeps, finds and deletes versions;
- ``undo_contents``: contents that are kept until a resource was undone, without limits.
"""

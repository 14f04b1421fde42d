"""Manifests that are not on this host yet: an archive behind a URL, fetched, checked and unpacked.

- ``address``: what a URL says, and how it may be shown;
- ``download``: one conditional GET, bounded;
- ``unpacking``: a tar archive into a directory, refusing whatever could reach out of it;
- ``cache``: what was fetched before, and the last good one when the source is away.
"""

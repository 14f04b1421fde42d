"""Manifests and data that are not on this host yet: an archive or a file behind a URL, fetched and checked.

- ``address``: what a URL says, and how it may be shown;
- ``download``: one conditional GET, bounded;
- ``temp_directory``: where it goes until it is complete;
- ``unpacking``: a tar archive into a directory, refusing whatever could reach out of it;
- ``cache``: what was fetched before, and the last good one when the source is away.
"""

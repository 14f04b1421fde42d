"""Manifests and data behind URLs: downloads an archive or a file, and checks it.

- ``links``: what an address and a version are; the table of further schemes, filled by entry points;
- ``address``: from a URL to its address;
- ``download``: one conditional GET, with limits;
- ``temp_directory``: a directory for incomplete downloads;
- ``cache``: the downloaded versions; provides the last valid version while the source can't be reached.
"""

"""Manifests and data behind URLs: downloads an archive or a file, and checks it.

- ``address``: the parts of a URL, and the form that messages may show;
- ``links``: the table of further schemes, filled by entry points;
- ``download``: one conditional GET, with limits;
- ``temp_directory``: a directory for incomplete downloads;
- ``cache``: the downloaded versions; provides the last valid version while the source can't be reached.
"""

"""Manifests and data behind URLs: an archive or a file, downloaded and checked.

- ``address``: the parts of a URL, and how it may be shown;
- ``download``: one conditional GET, with limits;
- ``temp_directory``: where a download goes until it is complete;
- ``cache``: the versions that were downloaded before, and the last good one while the source can't be reached.
"""

"""Roles from elsewhere: fetched from git or a URL, checked, and kept in the cache.

- ``lock_file``: the file ``roles.lock`` beside a manifest, which pins what was fetched;
- ``fetching``: one role from git (`git`) or an archive, with its `signature`, into a directory of the cache;
- ``finder``: the directory of a role, as the lock file wants it, for the loader of manifests;
- ``locking``: makes and updates the lock file;
- ``skeleton``: the files of a new role.
"""

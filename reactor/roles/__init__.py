"""Roles from elsewhere: fetched from git or a URL, checked, and kept in the cache.

- ``lock_file``: the file ``roles.lock`` beside a manifest, which pins what was fetched;
- ``fetching``: fetches one role from ``git`` or an archive, checks its digest and signature, and puts it into the cache;
- ``errors``: why a role can't be used;
- ``finder``: the directory of a role, as the lock file requires it, for the loader of manifests and for `reactor roles`;
- ``skeleton``: the files of a new role.
"""

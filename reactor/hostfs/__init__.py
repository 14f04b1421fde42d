"""Access to the files of the host, where other users have files too.

- ``trust``: whose files and directories are believed, checked on the way to them;
- ``groups``: whether a group gives anybody else the right to write;
- ``inputs``: opens what a run reads to learn what to do, under the policy of the process.
"""

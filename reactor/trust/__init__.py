"""Whose files are believed: what a run reads to learn what to do must be out of reach of other users.

- ``rule``: whose files and directories are believed, checked on the way to them;
- ``groups``: whether a group gives anybody else the right to write;
- ``inputs``: opens what a run reads to learn what to do, under the policy of the process.
"""

"""Releases: signed documents that say which bundle a channel has, and what a host checks before it believes one.

- ``document``: the release: its fields, and its name, the SHA-256 of its canonical bytes;
- ``pin``: the signed order that one host has one release;
- ``sshsig``: verifies the signatures of ``ssh-keygen -Y sign``;
- ``signers``: the people who may sign, in the format of ``allowed_signers`` of OpenSSH;
- ``signing``: signs by the system's ``ssh-keygen``, and so with its agents and hardware keys;
- ``verify``: enough good signatures of different people;
- ``judge``: whether this host may take a release now;
- ``held``: the releases that a host keeps, and the one in force: each step on disk leaves the old one or the new one.
"""

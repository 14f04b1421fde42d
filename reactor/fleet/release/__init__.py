"""Releases: signed documents that name the bundle of a channel, and the checks of a host before it takes one.

- ``document``: the release: its fields, and its name, the SHA-256 of its canonical bytes;
- ``pin``: the signed order that one host has one release;
- ``sshsig``: verifies the signatures of ``ssh-keygen -Y sign``;
- ``signers``: the keys that may sign, in the format of ``allowed_signers`` of OpenSSH;
- ``signing``: signs by the system's ``ssh-keygen``, and so with its agents and hardware keys;
- ``verify``: requires enough good signatures of different people;
- ``judge``: decides whether this host may take a release now;
- ``held``: the releases that a host keeps, and the one in force: each step on disk leaves the old one or the new one.
"""

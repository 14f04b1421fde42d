"""Unpacks untrusted archives: whatever would leave the directory, or fill the disk, is refused.

- ``formats``: the formats of archives, by their names and by their first bytes;
- ``members``: one member of an archive, as the archive describes it; how much may come out of one; the error;
- ``compression``: streams of the content of a compressed file, with bounded memory;
- ``tar`` and ``zips``: the members of an archive, one by one;
- ``single``: the one file in a compressed file that is no archive;
- ``tree``: the only place that writes, through descriptors of directories that no link can redirect;
- ``unpack``: all of it together.

It knows nothing of the project. Everything here blocks: call it in a thread.
"""

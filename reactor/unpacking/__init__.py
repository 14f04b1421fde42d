"""Unpacks untrusted archives. Refuses members that would leave the directory, and archives that would fill the disk.

- ``formats``: the formats of archives, by file name and by first bytes;
- ``members``: one member as the archive describes it; the limits of unpacking; the error;
- ``compression``: the content of a compressed file as a stream, with bounded memory;
- ``tar`` and ``zips``: the members of an archive, one by one;
- ``single``: the file in a compressed file that is not an archive;
- ``tree``: the only module that writes, through descriptors of directories, so no link can redirect a write;
- ``unpack``: combines all of the above.

It uses nothing of the project except the base class of errors. Everything here blocks: call it in a thread.
"""

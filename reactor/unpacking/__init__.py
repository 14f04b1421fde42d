"""Unpacks archives that nobody vouches for: whatever would reach out of the directory, or fill the disk, is refused.

- ``formats``: which archives there are, by their names and by their first bytes;
- ``members``: one thing in an archive, as it says of itself, and the error for what is refused;
- ``limits``: how much may come out of one;
- ``compression``: streams of what is in a compressed file, with bounded memory;
- ``tar`` and ``zips``: what is in an archive, member by member;
- ``single``: the one file in a compressed file that is no archive; ``zstd_frames`` tells whether all of one is there;
- ``tree``: the only place that writes, through descriptors of directories that no link can lead away;
- ``unpack``: all of it together.

It knows nothing of the project. Everything here blocks, and belongs into a thread.
"""

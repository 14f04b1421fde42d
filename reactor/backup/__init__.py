"""Former content of files: what a resource has replaced or removed can be had back.

- ``entry``: one former version, and how it is written down;
- ``pruning``: which versions have to go;
- ``store``: the directory itself, and keeping, finding and pruning in it;
- ``undo_contents``: what is there until a resource was undone, whatever the limits.
"""

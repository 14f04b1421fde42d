"""Bundles: a directory with ``manifest.yaml``, packed into one file, immutable, named by its SHA-256.

- ``errors``: a bundle can't be packed, or is refused;
- ``digest``: the name of a bundle;
- ``limits``: how large a bundle may be;
- ``pack``: packs a directory into the same bytes on every machine;
- ``incoming``: a bundle on its way to a host;
- ``store``: the bundles that a host keeps, by digest;
- ``channel``: the bundle in force and the previous one, switched by one rename.

Everything here blocks: call it in a thread.
"""

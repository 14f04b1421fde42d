"""Facts about this host, as a tree with CCM's keys: ``facts.host.info.platformFamily``.

- ``facts``: the tree itself; a part is gathered when it is first read, and has two names for each fact, JSON's and Go's;
- ``gathering``: reads that may hang, each with a timeout, and reads of the kernel's small files;
- ``host``, ``cpu``, ``memory``, ``partition``, ``network``: the sources;
- ``files``: facts that people and programs write into files.
"""

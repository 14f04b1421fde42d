"""What is known about this host, as a tree with CCM's keys: ``facts.host.info.platformFamily``.

- ``facts``: the tree itself; a part is gathered when it is first read;
- ``gathering``: reads that may hang, each given up after a while;
- ``host`` (with ``distribution`` and ``virtualization``), ``cpu``, ``memory``, ``partition``, ``network``:
  the sources;
- ``netlink``: interfaces and addresses from the kernel; ``kernel``: its small files;
- ``files``: facts that people and programs leave in files;
- ``names``: facts by either of two names, that of JSON and that of Go.
"""

"""Facts about this host, as a tree with CCM's keys: ``facts.host.info.platformFamily``.

- ``facts``: the tree; a part is gathered when it is first read, and each fact has two names, that of JSON and that of
  Go;
- ``gathering``: reads with timeouts, for sources that may hang, and reads of small files of the kernel;
- ``host``, ``cpu``, ``memory``, ``partition``, ``network``: the sources of facts;
- ``files``: facts that users and programs write into files.
"""

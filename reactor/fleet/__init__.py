"""Many hosts. A run on one host imports nothing of this package.

- ``wire/``: the protocol of NATS, without I/O;
- ``link/``: a connection to NATS: JetStream, key-value, objects;
- ``bundle/``: a directory as one file, named by its digest; the bundles that a host keeps, and which one is in force;
- ``push/``: brings a bundle to hosts over ssh, in waves, and collects the results.
"""

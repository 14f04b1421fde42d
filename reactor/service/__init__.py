"""reactor as a service of systemd.

- ``notify``: the protocol in which a service tells its manager how it is;
- ``reporter``: a sink that tells it about a run;
- ``sandbox``: what a manifest lets be closed to the service;
- ``unit``: the unit file;
- ``program``: whether only root can change the Python code that the service runs;
- ``installation``: the unit put in its place, and taken away.

`docs/service.md` describes what comes of it.
"""

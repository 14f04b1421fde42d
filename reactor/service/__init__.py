"""reactor as a systemd service.

- ``notify``: the protocol sd_notify(3);
- ``reporter``: a sink that notifies systemd about a run;
- ``sandbox``: the sandbox of the service, as tight as the manifest allows;
- ``unit``: the text of the unit file;
- ``program``: checks that only root can change the Python code of the service;
- ``installation``: installs and removes the unit.

`docs/service.md` describes the service.
"""

"""The kind ``host``: an address of a host in /etc/hosts. `host_lines` finds and writes lines, `kind` is the kind."""

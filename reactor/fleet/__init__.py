"""Many hosts: what brings a host its manifest and values over a network. A run that uses no network imports none of it."""

"""The kind ``quadlet``: a container of podman that systemd runs: its file, the unit that podman makes of it, as one.

`kind` holds the properties and the plan, `container_text` makes the file, and `generator` asks podman about it.
"""

from reactor.resources.quadlet.kind import Quadlet

__all__ = ["Quadlet"]

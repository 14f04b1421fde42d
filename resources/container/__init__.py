"""The kind ``container``: one container of docker or podman.

`kind` holds the properties and the plan, and `property_types` their types. `declaration` is what is sent to the daemon,
`daemon` asks it, and `changes` replaces, starts and stops containers. `host_paths` judges what is mounted.
"""

from reactor.resources.container.kind import Container

__all__ = ["Container"]

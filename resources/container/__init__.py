"""The kinds ``container`` and ``container_network``: containers of docker or podman, and networks between them.

`kind` holds the properties and the plan of a container, and `property_types` their types. `network` is the kind of a
network, and `subnets` finds what has its addresses already. `declaration` is what is sent to the daemon, `daemon` asks
it, and `changes` replaces, starts and stops containers. `host_paths` judges what is mounted.
"""

from reactor.resources.container.kind import Container

__all__ = ["Container"]

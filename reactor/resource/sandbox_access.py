"""What a kind needs of the host that the sandbox of the service could close to it."""

from __future__ import annotations

from enum import Enum


class SandboxAccess(Enum):
    """One such thing, as the end of a sentence whose subject is the resource."""

    ANYTHING = "may run any command"
    MOUNT = "mounts, which the host would not see from a mount namespace"
    SWAP = "turns swap on or off"
    NAMESPACE = "acts in a network namespace"
    NETWORK = "changes the network"
    TUNABLE = "sets a parameter of the kernel"
    HOSTNAME = "sets the name of the host"
    SETGID = "is a directory that may have a setgid bit to keep"

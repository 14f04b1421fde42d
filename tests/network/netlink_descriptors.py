"""Which descriptors of this process talk to the kernel by netlink; what else is open is not counted."""

import gc
import os
import socket


def netlink_sockets():
    """How many there are. What earlier tests have left is collected first: it is not to go while a test counts."""
    gc.collect()
    return sum(map(_is_netlink, map(int, os.listdir("/proc/self/fd"))))


def _is_netlink(descriptor):
    try:
        copy = os.dup(descriptor)
    except OSError:  # the one that listed the directory
        return False
    try:
        found = socket.socket(fileno=copy)
    except OSError:  # no socket
        os.close(copy)
        return False
    with found:
        return found.family is socket.AF_NETLINK

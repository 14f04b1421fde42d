"""What is open in the process of the tests."""

import os
from contextlib import suppress


def open_descriptors():
    """The number of each open descriptor, and what it leads to.

    Other tests may have left some, which may be closed at any time: compare with those before.
    """
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # closed since, such as the one that listed the directory
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found

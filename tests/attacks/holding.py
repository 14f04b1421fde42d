"""An attacker: opens a file whenever it is theirs, keeps it open and mapped, and writes to all that they hold.

`holding.py UID FILE`
"""

import ctypes
import mmap
import os
import sys
from contextlib import suppress

_MOST = 64
FORGED = b"forged forged forged"

uid, file = int(sys.argv[1]), sys.argv[2]
libc = ctypes.CDLL(None)
libc.prctl(1, 9)  # end with the process that started this
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
held = []
os.write(1, b"ready\n")
while True:
    with suppress(OSError, ValueError):
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
        held.append((descriptor, mmap.mmap(descriptor, os.fstat(descriptor).st_size)))
        if len(held) > _MOST:
            first, mapping = held.pop(0)
            mapping.close()
            os.close(first)
    for descriptor, mapping in held:
        with suppress(OSError, ValueError, IndexError):
            os.pwrite(descriptor, FORGED, 0)
            mapping[: len(FORGED)] = FORGED

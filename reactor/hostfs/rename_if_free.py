"""Renames a file to a name that must be free, in one system call."""

from __future__ import annotations

import ctypes
import os

_NO_REPLACE = 1
"""RENAME_NOREPLACE, see renameat2(2)."""

_renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)  # glibc has it since 2.28


def rename_if_free(old: str, new: str, directory: int) -> bool:
    """Rename ``old`` to ``new``, both in the directory open at ``directory``, unless ``new`` exists.

    Returns False if it exists, or if it can't be renamed like that, for whatever reason: some file systems can't.
    """
    if _renameat2 is None:
        return False
    names = os.fsencode(old), os.fsencode(new)
    return bool(_renameat2(directory, names[0], directory, names[1], _NO_REPLACE) == 0)

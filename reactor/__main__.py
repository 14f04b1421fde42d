"""``python -m reactor`` is the ``reactor`` command."""

import os
import sys


def _leave_out_current_directory() -> None:
    """Import nothing from the current directory, unless only trusted users can change it.

    ``-m`` puts it first in the search path. What Python itself imports before this can't be prevented from here.
    """
    if sys.flags.safe_path or not sys.path or sys.path[0] not in ("", os.getcwd()):
        return
    current = sys.path.pop(0)
    from reactor.trust.rule import DistrustedError, Trust  # noqa: PLC0415 - only now its imports are safe

    try:
        Trust().require_directory(current or ".")
    except DistrustedError:
        return
    sys.path.insert(0, current)


_leave_out_current_directory()

from reactor.cli import main  # noqa: E402

main()

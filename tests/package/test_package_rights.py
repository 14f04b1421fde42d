"""Who may change packages: the kernel is asked about the files that package managers lock."""

import os
import tempfile
from pathlib import Path

import pytest

from reactor.resource.plan import ResourceError
from reactor.resources.package.locks import refuse_forbidden

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")


def test_a_user_is_refused_unless_the_kernel_lets_it_lock():
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        directory = Path(name)
        directory.chmod(0o755)
        ours, theirs = directory / "lock", directory / "theirs" / "lock"
        ours.touch(0o640)
        theirs.parent.mkdir()
        os.chown(theirs.parent, NOBODY, NOBODY)
        refuse_forbidden([str(ours)])
        os.seteuid(NOBODY)
        try:
            refuse_forbidden([str(theirs)])
            with pytest.raises(ResourceError, match=f"permission denied to write {ours}, ") as refused:
                refuse_forbidden([str(theirs), str(ours)])
            assert refused.value.hint == "run as root"
            assert not theirs.exists()
        finally:
            os.seteuid(0)

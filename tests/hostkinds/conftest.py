import shutil
import subprocess
from pathlib import Path

import pytest
from own_world import use_own_world

ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nstaff:x:50:\nnogroup:x:65534:\n",
    "shadow": "root:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n",
    "gshadow": "root:*::\nstaff:!::\nnogroup:*::\n",
    "login.defs": "UID_MIN 1000\nGID_MIN 1000\nUSERGROUPS_ENAB yes\nHOME_MODE 0750\n",
    "skel/.profile": "# of skel\n",
    "hostname": "before\n",
    "fstab": "# what the installer wrote\n/dev/vda1  /     ext4  defaults  0 1\n",
    "sysctl.d/README": "",
}


def pytest_configure(config):
    namespaces = ("unshare", "--mount", "--uts", "--net", "--ipc", "--")
    use_own_world(config, Path(__file__).parent, namespaces)


@pytest.fixture(scope="session")
def own_directories():
    """An /etc of the tests' own, and their own of what programs for accounts write to besides."""
    directories = [Path("/etc"), Path("/home"), Path("/var/mail"), Path("/var/log")]
    for directory in directories:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "own", directory], check=True)
    return directories


@pytest.fixture(autouse=True)
def fresh_directories(own_directories):
    """What each test finds there."""
    for directory in own_directories:
        for path in directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in ETC.items():
        path = Path("/etc", name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

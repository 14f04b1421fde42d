"""A host of a fleet as a service of a real systemd: it runs its last release, although no server answers."""

import io
import signal
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from unit_worlds import ETC, eventually, systemctl

from reactor.cli.group import reactor as command
from reactor.fleet.bundle.pack import pack
from reactor.fleet.bundle.store import BundleStore
from reactor.fleet.release.document import Release
from reactor.fleet.release.held import HeldReleases

NAME = "reactor-of-fleet"
TARGET = Path("/srv/of-the-fleet")
MANIFEST = f"""\
resources:
  - file: [{TARGET}: {{ensure: present, content: "{{{{ Facts.fleet.serial }}}}", owner: root, group: root, mode: "0644"}}]
"""


def reactor(*words):
    return CliRunner().invoke(command, list(map(str, words)))


@pytest.fixture
def config(tmp_path):
    """A host that took release 7 before, and whose servers are away."""
    systemctl("set-environment", f"PYTHONPATH={Path(__file__).parents[2]}")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    (tmp_path / "signers").write_text(f"ann {(tmp_path / 'key.pub').read_text()}")
    path = tmp_path / "fleet.yaml"
    path.write_text(
        "id: web7\nservers: ['nats://127.0.0.1:1']\ncredentials: c\nchannels: [web]\nsigners: signers\n"
    )
    (tmp_path / "site").mkdir()
    (tmp_path / "site/manifest.yaml").write_text(MANIFEST)
    bundle = pack(str(tmp_path / "site"))
    release = Release("web", 7, bundle.digest, len(bundle.data), None, 1_700_000_000.0)
    state = Path(f"/var/lib/{NAME}")
    state.mkdir(mode=0o700)
    held = HeldReleases(BundleStore(str(state)), "web")
    with held.store.locked():
        held.receive(release, io.BytesIO(bundle.data), lambda _: None)
        held.switch(release, release.to_bytes(), b"", {"groups": []})
    yield path
    reactor("service", "uninstall", "--name", NAME)
    systemctl("unset-environment", "PYTHONPATH")


async def test_the_last_release_runs_from_boot_on_and_after_a_kill(config):
    done = reactor("service", "install", "--name", NAME, "--fleet", config)
    assert done.exit_code == 0, done.stderr
    assert f"fleet follow --config {config}" in (ETC / f"{NAME}.service").read_text()
    assert systemctl("is-enabled", NAME) == "enabled"
    # It is "reloading" while it loads the release.
    await eventually(lambda: systemctl("is-active", NAME) == "active")
    await eventually(TARGET.exists)
    assert TARGET.read_text() == "7"
    TARGET.write_text("drift")
    await eventually(lambda: TARGET.read_text() == "7")
    (ETC / f"{NAME}.service.d").mkdir()
    (ETC / f"{NAME}.service.d/test.conf").write_text("[Service]\nRestartSec=0\n")
    systemctl("daemon-reload")
    systemctl("kill", f"--signal={signal.SIGKILL}", "--kill-whom=main", NAME)
    TARGET.unlink()
    await eventually(TARGET.exists)
    assert reactor("service", "install", "--name", NAME, "--fleet", config).output.startswith(NAME)


def test_a_wrong_configuration_is_not_installed(tmp_path):
    (tmp_path / "fleet.yaml").write_text("id: web7\n")
    done = reactor("service", "install", "--name", "reactor-wrong", "--fleet", tmp_path / "fleet.yaml")
    assert done.exit_code == 2
    assert "servers is missing" in done.stderr
    assert not (ETC / "reactor-wrong.service").exists()

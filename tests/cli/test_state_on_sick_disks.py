"""Runs whose state directory is on a disk that is read-only or full: real mounts, in a mount namespace."""

import subprocess
import sys

import pytest
from processes_of_cli import environment

IN_A_NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")

pytestmark = pytest.mark.skipif(
    subprocess.run([*IN_A_NAMESPACE, "true"], capture_output=True, check=False).returncode != 0,
    reason="needs a user and mount namespace",
)

TWO = """
resources:
  - file:
      - {dir}/a: { ensure: present, content: new, {own} }
  - exec:
      - restart: { command: "touch {dir}/restarted", refreshonly: true, subscribe: "file#{dir}/a" }
"""

TO_BE_UNDONE = """
resources:
  - exec:
      - fill: { command: "cat /dev/zero >{dir}/disk/filler || true", provider: shell }
  - file:
      - {dir}/a: { ensure: present, content: ours, {own}, require: exec#fill, meta: { reverse: true } }
"""

SICKENING = """
resources:
  - exec:
      - sicken: { command: "mount --bind {dir}/disk {dir}/disk; mount -o remount,bind,ro {dir}/disk", provider: shell }
"""


def run_after(preparation, manifest, disk, option="--converge-once", code=0):
    """Mount a small disk, prepare it, and run with the state directory on it. Returns what it says."""
    run = f"'{sys.executable}' -m reactor run {option} --state-dir '{disk}/state' '{manifest}'"
    script = f"set -e; mount -t tmpfs -o size=256k none '{disk}'; {preparation}; {run}"
    done = subprocess.run(
        [*IN_A_NAMESPACE, "sh", "-c", script.replace("{run}", run).replace("{disk}", str(disk))],
        capture_output=True, text=True, env=environment(), check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stderr + done.stdout


@pytest.mark.parametrize(
    "preparation",
    [
        "mount -o remount,ro '{disk}'",
        "{run} >'{disk}/said'; rm '{disk}/../a'; mount -o remount,ro '{disk}'",
        "mkdir -m 700 '{disk}/state'; cat /dev/zero >'{disk}/filler' 2>/dev/null || true",
    ],
    ids=["read-only from the start", "read-only after a run", "full"],
)
def test_a_sick_disk_costs_the_memory_and_not_the_run(manifest, tmp_path, preparation):
    (tmp_path / "disk").mkdir()
    said = run_after(preparation, manifest(TWO), tmp_path / "disk")
    assert "the run goes on" in said
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "restarted").exists()


def test_a_disk_that_becomes_read_only_does_not_keep_a_run_from_ending_well(manifest, tmp_path):
    (tmp_path / "disk").mkdir()
    said = run_after("true", manifest(SICKENING), tmp_path / "disk", "--converged-timeout 0.1")
    assert "(nothing changed for 0.1 s" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("preparation", ["mount -o remount,ro '{disk}'", "true"], ids=["read-only", "full"])
def test_what_could_not_be_undone_because_of_a_sick_disk_is_not_changed(manifest, tmp_path, preparation):
    (tmp_path / "disk").mkdir()
    said = run_after(preparation, manifest(TO_BE_UNDONE), tmp_path / "disk", code=1)
    assert f"file#{tmp_path}/a stays unchanged, because the change could not be undone" in said
    assert not (tmp_path / "a").exists()

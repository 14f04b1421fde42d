"""A process that may open few files, or finds no /proc, ends with that in words."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("limit", [8, 11, 13])
def test_a_run_that_may_open_too_few_files_says_so_and_how_to_allow_more(tmp_path, limit):
    path = tmp_path / "site.yaml"
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    path.write_text(f"resources:\n  - file:\n      - {tmp_path}/motd: {{content: x, {own}}}\n")
    command = [sys.executable, "-m", "reactor", "run", "--converged-timeout", "10ms", "--state-dir"]
    done = subprocess.run(
        ["prlimit", f"--nofile={limit}", *command, tmp_path / "state", path],
        capture_output=True,
        text=True,
        check=False,
    )
    said = (
        f"error[R0704]: no more files can be opened: the limit of open files is {limit}\n"
        "hint: raise it: ulimit -n 1024; for a service: LimitNOFILE=1024, with systemctl edit\n"
    )
    assert done.returncode == 1
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("run", "--converge-once"), ("ensure", "file")])
def test_without_proc_nothing_is_changed_and_the_error_says_how_to_mount_it(tmp_path, command):
    path, target = tmp_path / "site.yaml", tmp_path / "motd"
    path.write_text(f"resources:\n  - exec:\n      - touch {target}: {{}}\n")
    rest = [str(path)] if command[0] == "run" else [str(target), "present", "--content=x"]
    program = f'umount --lazy /proc && exec {sys.executable} -m reactor "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", program, "sh", *command, *rest, "--state-dir", tmp_path / "state"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error[R0704]: /proc is not mounted, and without it no file can be changed safely\n"
        "hint: mount it: mount -t proc proc /proc\n"
    )
    assert not target.exists()

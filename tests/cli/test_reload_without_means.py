"""An edit of the manifest comes while the host has too little of something to load it."""

from __future__ import annotations

import json
import os
import resource

import pytest
from files_of_cli import put
from processes_of_cli import spawned, up_to, wait_until, with_constant

AT_ONCE = with_constant("reactor.cli.running.reloading", "FACTS_INTERVAL", 0.05)
IDS = f"owner: '{os.getuid()}', group: '{os.getgid()}'"


@pytest.mark.parametrize("edit", ["content: two", "content: '${ 1 + 1 }'", "contnet: two"])
@pytest.mark.parametrize("spare", range(4))
def test_a_run_without_free_descriptors_survives_an_edit_and_loads_it_when_there_are_some(
    tmp_path, spare, edit
):
    """The file, a thread, or a module that only this edit or its error needs may be what can't be opened."""
    path, managed = tmp_path / "site.yaml", tmp_path / "managed"
    text = f"resources: [{{file: [{{{managed}: {{ensure: present, %s, mode: '0644', {IDS}}}}}]}}]\n"
    put(path, text % "content: one")
    with spawned("run", "--format", "json", path, program=AT_ONCE, stderr=None) as process:
        up_to(process, "converged")
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        _limit(process.pid, spare)
        put(path, text % edit)
        heard = {"event": ""}
        while heard["event"] not in ("reloadrejected", "reloaded"):
            heard = json.loads(process.stdout.readline())
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        if "contnet" not in edit:
            wait_until(lambda: managed.read_bytes() in (b"two", b"2"))
        put(path, text % "content: three")
        wait_until(lambda: managed.read_bytes() == b"three")
        assert process.poll() is None


def _limit(pid, spare):
    """Let the process open ``spare`` more files, and no other."""
    used = set(map(int, os.listdir(f"/proc/{pid}/fd")))
    free = [number for number in range(max(used) + 10) if number not in used]
    most = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free[spare], most))

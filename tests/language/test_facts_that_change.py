"""A fact that changes under a running converger reaches the resources that use it, and no others."""

import json
import os
import signal
import subprocess
import sys

from line_pipe import started

MANIFEST = """
resources:
  - file:
      - defaults: {{owner: "{uid}", group: "{gid}", mode: "0644", ensure: present}}
      - {dir}/uses: {{content: "${{ Facts.role }}"}}
      - {dir}/does-not: {{content: "fixed"}}
"""


def test_only_what_uses_the_fact_is_checked(tmp_path):
    facts = tmp_path / "config" / "reactor" / "facts.yaml"
    facts.parent.mkdir(parents=True)
    facts.write_text("role: web\n")
    manifest = tmp_path / "site.yaml"
    manifest.write_text(MANIFEST.format(dir=tmp_path, uid=os.getuid(), gid=os.getgid()))
    command = [
        sys.executable,
        "-m",
        "reactor",
        "run",
        "--format",
        "json",
        "--state-dir",
        tmp_path / "state",
        manifest,
    ]
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with started(command, stdout=subprocess.PIPE, text=True, env=environment) as process:

        def until(kind):
            seen = []
            for line in process.stdout:
                seen.append(json.loads(line))
                if seen[-1]["event"] == kind:
                    return seen
            raise AssertionError(f"ended without {kind}")

        until("converged")
        assert (tmp_path / "uses").read_text() == "web"
        new = facts.with_suffix(".new")
        new.write_text("role: database\n")
        new.replace(facts)
        [*_, reloaded] = until("reloaded")
        assert (reloaded["changed"], reloaded["kept"]) == ([f"file#{tmp_path}/uses"], 1)
        seen = until("converged")
        assert {event["ref"] for event in seen if event["event"] == "checked"} == {f"file#{tmp_path}/uses"}
        assert (tmp_path / "uses").read_text() == "database"
        process.send_signal(signal.SIGTERM)

"""A dry run by a user fails where the user may not do what is wanted, and is not refused what the user may do."""

from namespaces import run_in_namespaces

PROGRAM = """
import os, subprocess, sys, trio
from reactor.engine.options import RunOptions
from reactor.loading import load
from reactor.manifest.inputs import Inputs
from reactor.testing.story import converge_once

subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
manifest, user = sys.argv[1], int(sys.argv[2])
graph = load(manifest, Inputs(facts={"host": {"info": {"os": "linux"}}})).graph
if user:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)

async def main():
    _, story = await converge_once(graph=graph, options=RunOptions(noop=True))
    for ref in graph.resources:
        print(ref.partition("#")[0], story.checks(ref)[0].error or "would change")

trio.run(main)
"""
MANIFEST = """
resources:
  - archive: [{{{0}/a.tar: {{ensure: present, owner: nobody, group: nogroup, url: "http://127.0.0.1:9/a.tar"}}}}]
  - scaffold: [{{{0}/tree: {{ensure: present, source: templates, engine: jinja}}}}]
  - filesystem: [{{{0}/disk: {{fstype: ext4, size: 10M}}}}]
  - pip: [{{{0}/environment: {{packages: [x]}}}}]
  - link: [{{made0: {{ensure: present, type: dummy}}}}]
  - address: [{{2001:db8::7/64: {{link: lo}}}}]
  - route: [{{192.0.2.128/25: {{link: lo}}}}]
"""
NOBODY = 65534
CHANGE_THE_NETWORK = "could not change the network: Operation not permitted"
REFUSED = {
    "archive": "cannot write {}/a.tar: Permission denied",
    "scaffold": "cannot create the directory {}/tree: Permission denied",
    "filesystem": "cannot create {}/disk: Permission denied",
    "pip": "cannot write {}/environment: Permission denied",
    "link": CHANGE_THE_NETWORK,
    "address": CHANGE_THE_NETWORK,
    "route": CHANGE_THE_NETWORK,
}


def _dry_run(site, place, user):
    (site / "templates").mkdir(exist_ok=True)
    (site / "templates" / "file").write_text("x")
    (site / "site.yaml").write_text(MANIFEST.format(place))
    options = ("--mount", "--net")
    return dict(
        line.split(" ", 1)
        for line in run_in_namespaces(PROGRAM, str(site / "site.yaml"), str(user), options=options)
    )


def test_a_dry_run_of_a_user_fails_where_the_user_may_not_write(open_tmp_path):
    expected = {kind: words.format(open_tmp_path) for kind, words in REFUSED.items()}
    assert _dry_run(open_tmp_path, open_tmp_path, NOBODY) == expected


def test_the_same_dry_run_of_root_promises_all_of_it(open_tmp_path):
    assert set(_dry_run(open_tmp_path, open_tmp_path, 0).values()) == {"would change"}

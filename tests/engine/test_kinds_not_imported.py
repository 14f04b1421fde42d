"""A run without a kind imports neither the kind nor its libraries."""

import subprocess
import sys

RUN = """
import sys
import trio
from reactor import load
from reactor.testing.story import converge_once

graph = load(sys.argv[1]).graph

async def main():
    await converge_once(graph=graph)

trio.run(main)
kinds = [f"reactor.resources.{kind}" for kind in ("certificate", "ca_certificate", "container", "npm", "gem")]
print([name for name in (*kinds, "cryptography", "reactor.resources.package_directory") if name in sys.modules])
"""


def test_a_run_without_the_kinds_imports_none_of_them(tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text('resources: [{exec: [{go: {command: "true"}}]}]\n')
    done = subprocess.run(
        [sys.executable, "-c", RUN, manifest], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == "[]\n"


def test_the_kind_certificate_needs_no_library_until_it_is_used(tmp_path):
    manifest = tmp_path / "site.yaml"
    manifest.write_text(f"resources: [{{certificate: [{{{tmp_path}/app: {{names: [a.example]}}}}]}}]\n")
    run = RUN.replace("trio.run(main)", "")
    done = subprocess.run(
        [sys.executable, "-c", run, manifest], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == "['reactor.resources.certificate']\n"

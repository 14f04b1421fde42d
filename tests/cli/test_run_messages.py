import json

import pytest

CCM = """
ccm:
  pre_message: before {dir}
  post_message: after
  resources:
    - file:
        - {dir}/a: { ensure: present, content: x, {own} }
"""


def test_the_manifests_own_words_come_first_and_last(reactor, manifest, tmp_path):
    lines = reactor("run", "--converge-once", manifest(CCM)).out.splitlines()
    assert lines[0] == f"before {tmp_path}"
    assert lines[-1] == "after"


def test_programs_get_the_words_as_records(reactor, manifest):
    out = reactor("run", "--converge-once", "--format", "json", manifest(CCM)).out
    records = [json.loads(line) for line in out.splitlines()]
    assert records[-1] == {"event": "message", "text": "after"}


@pytest.mark.parametrize("options", [("--only", "file#*"), ("--exclude", "file#*")])
def test_a_selection_of_all_or_nothing_ends_well(reactor, manifest, options):
    done = reactor("run", "--converge-once", *options, manifest(CCM))
    assert done.code == 0
    is_said = "--only and --exclude select no resource, so nothing is checked\n" in done.err
    assert is_said == ("--exclude" in options), "a run of nothing must not look like one of all"

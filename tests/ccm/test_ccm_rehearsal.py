"""What a rehearsal can't tell, where the order of the manifest is all that is known of who makes what."""

import pytest

MANIFEST = """
ccm:
  resources:
    - exec: [{make the account: {command: /bin/true, unless: GUARD}}]
    - exec: [{between: {command: /bin/true, unless: /bin/true}}]
    - file: [{$DIR/f: {ensure: present, owner: OWNER, group: root, mode: "0644", content: x}}]
"""


@pytest.mark.parametrize(
    ("guard", "owner", "told"),
    [
        (
            "/bin/false",
            "no-such-user",
            ("would_change", "Can't tell before exec#make the account is applied"),
        ),
        ("/bin/true", "no-such-user", ("failed", 'could not lookup user "no-such-user"')),
        ("/bin/false", "root", ("would_change", "Would have created the file")),
    ],
)
def test_an_account_may_come_by_any_command_before(world, run, guard, owner, told):
    manifest = world({"manifest": MANIFEST.replace("GUARD", guard).replace("OWNER", owner)})
    _, events, _ = run(manifest, ["--noop"])
    check = [each for each in events if each["event"] == "checked"][-1]
    result, words = told
    assert check["result"] == result
    assert words in " ".join([check.get("error") or "", *check["actions"]])
    assert not (manifest.parent / "f").exists()


def test_outside_of_rehearsals_an_account_is_missing_all_the_same(world, run):
    manifest = world({"manifest": MANIFEST.replace("GUARD", "/bin/false").replace("OWNER", "no-such-user")})
    code, events, _ = run(manifest)
    assert code == 1
    assert [each["result"] for each in events if each["event"] == "checked"] == ["changed", "ok", "failed"]


LATE = """
ccm:
  resources:
    - exec: [{make the file: {command: /bin/true, unless: GUARD}}]
    - exec: [{read it: {command: "/bin/echo ${ file('made') }"CONDITION}}]
"""


@pytest.mark.parametrize("condition", ["", """, control: {if: "file('made') != ''"}"""])
@pytest.mark.parametrize(
    ("guard", "told"),
    [
        ("/bin/false", ("would_change", "Can't tell before exec#make the file is applied")),
        ("/bin/true", ("failed", 'failed to read file "made"')),
    ],
)
def test_a_file_that_an_expression_reads_may_come_by_any_command_before(world, run, guard, condition, told):
    manifest = world({"manifest": LATE.replace("GUARD", guard).replace("CONDITION", condition)})
    _, events, _ = run(manifest, ["--noop"])
    check = [each for each in events if each["event"] == "checked"][-1]
    result, words = told
    assert check["result"] == result
    assert words in " ".join([check.get("error") or "", *check["actions"]])

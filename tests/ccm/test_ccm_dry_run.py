"""What a dry run can't tell, where the order of the manifest is all that is known of who makes what."""

import pytest

MANIFEST = """
ccm:
  resources:
    - exec: [{make the account: {command: /bin/true, unless: GUARD}}]
    - exec: [{between: {command: /bin/true, unless: /bin/true}}]
    - file: [{$DIR/f: {ensure: present, owner: OWNER, group: root, mode: "0644", content: x}}]
"""


def last_word(run, manifest, *options):
    """How the last check of a dry run ended, and all that it said."""
    _, events, _ = run(manifest, ["--noop", *options])
    check = [each for each in events if each["event"] == "checked"][-1]
    return check["result"], " ".join([check.get("error") or "", *check["actions"]])


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
    result, said = last_word(run, manifest)
    assert result == told[0]
    assert told[1] in said
    assert not (manifest.parent / "f").exists()


def test_outside_of_dry_runs_an_account_is_missing_all_the_same(world, run):
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
    result, said = last_word(run, manifest)
    assert result == told[0]
    assert told[1] in said


ONE_LACKS = """
ccm:
  resources:
    - exec: [{make it: {command: /bin/true}}]
    - file: [{$DIR/other: {ensure: present, owner: root, group: root, mode: "0644", content: x}}]
    - ANOTHER
    - LACKING
"""
A_FILE = 'file: [{$DIR/new/f: {ensure: present, owner: root, group: root, mode: "0644", content: x}}]'
A_COPY = 'file: [{$DIR/f: {ensure: present, owner: root, group: root, mode: "0644", source: $DIR/new/t}}]'
A_TREE = "scaffold: [{$DIR/f: {ensure: present, source: $DIR/new}}]"
A_GUARD = "exec: [{lacking: {command: /bin/true, onlyif: $DIR/new/program}}]"
A_PLACE = "exec: [{lacking: {command: /bin/true, onlyif: /bin/true, cwd: $DIR/new}}]"
A_NAME = "exec: [{lacking: {command: /bin/true, onlyif: no-such-program}}]"
A_DIRECTORY = 'file: [{$DIR/new: {ensure: directory, owner: root, group: root, mode: "0755"}}]'
ONE_BELOW = 'file: [{$DIR/new/deep: {ensure: directory, owner: root, group: root, mode: "0755"}}]'
ONE_COMMAND = "exec: [{unpack: {command: /bin/true, creates: $DIR/new/program}}]"
ANOTHER_COMMAND = "exec: [{nearer: {command: /bin/true}}]"
A_NEIGHBOUR = 'file: [{$DIR/neighbour: {ensure: directory, owner: root, group: root, mode: "0755"}}]'


LACKING = pytest.mark.parametrize("lacking", [A_FILE, A_COPY, A_TREE, A_GUARD, A_PLACE, A_NAME])


@LACKING
def test_what_may_bring_what_is_missing_is_named(world, run, lacking):
    """The nearest of all would be a directory, which brings nothing but itself."""
    manifest = ONE_LACKS.replace("ANOTHER", A_NEIGHBOUR).replace("LACKING", lacking)
    result, said = last_word(run, world({"manifest": manifest}))
    assert result == "would_change"
    assert "Can't tell before exec#make it is applied" in said


@pytest.mark.parametrize("lacking", [A_TREE, A_GUARD, A_PLACE])
def test_what_says_that_it_brings_what_is_missing_is_named_before_what_is_nearer(world, run, lacking):
    manifest = ONE_LACKS.replace("make it: {", "make it: {creates: $DIR/new/program, ")
    manifest = manifest.replace("ANOTHER", ANOTHER_COMMAND).replace("LACKING", lacking)
    _, said = last_word(run, world({"manifest": manifest}))
    assert "Can't tell before exec#make it is applied" in said


@LACKING
def test_what_nothing_brings_fails_a_dry_run_as_it_would_a_run(world, run, lacking):
    manifest = ONE_LACKS.replace("ANOTHER", A_NEIGHBOUR).replace("LACKING", lacking)
    manifest = manifest.replace("    - exec: [{make it: {command: /bin/true}}]\n", "")
    result, _ = last_word(run, world({"manifest": manifest}))
    assert result == "failed"


@pytest.mark.parametrize("directory", [A_DIRECTORY, ONE_BELOW, ONE_COMMAND])
def test_in_a_directory_that_would_be_created_a_file_would_be_created(world, run, directory):
    manifest = ONE_LACKS.replace("ANOTHER", directory).replace("LACKING", A_FILE)
    result, said = last_word(run, world({"manifest": manifest}))
    assert (result, said.strip()) == ("would_change", "Would have created the file")

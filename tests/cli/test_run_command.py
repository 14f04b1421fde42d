import pytest

FILE = "resources:\n  - file:\n      - {dir}/a: { ensure: present, content: new, {own} }\n"
FAILING = """
resources:
  - exec:
      - fail: { command: "false" }
  - file:
      - {dir}/a: { ensure: present, content: new, require: "exec#fail", {own} }
      - {dir}/b: { ensure: present, content: new, {own} }
"""
BOTH = """
resources:
  - file:
      - {dir}: { ensure: present, {own} }
  - exec:
      - say: { command: "true" }
"""
FAILING_ONLY = 'resources:\n  - exec:\n      - fail: { command: "false" }\n'
INVALID = "resources:\n  - file:\n      - {dir}/a: { ensure: presnt, {own} }\n"
CHAIN = """
resources:
  - file:
      - {dir}/d: { ensure: directory, {own} }
      - {dir}/d/a: { ensure: present, content: a, {own} }
      - {dir}/d/b: { ensure: present, content: b, require: "file#{dir}/d/a", {own} }
      - {dir}/other: { ensure: present, content: c, {own} }
"""


def once(reactor, path, *options):
    return reactor("run", "--converge-once", *options, path)


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (FILE, (), 0),
        ("resources: []\n", (), 0),
        (FILE, ("--noop",), 0),
        (FAILING, (), 1),
        (INVALID, (), 2),
        (FILE, ("--only", "file#/nowhere"), 2),
        (FILE, ("--jobs", "0"), 2),
        (FILE, ("--converged-timeout", "nan"), 2),
        (FILE, ("--converged-timeout", "0"), 2),
        (FILE, ("--converged-timeout", "soon"), 2),
        (FILE, ("--converged-timeout", "20ms"), 0),
        (FILE, ("--converged-timeout", "0.02"), 0),
        (FILE, ("--health-interval", "1h30m"), 0),
        (FILE, ("--health-interval", "5400"), 0),
        (FILE, ("--detailed-exitcodes",), 2),
        (FILE, ("--detailed-exitcodes", "--noop"), 2),
        (FAILING_ONLY, ("--detailed-exitcodes",), 4),
        (FAILING, ("--detailed-exitcodes",), 6),
        (BOTH, ("--detailed-exitcodes", "--noop"), 6),
        (INVALID, ("--detailed-exitcodes",), 1),
        (FILE, ("--detailed-exitcodes", "--only", "file#/nowhere"), 1),
        (FILE, ("--detailed-exitcodes", "--jobs", "0"), 1),
        (FILE, ("--detailed-exitcodes", "--nop"), 1),
        (FILE, ("--detailed-exitcodes", "--fact", "no value"), 1),
    ],
)
def test_the_exit_code_says_how_the_run_ended(reactor, manifest, text, options, code):
    assert once(reactor, manifest(text), *options).code == code


def test_detailed_exit_code_of_a_second_run_is_0(reactor, manifest):
    path = manifest(FILE)
    assert once(reactor, path, "--detailed-exitcodes").code == 2
    assert once(reactor, path, "--detailed-exitcodes").code == 0


def test_a_missing_argument_is_bad_usage(reactor):
    assert reactor("run").code == 2
    assert reactor("run", "--detailed-exitcodes").code == 1


def test_a_change_is_reported_and_the_summary_counts_it(reactor, manifest, tmp_path):
    done = once(reactor, manifest(FILE))
    first, last = done.out.splitlines()
    assert first.startswith(f"file#{tmp_path}/a  changed  ")
    assert last.startswith("ok 0  changed 1  (")
    assert done.err == ""
    assert (tmp_path / "a").read_text() == "new"


def test_a_second_run_says_only_that_all_is_well(reactor, manifest):
    path = manifest(FILE)
    once(reactor, path)
    (line,) = once(reactor, path).out.splitlines()
    assert line.startswith("ok 1  changed 0  (")


def test_scenario_20_noop_touches_nothing_and_says_what_it_would_do(reactor, manifest, tmp_path):
    tell = '  - exec:\n      - tell: { command: "touch {dir}/told", refreshonly: true, subscribe: "file#{dir}/other" }\n'
    path = manifest(CHAIN + tell)
    done = once(reactor, path, "--noop")
    assert f"file#{tmp_path}/other  would change  Would have created the file" in done.out
    assert "exec#tell  would change  Would have executed via subscribe" in done.out
    assert list(tmp_path.iterdir()) == [path]


def test_diff_shows_old_and_new(reactor, manifest, tmp_path):
    (tmp_path / "a").write_text("old\n")
    path = manifest(FILE.replace("new", '"new\\n"'))
    assert "-old\n+new\n" in once(reactor, path, "--diff", "--noop").out
    assert "-old" not in once(reactor, path).out


def test_a_blocked_resource_names_the_culprit_and_the_independent_one_is_done(reactor, manifest, tmp_path):
    done = once(reactor, manifest(FAILING))
    assert f"file#{tmp_path}/a  blocked  by exec#fail\n" in done.out
    assert f"blocked  file#{tmp_path}/a  by exec#fail\n" in done.out.partition("ok 0")[2]
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


def test_an_invalid_manifest_touches_nothing_and_reports_place_and_remedy(reactor, manifest, tmp_path):
    path = manifest(CHAIN + "      - {dir}/e: { ensure: presnt, {own} }\n")
    done = once(reactor, path)
    assert done.out == ""
    assert f"{path}:8:" in done.err
    assert "'present'" in done.err
    assert list(tmp_path.iterdir()) == [path]


def test_an_invalid_manifest_gives_diagnostics_to_programs_too(reactor, manifest):
    done = once(reactor, manifest(INVALID), "--format", "json")
    (record,) = done.records
    assert record["event"] == "diagnostic"
    assert record["line"] == 3
    assert "presnt" in done.err


def test_only_says_what_it_pulled_in(reactor, manifest, tmp_path):
    done = once(reactor, manifest(CHAIN), "--only", "file#*/d/b")
    assert done.out.startswith("selected 3 of 4 resources\n")
    assert f"  pulled in: file#{tmp_path}/d/a  (required by file#{tmp_path}/d/b)\n" in done.out
    assert (tmp_path / "d" / "b").exists()
    assert not (tmp_path / "other").exists()


def test_exclude_says_what_it_left_out(reactor, manifest, tmp_path):
    done = once(reactor, manifest(CHAIN), "--exclude", "file#*/d/a", "--format", "json")
    assert done.records[0] == {
        "event": "selection",
        "selected": 2,
        "of": 4,
        "pulled_in": [],
        "left_out": [{"ref": f"file#{tmp_path}/d/b", "because": f"file#{tmp_path}/d/a"}],
    }
    assert (tmp_path / "other").exists()
    assert not (tmp_path / "d" / "a").exists()


def test_a_reference_that_matches_nothing_is_answered_with_a_hint(reactor, manifest, tmp_path):
    done = once(reactor, manifest(FILE), "--only", f"file#{tmp_path}/aa")
    assert "no resource matches" in done.err
    assert f"did you mean 'file#{tmp_path}/a'?" in done.err
    assert not (tmp_path / "a").exists()


def test_json_reports_every_check_and_the_end(reactor, manifest, tmp_path):
    path = manifest(CHAIN)
    once(reactor, path)
    done = once(reactor, path, "--format", "json").records
    checked, end = [r for r in done if r["event"] == "checked"], done[-1]
    assert {r["ref"].removeprefix(f"file#{tmp_path}/") for r in checked} == {"d", "d/a", "d/b", "other"}
    assert {r["result"] for r in checked} == {"ok"}
    assert end["event"] == "ended"
    assert end["counts"]["ok"] == 4
    assert end["changes"] == 0


def test_output_of_a_command_is_passed_on(reactor, manifest):
    done = once(
        reactor, manifest("resources:\n  - exec:\n      - say: { command: echo hello, logoutput: true }\n")
    )
    assert "exec#say | hello\n" in done.out


def test_converged_timeout_ends_a_continuous_run(reactor, manifest):
    done = reactor("run", "--converged-timeout", "0.05", manifest(FILE))
    assert done.code == 0
    assert "\nconverged  1 resource in " in done.out


def test_a_continuous_run_whose_newest_manifest_can_not_be_used_ends_with_a_failure(reactor, manifest):
    path = manifest("""
resources:
  - exec:
      - spoil: { provider: shell, command: "echo 'resources: [' > {dir}/manifest.yaml" }
""")
    done = reactor("run", "--converged-timeout", "1", path)
    assert (done.code, "the manifest was changed meanwhile and can't be used" in done.out) == (1, True)


def test_a_child_that_is_made_and_can_not_be_used_ends_the_run_with_a_failure(reactor, manifest, tmp_path):
    path = manifest("""
resources:
  - file:
      - {dir}/made.yaml: { ensure: present, content: "resources: [{exec: [{a: {bogus: 1}}]}]", {own} }
  - apply:
      - {dir}/made.yaml: { require: "file#{dir}/made.yaml" }
""")
    done = once(reactor, path)
    assert done.code == 1
    assert done.err.count("exec has no property 'bogus'") == 1
    assert f"the manifest was changed by this run and can't be used: {tmp_path}/made.yaml" in done.out

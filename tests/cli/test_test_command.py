"""``reactor test``: tests of manifests, with facts and data in, and resources and problems out."""

import json
from pathlib import Path

import pytest

SITE = """
data: {users: [alice, bob], port: 80, word: x}
resources:
  - file:
      - defaults: {owner: root, group: root, mode: "0644"}
      - "/etc/{{ Facts.family }}.conf": {ensure: present, content: "port {{ Data.port }}\\n"}
  - exec:
      - "greet {{ item }}": {for_each: "{{ Data.users }}", command: /bin/true, timeout: 1m}
      - only db: {command: /bin/true, control: {if: "Data.role? == 'db'"}}
"""


@pytest.fixture
def suite(tmp_path):
    """Write the manifest, and a file with these tests."""
    (tmp_path / "site.yaml").write_text(SITE.replace("Data.role?", "(Data?.role ?? '')"))

    def suite(tests, head="manifest: site.yaml\nfacts: {family: debian}\n"):
        path = tmp_path / "site_tests.yaml"
        path.write_text(f"{head}tests:\n{tests}")
        return str(path)

    return suite


def test_a_test_passes_when_all_is_as_expected(reactor, suite):
    done = reactor(
        "test",
        suite(
            "  debian:\n    resources:\n"
            '      file#/etc/debian.conf: {content: "port 80\\n", owner: root, mode: "0644"}\n'
            "      exec#greet alice: {}\n      exec#greet bob: \n"
            "    count: {'exec#greet*': 2, 'file#*': 1}\n    absent: [exec#only db, 'user#*']\n"
            "  others:\n    facts: {family: rhel}\n    data: {port: 81, users: [carol], role: db}\n"
            "    resources: {file#/etc/rhel.conf: {content: {contains: 81}}, exec#only db: }\n"
            "    absent: file#/etc/debian.conf\n"
        ),
    )
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "passed 2  failed 0"
    assert [line.partition("  ")[0] for line in done.out.splitlines()[:2]] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (
            "resources: {file#/etc/debian.cnf: }",
            "file#/etc/debian.cnf is not declared; did you mean 'file#/etc/debian.conf'?",
        ),
        (
            "resources: {file#/etc/debian.conf: {owner: www}}",
            "file#/etc/debian.conf: owner is 'root', not 'www'",
        ),
        ("resources: {file#/etc/debian.conf: {ownr: www}}", "file#/etc/debian.conf has no property 'ownr'"),
        (
            "resources: {file#/etc/debian.conf: {content: {contains: 443}}}",
            "file#/etc/debian.conf: content is ",
        ),
        ("resources: {exec#only db: }", "exec#only db is not declared"),
        ("absent: 'exec#greet*'", "exec#greet alice is declared"),
        ("count: {'exec#*': 9}", "2 resources match exec#*, not 9"),
        ("problems: nonsense", "no problem contains 'nonsense'"),
        ("data: {port: '{{ 1'}, users: 3", None),
    ],
)
def test_a_difference_fails_and_says_what_and_where(reactor, suite, expected, message):
    path = suite(f"  one:\n    {expected}\n")
    done = reactor("test", path)
    if message is None:
        assert done.code == 2
        return
    assert done.code == 1
    assert f"failed  {path}: one\n" in done.out
    assert message in done.out
    assert f"{path}:" in done.out.splitlines()[1]


def test_a_difference_has_the_place_of_what_was_expected(reactor, suite):
    expected = "absent: 'exec#greet a*'", "count: {'user#*': 0,", "        'exec#*': 9}", "problems: nonsense"
    path = suite("  one:\n" + "".join(f"    {line}\n" for line in expected))
    first = Path(path).read_text().splitlines().index("  one:") + 2
    done = reactor("test", "--format", "json", path)
    differences = json.loads(done.out)["differences"]
    assert {each["message"]: each["line"] - first for each in differences} == {
        "no problem contains 'nonsense'": 3,
        "exec#greet alice is declared": 0,
        "2 resources match exec#*, not 9": 2,
    }


def test_a_problem_of_the_manifest_fails_unless_it_is_expected(reactor, suite):
    done = reactor(
        "test", suite("  a: {data: {users: 3}}\n  b: {data: {users: 3}, problems: must be a list}\n")
    )
    assert done.code == 1
    assert "an unexpected problem: " in done.out
    assert done.out.count("for_each must be a list or a map") == 1
    assert done.out.splitlines()[-1] == "passed 1  failed 1"


def test_the_facts_of_this_host_are_unknown_to_a_test(reactor, suite):
    done = reactor("test", suite("  a: {}\n", head="manifest: site.yaml\n"))
    assert done.code == 1
    assert "Facts has no key 'family'" in done.out


def test_json_has_an_object_for_each_test(reactor, suite):
    done = reactor("test", "--format", "json", suite("  a: {}\n  b: {absent: 'exec#*'}\n"))
    records = done.records
    assert [(each["name"], each["passed"]) for each in records] == [("a", True), ("b", False)]
    assert records[1]["differences"][0]["message"] == "exec#greet alice is declared"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tests: {a: {}}\n", "requires the property 'manifest'"),
        ("manifest: x\ntests: {a: {resorces: {}}}\n", "did you mean 'resources'?"),
        ("[]\n", "a file of tests is a map"),
        ("manifest: x\ntests: {a: 3}\n", "must be a map"),
        ("manifest: x\ntests: {}\n", "tests: it must have at least 1 item"),
        ("manifest: x\ntests: {a: {absent: [user]}}\n", "a reference is written kind#name"),
        ("manifest: x\ntests: {a: {count: {user: 0}}}\n", "a reference is written kind#name"),
        ("manifest: [\n", "error"),
    ],
)
def test_an_invalid_file_of_tests_is_bad_usage(reactor, tmp_path, text, message):
    path = tmp_path / "t.yaml"
    path.write_text(text)
    done = reactor("test", str(path))
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_directory_stands_for_its_files_and_none_is_bad_usage(reactor, suite, tmp_path, monkeypatch):
    suite("  a: {}\n")
    (tmp_path / "site.yaml").rename(tmp_path / "site.manifest")
    (tmp_path / "site_tests.yaml").write_text("manifest: site.manifest\nfacts: {family: x}\ntests: {a: {}}\n")
    assert reactor("test", str(tmp_path)).out.splitlines()[-1] == "passed 1  failed 0"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no .yaml file" in reactor("test", str(empty)).err
    monkeypatch.chdir(empty)
    assert "there is no directory tests" in reactor("test").err


def test_a_directory_with_a_directory_of_tests_stands_for_the_files_in_that_one(reactor, suite, tmp_path):
    suite("  a: {}\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "site_tests.yaml").unlink()
    (tmp_path / "tests/site.yaml").write_text("manifest: ../site.yaml\nfacts: {family: x}\ntests: {a: {}}\n")
    assert reactor("test", str(tmp_path)).out.splitlines()[-1] == "passed 1  failed 0"

"""The file ``.env`` of the current directory, over the environment of the process."""

import os

import pytest

from reactor.cli.options.implicit_files import environment, parse_dotenv
from reactor.resource.diagnostic import ManifestError

LINES = [
    ("A=b", {"A": "b"}),
    ("A=b=c", {"A": "b=c"}),
    ('A="b c"', {"A": "b c"}),
    ("A='b'", {"A": "b"}),
    ('A="b', {"A": '"b'}),
    ("  A = b  ", {"A": "b"}),
    ("export A=b", {"A": "b"}),
    ("# A=b", {}),
    ("A=", {}),
    ("A=''", {}),
    ("=b", {}),
    ("no setting", {}),
    ("A=1\n\nB=2\nA=3\n", {"A": "3", "B": "2"}),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_lines_are_read_as_a_shell_would(text, expected):
    assert parse_dotenv(text) == expected


def test_it_goes_over_the_environment_of_the_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FROM_PROCESS", "process")
    monkeypatch.setenv("FROM_BOTH", "process")
    assert environment(read_file=True) == (dict(os.environ), (str(tmp_path / ".env"),))
    (tmp_path / ".env").write_text("FROM_BOTH=file\nFROM_FILE=file\n")
    variables, files = environment(read_file=True)
    assert [variables[f"FROM_{name}"] for name in ("PROCESS", "BOTH", "FILE")] == ["process", "file", "file"]
    assert files == (str(tmp_path / ".env"),)
    variables, files = environment(read_file=False)
    assert (variables["FROM_BOTH"], "FROM_FILE" in variables, files) == ("process", False, ())


def test_a_current_directory_that_was_removed_has_none(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert environment(read_file=True) == (dict(os.environ), ())


def test_one_that_can_not_be_read_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"A=\xff\n")
    with pytest.raises(ManifestError) as caught:
        environment(read_file=True)
    [problem] = caught.value.diagnostics
    assert problem.place.file == str(tmp_path / ".env")
    assert "--no-read-env" in problem.hint


def test_expressions_see_it_unless_it_is_left_out(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("GREETING=hello\n")
    manifest = tmp_path / "m.yaml"
    manifest.write_text(
        "resources: [{exec: [{'/bin/echo <${ Environ.GREETING ?? `` }>': {logoutput: true}}]}]"
    )

    def said(*flags):
        return [event["line"] for event in run(manifest, flags)[1] if event["event"] == "output"]

    assert said() == ["<hello>"]
    assert said("--no-read-env") == ["<>"]

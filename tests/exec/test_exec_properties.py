"""What exec accepts in a manifest, what it refuses and in which words, and what it declares to the graph."""

import pytest
from property_problems import problems

from reactor.resource.base import Resource
from reactor.resource.watch import PathWatch
from reactor.resources.exec import Exec


def test_the_defaults_are_those_of_the_documentation():
    resource = Exec(name="/bin/true")
    assert resource.model_dump(exclude=set(Resource.model_fields) - {"ensure"}) == {
        "ensure": "present", "command": None, "cwd": "/", "environment": (), "path": None, "returns": (0,), "timeout": None,
        "user": None, "group": None, "umask": "0022", "creates": None, "onlyif": None, "unless": None, "refreshonly": False, "changes": True,
        "logoutput": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("properties", "path", "message"),
    [
        ({"environment": ["FOO"]}, ("environment", 0), "the variable 'FOO' has no '=': write it as KEY=value"),
        ({"environment": ["A=1", "=x"]}, ("environment", 1), "the variable '=x' has an empty key: write it as KEY=value"),
        ({"environment": ["A="]}, ("environment", 0), "the variable 'A=' has an empty value: leave it out, or give it one"),
        (
            {"environment": ["1A=x"]},
            ("environment", 0),
            "'1A' is not a valid name of a variable: use letters, digits and _, not a digit first",
        ),
        ({"environment": ["A=\0"]}, ("environment", 0), "the value of the variable 'A' must not hold a NUL character"),
        ({"path": "bin"}, ("path",), "'bin' in the search path is not an absolute path"),
        ({"path": "/bin:./x"}, ("path",), "'./x' in the search path is not an absolute path"),
        (
            {"path": "/bin::/usr/bin"},
            ("path",),
            "the search path has an empty directory: write /usr/bin:/bin, with single colons",
        ),
        ({"path": "/b\0"}, ("path",), "the search path must not hold a NUL character"),
        ({"cwd": "here"}, ("cwd",), "the path must be absolute: start it with /"),
        ({"creates": "/a/../b"}, ("creates",), "the path must be canonical: write /b"),
        ({"timeout": "10"}, ("timeout",), "'10' is not a duration: write it as 500ms, 30s, 5m or 1h30m"),
        ({"returns": [256]}, ("returns", 0), "Input should be less than or equal to 255"),
        ({"require": ["foo"]}, ("require", 0), "a reference is written kind#name, as in file#/etc/motd, not 'foo'"),
        ({"ensure": "running"}, ("ensure",), "Input should be 'present' or 'absent'"),
        ({"refreshonly": "yes"}, ("refreshonly",), "Input should be a valid boolean"),
        ({"provider": "poxis"}, ("provider",), "exec has no provider 'poxis'"),
        ({"commnd": "x"}, ("commnd",), "Extra inputs are not permitted"),
        ({"name": "echo 'x"}, ("name",), "unterminated single quote"),
        ({"name": " "}, ("name",), "the command is empty"),
        ({"command": 'echo "x'}, ("command",), "unterminated double quote"),
        ({"command": " \n"}, ("command",), "the command is empty"),
        ({"command": "''"}, ("command",), "the command is empty"),
        ({"command": "a\0b"}, ("command",), "a command can't hold a NUL character"),
        ({"command": " ", "provider": "shell"}, ("command",), "the command is empty"),
        ({"onlyif": ""}, ("onlyif",), "the command is empty"),
        ({"unless": "x\\"}, ("unless",), "a backslash at the end escapes nothing"),
        ({"path": "/bin", "environment": ["A=1", "PATH=/x"]}, ("environment", 1), "PATH is set here and by `path`"),
    ],
)  # fmt: skip
def test_a_bad_property_is_refused_where_it_stands(properties, path, message):
    found = problems(Exec, **{"name": "/bin/true"} | properties)
    assert [(each.path, each.message) for each in found] == [(path, message)]


def test_all_problems_of_the_commands_are_reported_at_once():
    found = problems(Exec, name="/bin/true", command="'", onlyif='"', unless="\\", provider="posix")
    assert sorted(each.path for each in found) == [("command",), ("onlyif",), ("unless",)]


@pytest.mark.parametrize(
    "properties",
    [
        {"command": ""},
        {"command": "echo 'x", "provider": "shell"},
        {"name": "don't panic", "command": "/bin/true"},
        {"environment": ["_a1=b=c", "X= "]},
        {"environment": ["PATH=/x"]},
        {"timeout": "1h30m"},
        {"timeout": "0"},
        {"refresh_only": True},
        {"ensure": "absent"},
    ],
)
def test_an_unusual_but_meaningful_property_is_accepted(properties):
    Exec(**{"name": "/bin/true"} | properties)


def test_both_spellings_of_refreshonly_mean_the_same():
    assert Exec(name="x", refreshonly=True) == Exec(name="x", refresh_only=True)


def test_an_empty_list_of_exit_codes_is_the_default():
    assert Exec(name="x", returns=[]).returns == (0,)


@pytest.mark.parametrize("guard", ["creates", "onlyif", "unless"])
def test_only_without_guards_its_work_is_no_answer_to_the_world(guard):
    assert Exec(name="/bin/true").unconditional
    assert not Exec(name="/bin/true", **{guard: "/bin/false"}).unconditional


def test_it_watches_and_provides_what_the_command_creates():
    resource = Exec(name="/bin/touch /var/tmp/done", creates="/var/tmp/done")
    assert list(resource.watches()) == [PathWatch("/var/tmp/done")]
    assert list(resource.relations().provides) == ["/var/tmp/done"]


def test_without_creates_it_watches_and_provides_nothing():
    resource = Exec(name="/bin/true", onlyif="/bin/true")
    assert list(resource.watches()) == []
    assert list(resource.relations().provides) == []


@pytest.mark.parametrize(
    ("properties", "used"),
    [
        ({"name": "true"}, {"/"}),
        ({"name": "/opt/tool --in=/a /etc/tool.conf ../x /a/../b //c /"}, {"/", "/opt/tool", "/etc/tool.conf"}),
        ({"name": "./configure", "cwd": "/src/app"}, {"/src/app", "/src/app/configure"}),
        ({"name": "/bin/sh '/opt/my app.sh'"}, {"/", "/bin/sh", "/opt/my app.sh"}),
        ({"name": "/bin/touch /d/c", "creates": "/d/c"}, {"/", "/bin/touch", "/d"}),
        (
            {"name": "x", "onlyif": "/opt/check /etc/a", "unless": "test -e /b"},
            {"/", "/opt/check"},
        ),
        ({"name": "/opt/a /etc/b | /opt/c", "provider": "shell"}, {"/", "/opt/a"}),
        ({"name": "echo 'x", "provider": "shell"}, {"/"}),
    ],
)  # fmt: skip
def test_it_uses_the_paths_its_commands_name(properties, used):
    assert set(Exec(**properties).relations().depends_on) == used


def test_the_schema_knows_every_property():
    assert {"command", "returns", "refreshonly"} <= Exec.model_json_schema()["properties"].keys()
